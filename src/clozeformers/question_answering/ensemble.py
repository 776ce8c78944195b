"""Ensembles of question answering models, by vote over their answers.

Source: "You Just Want Attention" (QANet and BiDAF on SQuAD 2.0), section 3.2.1: every model has one vote, and ties are
broken by the sums of the models' weights; in a weighted vote the sums decide alone. A weight is a model's F1 on
development data.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ..text import join_names

Span = tuple[int, int]
Vote = TypeVar("Vote", bound=Hashable)


def vote_spans(votes: Sequence[Vote], weights: Sequence[float] | None = None, weighted: bool = False) -> Vote:
    """Choose the answer to one question.

    Args:
        votes: each model's answer, anything that compares as equal where the answer is the same: character spans, with
            None or another value for no answer, or texts.
        weights: one a model; None gives all the same.
        weighted: whether the sum of the weights decides, rather than the number of votes. Without it the sums decide
            between answers with equally many.

    Returns:
        The chosen answer; where votes and weights are equal, the one among them whose first model stands first.

    Raises:
        ValueError: no votes, or weights that do not suit.
    """
    return _winner(votes, _checked_weights(weights, len(votes), weighted), weighted)


def majority_vote(
    predictions: Sequence[Mapping[str, str]], weights: Sequence[float] | None = None, weighted: bool = False
) -> dict[str, str]:
    """Choose the answer to each question of a data set.

    Args:
        predictions: for each model, question id -> answer, ``""`` for none. Answers are the same where their texts are,
            letter by letter.
        weights: one a model.
        weighted: as in :func:`vote_spans`.

    Returns:
        Question id -> answer, in the order of the first model.

    Raises:
        ValueError: no models, models that answer different questions, or weights that do not suit.
    """
    checked = _checked_weights(weights, len(predictions), weighted)
    _check_same_questions(predictions, [f"predictions[{number}]" for number in range(len(predictions))])
    return {
        question: _winner([answers[question] for answers in predictions], checked, weighted)
        for question in predictions[0]
    }


def ensemble_files(
    paths: Sequence[str | Path], weights: Sequence[float] | None = None, weighted: bool = False
) -> dict[str, str]:
    """Vote over files of predictions.

    Args:
        paths: a file for each model. Where ``nbest_<its name>`` stands beside every one of them, answers are
            the same where their character spans are; without, where their texts are.
        weights: one a model.
        weighted: as in :func:`vote_spans`.

    Returns:
        Question id -> answer, in the order of the first file.

    Raises:
        FileNotFoundError: a file that does not exist.
        ValueError: a file that is damaged, and what :func:`majority_vote` raises.
    """
    checked = _checked_weights(weights, len(paths), weighted)
    predictions = [read_predictions(path) for path in paths]
    _check_same_questions(predictions, [str(path) for path in paths])
    nbest_files = [Path(path).with_name(f"nbest_{Path(path).name}") for path in paths]
    if not all(path.is_file() for path in nbest_files):
        return majority_vote(predictions, weights, weighted)
    spans = [_read_spans(*pair) for pair in zip(nbest_files, predictions, strict=True)]
    chosen: dict[str, str] = {}
    for question in predictions[0]:
        # With its text a span stays what the file says, and one that no list of best answers holds can still vote.
        votes = [(spans[model].get(question), answers[question]) for model, answers in enumerate(predictions)]
        chosen[question] = _winner(votes, checked, weighted)[1]
    return chosen


def read_predictions(path: str | Path) -> dict[str, str]:
    """Read a file of predictions, as the official SQuAD scripts take it: an object of question id -> answer.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not JSON, no such object, or an answer is not a string.
    """
    values = _read_object(Path(path))
    for question, answer in values.items():
        if not isinstance(answer, str):
            raise ValueError(f"{path}: the answer to {question!r} is {answer!r:.80}; it must be a string, '' for none")
    return values


def _read_object(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file; give a file of predictions that training wrote")
    try:
        values = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON ({error})") from None
    if not isinstance(values, dict):
        raise ValueError(f'{path} holds {values!r:.80}; it must hold an object, {{"<question id>": ...}}')
    return values


def _read_spans(path: Path, predictions: Mapping[str, str]) -> dict[str, Span]:
    """Look up the character span of each predicted answer: the best one with its text."""
    nbest = _read_object(path)
    spans: dict[str, Span] = {}
    for question, answer in predictions.items():
        try:
            found = [one for one in nbest[question]["answers"] if one["text"] == answer]
            if answer and found:
                spans[question] = (int(found[0]["start"]), int(found[0]["end"]))
        except (KeyError, TypeError, ValueError) as error:
            right = '{"answers": [{"text": ..., "start": ..., "end": ..., "score": ...}], "no_answer_score": ...}'
            raise ValueError(f"{path}: for {question!r} it must hold {right} ({error!r})") from None
    return spans


def _checked_weights(weights: Sequence[float] | None, models: int, weighted: bool) -> Sequence[float]:
    if not models:
        raise ValueError("there is no model to vote; give the predictions of at least one")
    if weights is None:
        if weighted:
            raise ValueError("a weighted vote needs weights, one a model, such as its F1 on development data")
        return [1.0] * models
    if len(weights) != models:
        raise ValueError(f"there are {len(weights)} weights for {models} models; give one a model")
    for weight in weights:
        if not (math.isfinite(weight) and weight >= 0):
            raise ValueError(f"a weight is {weight}; it must be a finite number of at least 0")
    return weights


def _check_same_questions(predictions: Sequence[Mapping[str, str]], names: Sequence[str]) -> None:
    first = predictions[0]
    for name, answers in zip(names[1:], predictions[1:], strict=True):
        for have, without, owner, other in ((first, answers, names[0], name), (answers, first, name, names[0])):
            missing = [question for question in have if question not in without]
            if missing:
                raise ValueError(
                    f"{other} does not answer {join_names(missing)} that {owner} answers; all models must answer the same "
                    "questions"
                )


def _winner(votes: Sequence[Vote], weights: Sequence[float], weighted: bool) -> Vote:
    backing: dict[Vote, list[float]] = {}
    for vote, weight in zip(votes, weights, strict=True):
        backing.setdefault(vote, []).append(weight)

    def strength(vote: Vote) -> tuple[float, float]:
        # Exact sums: the order of the models must not decide between equal ones.
        total = math.fsum(backing[vote])
        return (total, 0.0) if weighted else (len(backing[vote]), total)

    return max(backing, key=strength)
