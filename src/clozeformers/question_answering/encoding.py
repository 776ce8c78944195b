"""Rows of a question answering corpus to tokenised features."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from enum import IntFlag
from typing import Any, NamedTuple

import numpy as np
from datasets import Dataset, Features, List, Value

from .windows import TokenisedQuestion, WindowSizes, check_window_sizes, tokenise_questions

logger = logging.getLogger(__name__)

_TYPES = {
    "input_ids": List(Value("int32")),
    "token_type_ids": List(Value("int8")),
    "char_ids": List(Value("uint16")),
}
_BOOKKEEPING_TYPES = {"length": Value("int32"), "row": Value("int32"), "notes": Value("uint8")}
_TRAINING_TYPES = {"start_positions": Value("int32"), "end_positions": Value("int32")}
_PREDICTION_TYPES = {"offsets": List(Value("int32")), "cls_position": Value("int32")}


# Beyond every input: there, all models ignore a label.
IGNORED_POSITION = 10**6


class _Note(IntFlag):
    """What happened to a window's question, or to the window; kept in a column, so that a cached result has it too."""

    CUT_QUESTION = 1
    UNANSWERABLE = 2
    WIDENED = 4
    LOST = 8
    ANSWER_OUTSIDE = 16


class FeatureReport(NamedTuple):
    """What tokenising made of a corpus. All are numbers of questions but `features` and `windows_without_answer`.

    Attributes:
        questions: all questions.
        features: inputs that came out.
        windowed: questions with a context in several windows.
        cut_questions: questions longer than `max_question_length`.
        unanswerable: questions without an answer (counted for training only, as are the following).
        widened: answers that begin or end inside a word or piece, which was taken whole.
        lost: answers without any word or piece; such questions are left out.
        windows_without_answer: windows that do not hold the whole answer of their question.
        no_answer: whether these windows, and unanswerable questions, are labelled with `[CLS]`.
        for_training: whether they are left out otherwise; for prediction, all are read, without a label.
    """

    questions: int
    features: int
    windowed: int
    cut_questions: int
    unanswerable: int
    widened: int
    lost: int
    windows_without_answer: int
    no_answer: bool
    for_training: bool

    def __str__(self) -> str:
        fate = "labelled as no answer" if self.no_answer else "left out" if self.for_training else "without a label"
        parts = (
            (self.windowed, "contexts read in several windows"),
            (self.cut_questions, "questions cut"),
            (self.unanswerable, f"questions without answer, {fate}"),
            (self.widened, "answers widened to whole words or pieces"),
            (self.lost, f"answers without any word, {'left out' if self.for_training else 'without a label'}"),
            (self.windows_without_answer, f"windows without the answer, {fate}"),
        )
        notes = "".join(f"; {count:,} {what}" for count, what in parts if count)
        return f"{self.questions:,} questions in {self.features:,} inputs{notes}"


def qa_features(
    rows: Dataset,
    tokenizer: Any,
    *,
    max_length: int,
    max_question_length: int = 50,
    doc_stride: int = 128,
    for_training: bool,
    no_answer: bool,
) -> tuple[Dataset, FeatureReport]:
    """Tokenise corpus rows.

    Lengths are in the tokenizer's words or pieces. A context that does not fit beside its question is read in windows.
    For training, the first answer of a row is learned; one that begins or ends inside a word is widened to it.

    Args:
        rows: with the columns `id`, `question`, `context` and, for training, `answers`, as the Hub's `squad` has them.
        tokenizer: a fast tokenizer.
        max_length: most in an input, special tokens included.
        max_question_length: most of a question; of a longer one, the first are kept.
        doc_stride: how many neighbouring windows of a context share.
        for_training: give labels; otherwise what `predict_answers` needs.
        no_answer: for training, label windows without the answer with the position of `[CLS]`; otherwise they are left
            out.

    Returns:
        The features, a row a window: `input_ids`, `length`, `row` (the number of the corpus row) and, where the
        tokenizer gives them, `token_type_ids` and `char_ids` (flat, ``L * W``). With answers, also `start_positions`
        and `end_positions`; for prediction, all windows, and `offsets` (flat, ``L * 2``: start and end in the context's
        characters, -1 outside of it) and `cls_position`, the no-answer slot. And the counts.

    Raises:
        ValueError: without rows; for lengths that leave windows no room; for an answer that does not stand at its
            place.
    """
    if not len(rows):
        raise ValueError("there are no rows to tokenise; give at least one question")
    sizes = WindowSizes(max_length, max_question_length, doc_stride)
    check_window_sizes(sizes, tokenizer)
    # Besides showing the columns, this leaves the tokenizer as every later call does, so that caching knows it again.
    [shown] = tokenise_questions(tokenizer, [""], [""], max_question_length)
    is_labelled = for_training or "answers" in rows.column_names
    own_types = {} if for_training else dict(_PREDICTION_TYPES)
    if is_labelled:
        own_types |= _TRAINING_TYPES
    types = {name: _TYPES[name] for name in shown.inputs} | _BOOKKEEPING_TYPES | own_types

    def tokenise(batch: dict[str, list[Any]], indices: list[int]) -> dict[str, list[Any]]:
        features: dict[str, list[Any]] = {name: [] for name in types}
        questions = tokenise_questions(tokenizer, batch["question"], batch["context"], max_question_length)
        for number, question in enumerate(questions):
            answer = None
            notes = _Note.CUT_QUESTION if question.is_cut else _Note(0)
            if is_labelled:
                row = {name: batch[name][number] for name in ("id", "context", "answers")}
                answer, answer_notes = _answer_tokens(row, question)
                notes |= answer_notes
            for feature in _windows(question, sizes, answer, notes, no_answer):
                feature["row"] = indices[number]
                for name, values in features.items():
                    values.append(feature[name])
        return features

    tokenised = rows.map(
        tokenise,
        batched=True,
        with_indices=True,
        remove_columns=rows.column_names,
        features=Features(types),
        desc="Tokenising",
    )
    notes = np.asarray(tokenised.with_format("numpy")["notes"][:])
    left_out = _Note.LOST if no_answer else _Note.LOST | _Note.UNANSWERABLE | _Note.ANSWER_OUTSIDE
    if not for_training:
        left_out = _Note(0)
    kept = np.flatnonzero(notes & int(left_out) == 0)
    report = _report(np.asarray(tokenised.with_format("numpy")["row"][:]), notes, len(kept), no_answer, for_training)
    features = tokenised if len(kept) == len(tokenised) else tokenised.select(kept)
    logger.info("%s", report)
    return features.remove_columns("notes"), report


