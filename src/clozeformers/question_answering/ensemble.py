"""Ensembles of question answering models, by vote over their predictions.

Sources: Jain & Dutta, "You Just Want Attention" (QANet and BiDAF on SQuAD 2.0), section 3.2.1, for the majority and the
weighted vote, whose weights are the models' F1 on development data; see `clozeformers.voting` for all methods.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..files import CorpusError, read_json_object
from ..text import join_names, truncate_repr
from ..voting import Ballot, VoteMethod, elect, model_weights

_NO_SPAN = (-1, -1)


class Candidate(NamedTuple):
    """An answer to vote for; one that is not found in an n-best list, and no answer, have the span (-1, -1)."""

    span: tuple[int, int]
    text: str


def elect_answer(ballots: Sequence[Ballot], weights: Sequence[float], method: VoteMethod) -> tuple[Candidate, float]:
    """Choose the answer to one question from ballots of candidates; the second value is as for `elect`.

    Spans that share a character are one answer. With `"sum"`, no answer can win if a model votes for it.
    """
    if method == "sum" and all(ballot.vote.text for ballot in ballots):
        ballots = [
            Ballot(vote, {candidate: found[candidate] for candidate in found if candidate.text})
            for vote, found in ballots
        ]
    return elect(ballots, weights, method, overlap=_share_characters)


def _share_characters(one: Candidate, other: Candidate) -> bool:
    return one.span[0] < other.span[1] and other.span[0] < one.span[1]


def ensemble_files(
    paths: Sequence[str | Path], weights: Sequence[float] | None = None, method: VoteMethod = "majority"
) -> dict[str, str]:
    """Vote over files of predictions.

    Args:
        paths: one file per model. If each has an ``nbest_<its name>`` beside it, two answers are the same if their
            character spans are, and equal votes and weights are decided by the sums of their probabilities; otherwise
            they are the same if their texts are, and of equal ones the first in alphabetical order is chosen.
        weights: one per model; by default all are equal.
        method: see `elect`; `"sum"` needs the n-best lists.

    Returns:
        Question id -> answer, in the order of the first file.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file.
        ValueError: a file is damaged, the files answer different questions, or the weights do not fit.
    """
    own = model_weights(weights, len(paths), method)
    predictions = [read_predictions(path) for path in paths]
    for path, answers in zip(paths, predictions, strict=True):
        unshared = sorted(answers.keys() ^ predictions[0].keys())
        if unshared:
            problem = f"only one of {paths[0]} and {path} answers {join_names(unshared)}"
            raise ValueError(f"{problem}; all models must answer the same questions")
    nbest_paths = [Path(path).with_name(f"nbest_{Path(path).name}") for path in paths]
    missing = [str(path) for path in nbest_paths if not path.is_file()]
    if missing and method == "sum":
        raise FileNotFoundError(f"there is no {missing[0]}, whose probabilities are summed; vote by another method")
    ballots: list[dict[str, Ballot]] = []
    for path, answers in zip(nbest_paths, predictions, strict=True):
        if missing:
            ballots.append({question: Ballot(Candidate(_NO_SPAN, answer), {}) for question, answer in answers.items()})
        else:
            ballots.append(_read_ballots(path, answers))
    return {
        question: elect_answer([model[question] for model in ballots], own, method)[0].text
        for question in predictions[0]
    }


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


def _read_ballots(path: Path, predictions: Mapping[str, str]) -> dict[str, Ballot]:
    """Look up each predicted answer in an n-best list: the best one with its text."""
    nbest = read_json_object(path)
    ballots: dict[str, Ballot] = {}
    for question, answer in predictions.items():
        try:
            probabilities = {
                Candidate((int(one["start"]), int(one["end"])), str(one["text"])): math.exp(one["score"])
                for one in nbest[question]["answers"]
            }
            probabilities[Candidate(_NO_SPAN, "")] = math.exp(nbest[question]["no_answer_score"])
            if not math.isfinite(math.fsum(probabilities.values())):
                raise ValueError("a score is no finite number")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            expected = '{"answers": [{"text": ..., "start": ..., "end": ..., "score": ...}], "no_answer_score": ...}'
            raise CorpusError(path, f"question {question!r}", f"{error!r}; expected {expected}") from None
        vote = next((one for one in probabilities if one.text == answer), Candidate(_NO_SPAN, answer))
        ballots[question] = Ballot(vote, probabilities)
    return ballots
