"""Words and a cue to model inputs, and word pieces back to words."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from clozeformers.negation_scope.collator import IGNORED_LABEL, NegationCollator
from clozeformers.negation_scope.corpora.schema import NEGATION_FEATURES
from clozeformers.negation_scope.encoding import FEATURE_COLUMNS, negation_features
from clozeformers.negation_scope.windows import (
    CUE_TOKEN,
    NO_WORD,
    Reading,
    add_cue_token,
    cue_windows,
    first_pieces,
    read_cues,
    require_fast,
    word_probabilities,
)

SENTENCE = ["I", "don't", "know", "xyz", "."]
CUE = [0, 1, 0, 0, 0]
SPECIAL = {"[CLS]", "[SEP]", "<s>", "</s>", CUE_TOKEN}


@pytest.fixture(scope="module")
def byte_level_tokenizer() -> PreTrainedTokenizerFast:
    """As RoBERTa's: one piece a byte, the space before a word among them."""
    vocabulary = ["<pad>", "<s>", "</s>", "<unk>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({piece: i for i, piece in enumerate(vocabulary)}, [], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $0 </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>")
    assert add_cue_token(fast)
    return fast


@pytest.fixture(scope="module", params=["wordpiece", "bytes"])
def tokenizer(request: pytest.FixtureRequest, tiny_tokenizer: Any, byte_level_tokenizer: Any) -> Any:
    return tiny_tokenizer if request.param == "wordpiece" else byte_level_tokenizer


def read(tokenizer: Any, words: Sequence[str], cue: Sequence[int], **options: Any) -> list[Reading]:
    return read_cues(tokenizer, [words], [cue], **{"max_length": 64, "cue_token": None, "max_cue_length": 99} | options)


def pieces(tokenizer: Any, reading: Reading) -> list[str]:
    return tokenizer.convert_ids_to_tokens(reading.input_ids)


def check(tokenizer: Any, reading: Reading, words: Sequence[str], cue: Sequence[int], cue_token: str | None) -> None:
    """What holds for every reading: each word's pieces are its own, marked as the cue's if it is one."""
    assert len(reading.input_ids) == len(reading.cue_mask) == len(reading.word_ids)
    shown = pieces(tokenizer, reading)
    for piece, word, is_cue in zip(shown, reading.word_ids, reading.cue_mask, strict=True):
        assert is_cue == (word != NO_WORD and cue[word])
        assert (word == NO_WORD) == (piece in SPECIAL)
    read_words = [word for _, word in first_pieces(reading.word_ids)]
    assert read_words == sorted(set(read_words))
    for word in read_words:
        own = [piece for piece, of in zip(reading.input_ids, reading.word_ids, strict=True) if of == word]
        assert (
            own == tokenizer([words[word]], is_split_into_words=True, add_special_tokens=False)["input_ids"][: len(own)]
        )
    before = [reading.word_ids[i + 1] for i, piece in enumerate(shown) if piece == CUE_TOKEN]
    # (A cue word without pieces has its token still, in front of whatever follows.)
    expected = [word for word in read_words if cue[word]] if cue_token else []
    assert [word for word in before if word in expected] == expected


