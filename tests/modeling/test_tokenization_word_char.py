"""The tokenizer of words and characters: where it cuts, and that characters follow every path a token takes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
from datasets.fingerprint import Hasher
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, DataCollatorWithPadding

from clozeformers import BiDAFConfig
from clozeformers.modeling.tokenization_word_char import SPECIAL_TOKENS, WordCharTokenizer

TEXTS = ["The cat isn't in the U.S., it's in a well-known house.", "Why did 1,000 cats cost $5 in the 1990s?"]
QUESTION, CONTEXT = "Why did the cat cost $5?", "The   zebra's house\r\ncost 1,000 in the 1990s."
# Letters that change their length in lower case, marks, signs of no width, emoji of many code points, odd white space.
TRICKY = (
    "a\u0301 \u0130stanbul na\u00efve \U0001f469\u200d\U0001f680 zero\u200bwidth\ufeff \u03a3\u0391\u03a3 "
    "\u00df\u1e9e x\u00a0y \u6771\u4eac\r\n[SEP]"
)


@pytest.fixture(scope="module")
def tokenizer() -> WordCharTokenizer:
    """Not to be changed."""
    return WordCharTokenizer.train_from_texts(TEXTS)


def row(tokenizer: WordCharTokenizer, word: str) -> list[int]:
    """The characters of a word, looked up one by one."""
    ids = [2 + tokenizer.characters.index(c) if c in tokenizer.characters else 1 for c in word]
    return (ids + [0] * 16)[:16]


def rows(char_ids: Any) -> Any:
    return np.asarray(char_ids).tolist()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the U.S. and U.S.A.", "the|U.S.|and|U.S.A."),
        ("won $5 in the 1990s", "won|$|5|in|the|1990s"),
        ("a well-known 1945\u20131948", "a|well|-|known|1945|\u2013|1948"),
        ("1,000 or 3.5%", "1|,|000|or|3|.|5|%"),
        ("isn't CAN\u2019T Tesla's they\u2019re 'twas", "is|n't|CA|N\u2019T|Tesla|'s|they|\u2019re|'|twas"),
        ("end. (Yes)", "end|.|(|Yes|)"),
        (
            "e\u0301te\u0301 \u0939\u093f\u0928\u094d\u0926\u0940",
            "e\u0301te\u0301|\u0939\u093f\u0928\u094d\u0926\u0940",
        ),
        (" \t\r\n\u00a0", ""),
    ],
)
def test_where_words_begin_and_end(tokenizer, text, words):
    offsets = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    assert "|".join(text[start:end] for start, end in offsets) == words


@pytest.mark.parametrize("lowercase", [False, True])
@settings(max_examples=100, deadline=None)
@given(text=st.one_of(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), st.text(TRICKY + "aA.'-1n't")))
def test_offsets_leave_out_nothing_but_white_space(lowercase, text):
    tokenizer = WordCharTokenizer(characters="ab", lowercase=lowercase)
    encoded = tokenizer(text, return_offsets_mapping=True)
    (first, *offsets, last), (_, *char_ids, _) = encoded["offset_mapping"], encoded["char_ids"]
    assert first == last == (0, 0)
    position = 0
    for (start, end), ids in zip(offsets, char_ids, strict=True):
        assert position <= start < end
        assert not text[position:start].strip()
        assert list(ids) == row(tokenizer, text[start:end])
        position = end
    assert not text[position:].strip()


def test_vocabulary_is_ordered_and_filtered():
    texts = iter(["b a B c", "b c a a", "d"])
    tokenizer = WordCharTokenizer.train_from_texts(texts, min_frequency=2)
    assert tokenizer.convert_ids_to_tokens(range(len(tokenizer))) == [*SPECIAL_TOKENS, "a", "b", "c"]
    assert (tokenizer.characters, tokenizer.character_vocab_size) == ("abc", 5)
    lower = WordCharTokenizer.train_from_texts(["b a B c", "b c a a", "d"], lowercase=True, words={"b", "d", "x"})
    assert lower.convert_ids_to_tokens(range(len(lower))) == [*SPECIAL_TOKENS, "b", "d"]
    assert lower.characters == "abcBd"
    assert lower("B", add_special_tokens=False)["input_ids"] == [4]
    assert lower("B", add_special_tokens=False)["char_ids"] == [tuple(row(lower, "B"))]


def test_lower_case_is_that_of_the_lookup():
    tokenizer = WordCharTokenizer.train_from_texts([TRICKY], lowercase=True)
    assert tokenizer.unk_token_id not in tokenizer(TRICKY)["input_ids"]
    assert tokenizer.unknown_words([TRICKY, TRICKY.upper()]) == tokenizer.unknown_words([TRICKY.upper()])
    assert tokenizer.unknown_words([TRICKY]) == []


def test_one_text_and_a_pair(tokenizer):
    one = tokenizer(CONTEXT)
    assert one["token_type_ids"] == [0] * len(one["input_ids"])
    pair = tokenizer(QUESTION, CONTEXT)
    assert list(pair) == ["input_ids", "token_type_ids", "attention_mask", "char_ids"]
    middle = pair["input_ids"].index(tokenizer.sep_token_id)
    assert pair["token_type_ids"] == [0] * (middle + 1) + [1] * (len(pair["input_ids"]) - middle - 1)
    text = "[CLS] Why did the cat cost $ 5 ? [SEP] The zebra 's house cost 1 , 000 in the 1990s . [SEP]"
    words = text.split()
    expected = [[0] * 16 if word in SPECIAL_TOKENS else row(tokenizer, word) for word in words]
    assert rows(pair["char_ids"]) == expected
    assert [tokenizer.convert_ids_to_tokens(i) for i in pair["input_ids"]] == [
        "[UNK]" if word == "zebra" else word for word in words
    ]
    assert rows(tokenizer(QUESTION, "")["char_ids"]) == rows(tokenizer(QUESTION)["char_ids"])


def test_long_words_are_cut_and_unknown_characters_marked():
    tokenizer = WordCharTokenizer.train_from_texts(["ab"], max_word_length=3)
    assert tokenizer("abab a\u00e9", add_special_tokens=False)["char_ids"] == [(2, 3, 2), (2, 1, 0)]


def test_special_tokens_in_a_text_are_words(tokenizer):
    encoded = tokenizer("[CLS] the [SEP]")
    assert [i for i in encoded["input_ids"] if i in (0, 2, 3)] == [2, 3]
    assert len(encoded["input_ids"]) == 9


@pytest.mark.parametrize("return_tensors", [None, "np", "pt"])
@pytest.mark.parametrize("padding_side", ["left", "right"])
def test_batches_are_padded_with_zero_rows(tokenizer, return_tensors, padding_side):
    batch = tokenizer(
        [QUESTION, "cat"],
        [CONTEXT, "the"],
        padding=True,
        padding_side=padding_side,
        return_tensors=return_tensors,
    )
    single = [rows(tokenizer(*pair)["char_ids"]) for pair in [(QUESTION, CONTEXT), ("cat", "the")]]
    missing = [[0] * 16] * (len(single[0]) - len(single[1]))
    padded = missing + single[1] if padding_side == "left" else single[1] + missing
    assert rows(batch["char_ids"]) == [single[0], padded]
    kind = {None: list, "np": np.ndarray, "pt": torch.Tensor}[return_tensors]
    assert isinstance(batch["char_ids"], kind)
    later = tokenizer.pad(
        [tokenizer(QUESTION, CONTEXT), tokenizer("cat", "the")],
        padding_side=padding_side,
        return_tensors=return_tensors,
    )
    assert later.keys() == batch.keys()
    assert all(rows(later[name]) == rows(batch[name]) for name in batch)
    assert isinstance(later["char_ids"], kind)


def test_pad_takes_features_of_every_kind(tokenizer):
    plain = [tokenizer(text) for text in TEXTS]
    expected = rows(tokenizer.pad(plain)["char_ids"])
    for convert in (torch.tensor, np.array):
        tensors = tokenizer.pad([{k: convert(v) for k, v in features.items()} for features in plain])
        assert isinstance(tensors["char_ids"], torch.Tensor if convert is torch.tensor else np.ndarray)
        assert rows(tensors["char_ids"]) == expected
    assert DataCollatorWithPadding(tokenizer)(plain)["char_ids"].tolist() == expected
    padded = tokenizer.pad(plain[0], padding="max_length", max_length=40, return_tensors="pt")
    assert padded["char_ids"].shape == (40, 16)
    assert "char_ids" not in tokenizer.pad([{"input_ids": [4]}, {"input_ids": [4, 5]}], return_tensors="pt")
    assert tokenizer.pad({"input_ids": []}, return_tensors="pt") == {"input_ids": []}


def test_one_text_as_tensors_has_a_batch_dimension(tokenizer):
    encoded = tokenizer(CONTEXT, return_tensors="pt")
    assert encoded["char_ids"].shape == (*encoded["input_ids"].shape, 16)
    assert encoded["char_ids"].dtype == torch.int64


@pytest.mark.parametrize("return_tensors", [None, "pt"])
def test_windows_have_the_characters_of_their_own_text(tokenizer, return_tensors):
    contexts = [CONTEXT, "cat", CONTEXT + " " + TEXTS[0]]
    encoded = tokenizer(
        [QUESTION] * 3,
        contexts,
        max_length=14,
        stride=2,
        truncation="only_second",
        padding="max_length",
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        return_tensors=return_tensors,
    )
    owners = [int(owner) for owner in encoded["overflow_to_sample_mapping"]]
    assert owners.count(0) > 1
    assert owners.count(2) > owners.count(0)
    for number, owner in enumerate(owners):
        kinds, offsets = rows(encoded["token_type_ids"][number]), rows(encoded["offset_mapping"][number])
        texts = (QUESTION, contexts[owner])
        surfaces = [texts[kind][start:end] for kind, (start, end) in zip(kinds, offsets, strict=True)]
        assert rows(encoded["char_ids"][number]) == [row(tokenizer, surface) for surface in surfaces]


def test_windows_of_a_single_text(tokenizer):
    encoded = tokenizer(QUESTION, CONTEXT, max_length=14, truncation="only_second", return_overflowing_tokens=True)
    assert [len(ids) for ids in encoded["char_ids"]] == [len(ids) for ids in encoded["input_ids"]]
    assert len(encoded["char_ids"]) > 1


def test_words_that_are_split_already(tokenizer):
    with pytest.raises(ValueError, match="give texts, not lists of words"):
        tokenizer(["well", "known"], is_split_into_words=True)


def test_pairs_in_one_list(tokenizer):
    batch = tokenizer([(QUESTION, CONTEXT), ("cat", "the")])
    assert batch["char_ids"] == tokenizer([QUESTION, "cat"], [CONTEXT, "the"])["char_ids"]
    assert batch["char_ids"][0] == tokenizer(QUESTION, CONTEXT)["char_ids"]


def test_remembered_words_are_few(tokenizer, monkeypatch):
    expected = tokenizer(CONTEXT)["char_ids"]
    monkeypatch.setattr("clozeformers.modeling.tokenization_word_char._CACHE_SIZE", 2)
    small = WordCharTokenizer.train_from_texts(TEXTS)
    assert small(CONTEXT)["char_ids"] == expected
    assert len(small.cache) <= 2


@pytest.mark.parametrize("lowercase", [False, True])
def test_saved_and_loaded(tmp_path, lowercase):
    tokenizer = WordCharTokenizer.train_from_texts(
        [*TEXTS, TRICKY], lowercase=lowercase, max_word_length=5, model_max_length=400
    )
    tokenizer.add_words(["zebra"])
    tokenizer.save_pretrained(tmp_path)
    assert all(path.suffix == ".json" for path in tmp_path.iterdir())
    loaded = WordCharTokenizer.from_pretrained(tmp_path)
    pair = (QUESTION, f"{CONTEXT} {TRICKY}")
    assert loaded(*pair) == tokenizer(*pair)
    assert loaded.get_vocab() == tokenizer.get_vocab()
    assert (loaded.model_max_length, loaded.character_vocab_size) == (400, tokenizer.character_vocab_size)
    assert loaded.add_words(["zebra"]) == 0
    BiDAFConfig().save_pretrained(tmp_path)
    assert type(AutoTokenizer.from_pretrained(tmp_path)) is WordCharTokenizer


def test_datasets_prepares_with_several_workers(tokenizer, tmp_path):
    rows_ = datasets.Dataset.from_dict({"text": TEXTS * 2})

    def prepare(batch: dict[str, list[str]]) -> Any:
        return tokenizer(batch["text"], truncation=True, max_length=12)

    before = Hasher.hash(prepare)
    prepared = rows_.map(prepare, batched=True, num_proc=2, cache_file_name=str(tmp_path / "prepared.arrow"))
    for text, ids in zip(rows_["text"], prepared["char_ids"], strict=True):
        assert ids == rows(tokenizer(text, truncation=True, max_length=12)["char_ids"])
    assert Hasher.hash(prepare) == before


def test_words_are_added_at_the_end():
    tokenizer = WordCharTokenizer.train_from_texts(TEXTS)
    before = tokenizer.get_vocab()
    assert tokenizer.unknown_words(["New York-born", "the zebra", "zebra", "[SEP]"]) == [
        *("New", "York", "born", "zebra", "[", "SEP", "]")
    ]
    assert tokenizer.add_words(["New York-born", "the zebra", "cat"]) == 4
    assert tokenizer.add_words(["New York-born", "the zebra", "cat"]) == 0
    assert len(tokenizer) == tokenizer.vocab_size == len(before) + 4
    assert before.items() <= tokenizer.get_vocab().items()
    assert tokenizer.convert_ids_to_tokens([len(before), len(before) + 3]) == ["New", "zebra"]
    # A word, not a string to be found inside of others.
    assert tokenizer.tokenize("zebras zebra") == ["[UNK]", "zebra"]


def test_words_cannot_follow_added_tokens():
    tokenizer = WordCharTokenizer.train_from_texts(TEXTS)
    tokenizer.add_tokens(["<extra>"])
    with pytest.raises(ValueError, match=r"<extra>.*before add_tokens"):
        tokenizer.add_words(["zebra"])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"texts": "one text"}, TypeError, "texts is one string, 'one text'; give a list"),
        ({"texts": ["a", " "], "min_frequency": 2}, ValueError, "none of the 1 words .* at least 2 times; .* lower"),
        ({"texts": ["A"], "words": ["a", "b"]}, ValueError, "none of the 1 words .* among the 2 of `words`"),
        ({"texts": []}, ValueError, "none of the 0 words"),
        ({"texts": ["a"], "max_word_length": 0}, ValueError, "max_word_length is 0"),
    ],
)
def test_what_cannot_be_learned(arguments, error, message):
    with pytest.raises(error, match=message):
        WordCharTokenizer.train_from_texts(**arguments)


def test_a_vocabulary_begins_with_the_special_tokens():
    with pytest.raises(ValueError, match=r"\[PAD\]: 1, \[UNK\]: 0, .*must be 0, 1, 2, 3"):
        WordCharTokenizer({"[UNK]": 0, "[PAD]": 1, "[CLS]": 2, "[SEP]": 3})


@pytest.mark.corpora
def test_answers_of_squad_are_whole_words():
    folder = os.environ.get("CLOZEFORMERS_CORPORA")
    if folder is None:
        pytest.skip("CLOZEFORMERS_CORPORA does not name a folder that holds squad/")
    tokenizer = WordCharTokenizer()
    articles = json.loads(Path(folder, "squad", "dev-v1.1-part.json").read_text(encoding="utf-8"))["data"]
    whole = []
    for paragraph in [paragraph for article in articles for paragraph in article["paragraphs"]]:
        encoded = tokenizer(paragraph["context"], return_offsets_mapping=True)
        starts, ends = (set(places) for places in zip(*encoded["offset_mapping"], strict=True))
        for answer in [answer for question in paragraph["qas"] for answer in question["answers"]]:
            end = answer["answer_start"] + len(answer["text"])
            whole.append(answer["answer_start"] in starts and end in ends)
    assert sum(whole) / len(whole) > 0.99
