"""Articles, filled-in questions and definitions to model inputs: layout, what is cut, and what is counted."""

from __future__ import annotations

import logging
from itertools import chain, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from datasets import Dataset
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from clozeformers.abstract_cloze import load_recam
from clozeformers.abstract_cloze.encoding import (
    EncodedOption,
    _tokenize_articles,
    encode_questions,
    pair_layout,
    truncated_lengths,
)
from clozeformers.abstract_cloze.features import encode_dataset
from clozeformers.abstract_cloze.questions import ClozeQuestion
from clozeformers.abstract_cloze.sentences import keep_pieces, rank_by_similarity, sentence_starts, split_sentences
from tests.cloze_corpora import real_file
from tests.cloze_models import ARTICLE, OPTIONS, QUESTION, TOKENIZERS, FakeReader, bert_tokenizer, cloze_rows
from tests.qa_models import byte_tokenizer

LAYOUTS = {
    "bert": ("[CLS] A [SEP] B [SEP]", "00011"),
    "albert": ("[CLS] A [SEP] B [SEP]", "00011"),
    "deberta": ("[CLS] A [SEP] B [SEP]", "00011"),
    "modernbert": ("<s> A </s> B </s>", "00011"),
    "roberta": ("<s> A </s> </s> B </s>", "000011"),
    "xlnet": ("A <sep> B <sep> <cls>", "00112"),
}
FRAGMENTS = [*(" the ", "cat", " cat's", "[SEP]", "<sep>", " ", "\n", "\u00a0"), *"éﬁ中😀\x00"]
texts = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=30).map("".join)


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return TOKENIZERS[request.param]()


def encoded(
    tokenizer: Any,
    article: str = ARTICLE,
    question: str = QUESTION,
    options: list[str] = OPTIONS,
    definitions: Any = None,
    max_length: int = 1000,
) -> list[EncodedOption]:
    asked = ClozeQuestion(article, question, tuple(options))
    return encode_questions(tokenizer, [asked], [definitions or [()] * len(options)], max_length, ["the question"])[0]


def alone(tokenizer: Any, text: str) -> list[int]:
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def test_truncated_lengths_by_hand() -> None:
    assert truncated_lengths(90, 30, 27, 147) == (90, 27)  # all fits
    assert truncated_lengths(300, 30, 60, 147) == (87, 30)  # first they, then the article
    assert truncated_lengths(300, 60, 60, 147) == (58, 29)  # then both, two to one
    assert truncated_lengths(10, 100, 90, 147) == (10, 37)  # a short article stays


@given(st.integers(0, 300), st.integers(1, 147), st.integers(0, 300))
@settings(deadline=None)
def test_pieces_beyond_the_room_change_nothing(article: int, option: int, definitions: int) -> None:
    kept = truncated_lengths(article, option, definitions, 147)
    assert kept == truncated_lengths(min(article, 148), option, min(definitions, 148), 147)
    assert min(kept) >= 0
    assert sum(kept) + option <= 147


@pytest.mark.parametrize("kind", LAYOUTS)
def test_the_layout_is_the_tokenizers_own(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]()
    parts, types = LAYOUTS[kind]
    glosses = [("one; two", "three"), (), ("four",)]
    options = encoded(tokenizer, definitions=glosses)
    for option, word, joined in zip(options, OPTIONS, [" one; two;three", "", " four"], strict=True):
        sentence = f"The cat is {word} to the club .{joined}"
        segments = {"A": alone(tokenizer, ARTICLE), "B": alone(tokenizer, sentence)}
        pieces = [segments.get(part) or [tokenizer.convert_tokens_to_ids(part)] for part in parts.split()]
        assert option.input_ids == list(chain(*pieces)) == tokenizer(ARTICLE, sentence)["input_ids"]
        assert option.token_type_ids == [int(kind) for kind, ids in zip(types, pieces, strict=True) for _ in ids]
        if kind == "bert":
            assert option.token_type_ids == tokenizer(ARTICLE, sentence)["token_type_ids"]
    assert [option.definitions for option in options] == glosses
    assert pair_layout(tokenizer).class_token_is_last == (kind == "xlnet")


