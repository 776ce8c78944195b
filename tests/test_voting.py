"""Votes of several models."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clozeformers.voting import check_weights, majority_vote


@pytest.mark.parametrize(
    ("votes", "weights", "majority", "weighted"),
    [
        ("abb", None, "b", "b"),
        ("cba", None, "a", "a"),
        ("abb", [0.9, 0.2, 0.3], "b", "a"),
        ("aabb", [0.1, 0.2, 0.5, 0.4], "b", "b"),
        ([(0, 4), (2, 3), (2, 3)], [0.5, 0.6, 0.7], (2, 3), (2, 3)),
        ("abc", [0.3, 0.6, 0.5], "b", "b"),
        ("ba", [0.5, 0.5], "a", "a"),
        # Added one by one as floats, 0.1 + 0.2 + 0.3 is greater than 0.3 + 0.2 + 0.1.
        ("abbaab", [0.3, 0.1, 0.2, 0.2, 0.1, 0.3], "a", "a"),
        ("bba", [0.0, 0.0, 0.0], "b", "a"),
    ],
)
def test_votes_with_weights(votes, weights, majority, weighted):
    assert majority_vote(votes, weights) == majority
    assert majority_vote(votes, weights, weighted=True) == weighted


def test_ties_are_broken_by_scores():
    scores = {0: [0.3, 0.3], 1: [0.5, 0.2], 2: [0.2, 0.5], 3: [0.9, 0.9]}
    assert majority_vote([0, 2], scores=scores) == 2
    # Candidate 3 has the highest sum, but no vote; 1 and 2 have equal sums, and 1 is the smaller one.
    assert majority_vote([2, 1], scores=scores) == 1
    assert majority_vote([0, 0, 2], scores=scores) == 0
    assert majority_vote([0, 2], [0.6, 0.5], scores=scores) == 0


VOTES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=9)


@given(VOTES, st.booleans(), st.randoms())
def test_winner_is_the_strongest_in_any_order_of_the_models(models, weighted, random):
    def strength(vote: int) -> tuple[int, ...]:
        own = [(weight, score) for one, weight, score in models if one == vote]
        return 0 if weighted else len(own), sum(weight for weight, _ in own), sum(score for _, score in own), -vote

    expected = max({vote for vote, _, _ in models}, key=strength)
    random.shuffle(models)
    votes, weights = [vote for vote, _, _ in models], [weight / 8 for _, weight, _ in models]
    scores = {vote: [score / 8 for one, _, score in models if one == vote] for vote in votes}
    assert majority_vote(votes, weights, weighted, scores=scores) == expected


@pytest.mark.parametrize(
    ("weights", "models", "weighted", "message"),
    [
        (None, 0, False, "no model to vote"),
        (None, 1, True, "a weighted vote needs weights"),
        ([0.5, 0.5], 3, False, "there are 2 weights for 3 models"),
        ([0.5, -0.5], 2, False, "a weight is -0.5; it must be a finite number of at least 0"),
        ([float("nan")], 1, True, "a weight is nan"),
    ],
)
def test_weights_that_do_not_fit(weights, models, weighted, message):
    with pytest.raises(ValueError, match=message):
        check_weights(weights, models, weighted)
    check_weights([0.0, 80.5], 2, True)
