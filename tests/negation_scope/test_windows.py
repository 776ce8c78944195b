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
from tokenizers import pre_tokenizers
from transformers import RobertaTokenizer

from clozeformers import BertNegationScopeOAConfig
from clozeformers.modeling.losses import IGNORED_LABEL
from clozeformers.negation_scope.collator import NegationCollator
from clozeformers.negation_scope.corpora.schema import NEGATION_FEATURES
from clozeformers.negation_scope.encoding import encode_dataset
from clozeformers.negation_scope.windows import (
    CUE_TOKEN,
    NO_WORD,
    EncodedWindow,
    add_cue_token,
    cue_windows,
    encode_cues,
    tiles,
    word_probabilities,
)

SENTENCE = ["I", "don't", "know", "xyz", "."]
CUE = [0, 1, 0, 0, 0]
SPECIAL = {"[CLS]", "[SEP]", "<s>", "</s>", CUE_TOKEN}


@pytest.fixture(scope="module")
def byte_level_tokenizer() -> RobertaTokenizer:
    """One piece a byte, the space before a word among them."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = RobertaTokenizer(vocab=vocabulary, merges=[], add_prefix_space=True)
    assert add_cue_token(tokenizer)
    return tokenizer


@pytest.fixture(scope="module", params=["wordpiece", "bytes"])
def tokenizer(request: pytest.FixtureRequest, tiny_tokenizer: Any, byte_level_tokenizer: Any) -> Any:
    return tiny_tokenizer if request.param == "wordpiece" else byte_level_tokenizer


def encode(tokenizer: Any, words: Sequence[str], cue: Sequence[int], **options: Any) -> list[EncodedWindow]:
    cue_token = options.pop("cue_token", None)
    defaults = {"max_length": 64, "mark_tokens": cue_token and [cue_token]}
    return encode_cues(tokenizer, [words], [cue], **defaults | options)


def check(
    tokenizer: Any, window: EncodedWindow, words: Sequence[str], cue: Sequence[int], cue_token: str | None
) -> None:
    """Each word's pieces are its own, in order, marked if it is the cue; the cue token precedes each cue word."""
    pieces = tokenizer.convert_ids_to_tokens(window.input_ids)
    for piece, word, is_cue in zip(pieces, window.word_ids, window.cue_mask, strict=True):
        assert is_cue == (word != NO_WORD and cue[word])
        assert (word == NO_WORD) == (piece in SPECIAL)
    encoded_words = list(dict.fromkeys(word for word in window.word_ids if word != NO_WORD))
    assert encoded_words == sorted(encoded_words)
    for word in encoded_words:
        own = [piece for piece, of in zip(window.input_ids, window.word_ids, strict=True) if of == word]
        alone = tokenizer([words[word]], is_split_into_words=True, add_special_tokens=False)["input_ids"]
        assert own == alone[: len(own)]
    # A cue word without pieces has its token too, in front of whatever follows.
    after_token = [window.word_ids[i + 1] for i, piece in enumerate(pieces) if piece == CUE_TOKEN]
    expected = [word for word in encoded_words if cue[word]] if cue_token else []
    assert [word for word in after_token if word in expected] == expected


