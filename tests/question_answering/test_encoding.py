"""Questions and contexts as model inputs: windows, labels, summaries and batches."""

from __future__ import annotations

import logging
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clozeformers.question_answering.collator import QuestionAnsweringCollator
from clozeformers.question_answering.encoding import encode_questions
from clozeformers.question_answering.windows import WindowSizes, check_window_sizes, tokenize_questions
from tests.qa_models import CONTEXT, TOKENIZERS, bert_tokenizer, byte_tokenizer, word_tokenizer, xlnet_tokenizer

SMALL = {"max_length": 24, "max_question_length": 8, "doc_stride": 4}
SPACES = [" ", "\n", "\u00a0", "\u3000", "\t", "\r\n", "\x1f", "\u2009"]
SIGNS = ["😀", "👩‍👩‍👧", "\u200b", "é", "İ", "ﬁ", "中", "…", "."]
PARTS = [*SPACES, *SIGNS, " the ", "cat", " 1990", "[CLS]", "[SEP]", "<s>"]
characters = st.one_of(
    st.sampled_from(PARTS), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3)
)
contexts = st.lists(characters, min_size=1, max_size=30).map("".join)


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return TOKENIZERS[request.param]()


def row(number: int, context: str, question: str, answer: str | None, start: int | None = None) -> dict[str, Any]:
    answers = {"text": [], "answer_start": []} if answer is None else {"text": [answer], "answer_start": [start]}
    return {"id": f"q{number}", "title": "Cat", "context": context, "question": question, "answers": answers}


def corpus(*answers: str | None, context: str = CONTEXT, question: str = "who sits?") -> Dataset:
    """One question per answer about the same context; None for an unanswerable one."""
    return Dataset.from_list(
        [row(n, context, question, answer, answer and context.index(answer)) for n, answer in enumerate(answers)]
    )


def trained(rows: Dataset, tokenizer: Any, no_answer: bool = True, **sizes: int) -> tuple[Dataset, str]:
    return encode_questions(rows, tokenizer, for_training=True, no_answer=no_answer, **{"max_length": 200} | sizes)


def predicted(rows: Dataset, tokenizer: Any, **sizes: int) -> Dataset:
    return encode_questions(rows, tokenizer, for_training=False, no_answer=True, **{"max_length": 200} | sizes)[0]


def tokens_of(tokenizer: Any, feature: dict[str, Any]) -> list[str]:
    return tokenizer.convert_ids_to_tokens(feature["input_ids"])


def answer_of(rows: Dataset, feature: dict[str, Any], offsets: list[int]) -> str:
    start, end = offsets[2 * feature["start_positions"]], offsets[2 * feature["end_positions"] + 1]
    return rows[feature["row"]]["context"][start:end]


def test_question_with_its_context() -> None:
    tokenizer = word_tokenizer()
    [feature] = predicted(corpus(None, question="  who\nsits"), tokenizer)
    assert tokens_of(tokenizer, feature)[:9] == ["[CLS]", "who", "sits", "[SEP]", "The", "cat", "sits", "on", "the"]
    assert feature["token_type_ids"] == [0] * 4 + [1] * (feature["length"] - 4)
    assert feature["length"] == len(feature["input_ids"]) == len(feature["char_ids"]) // 16
    assert feature["char_ids"][:16] == [0] * 16
    assert feature["char_ids"][16:20] == [1 + ord(letter) % 97 for letter in "who"] + [0]
    assert (feature["row"], feature["cls_position"]) == (0, 0)
    spans = np.reshape(feature["offsets"], (-1, 2)).tolist()
    assert [*spans[:4], spans[-1]] == [[-1, -1]] * 5
    words = " ".join(CONTEXT[start:end] for start, end in spans[4:-1])
    assert words == "The cat sits on the mat . In 1990 it cost $ 5 , says Dr . Who of Paris ."


