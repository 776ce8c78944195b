"""Votes of several models over one answer. Needs no other library."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

# Votes can be hashed and ordered.
Vote = TypeVar("Vote", bound=Any)


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


def check_weights(weights: Sequence[float] | None, models: int, weighted: bool) -> None:
    """Check the weights that a user gives the models of an ensemble.

    Raises:
        ValueError: no models; a weighted vote without weights; not one weight per model; a negative, infinite or NaN
            weight.
    """
    if not models:
        raise ValueError("there is no model to vote; give at least one")
    if weights is None and weighted:
        raise ValueError("a weighted vote needs weights, one per model, such as its F1 on development data")
    if weights is not None and len(weights) != models:
        raise ValueError(f"there are {len(weights)} weights for {models} models; give one per model")
    for weight in () if weights is None else weights:
        if not (math.isfinite(weight) and weight >= 0):
            raise ValueError(f"a weight is {weight}; it must be a finite number of at least 0")
