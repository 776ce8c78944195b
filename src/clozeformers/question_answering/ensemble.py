"""Ensembles of question answering models, by vote over their predictions.

Source: Jain & Dutta, "You Just Want Attention" (QANet and BiDAF on SQuAD 2.0), section 3.2.1. Every model has one vote
and ties are broken by the sum of the models' weights; in a weighted vote the sum decides alone. A model's weight is its
F1 on development data. Ties that are left go to the answer that its models give the higher probability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..files import CorpusError, read_json_object
from ..text import join_names, truncate_repr
from ..voting import check_weights, majority_vote

_NO_SPAN = (-1, -1)


class _Candidate(NamedTuple):
    """An answer to vote for; one that is not found in an n-best list, and no answer, have the span (-1, -1)."""

    span: tuple[int, int]
    text: str


def ensemble_files(
    paths: Sequence[str | Path], weights: Sequence[float] | None = None, weighted: bool = False
) -> dict[str, str]:
    """Vote over files of predictions.

    Args:
        paths: one file per model. If each has an ``nbest_<its name>`` beside it, two answers are the same if their
            character spans are, and equal votes and weights are decided by the sums of their probabilities; otherwise
            they are the same if their texts are, and of equal ones the first in alphabetical order is chosen.
        weights: one per model; by default all are equal.
        weighted: decide by the sums of weights, rather than by the number of votes.

    Returns:
        Question id -> answer, in the order of the first file.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file.
        ValueError: a file is damaged, the files answer different questions, or the weights do not fit.
    """
    check_weights(weights, len(paths), weighted)
    predictions = [read_predictions(path) for path in paths]
    for path, answers in zip(paths, predictions, strict=True):
        unshared = sorted(answers.keys() ^ predictions[0].keys())
        if unshared:
            problem = f"only one of {paths[0]} and {path} answers {join_names(unshared)}"
            raise ValueError(f"{problem}; all models must answer the same questions")
    nbest_paths = [Path(path).with_name(f"nbest_{Path(path).name}") for path in paths]
    votes: list[dict[str, tuple[_Candidate, float]]]
    if all(path.is_file() for path in nbest_paths):
        votes = [_located(*pair) for pair in zip(nbest_paths, predictions, strict=True)]
    else:
        votes = [
            {question: (_Candidate(_NO_SPAN, answer), 0.0) for question, answer in answers.items()}
            for answers in predictions
        ]
    chosen: dict[str, str] = {}
    for question in predictions[0]:
        scores: dict[_Candidate, list[float]] = {}
        for model in votes:
            candidate, probability = model[question]
            scores.setdefault(candidate, []).append(probability)
        candidates = [model[question][0] for model in votes]
        chosen[question] = majority_vote(candidates, weights, weighted, scores=scores).text
    return chosen


def read_predictions(path: str | Path) -> dict[str, str]:
    """Read predictions in the format of the official SQuAD scripts: a JSON object, question id -> answer.

    Raises:
        FileNotFoundError, IsADirectoryError, CorpusError: there is no such file, or it has another format.
    """
    predictions = read_json_object(path, hint="give a file of predictions that training wrote")
    for question, answer in predictions.items():
        if not isinstance(answer, str):
            problem = f"the answer is {truncate_repr(answer)}; it must be a string, '' for no answer"
            raise CorpusError(path, f"question {question!r}", problem)
    return predictions


def _located(path: Path, predictions: Mapping[str, str]) -> dict[str, tuple[_Candidate, float]]:
    """Look up each predicted answer in an n-best list: the best one with its text, and its probability."""
    nbest = read_json_object(path)
    located: dict[str, tuple[_Candidate, float]] = {}
    for question, answer in predictions.items():
        try:
            found = [one for one in nbest[question]["answers"] if answer and one["text"] == answer][:1]
            spans = [(int(one["start"]), int(one["end"])) for one in found]
            scores = [one["score"] for one in found] if answer else [nbest[question]["no_answer_score"]]
            located[question] = _Candidate((*spans, _NO_SPAN)[0], answer), sum(map(math.exp, scores))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            expected = '{"answers": [{"text": ..., "start": ..., "end": ..., "score": ...}], "no_answer_score": ...}'
            raise CorpusError(path, f"question {question!r}", f"{error!r}; expected {expected}") from None
    return located