@given(article=texts, before=texts, option=texts, glosses=st.lists(texts, max_size=2), max_length=st.integers(8, 80))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_read_as_a_whole(
    tokenizer: Any, article: str, before: str, option: str, glosses: list[str], max_length: int
) -> None:
    options = [f"a{option}", "a"]
    sentence = f"{before} {options[0].strip()} of the cat".strip()
    question = f"{before} @placeholder of the cat"
    layout = pair_layout(tokenizer)
    room = max_length - layout.size
    first, second = alone(tokenizer, article.strip()), alone(tokenizer, sentence)
    if len(second) > room:
        with pytest.raises(ValueError, match=rf"{len(second)} pieces, and {room} fit beside"):
            encoded(tokenizer, article, question, options, max_length=max_length)
        return
    read = encoded(tokenizer, article, question, options, [tuple(glosses), ()], max_length)[0]
    joined = ";".join(glosses)
    with_definitions = alone(tokenizer, f"{sentence} {joined}" if joined else sentence)
    start = len(second)
    assert with_definitions[:start] == second
    kept_article, kept = truncated_lengths(len(first), start, len(with_definitions) - start, room)
    kept_pieces = [*first[:kept_article], *layout.between, *with_definitions[: start + kept]]
    assert read.input_ids == [*layout.before, *kept_pieces, *layout.after]
    assert len(read.input_ids) == len(read.token_type_ids) <= max_length
    assert read.article_is_cut == (kept_article < len(first))
    assert read.definitions_are_cut == (kept < len(with_definitions) - start)
    assert joined.startswith(";".join(read.definitions))


def test_definitions_are_listed_as_far_as_they_are_read() -> None:
    tokenizer = bert_tokenizer()
    glosses = ("the act of doing; new", "a very happy dog")
    length = len(encoded(tokenizer, "cat", "@placeholder", ["x", "y"], [glosses, ()])[0].input_ids)
    expected = {1: [glosses[0], "a very happy"], 3: [glosses[0], "a"], 5: [glosses[0]], 6: ["the act of doing;"]}
    for cut, definitions in expected.items():
        read, _ = encoded(tokenizer, "cat", "@placeholder", ["x", "y"], [glosses, ()], length - cut)
        assert list(read.definitions) == definitions


def test_an_option_that_does_not_fit_is_named() -> None:
    tokenizer = bert_tokenizer()
    with pytest.raises(
        ValueError, match="the question: with option 2, 'very new', the question has 9 pieces, and 8 fit"
    ):
        encoded(tokenizer, max_length=11)
    rows = cloze_rows({}, {"question": "cat " * 153 + "@placeholder"})
    with pytest.raises(ValueError, match=r"row 'q1': with option 0, 'happy', the question has 154 pieces, and 147 fit"):
        encode_dataset(rows, tokenizer, option_reader=None)
    [first, *_, last] = encoded(tokenizer, max_length=12)
    assert tokenizer.decode(last.input_ids) == "[CLS] [SEP] the cat is very new to the club. [SEP]"
    assert tokenizer.decode(first.input_ids) == "[CLS] the [SEP] the cat is happy to the club. [SEP]"
    with pytest.raises(ValueError, match=r"option 1, '\\x00', the question has no word piece at all"):
        encoded(tokenizer, question="@placeholder", options=["a", "\x00"])
    for length, error in ((3, ValueError), (12.0, TypeError), (True, TypeError)):
        with pytest.raises(error, match="the maximum length is"):
            encoded(tokenizer, max_length=length)  # type: ignore[arg-type]


def test_tokenizers_that_do_not_mark_the_ends() -> None:
    bare = byte_tokenizer()
    bare.backend_tokenizer.post_processor = None
    with pytest.raises(ValueError, match="TokenizersBackend encodes the pair of texts 'a' and 'a' as 'a a'; abstract"):
        pair_layout(bare)
    with pytest.raises(ValueError, match="load a fast one"):
        pair_layout(SimpleNamespace(is_fast=False))


