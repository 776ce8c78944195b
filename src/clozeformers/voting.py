"""Votes of several models over one answer. Needs no other library."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar, get_args

# Votes can be hashed and ordered.
Vote = TypeVar("Vote", bound=Any)
VoteMethod = Literal["majority", "weighted", "log-odds", "sum"]
VOTE_METHODS: tuple[VoteMethod, ...] = get_args(VoteMethod)
_SMALLEST = 1e-9


class Ballot(NamedTuple):
    """What a model says about one question: the answer that it gives, and the probabilities of answers."""

    vote: Any
    probabilities: Mapping[Any, float]


def elect(
    ballots: Sequence[Ballot],
    weights: Sequence[float],
    method: VoteMethod = "majority",
    *,
    overlap: Callable[[Any, Any], bool] | None = None,
) -> tuple[Any, float]:
    """Choose one of the answers of several models; the order of the models does not matter.

    Args:
        ballots: one per model.
        weights: one per model, as `model_weights` returns them.
        method: `"majority"`: the number of votes decides, ties are broken by the sum of the weights; `"weighted"` and
            `"log-odds"`: the sum of the weights decides; ties that are left go to the answer to which those who vote
            for it give the higher probability. `"sum"`: see `sum_vote`.
        overlap: for `"sum"`, whether two candidates are one answer.

    Returns:
        The winner and its share of the weights, for `"sum"` the weighted mean of its probability.
    """
    if method == "sum":
        winner, strength = sum_vote([ballot.probabilities for ballot in ballots], weights, overlap)
    else:
        votes = [ballot.vote for ballot in ballots]
        scores: dict[Any, list[float]] = {}
        for vote, probabilities in ballots:
            scores.setdefault(vote, []).append(probabilities.get(vote, 0.0))
        winner = majority_vote(votes, weights, method != "majority", scores=scores)
        strength = math.fsum(weight for vote, weight in zip(votes, weights, strict=True) if vote == winner)
    return winner, strength / (math.fsum(weights) or 1.0)


def majority_vote(
    votes: Sequence[Vote],
    weights: Sequence[float] | None = None,
    weighted: bool = False,
    *,
    scores: Mapping[Vote, Iterable[float]] | None = None,
) -> Vote:
    """Return the candidate with the most votes; the order of the models does not matter.

    Args:
        votes: the candidate that each model votes for.
        weights: one per model; by default all are equal. A tie is broken by the sum of the weights behind a candidate.
        weighted: let the sum decide alone, whatever the number of votes.
        scores: candidate -> numbers whose sum breaks the ties that are left, such as the probabilities that models
            give it; those that are missing count as 0.

    Returns:
        The winner. Of candidates that are equal in all of this it is the smallest: of spans the first in the text.
    """
    behind: dict[Vote, list[float]] = {}
    for vote, weight in zip(votes, [1.0] * len(votes) if weights is None else weights, strict=True):
        behind.setdefault(vote, []).append(weight)

    def strength(candidate: Vote) -> tuple[float, ...]:
        # Sums are exact, so that the order of the models does not break a tie.
        own = behind[candidate]
        return 0 if weighted else len(own), math.fsum(own), math.fsum((scores or {}).get(candidate, ()))

    return max(sorted(behind), key=strength)


def sum_vote(
    nbests: Sequence[Mapping[Vote, float]],
    weights: Sequence[float],
    overlap: Callable[[Vote, Vote], bool] | None = None,
) -> tuple[Vote, float]:
    """Add the probabilities that models give to candidates; those that overlap are one answer.

    From the most probable candidate on, each joins the first group whose head it overlaps, or is the head of a new one.

    Args:
        nbests: candidate -> probability, one per model; those that are missing count as 0.
        weights: one per model, a factor of its probabilities.
        overlap: whether two candidates are one answer; by default none are.

    Returns:
        The head of the group with the highest sum, and this sum. Of equal candidates, the smallest comes first.
    """
    terms: dict[Vote, list[float]] = {}
    for nbest, weight in zip(nbests, weights, strict=True):
        for candidate, probability in nbest.items():
            terms.setdefault(candidate, []).append(weight * probability)
    sums = {candidate: math.fsum(own) for candidate, own in terms.items()}
    groups: dict[Vote, list[float]] = {}
    for candidate in sorted(sums, key=lambda candidate: (-sums[candidate], candidate)):
        heads = (head for head in groups if overlap is not None and overlap(head, candidate))
        groups.setdefault(next(heads, candidate), []).append(sums[candidate])
    strengths = {head: math.fsum(group) for head, group in groups.items()}
    winner = max(strengths, key=strengths.__getitem__)
    return winner, strengths[winner]


def model_weights(weights: Sequence[float] | None, models: int, method: VoteMethod = "majority") -> list[float]:
    """Check the weights that a user gives the models of an ensemble, and return those to vote with.

    Args:
        weights: one per model, such as its accuracy on development data; None: all are equal.
        models: their number.
        method: `"log-odds"` turns an accuracy p into ``log(p / (1 - p))``, so that several weak models do not outvote
            a strong one. One of 0.5 or less gets a weight too small to outvote a better one.

    Raises:
        ValueError: an unknown method; no models; a weighted vote without weights; not one weight per model; a negative,
            infinite or NaN weight; with `"log-odds"` one that is no accuracy between 0 and 1.
    """
    if method not in VOTE_METHODS:
        raise ValueError(f"the method of voting is {method!r}; it must be one of {', '.join(VOTE_METHODS)}")
    if not models:
        raise ValueError("there is no model to vote; give at least one")
    if weights is None:
        if method in ("weighted", "log-odds"):
            raise ValueError("a weighted vote needs weights, one per model, such as its F1 on development data")
        return [1.0] * models
    if len(weights) != models:
        raise ValueError(f"there are {len(weights)} weights for {models} models; give one per model")
    for weight in weights:
        if not (math.isfinite(weight) and weight >= 0):
            raise ValueError(f"a weight is {weight}; it must be a finite number of at least 0")
        if method == "log-odds" and not 0 < weight < 1:
            raise ValueError(f"a weight is {weight}; log odds need an accuracy between 0 and 1, such as 0.71")
    if method == "log-odds":
        return [max(math.log(weight / (1 - weight)), _SMALLEST * weight) for weight in weights]
    return list(weights)