def test_normal_input(tiny_tokenizer: Any) -> None:
    [window] = encode(tiny_tokenizer, SENTENCE, CUE)
    pieces = "[CLS] i do ##n ' t know x ##y ##z . [SEP]"
    assert tiny_tokenizer.convert_ids_to_tokens(window.input_ids) == pieces.split()
    assert window.word_ids == [-1, 0, 1, 1, 1, 1, 2, 3, 3, 3, 4, -1]
    assert window.cue_mask == [0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    assert window.is_whole


def test_augment_input(tiny_tokenizer: Any) -> None:
    words, cue = ["He", "does", "not", "see", "no", "cat"], [0, 0, 1, 0, 1, 0]
    [window] = encode(tiny_tokenizer, words, cue, cue_token=CUE_TOKEN)
    pieces = "[CLS] he does [CUE] not see [CUE] no cat [SEP]"
    assert tiny_tokenizer.convert_ids_to_tokens(window.input_ids) == pieces.split()
    assert window.word_ids == [-1, 0, 1, -1, 2, 3, -1, 4, 5, -1]
    assert window.cue_mask == [0, 0, 0, 0, 1, 0, 0, 1, 0, 0]


def test_other_words_than_the_cue_can_be_marked(tiny_tokenizer: Any) -> None:
    words, marked = ["He", "does", "not", "see", "no", "cat"], [[0, 0, 1, 0, 1, 0]]
    for cue, mask in (([0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0, 0, 1, 0, 0]), (None, [0] * 10)):
        options = {"mark_tokens": [CUE_TOKEN], "marked": marked}
        [window] = encode_cues(tiny_tokenizer, [words], cue and [cue], max_length=64, **options)
        pieces = "[CLS] he does [CUE] not see [CUE] no cat [SEP]"
        assert tiny_tokenizer.convert_ids_to_tokens(window.input_ids) == pieces.split()
        assert window.cue_mask == mask


@pytest.mark.parametrize("cue_token", [None, CUE_TOKEN])
def test_batch(tokenizer: Any, cue_token: str | None) -> None:
    sentences = [SENTENCE, ["not"], ["a", "\u200d", "b"], [], ["naïve", "日本"]]
    cues = [CUE, [1], [0, 0, 1], [], [0, 0]]
    tokens = cue_token and [cue_token] * len(sentences)
    windows = encode_cues(tokenizer, sentences, cues, max_length=64, mark_tokens=tokens)
    assert [window.example for window in windows] == [0, 1, 2, 3, 4]
    for window, words, cue in zip(windows, sentences, cues, strict=True):
        check(tokenizer, window, words, cue, cue_token)
        [alone] = encode(tokenizer, words, cue, cue_token=cue_token)
        assert vars(alone) == vars(window) | {"example": 0}
    assert encode_cues(tokenizer, [], [], max_length=64, mark_tokens=cue_token and []) == []


def test_word_without_pieces(tiny_tokenizer: Any) -> None:
    words = ["a", "\u200d", "not", "\u00ad", "the"]
    [window] = encode(tiny_tokenizer, words, [0, 1, 1, 0, 0], cue_token=CUE_TOKEN)
    pieces = ["[CLS]", "a", "[CUE]", "[CUE]", "not", "the", "[SEP]"]
    assert tiny_tokenizer.convert_ids_to_tokens(window.input_ids) == pieces
    assert window.word_ids == [-1, 0, -1, -1, 2, 4, -1]
    assert word_probabilities(5, [window.word_ids], [[0.9] * 7])[1] == 0.0


def test_cue_token_and_tokenizer_are_checked(tiny_tokenizer: Any) -> None:
    assert not add_cue_token(tiny_tokenizer), "the fixture has added it"
    assert add_cue_token(tiny_tokenizer.__class__(vocab={"[UNK]": 0, "[PAD]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}))
    with pytest.raises(ValueError, match=r"does not know the cue token '\[ELSE\]'; call add_cue_token"):
        encode(tiny_tokenizer, SENTENCE, CUE, cue_token="[ELSE]")


@st.composite
def sentences_with_cue(draw: st.DrawFn) -> tuple[list[str], list[int]]:
    word = st.sampled_from(["a", "not", "xyz", "cat", "\u200d", "abcdefgh", "don't"])
    words = draw(st.lists(word, min_size=1, max_size=14))
    cue = draw(st.lists(st.integers(0, 1), min_size=len(words), max_size=len(words)).filter(lambda c: sum(c) <= 3))
    return words, cue


@given(
    given_cue=sentences_with_cue(),
    max_length=st.integers(6, 20),
    cue_token=st.sampled_from([None, CUE_TOKEN]),
    bytes_=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_windows(
    tiny_tokenizer: Any, byte_level_tokenizer: Any, given_cue: Any, max_length: int, cue_token: str | None, bytes_: bool
) -> None:
    tokenizer = byte_level_tokenizer if bytes_ else tiny_tokenizer
    words, cue = given_cue
    [whole] = encode(tokenizer, words, cue, max_length=10**6, cue_token=cue_token)
    [single] = encode(tokenizer, words, cue, max_length=max_length, cue_token=cue_token)
    overlapping = encode(tokenizer, words, cue, max_length=max_length, cue_token=cue_token, overlapping=True)
    assert overlapping[0] == single, "the window around the cue comes first"
    if len(whole.input_ids) <= max_length:
        assert overlapping == [whole]
        return
    with_pieces = set(whole.word_ids) - {NO_WORD}
    first = cue.index(1) if 1 in cue else 0
    for window in overlapping:
        assert not window.is_whole
        assert len(window.input_ids) <= max_length
        assert window.input_ids[0] == whole.input_ids[0]
        assert window.input_ids[-1] == whole.input_ids[-1]
        assert first in window.word_ids or first not in with_pieces
        check(tokenizer, window, words, cue, cue_token)
        kept = set(window.word_ids) - {NO_WORD}
        assert not kept or kept == with_pieces & set(range(min(kept), max(kept) + 1)), "no gaps"
    assert len(overlapping) <= 3
    if len(with_pieces) == len(words):
        assert len({tuple(window.word_ids) for window in overlapping}) == len(overlapping), "no window comes twice"


@given(
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=12),
    cue_at=st.integers(0, 11),
    room=st.integers(1, 20),
)
@settings(max_examples=100, deadline=None)
def test_window_reach(lengths: list[int], cue_at: int, room: int) -> None:
    """Of a cue of one word: each window is as wide as it can be, the outer two as far out as they can be."""
    cue_at %= len(lengths)
    cue = [int(i == cue_at) for i in range(len(lengths))]
    windows = list(cue_windows(lengths, room, cue=cue, overlapping=True))
    assert windows[:1] == list(cue_windows(lengths, room, cue=cue, overlapping=False))

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


@pytest.mark.parametrize(
    ("cue_words", "windows"),
    [({5}, [range(3, 8), range(1, 6), range(5, 10)]), ({0}, [range(5)]), ({10}, [range(6, 11)]), ({0, 9}, [range(5)])],
)
def test_windows_around_a_cue(cue_words: set[int], windows: list[range]) -> None:
    """One side gets the room that the other cannot use; of a cue that is too wide, the first words are kept."""
    cue = [int(number in cue_words) for number in range(11)]
    assert list(cue_windows([1] * 11, 5, cue=cue, overlapping=True)) == windows


@pytest.mark.parametrize("cue_token", [None, CUE_TOKEN])
def test_word_longer_than_the_window(tokenizer: Any, cue_token: str | None) -> None:
    words, cue = ["the", "unbelievable" * 5, "cat"], [0, 1, 0]
    for window in encode(tokenizer, words, cue, max_length=10, cue_token=cue_token, overlapping=True):
        assert len(window.input_ids) == 10
        assert sum(window.cue_mask) == (8 if cue_token is None else 7)
        check(tokenizer, window, words, cue, cue_token)


@pytest.mark.parametrize(("limit", "marked"), [(1, [1]), (3, [1, 4, 5]), (4, [1, 4, 5, 6]), (9, [1, 4, 5, 6])])
def test_max_cue_length_keeps_the_first_pieces(tiny_tokenizer: Any, limit: int, marked: list[int]) -> None:
    words, cue = ["no", "cat", "in", "xyz", "."], [1, 0, 0, 1, 0]
    [whole] = encode(tiny_tokenizer, words, cue, max_cue_length=limit)
    assert [piece for piece, is_cue in enumerate(whole.cue_mask) if is_cue] == marked
    assert whole.is_whole == (limit >= 4)
    [window] = encode(tiny_tokenizer, [*words, *"abcdefgh"], [*cue, *[0] * 8], max_length=9, max_cue_length=limit)
    assert sum(window.cue_mask) == min(limit, 4)


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
    unlabelled = [{"input_ids": [5], "cue_mask": [0]}]
    assert set(NegationCollator(9)(unlabelled)) == {"input_ids", "attention_mask", "cue_mask"}


def corpus(*sentences: tuple[list[str], list[int], list[int]]) -> Dataset:
    same = {"corpus": "x", "kind": "negation", "cue_text": ""}
    rows = [
        {"id": f"s{i}#0", **same, "tokens": words, "cue": cue, "scope": scope}
        for i, (words, cue, scope) in enumerate(sentences)
    ]
    return Dataset.from_list(rows, features=NEGATION_FEATURES)


def test_encode_dataset(tiny_tokenizer: Any, caplog: pytest.LogCaptureFixture) -> None:
    rows = corpus((SENTENCE, CUE, [0, 0, 1, 1, 0]), (["he", "does", "not"], [0, 0, 1], [1, 1, 0]))
    with caplog.at_level(logging.WARNING):
        features = encode_dataset(
            rows, tiny_tokenizer, max_length=32, config=BertNegationScopeOAConfig(cue_token=CUE_TOKEN)
        )
    assert not caplog.records
    first, second = features
    ignored = IGNORED_LABEL
    assert first["labels"] == [ignored, 0, ignored, 0, *[ignored] * 3, 1, 1, ignored, ignored, 0, ignored]
    assert second["labels"] == [ignored, 1, 1, ignored, 0, ignored]
    for number, feature in enumerate(features):
        assert feature["row"] == number
        assert feature["length"] == len(feature["input_ids"]) == len(feature["word_ids"])
        assert feature["scope"] == rows[number]["scope"]
        cue_token_at = feature["cue_mask"].index(1) - 1
        assert tiny_tokenizer.convert_ids_to_tokens(feature["input_ids"][cue_token_at]) == CUE_TOKEN


@pytest.mark.parametrize(("overlapping", "windows"), [(False, 1), (True, 3)])
def test_encode_dataset_with_long_sentences(
    tiny_tokenizer: Any, caplog: pytest.LogCaptureFixture, overlapping: bool, windows: int
) -> None:
    cue, scope = [int(i == 5) for i in range(11)], [int(i > 6) for i in range(11)]
    rows = corpus((["not"], [1], [0]), (list("abcdefghijk"), cue, scope))
    options: dict[str, Any] = {"max_length": 7, "config": BertNegationScopeOAConfig()}
    with caplog.at_level(logging.WARNING):
        features = encode_dataset(rows, tiny_tokenizer, **options, overlapping=overlapping)
    [record] = caplog.records
    assert record.getMessage().startswith(f"{windows} of {windows + 1} inputs hold a part of their sentence")
    assert "more than 7 " in record.getMessage()
    assert features["row"] == [0, *[1] * windows]
    for feature in features:
        pairs = zip(feature["word_ids"], feature["labels"], strict=True)
        assert all(label == rows[feature["row"]]["scope"][word] for word, label in pairs if word != NO_WORD)


def test_a_word_may_count_at_its_first_piece(tiny_tokenizer: Any) -> None:
    rows = corpus((SENTENCE, CUE, [0, 0, 1, 1, 0]))
    options: dict[str, Any] = {"max_length": 32, "config": BertNegationScopeOAConfig(cue_token=CUE_TOKEN)}
    [pieces], [first] = (
        encode_dataset(rows, tiny_tokenizer, **options, label_pieces=which) for which in ("all", "first")
    )
    assert first["labels"] == pieces["labels"]
    assert [word != NO_WORD for word in first["word_ids"]] == [label != IGNORED_LABEL for label in first["labels"]]
    assert [word for word in first["word_ids"] if word != NO_WORD] == [0, 1, 2, 3, 4]
    assert first["word_ids"] != pieces["word_ids"]


def test_windows_of_sentences_without_a_cue(tokenizer: Any) -> None:
    sentences = [SENTENCE * 5, ["a"], ["long" * 30, "b"]]
    windows = encode_cues(tokenizer, sentences, None, max_length=16)
    for number, words in enumerate(sentences):
        own = [window for window in windows if window.example == number]
        assert all(len(window.input_ids) <= 16 and not any(window.cue_mask) for window in own)
        seen = [word for window in own for word in dict.fromkeys(window.word_ids) if word != NO_WORD]
        assert seen == list(range(len(words))), "each word is in one window"


@given(lengths=st.lists(st.integers(0, 9), max_size=12), room=st.integers(1, 20))
@settings(max_examples=100, deadline=None)
def test_tiles(lengths: list[int], room: int) -> None:
    windows = list(tiles(lengths, room))
    assert [word for window in windows for word in window] == list(range(len(lengths)))
    for window in windows:
        assert sum(lengths[word] for word in window) <= room or len(window) == 1