def test_features_of_a_corpus(caplog: pytest.LogCaptureFixture) -> None:
    rows = cloze_rows({}, {"options": ["cat", "dog"], "label": -1}, {"article": ARTICLE * 9, "label": 2})
    reader = FakeReader(happy=9, doing=0)
    with caplog.at_level(logging.INFO, "clozeformers"):
        features, summary = encode_dataset(rows, bert_tokenizer(), max_length=60, option_reader=reader)
    assert summary == "3 questions with 8 options: 6 have definitions, 2 truncated definitions, 3 a truncated article"
    assert summary in caplog.text
    assert reader.asked[2] == ("very new", "The cat is very new to the club .")
    assert len(reader.asked) == 8
    assert features["label"][:] == [0, -1, 2]
    assert features["length"][:] == [60, features[1]["length"], 60]
    assert features.column_names == ["input_ids", "token_type_ids", "label", "length"]
    for row, feature in zip(rows, features, strict=True):
        definitions = [reader.definitions(option) for option in row["options"]]
        expected = encoded(bert_tokenizer(), row["article"], row["question"], row["options"], definitions, 60)
        assert feature["input_ids"] == [option.input_ids for option in expected]
        assert feature["token_type_ids"] == [option.token_type_ids for option in expected]


def test_without_article_or_definitions(tokenizer: Any) -> None:
    rows = cloze_rows({"question": "  a top - @placeholder's cat , ", "options": ["dog", " @placeholder "]})
    features, summary = encode_dataset(rows, tokenizer, option_reader=None, use_article=False)
    sentences = ["a top - dog's cat ,", "a top - @placeholder's cat ,"]
    assert features[0]["input_ids"] == [tokenizer("", sentence)["input_ids"] for sentence in sentences]
    assert "0 have definitions" in summary


def test_other_definitions_are_not_taken_from_a_cache(tmp_path: Path) -> None:
    cloze_rows({}).save_to_disk(tmp_path)
    rows = Dataset.load_from_disk(str(tmp_path))
    first, _ = encode_dataset(rows, bert_tokenizer(), option_reader=FakeReader())
    second, _ = encode_dataset(rows, bert_tokenizer(), option_reader=FakeReader(happy=2))
    assert first[0]["input_ids"][0] != second[0]["input_ids"][0]
    assert first[0]["input_ids"][1:] == second[0]["input_ids"][1:]


def test_a_tokenizer_that_was_saved_with_truncation_reads_all() -> None:
    tokenizer = bert_tokenizer()
    tokenizer.backend_tokenizer.enable_truncation(5)
    tokenizer.backend_tokenizer.enable_padding(length=9)
    assert encoded(tokenizer)[0].input_ids == encoded(bert_tokenizer())[0].input_ids


@pytest.mark.corpora
@pytest.mark.parametrize("name", ["albert-xxlarge-v2", "xlnet-base-cased"])
def test_real_files_in_real_pieces(name: str) -> None:
    rows = load_recam(real_file("recam/Task_1_dev.jsonl"))
    tokenizer = AutoTokenizer.from_pretrained(str(real_file(f"tokenizers/{name}")))
    features, summary = encode_dataset(rows, tokenizer, option_reader=FakeReader())
    assert summary.startswith("837 questions with 4,185 options: 4,185 have definitions")
    assert max(features["length"]) == 150
    for row, feature in zip(rows.select(range(50)), features, strict=False):
        pieces = zip(feature["input_ids"][0], feature["token_type_ids"][0], strict=True)
        expected = alone(tokenizer, row["question"].replace("@placeholder", row["options"][0]))
        assert [piece for piece, kind in pieces if kind == 1][: len(expected)] == expected


