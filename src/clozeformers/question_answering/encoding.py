"""Encode the rows of a question answering corpus as features."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from enum import IntFlag
from typing import Any

import numpy as np
from datasets import Dataset, Features, List, Value, concatenate_datasets

from .simplification import simplify_question
from .windows import TokenizedQuestion, WindowSizes, check_window_sizes, strip_span, tokenize_questions

logger = logging.getLogger(__name__)

_INPUT_TYPES = {
    "input_ids": List(Value("int32")),
    "token_type_ids": List(Value("int8")),
    "char_ids": List(Value("uint16")),
}
_BOOKKEEPING_TYPES = {"length": Value("int32"), "row": Value("int32"), "notes": Value("uint8")}
_LABEL_TYPES = {"start_positions": Value("int32"), "end_positions": Value("int32")}
_PREDICTION_TYPES = {"offsets": List(Value("int32")), "cls_position": Value("int32")}

# Beyond every input, where all models ignore a label: those of transformers clamp positions to ``[0, L]`` and ignore L.
IGNORED_POSITION = 10**6


class _Note(IntFlag):
    """What the summary counts; stored in a column, so that cached features keep it."""

    QUESTIONS_TRUNCATED = 1
    QUESTIONS_WITHOUT_AN_ANSWER = 2
    ANSWERS_WIDENED_TO_WHOLE_TOKENS = 4
    ANSWERS_WITHOUT_ANY_TOKEN = 8
    WINDOWS_WITHOUT_THE_ANSWER = 16


def encode_questions(
    rows: Dataset,
    tokenizer: Any,
    *,
    max_length: int,
    max_question_length: int = 50,
    doc_stride: int = 128,
    for_training: bool,
    no_answer: bool,
    with_offsets: bool = False,
) -> tuple[Dataset, str]:
    """Encode corpus rows as features.

    A context that does not fit beside its question is split into windows. For training, the label is the first answer
    of a row, widened to whole tokens.

    Args:
        rows: corpus with the columns `id`, `question`, `context` and, for training, `answers`, as in the Hub's `squad`.
        tokenizer: a fast tokenizer.
        max_length: maximum number of tokens of an input, special tokens included.
        max_question_length: maximum number of tokens of a question; a longer one is truncated.
        doc_stride: overlap of neighbouring windows of a context, in tokens.
        for_training: return labels; otherwise what `predict_answers` needs.
        with_offsets: for training, return what prediction needs too, for teachers.
        no_answer: label windows without the answer with the position of `[CLS]`; otherwise, drop them from training.

    Returns:
        The features, one row per window, and a summary in words. The columns are `input_ids`, `length`, `row` (the
        index of the corpus row) and, if the tokenizer gives them, `token_type_ids` and `char_ids` (flat, ``L * W``); if
        the rows have answers, `start_positions` and `end_positions`; for prediction, `offsets` (flat, ``L * 2``) and
        `cls_position`, see `TokenizedQuestion`.

    Raises:
        ValueError: no rows; lengths that leave windows no room; an answer that is not at its `answer_start`.
    """
    if not len(rows):
        raise ValueError("there are no rows to encode; give at least one question")
    sizes = WindowSizes(max_length, max_question_length, doc_stride)
    check_window_sizes(sizes, tokenizer)
    # Gives the columns, and brings the tokenizer into the state after a call, which the cache's fingerprint includes.
    [empty] = tokenize_questions(tokenizer, [""], [""], max_question_length)
    is_labelled = for_training or "answers" in rows.column_names
    types = {name: _INPUT_TYPES[name] for name in empty.inputs} | _BOOKKEEPING_TYPES
    types |= ({} if for_training and not with_offsets else _PREDICTION_TYPES) | (_LABEL_TYPES if is_labelled else {})

    def encode(batch: dict[str, list[Any]], indices: list[int]) -> dict[str, list[Any]]:
        features: dict[str, list[Any]] = {name: [] for name in types}
        questions = tokenize_questions(tokenizer, batch["question"], batch["context"], max_question_length)
        for number, question in enumerate(questions):
            answer, notes = None, _Note(0)
            if is_labelled:
                answer, notes = _find_answer({name: batch[name][number] for name in batch}, question)
            if question.is_truncated:
                notes |= _Note.QUESTIONS_TRUNCATED
            for feature in _encode_windows(question, sizes, answer, notes, no_answer):
                feature["row"] = indices[number]
                for name, values in features.items():
                    values.append(feature[name])
        return features

    encoded = rows.map(
        encode,
        batched=True,
        with_indices=True,
        remove_columns=rows.column_names,
        features=Features(types),
        desc="Tokenizing",
    )
    places = encoded.select_columns(["row", "notes"]).with_format("numpy")[:]
    dropped = _Note.ANSWERS_WITHOUT_ANY_TOKEN if for_training else _Note(0)
    if for_training and not no_answer:
        dropped |= _Note.QUESTIONS_WITHOUT_AN_ANSWER | _Note.WINDOWS_WITHOUT_THE_ANSWER
    kept = np.flatnonzero(places["notes"] & int(dropped) == 0)
    summary = _summarize(places["row"], places["notes"], len(kept))
    logger.info("%s", summary)
    return (encoded if len(kept) == len(encoded) else encoded.select(kept)).remove_columns("notes"), summary


def simplify_questions(rows: Dataset) -> Dataset:
    """Append a row with the simpler form of each question that has one; columns but `question` are copied."""
    simpler = map(simplify_question, rows["question"])
    found = {number: question for number, question in enumerate(simpler) if question is not None}
    if not found:
        return rows
    added = rows.select(list(found)).remove_columns("question").add_column("question", list(found.values()))
    return concatenate_datasets([rows, added.select_columns(rows.column_names).cast(rows.features)])


def _encode_windows(
    question: TokenizedQuestion, sizes: WindowSizes, answer: tuple[int, int] | None, notes: _Note, no_answer: bool
) -> Iterator[dict[str, Any]]:
    """Yield the features of one question, without `row`; `answer` gives positions in the whole sequence."""
    for window in question.windows(sizes.max_length, sizes.doc_stride):
        cls_position = int(np.searchsorted(window, question.cls_position))
        start = end = cls_position if no_answer else IGNORED_POSITION
        window_notes = notes
        if answer is not None and np.isin(answer, window).all():
            start, end = np.searchsorted(window, answer).tolist()
        elif answer is not None:
            window_notes |= _Note.WINDOWS_WITHOUT_THE_ANSWER
        yield {name: values[window].reshape(-1) for name, values in question.inputs.items()} | {
            "length": len(window),
            "notes": int(window_notes),
            "cls_position": cls_position,
            "offsets": question.spans[window].reshape(-1),
            "start_positions": start,
            "end_positions": end,
        }


def _find_answer(row: Mapping[str, Any], question: TokenizedQuestion) -> tuple[tuple[int, int] | None, _Note]:
    """Return the positions of the first and last token of a row's first answer, or None, and what to note."""
    if not row["answers"]["text"]:
        return None, _Note.QUESTIONS_WITHOUT_AN_ANSWER
    text, start, context = row["answers"]["text"][0], row["answers"]["answer_start"][0], row["context"]
    if start < 0 or not context.startswith(text, start):
        problem = f"question {row['id']!r}: its answer {text!r} is not at character {start} of the context"
        raise ValueError(f"{problem}; correct answer_start")
    span = strip_span(context, start, start + len(text))
    tokens = question.find_tokens(*span) if span else None
    if tokens is None:
        return None, _Note.ANSWERS_WITHOUT_ANY_TOKEN
    is_exact = (question.spans[tokens[0], 0], question.spans[tokens[1], 1]) == span
    return tokens, _Note(0) if is_exact else _Note.ANSWERS_WIDENED_TO_WHOLE_TOKENS


def _summarize(rows: Any, notes: Any, num_features: int) -> str:
    """Count questions, or windows for the last note, by what happened to them; `rows` and `notes` are by window."""
    questions, windows = np.unique(rows, return_counts=True)
    counts = {"contexts split into windows": int((windows > 1).sum())}
    for note in _Note:
        noted = rows[notes & int(note) != 0]
        noun = str(note.name).lower().replace("_", " ")
        counts[noun] = len(noted if note is _Note.WINDOWS_WITHOUT_THE_ANSWER else np.unique(noted))
    parts = "".join(f"; {count:,} {noun}" for noun, count in counts.items() if count)
    return f"{len(questions):,} questions in {num_features:,} inputs{parts}"