def _windows(
    question: TokenisedQuestion, sizes: WindowSizes, answer: tuple[int, int] | None, notes: _Note, no_answer: bool
) -> Iterator[dict[str, Any]]:
    """The features of one question, but for its row's number; `answer` is in positions of the whole sequence."""
    for kept in question.windows(sizes.max_length, sizes.doc_stride):
        feature: dict[str, Any] = {name: values[kept].reshape(-1) for name, values in question.inputs.items()}
        cls_position = int(np.searchsorted(kept, question.cls_position))
        feature |= {"length": len(kept), "notes": int(notes), "cls_position": cls_position}
        feature["offsets"] = question.spans[kept].reshape(-1)
        if answer is not None and np.isin(answer, kept).all():
            feature["start_positions"], feature["end_positions"] = np.searchsorted(kept, answer).tolist()
        else:
            outside = _Note.ANSWER_OUTSIDE if answer is not None else _Note(0)
            label = cls_position if no_answer else IGNORED_POSITION
            feature |= {"start_positions": label, "end_positions": label, "notes": int(notes | outside)}
        yield feature


def _answer_tokens(row: Mapping[str, Any], question: TokenisedQuestion) -> tuple[tuple[int, int] | None, _Note]:
    """The first and the last token of a row's first answer, None where there is none; and what is to be noted."""
    if not row["answers"]["text"]:
        return None, _Note.UNANSWERABLE
    text, start = row["answers"]["text"][0], row["answers"]["answer_start"][0]
    end = start + len(text)
    if start < 0 or row["context"][start:end] != text:
        there = row["context"][max(start, 0) : max(end, 0)]
        raise ValueError(
            f"question {row['id']!r}: its answer {text!r} does not stand at character {start} of the context, where "
            f"{there!r} stands; correct answer_start"
        )
    start, end = end - len(text.lstrip()), start + len(text.rstrip())
    tokens = question.tokens_of(start, end) if start < end else None
    if tokens is None:
        return None, _Note.LOST
    is_exact = question.spans[tokens[0], 0] == start and question.spans[tokens[1], 1] == end
    return tokens, _Note(0) if is_exact else _Note.WIDENED


def _report(
    rows: np.ndarray[Any, Any], notes: np.ndarray[Any, Any], features: int, no_answer: bool, for_training: bool
) -> FeatureReport:
    """Count notes by question, and windows by themselves."""
    numbers, windows = np.unique(rows, return_counts=True)

    def questions_with(note: _Note) -> int:
        return len(np.unique(rows[notes & int(note) != 0]))

    return FeatureReport(
        questions=len(numbers),
        features=features,
        windowed=int((windows > 1).sum()),
        cut_questions=questions_with(_Note.CUT_QUESTION),
        unanswerable=questions_with(_Note.UNANSWERABLE),
        widened=questions_with(_Note.WIDENED),
        lost=questions_with(_Note.LOST),
        windows_without_answer=int((notes & int(_Note.ANSWER_OUTSIDE) != 0).sum()),
        no_answer=no_answer,
        for_training=for_training,
    )