@pytest.mark.parametrize("max_length", [30, 1000])
def test_the_options_own_pieces_are_marked(tokenizer: Any, max_length: int) -> None:
    definitions = [("the act of doing",)] * 3
    for option, found in zip(OPTIONS, encoded(tokenizer, definitions=definitions, max_length=max_length), strict=True):
        assert len(found.option_mask) == len(found.input_ids)
        own = [piece for piece, mark in zip(found.input_ids, found.option_mask, strict=True) if mark]
        assert tokenizer.decode(own).replace(" ", "") == option.replace(" ", "")
        first = found.option_mask.index(1)
        assert found.option_mask[first : first + len(own)] == [1] * len(own)


def test_marks_are_a_column_on_request() -> None:
    rows, tokenizer = cloze_rows({}), bert_tokenizer()
    plain, _ = encode_dataset(rows, tokenizer, option_reader=None)
    marked, _ = encode_dataset(rows, tokenizer, option_reader=None, with_option_mask=True)
    assert set(marked.column_names) - set(plain.column_names) == {"option_mask"}
    assert [list(map(len, options)) for options in marked["option_mask"]] == [
        list(map(len, options)) for options in plain["input_ids"]
    ]


SENTENCES = [
    "The dog sat on the mat.",
    "A cat was happy in the club.",
    "It was a new contract.",
    "The dog is very new.",
]


def similar(tokenizer: Any, max_length: int) -> list[list[int]]:
    asked = ClozeQuestion(" ".join(SENTENCES), "The cat @placeholder to the club .", ("doing", "is"))
    arguments = ([asked], [[()] * 2], max_length, ["the question"])
    [options] = encode_questions(tokenizer, *arguments, article_sentences="similar")
    separators = pair_layout(tokenizer)
    ends = [option.token_type_ids.index(1) - len(separators.between) for option in options]
    return [option.input_ids[len(separators.before) : end] for option, end in zip(options, ends, strict=True)]


def test_sentences_like_the_question_are_kept_in_the_order_of_the_article(tokenizer: Any) -> None:
    whole, second = alone(tokenizer, " ".join(SENTENCES)), alone(tokenizer, SENTENCES[1])
    two = alone(tokenizer, f"{SENTENCES[0]} {SENTENCES[1]}")
    assert similar(tokenizer, 1000) == [whole, whole]
    room = pair_layout(tokenizer).size + len(alone(tokenizer, "The cat doing to the club ."))
    for length, text in ((len(two), f"{SENTENCES[0]} {SENTENCES[1]}"), (len(second) - 3, SENTENCES[1])):
        kept = similar(tokenizer, room + length)[0]
        assert len(kept) == length
        # Where a space is a piece of its own, it may belong to either sentence.
        assert text.lower().replace(" ", "").startswith(tokenizer.decode(kept).lower().replace(" ", "")[:-1])


def test_sentences_are_cut_where_their_pieces_begin(tokenizer: Any) -> None:
    """Each piece belongs to the sentence that it begins in, counted piece by piece."""
    text = " ".join(SENTENCES)
    asked = ClozeQuestion(text, "The @placeholder", ("dog", "cat"))
    [(parts, _)] = _tokenize_articles(tokenizer, [asked], by_similarity=True)
    offsets = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    cuts = [sum(first < start >= end for first, end in offsets) for start in sentence_starts(text)]
    assert [len(part) for part in parts] == [b - a for a, b in pairwise([*cuts, len(offsets)])]


def test_similarity_by_hand() -> None:
    assert rank_by_similarity(SENTENCES, "the Cat in a club") == [1, 2, 0, 3]
    assert rank_by_similarity(SENTENCES, "") == [0, 1, 2, 3]
    text = 'He left. "I know," she said. It is 3.5 m.\nThe U.S. team won!'
    assert split_sentences(text) == ["He left.", '"I know," she said.', "It is 3.5 m.", "The U.S. team won!"]
    assert keep_pieces([[1, 2], [3], [4, 5]], [2, 0, 1], 3) == [1, 4, 5]