def test_context_comes_first_for_tokenizers_that_pad_on_the_left() -> None:
    tokenizer = xlnet_tokenizer()
    [feature] = predicted(corpus(None), tokenizer)
    tokens = tokens_of(tokenizer, feature)
    assert (tokens[0], tokens[1], tokens[-1]) == ("▁", "T", "<cls>")
    assert feature["cls_position"] == feature["length"] - 1
    assert feature["offsets"][2:4] == [0, 1]
    assert "".join(tokens).endswith("<sep>▁who▁sits?<sep><cls>")
    for window in predicted(corpus(None), tokenizer, **SMALL):
        assert tokens_of(tokenizer, window)[window["cls_position"]] == "<cls>"


@given(context=contexts, question=st.text(st.characters(exclude_categories=["Cs"]), max_size=12), data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_windows_of_any_text(tokenizer: Any, context: str, question: str, data: st.DataObject) -> None:
    special = tokenizer.num_special_tokens_to_add(pair=True)
    longest, stride = data.draw(st.integers(1, 9)), data.draw(st.integers(0, 9))
    max_length = data.draw(st.integers(special + longest + stride + 1, special + longest + stride + 20))
    [encoded] = tokenize_questions(tokenizer, [question], [context], longest)
    [whole] = tokenize_questions(tokenizer, [question], [context], 10**6)
    assert whole.inputs["input_ids"][whole.context].tolist() == encoded.inputs["input_ids"][encoded.context].tolist()
    for start, end in encoded.spans[(encoded.spans >= 0).all(axis=1)]:
        assert context[start:end]
        assert context[start:end] == context[start:end].strip()
    windows = list(encoded.windows(max_length, stride))
    assert all(len(window) <= max_length for window in windows)
    outside = [position for position in range(len(encoded.spans)) if position not in encoded.context]
    assert len(outside) <= special + longest
    inside = [[position for position in window if position in encoded.context] for window in windows]
    assert all(sorted(set(window) - set(part)) == outside for window, part in zip(windows, inside, strict=True))
    assert sorted({position for part in inside for position in part}) == list(encoded.context)
    for part, following in pairwise(inside):
        assert len(part) + len(outside) == max_length
        assert part[len(part) - stride :] == following[:stride]
        assert following[-1] > part[-1]
    assert encoded.cls_position in outside or encoded.cls_position == 0
    start = data.draw(st.integers(0, len(context) - 1))
    end = data.draw(st.integers(start + 1, len(context)))
    held = [place for place, (first, last) in enumerate(encoded.spans.tolist()) if first < end and start < last]
    assert encoded.find_tokens(start, end) == ((held[0], held[-1]) if held else None)


def test_position_of_no_answer() -> None:
    tokenizer = xlnet_tokenizer()
    [encoded] = tokenize_questions(tokenizer, ["who <cls> sits"], ["The <cls> cat <sep>"], 50)
    assert encoded.inputs["input_ids"].tolist().count(tokenizer.cls_token_id) == 3
    assert encoded.cls_position == len(encoded.spans) - 1
    without_cls, without_bos = byte_tokenizer(), byte_tokenizer()
    without_bos.bos_token = None
    assert tokenize_questions(without_cls, ["who"], ["<s> cat"], 50)[0].cls_position == 0
    assert tokenize_questions(without_bos, ["who"], ["cat"], 50)[0].cls_position == 0


def test_long_questions_are_truncated(tokenizer: Any) -> None:
    rows = corpus("mat", question="who sits on the mat of the cat in Paris " * 3)
    features, summary = trained(rows, tokenizer, max_question_length=3)
    assert "; 1 questions truncated" in summary
    [whole] = trained(rows, tokenizer, max_question_length=150, max_length=1000)[0]
    tokens, all_tokens = tokens_of(tokenizer, features[0]), tokens_of(tokenizer, whole)
    assert len(tokens) < len(all_tokens)
    if tokenizer.padding_side == "right":
        assert tokens[:4] == all_tokens[:4]
    in_context = len(tokenizer(CONTEXT, add_special_tokens=False)["input_ids"])
    assert len(tokens) == 3 + tokenizer.num_special_tokens_to_add(pair=True) + in_context


@pytest.mark.parametrize(
    ("sizes", "error", "message"),
    [
        ((4, 1, 0), ValueError, "max_length is 4; it must be at least 5 .*3 special tokens"),
        ((20, 0, 0), ValueError, "max_question_length is 0; it must be from 1 to 16"),
        ((20, 17, 0), ValueError, "max_question_length is 17; it must be from 1 to 16"),
        ((20, 10, 7), ValueError, "doc_stride is 7; it must be from 0 to 6 .*max_question_length=10, doc_stride=7"),
        ((20, 10, -1), ValueError, "doc_stride is -1"),
        ((20.0, 10, 1), TypeError, "max_length is 20.0; it must be a whole number"),
        ((20, True, 1), TypeError, "max_question_length is True"),
    ],
)
def test_lengths_without_room(sizes: tuple[int, int, int], error: type[Exception], message: str) -> None:
    tokenizer = word_tokenizer()
    check_window_sizes(WindowSizes(20, 10, 6), tokenizer)
    with pytest.raises(error, match=message):
        predicted(corpus(None), tokenizer, **dict(zip(WindowSizes._fields, sizes, strict=True)))


@pytest.mark.parametrize(
    ("answers", "words", "summary"),
    [
        (["The cat", "on", "1990", "mat.  In", " it cost ", "Dr."], None, "6 questions in 6 inputs"),
        (
            ["990", "Pari", "Who\u00a0of Par", "mat", " ", " "],
            ["1990", "Paris", "Who\u00a0of Paris", "mat"],
            "6 questions in 4 inputs; 3 answers widened to whole tokens; 2 answers without any token",
        ),
    ],
)
def test_labels_are_the_answers_widened_to_words(answers: list[str], words: list[str] | None, summary: str) -> None:
    rows, tokenizer = corpus(*answers), word_tokenizer()
    features, found_summary = trained(rows, tokenizer)
    offsets = predicted(rows, tokenizer)["offsets"]
    found = [answer_of(rows, feature, offsets[feature["row"]]) for feature in features]
    assert found == (words or [answer.strip() for answer in answers])
    assert found_summary == summary


def test_labels_of_random_answers(tokenizer: Any) -> None:
    generator = random.Random(0)
    rows = []
    for number in range(80):
        context = "".join(generator.choices(PARTS, k=generator.randint(1, 20)))
        start = generator.randrange(len(context))
        rows.append(row(number, context, "who", context[start : generator.randint(start + 1, len(context))], start))
    corpus = Dataset.from_list(rows)
    features, _ = trained(corpus, tokenizer, max_length=1000)
    offsets = predicted(corpus, tokenizer, max_length=1000)["offsets"]
    labelled = {feature["row"]: (feature["start_positions"], feature["end_positions"]) for feature in features}
    for number, one in enumerate(rows):
        [start], [text] = one["answers"]["answer_start"], one["answers"]["text"]
        span = np.reshape(offsets[number], (-1, 2))
        held = np.flatnonzero((span[:, 0] < start + len(text)) & (span[:, 1] > start))
        expected = (held[0], held[-1]) if len(held) and text.strip() else None
        assert labelled.get(number) == expected
    assert len(labelled) > 20


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_windows_without_the_answer(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    tokenizer = TOKENIZERS[kind]()
    rows = corpus("mat", None, context=CONTEXT * 4)
    windows = predicted(rows, tokenizer, **SMALL)
    with caplog.at_level(logging.INFO, "clozeformers"):
        features, summary = trained(rows, tokenizer, **SMALL)
    assert summary in caplog.text
    assert len(features) == len(windows)
    in_window = 0
    for feature, window in zip(features, windows, strict=True):
        assert feature["input_ids"] == window["input_ids"]
        spans = np.reshape(window["offsets"], (-1, 2))
        held = {place for start, end in spans for place in range(start, end)}
        if feature["row"] == 0 and held.issuperset(range(CONTEXT.index("mat"), CONTEXT.index("mat") + 3)):
            in_window += 1
            assert answer_of(rows, feature, window["offsets"]) == "mat"
        else:
            assert [feature["start_positions"], feature["end_positions"]] == [window["cls_position"]] * 2
    assert in_window
    outside = windows["row"][:].count(0) - in_window
    ending = f"; 1 questions without an answer; {outside} windows without the answer"
    assert summary.startswith(f"2 questions in {len(windows)} inputs; 2 contexts split into windows; ")
    assert summary.endswith(ending)
    without, summary = trained(rows, tokenizer, no_answer=False, **SMALL)
    assert len(without) == in_window
    assert summary.startswith(f"2 questions in {in_window} inputs; ")
    assert summary.endswith(ending)


@pytest.mark.parametrize("start", [4, -1])
def test_answer_at_another_place(start: int) -> None:
    rows = Dataset.from_list([row(0, CONTEXT, "who?", "mat", start)])
    with pytest.raises(ValueError, match=f"'q0': its answer 'mat' is not at character {start} of the context; correct"):
        trained(rows, word_tokenizer())
    with pytest.raises(ValueError, match="there are no rows"):
        trained(rows.select([]), word_tokenizer())


def test_context_of_white_space(tokenizer: Any) -> None:
    [feature] = predicted(corpus(None, context=" "), tokenizer)
    assert set(feature["offsets"]) == {-1}


def test_column_types() -> None:
    rows = corpus("mat", None)
    training, prediction = trained(rows, word_tokenizer())[0], predicted(rows, word_tokenizer())
    common = {"input_ids": "int32", "token_type_ids": "int8", "char_ids": "uint16", "length": "int32", "row": "int32"}
    labels = {"start_positions": "int32", "end_positions": "int32"}
    places = {"offsets": "int32", "cls_position": "int32"}
    unlabelled = predicted(rows.remove_columns("answers"), word_tokenizer())
    for features, own in ((training, labels), (prediction, labels | places), (unlabelled, places)):
        types = {name: getattr(kind, "feature", kind).dtype for name, kind in features.features.items()}
        assert types == common | own
    assert "char_ids" not in predicted(rows, bert_tokenizer()).column_names
    assert "token_type_ids" not in predicted(rows, byte_tokenizer()).column_names


def test_features_of_a_stored_corpus_are_cached(tmp_path: Path) -> None:
    corpus("mat", "990", " ", None).save_to_disk(tmp_path)
    tokenizer = word_tokenizer()
    first, summary = trained(Dataset.load_from_disk(str(tmp_path)), tokenizer)
    again, same_summary = trained(Dataset.load_from_disk(str(tmp_path)), tokenizer)
    assert first.cache_files == again.cache_files != []
    assert summary == same_summary
    other, _ = trained(Dataset.load_from_disk(str(tmp_path)), tokenizer, max_length=190)
    names = [{file["filename"] for file in features.cache_files} for features in (first, other)]
    assert names[0].isdisjoint(names[1])


@pytest.mark.parametrize("as_arrays", [False, True])
def test_batches_are_padded_to_their_longest(as_arrays: bool) -> None:
    rows = Dataset.from_list([*corpus("mat"), *corpus("cat", context="The cat .")])
    features = trained(rows, word_tokenizer())[0].with_format("numpy" if as_arrays else None)
    long, short = features[0], features[1]
    assert (int(short["length"]), int(short["start_positions"])) == (9, 6)
    batch = QuestionAnsweringCollator(7)([long, short])
    length = int(long["length"])
    names = ("input_ids", "attention_mask", "token_type_ids", "char_ids", "start_positions", "end_positions")
    assert set(batch) == set(names)
    assert all(values.dtype == torch.int64 for values in batch.values())
    assert batch["char_ids"].shape == (2, length, 16)
    for name, padding in (("input_ids", 7), ("token_type_ids", 0), ("attention_mask", 0), ("char_ids", 0)):
        given = np.ones(9) if name == "attention_mask" else np.reshape(short[name], batch[name][1, :9].shape)
        assert batch[name][1, :9].tolist() == given.tolist()
        assert (batch[name][1, 9:] == padding).all()
    for name in ("start_positions", "end_positions"):
        assert batch[name].tolist() == [long[name], short[name]]


def test_batch_of_features_without_optional_columns() -> None:
    features = predicted(corpus(None, None).remove_columns("answers"), byte_tokenizer())
    assert set(QuestionAnsweringCollator(0)(list(features))) == {"input_ids", "attention_mask"}