def test_normal_input(tiny_tokenizer: Any) -> None:
    [reading] = read(tiny_tokenizer, SENTENCE, CUE)
    assert pieces(tiny_tokenizer, reading) == [
        "[CLS]",
        "i",
        "do",
        "##n",
        "'",
        "t",
        "know",
        "x",
        "##y",
        "##z",
        ".",
        "[SEP]",
    ]
    assert reading.word_ids == [-1, 0, 1, 1, 1, 1, 2, 3, 3, 3, 4, -1]
    assert reading.cue_mask == [0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    assert reading.is_whole
    assert reading.example == 0


def test_augment_input(tiny_tokenizer: Any) -> None:
    [reading] = read(tiny_tokenizer, ["He", "does", "not", "see", "no", "cat"], [0, 0, 1, 0, 1, 0], cue_token=CUE_TOKEN)
    assert pieces(tiny_tokenizer, reading) == [
        "[CLS]",
        "he",
        "does",
        "[CUE]",
        "not",
        "see",
        "[CUE]",
        "no",
        "cat",
        "[SEP]",
    ]
    assert reading.word_ids == [-1, 0, 1, -1, 2, 3, -1, 4, 5, -1]
    assert reading.cue_mask == [0, 0, 0, 0, 1, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("cue_token", [None, CUE_TOKEN])
def test_a_batch_is_what_its_sentences_are(tokenizer: Any, cue_token: str | None) -> None:
    sentences = [SENTENCE, ["not"], ["a", "\u200d", "b"], [], ["naïve", "日本"]]
    cues = [CUE, [1], [0, 0, 1], [], [0, 0]]
    readings = read_cues(tokenizer, sentences, cues, max_length=64, cue_token=cue_token, max_cue_length=99)
    assert [reading.example for reading in readings] == [0, 1, 2, 3, 4]
    for number, reading in enumerate(readings):
        check(tokenizer, reading, sentences[number], cues[number], cue_token)
        [alone] = read(tokenizer, sentences[number], cues[number], cue_token=cue_token)
        assert (alone.input_ids, alone.cue_mask, alone.word_ids) == (
            reading.input_ids,
            reading.cue_mask,
            reading.word_ids,
        )
    assert read_cues(tokenizer, [], [], max_length=64, cue_token=cue_token, max_cue_length=99) == []


def test_a_word_without_pieces(tiny_tokenizer: Any) -> None:
    words = ["a", "\u200d", "not", "\u00ad", "the"]
    [reading] = read(tiny_tokenizer, words, [0, 1, 1, 0, 0], cue_token=CUE_TOKEN)
    assert pieces(tiny_tokenizer, reading) == ["[CLS]", "a", "[CUE]", "[CUE]", "not", "the", "[SEP]"]
    assert reading.word_ids == [-1, 0, -1, -1, 2, 4, -1]
    assert list(first_pieces(reading.word_ids)) == [(1, 0), (4, 2), (5, 4)]
    assert word_probabilities(5, [reading.word_ids], [[0.9] * 7])[1] == 0.0


def test_the_cue_token(tiny_tokenizer: Any) -> None:
    assert not add_cue_token(tiny_tokenizer), "it is known already"
    assert add_cue_token(tiny_tokenizer.__class__(vocab={"[UNK]": 0, "[PAD]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}))
    with pytest.raises(ValueError, match=r"does not know the cue token '\[ELSE\]'; call add_cue_token"):
        read(tiny_tokenizer, SENTENCE, CUE, cue_token="[ELSE]")


class SlowTokenizer:
    """Knows pieces and ids, but not which word a piece is of."""

    is_fast = False


def test_slow_tokenizers_are_refused(tiny_tokenizer: Any) -> None:
    require_fast(tiny_tokenizer)
    with pytest.raises(ValueError, match=r"SlowTokenizer cannot align word pieces.*load a fast tokenizer"):
        read(SlowTokenizer(), SENTENCE, CUE)


# ------------------------------------------------------------------------------------------------------------- windows

word_lists = st.lists(
    st.sampled_from(["a", "not", "xyz", "cat", "\u200d", "abcdefgh", "don't"]), min_size=1, max_size=14
)


@st.composite
def sentences_with_cue(draw: st.DrawFn) -> tuple[list[str], list[int]]:
    words = draw(word_lists)
    cue = draw(st.lists(st.integers(0, 1), min_size=len(words), max_size=len(words)).filter(lambda c: sum(c) <= 3))
    return words, cue


@given(
    given_cue=sentences_with_cue(),
    max_length=st.integers(6, 20),
    cue_token=st.sampled_from([None, CUE_TOKEN]),
    bytes_=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_windows(
    tiny_tokenizer: Any, byte_level_tokenizer: Any, given_cue: Any, max_length: int, cue_token: str | None, bytes_: bool
) -> None:
    tokenizer = byte_level_tokenizer if bytes_ else tiny_tokenizer
    words, cue = given_cue
    [whole] = read(tokenizer, words, cue, max_length=10**6, cue_token=cue_token)
    [single] = read(tokenizer, words, cue, max_length=max_length, cue_token=cue_token)
    overlapping = read(tokenizer, words, cue, max_length=max_length, cue_token=cue_token, overlapping=True)
    with_pieces = {word for word in whole.word_ids if word != NO_WORD}
    if len(whole.input_ids) <= max_length:
        assert single == whole
        assert overlapping == [whole]
        return
    assert overlapping[0] == single, "the window around the cue comes first"
    first = cue.index(1) if 1 in cue else 0
    for window in overlapping:
        assert not window.is_whole
        assert len(window.input_ids) <= max_length
        assert first in window.word_ids or first not in with_pieces
        check(tokenizer, window, words, cue, cue_token)
    reached = [{word for word in window.word_ids if word != NO_WORD} for window in overlapping]
    assert len(overlapping) <= 3
    if len(with_pieces) == len(words):
        assert len({tuple(window.word_ids) for window in overlapping}) == len(overlapping), "no window comes twice"
    for kept in reached:
        between = set(range(min(kept), max(kept) + 1)) & with_pieces if kept else set()
        assert kept == between, "no word in the middle is left out"
    assert set().union(*reached) >= reached[0]


@given(
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=12),
    cue_at=st.integers(0, 11),
    room=st.integers(1, 20),
)
@settings(max_examples=200, deadline=None)
def test_window_reach(lengths: list[int], cue_at: int, room: int) -> None:
    """Of a cue of one word: each window is as wide as it can be, the outer two as far out as they can be."""
    cue_at %= len(lengths)
    cue = [int(i == cue_at) for i in range(len(lengths))]
    windows = list(cue_windows(lengths, cue, room, overlapping=True))
    assert windows[:1] == list(cue_windows(lengths, cue, room, overlapping=False))

    def total(span: range) -> int:
        return sum(lengths[i] for i in span)

    if lengths[cue_at] > room:  # nothing else may push the cue out
        assert all(total(window) == lengths[cue_at] and cue_at in window for window in windows)
        return
    for window in windows:
        assert cue_at in window
        assert total(window) <= room
        if window.stop < len(lengths):
            assert total(range(window.start, window.stop + 1)) > room
    furthest_left = next(i for i in range(cue_at + 1) if total(range(i, cue_at + 1)) <= room)
    furthest_right = next(i for i in range(len(lengths), cue_at, -1) if total(range(cue_at, i)) <= room)
    assert min(window.start for window in windows) == furthest_left
    assert max(window.stop for window in windows) == furthest_right


def test_overlapping_windows_reach_further(tiny_tokenizer: Any) -> None:
    words, cue = list("abcdefghijk"), [int(i == 5) for i in range(11)]
    options: dict[str, Any] = {"max_length": 7, "cue_token": None}  # five words
    [single] = read(tiny_tokenizer, words, cue, **options)
    assert single.word_ids == [-1, 3, 4, 5, 6, 7, -1]
    windows = read(tiny_tokenizer, words, cue, **options, overlapping=True)
    assert [window.word_ids[1:-1] for window in windows] == [[3, 4, 5, 6, 7], [1, 2, 3, 4, 5], [5, 6, 7, 8, 9]]
    # Near an end, the room that one side cannot use goes to the other.
    [at_start] = read(tiny_tokenizer, words, [0, 1, *[0] * 9], **options)
    [at_end] = read(tiny_tokenizer, words, [*[0] * 10, 1], **options)
    assert at_start.word_ids[1:-1] == [0, 1, 2, 3, 4]
    assert at_end.word_ids[1:-1] == [6, 7, 8, 9, 10]


@pytest.mark.parametrize("cue_token", [None, CUE_TOKEN])
def test_a_word_longer_than_the_window(tokenizer: Any, cue_token: str | None) -> None:
    words, cue = ["the", "unbelievable" * 5, "cat"], [0, 1, 0]
    for window in read(tokenizer, words, cue, max_length=10, cue_token=cue_token, overlapping=True):
        assert len(window.input_ids) == 10
        assert sum(window.cue_mask) == (8 if cue_token is None else 7)
        check(tokenizer, window, words, cue, cue_token)


def test_a_cue_of_words_too_far_apart(tiny_tokenizer: Any) -> None:
    """Its first words are kept."""
    words, cue = list("abcdefghij"), [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    [window] = read(tiny_tokenizer, words, cue, max_length=6)
    assert window.word_ids == [-1, 0, 1, 2, 3, -1]


@pytest.mark.parametrize(
    ("limit", "marked"), [(1, [1]), (2, [1, 4]), (3, [1, 4, 5]), (4, [1, 4, 5, 6]), (9, [1, 4, 5, 6])]
)
def test_a_cue_of_more_pieces_than_a_model_takes(tiny_tokenizer: Any, limit: int, marked: list[int]) -> None:
    """Of *no ... xyz*, the first pieces are marked."""
    words, cue = ["no", "cat", "in", "xyz", "."], [1, 0, 0, 1, 0]
    [reading] = read(tiny_tokenizer, words, cue, max_cue_length=limit)
    assert [piece for piece, is_cue in enumerate(reading.cue_mask) if is_cue] == marked
    assert reading.is_whole == (limit >= 4)
    [window] = read(tiny_tokenizer, [*words, *"abcdefgh"], [*cue, *[0] * 8], max_length=9, max_cue_length=limit)
    assert sum(window.cue_mask) == min(limit, 4)


# -------------------------------------------------------------------------------------------------- back to words


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_word_probabilities(data: st.DataObject) -> None:
    num_words = data.draw(st.integers(1, 5))
    word_ids = data.draw(st.lists(st.lists(st.integers(-1, num_words - 1), max_size=8), max_size=3))
    values = [[data.draw(st.floats(0, 1)) for _ in window] for window in word_ids]
    for word, probability in enumerate(word_probabilities(num_words, word_ids, values)):
        means = []
        for ids, of_pieces in zip(word_ids, values, strict=True):
            own = [of_pieces[i] for i in range(len(ids)) if ids[i] == word]
            if own:
                means.append(sum(own) / len(own))
        assert probability == pytest.approx(sum(means) / len(means) if means else 0.0)


def test_first_pieces() -> None:
    """A special token inside a word does not begin it anew."""
    assert list(first_pieces([-1, 0, 0, -1, 0, 2, 2, 1, -1])) == [(1, 0), (5, 2), (7, 1)]
    assert list(first_pieces([])) == []


def test_collator() -> None:
    features = [
        {"input_ids": [5, 6, 7], "cue_mask": [0, 1, 0], "word_ids": [-1, 0, -1], "labels": [-100, 1, -100], "row": 3},
        {"input_ids": [8], "cue_mask": [0], "word_ids": [-1], "labels": [-100], "row": 4},
    ]
    batch = NegationCollator(9)(features)
    assert {name: tensor.tolist() for name, tensor in batch.items()} == {
        "input_ids": [[5, 6, 7], [8, 9, 9]],
        "attention_mask": [[1, 1, 1], [1, 0, 0]],
        "cue_mask": [[0, 1, 0], [0, 0, 0]],
        "word_ids": [[-1, 0, -1], [-1, -1, -1]],
        "labels": [[-100, 1, -100], [-100, -100, -100]],
    }
    assert all(tensor.dtype == torch.long for tensor in batch.values())
    assert NegationCollator(9, pad_to_multiple_of=4)(features)["labels"].shape == (2, 4)
    assert NegationCollator(9, pad_to_multiple_of=3)(features)["labels"].shape == (2, 3)
    unlabelled = [{"input_ids": [5], "cue_mask": [0]}]
    assert set(NegationCollator(9)(unlabelled)) == {"input_ids", "attention_mask", "cue_mask"}


def corpus(*sentences: tuple[list[str], list[int], list[int]]) -> Dataset:
    rows = [
        {
            "id": f"s{i}#0",
            "corpus": "x",
            "kind": "negation",
            "tokens": words,
            "cue": cue,
            "cue_text": "not",
            "scope": scope,
        }
        for i, (words, cue, scope) in enumerate(sentences)
    ]
    return Dataset.from_list(rows, features=NEGATION_FEATURES)


def test_features(tiny_tokenizer: Any, caplog: pytest.LogCaptureFixture) -> None:
    rows = corpus((SENTENCE, CUE, [0, 0, 1, 1, 0]), (["he", "does", "not"], [0, 0, 1], [1, 1, 0]))
    with caplog.at_level(logging.WARNING):
        features = negation_features(rows, tiny_tokenizer, max_length=32, cue_token=CUE_TOKEN)
    assert not caplog.records
    assert set(features.column_names) == set(FEATURE_COLUMNS)
    first, second = features
    ignored = IGNORED_LABEL
    assert first["labels"] == [ignored, 0, ignored, 0, *[ignored] * 3, 1, 1, ignored, ignored, 0, ignored]
    assert second["labels"] == [ignored, 1, 1, ignored, 0, ignored]
    for number, (feature, cue_token_at) in enumerate([(first, 2), (second, 3)]):
        assert feature["row"] == number
        assert feature["length"] == len(feature["input_ids"]) == len(feature["word_ids"])
        assert feature["scope"] == rows[number]["scope"]
        assert feature["cue_mask"].index(1) == cue_token_at + 1
        assert tiny_tokenizer.convert_ids_to_tokens(feature["input_ids"][cue_token_at]) == CUE_TOKEN


@pytest.mark.parametrize(("overlapping", "windows"), [(False, 1), (True, 3)])
def test_features_of_long_sentences(
    tiny_tokenizer: Any, caplog: pytest.LogCaptureFixture, overlapping: bool, windows: int
) -> None:
    words = list("abcdefghijk")
    rows = corpus((["not"], [1], [0]), (words, [int(i == 5) for i in range(11)], [int(i > 6) for i in range(11)]))
    with caplog.at_level(logging.WARNING):
        features = negation_features(rows, tiny_tokenizer, max_length=7, cue_token=None, overlapping=overlapping)
    [record] = caplog.records
    assert record.getMessage().startswith(f"{windows} of {windows + 1} inputs hold a part of their sentence")
    assert "more than 7 " in record.getMessage()
    assert features["row"] == [0, *[1] * windows]
    for feature in features:
        of_words = [
            (word, label) for word, label in zip(feature["word_ids"], feature["labels"], strict=True) if word >= 0
        ]
        assert of_words == [(word, rows[feature["row"]]["scope"][word]) for word, _ in of_words]
