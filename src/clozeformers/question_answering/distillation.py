"""Distillation: a reader learns where the answers of trained models, its teachers, begin and end."""

from __future__ import annotations

from typing import Any

import numpy as np
from datasets import Dataset, List, Value
from numpy.typing import NDArray
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from ..modeling.modeling_word_reader import WordReaderForQuestionAnswering
from ..training.pretrained import loading
from ..training.sampling import sort_by_length
from .arguments import QADataArguments, QATrainingArguments
from .encoding import encode_questions
from .loading import DEFAULT_ENCODER_LENGTH
from .trainer import QuestionAnsweringTrainer

Floats = NDArray[np.floating[Any]]


def add_teacher_targets(
    rows: Dataset, features: Dataset, data_args: QADataArguments, args: QATrainingArguments
) -> Dataset:
    """Replace the labels of training features by probabilities of all positions.

    The target of a position is `teacher_weight` times the teachers' mean probability, plus the rest for the annotated
    one. The annotation stands alone where a question has no answer, which teachers need not have learned to see, and
    where a context is too long for one input of a teacher or of the reader.

    Args:
        rows: the training questions.
        features: theirs, as `encode_questions` returns them with `with_offsets`.
        data_args: name the teachers and their weight.
        args: say where to compute.

    Returns:
        The features with `start_targets` and `end_targets`, one number a position.
    """
    columns = ["row", "offsets", "cls_position", "start_positions", "end_positions"]
    places = features.with_format("numpy", columns=columns)
    answerable = [number for number, answers in enumerate(rows["answers"]) if answers["text"]]
    numbers = {row: number for number, row in enumerate(answerable)}
    taught: list[list[Floats]] = [[] for _ in range(len(features))]
    for name in data_args.teachers or ():
        known = _teacher_probabilities(name, rows.select(answerable), data_args, args)
        for own, place in zip(taught, places, strict=True):
            found = known.get(numbers.get(int(place["row"]), -1))
            offsets = place["offsets"].reshape(-1, 2)
            if found is not None and _holds(offsets, found[0]):
                own.append(_on_positions(offsets, int(place["cls_position"]), *found))
    targets = [_mixed(place, own, data_args.teacher_weight) for place, own in zip(places, taught, strict=True)]
    kind = List(Value("float32"))
    return features.add_column("start_targets", [each[0].tolist() for each in targets], feature=kind).add_column(
        "end_targets", [each[1].tolist() for each in targets], feature=kind
    )


def _teacher_probabilities(
    name: str, rows: Dataset, data_args: QADataArguments, args: QATrainingArguments
) -> dict[int, tuple[NDArray[Any], Floats, Floats]]:
    """Of each row that fits into one input of a teacher: its pieces' spans, and the probabilities to begin and end.

    The last of each is that of no answer.
    """
    with loading(name):
        tokenizer = AutoTokenizer.from_pretrained(name)
        model = AutoModelForQuestionAnswering.from_pretrained(name)
    length = getattr(model.config, "max_input_length", None) or min(tokenizer.model_max_length, DEFAULT_ENCODER_LENGTH)
    features, _ = encode_questions(
        rows,
        tokenizer,
        max_length=length,
        max_question_length=data_args.max_question_length or 50,
        doc_stride=min(data_args.doc_stride or 128, length // 4),
        for_training=False,
        no_answer=True,
    )
    features = sort_by_length(features)
    trainer = QuestionAnsweringTrainer(model, args.for_prediction(), tokenizer, max_answer_length=1, no_answer=True)
    trainer.scores_in_float32 = isinstance(model, WordReaderForQuestionAnswering)
    starts, ends = trainer.predict(features.remove_columns(["start_positions", "end_positions"])).predictions
    places = features.with_format("numpy", columns=["row", "offsets", "cls_position"])
    counts = np.bincount(places["row"], minlength=len(rows))
    found = {}
    for place, start, end in zip(places, starts, ends, strict=True):
        if counts[place["row"]] == 1:
            spans = place["offsets"].reshape(-1, 2)
            slots = np.append(np.flatnonzero(spans[:, 0] >= 0), place["cls_position"])
            if len(slots) > 1:
                found[int(place["row"])] = (spans[slots[:-1]], _softmax(start[slots]), _softmax(end[slots]))
    return found


def _holds(offsets: NDArray[Any], spans: NDArray[Any]) -> bool:
    """Whether an input holds the whole context that a teacher's pieces stand for."""
    inside = offsets[offsets[:, 0] >= 0]
    return len(inside) > 0 and inside[0, 0] <= spans[0, 0] and inside[-1, 1] >= spans[-1, 1]


def _on_positions(offsets: NDArray[Any], cls_position: int, spans: NDArray[Any], start: Floats, end: Floats) -> Floats:
    """A teacher's probabilities ``[2, L]`` on the positions of a reader's input, by the characters of both.

    What a teacher puts on characters between the reader's words goes to the word before.
    """
    slots = np.flatnonzero(offsets[:, 0] >= 0)
    begins = offsets[slots, 0]
    targets = np.zeros((2, len(offsets)))
    # A piece begins in the last word that begins at or before it, and ends in the last that begins before its end.
    for target, edges, probabilities in ((targets[0], spans[:, 0], start), (targets[1], spans[:, 1] - 1, end)):
        words = np.maximum(np.searchsorted(begins, edges, side="right") - 1, 0)
        np.add.at(target, slots[words], probabilities[:-1])
        target[cls_position] += probabilities[-1]
    return targets


def _mixed(place: Any, taught: list[Floats], weight: float) -> Floats:
    """The targets ``[2, L]`` of one input."""
    length = len(place["offsets"]) // 2
    annotated = np.zeros((2, length))
    for row, position in enumerate((place["start_positions"], place["end_positions"])):
        if position < length:  # not an ignored one
            annotated[row, position] = 1
    return weight * np.mean(taught, axis=0) + (1 - weight) * annotated if taught else annotated


def _softmax(logits: Floats) -> Floats:
    exponentials = np.exp(logits - logits.max())
    return exponentials / exponentials.sum()
