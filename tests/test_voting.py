"""Votes of several models."""

from __future__ import annotations

import math
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clozeformers.voting import Ballot, elect, majority_vote, model_weights, sum_vote


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


# Spans of a text; the last one is no span.
SPANS = [(0, 4), (2, 6), (4, 9), (5, 6), (8, 12), (-1, -1)]
NBESTS = st.lists(st.dictionaries(st.sampled_from(SPANS), st.integers(1, 8), min_size=1), min_size=1, max_size=4)


@given(NBESTS, st.randoms())
def test_summed_probabilities_of_overlapping_spans(nbests, random):
    """As the definition reads: sums by span, the best one takes those that share a character, and so on."""
    weights = [1 + number % 3 for number in range(len(nbests))]
    sums = {
        span: sum(w * nbest.get(span, 0) for w, nbest in zip(weights, nbests, strict=True))
        for span in sorted({span for nbest in nbests for span in nbest})
    }
    left, groups = dict(sums), []
    while left:
        head = max(left, key=left.__getitem__)
        same = [span for span in left if span == head or set(range(*span)) & set(range(*head))]
        groups.append((sum(left.pop(span) for span in same), head))
    strength, head = max(groups, key=lambda group: group[0])

    def overlap(one, other):
        return one[0] < other[1] and other[0] < one[1]

    order = list(range(len(nbests)))
    random.shuffle(order)
    given = [{span: nbests[n][span] / 8 for span in nbests[n]} for n in order]
    assert sum_vote(given, [weights[n] for n in order], overlap) == (head, strength / 8)


def test_methods_of_one_election():
    ballots = [Ballot("a", {"a": 0.6, "b": 0.3}), Ballot("b", {"b": 0.5}), Ballot("b", {"b": 0.4, "c": 0.4})]
    accuracies = [0.9, 0.7, 0.7]
    odds = [math.log(9), math.log(7 / 3), math.log(7 / 3)]
    found = {m: elect(ballots, model_weights(accuracies, 3, m), m) for m in ("majority", "weighted", "log-odds", "sum")}
    assert found == {
        "majority": ("b", pytest.approx(1.4 / 2.3)),
        "weighted": ("b", pytest.approx(1.4 / 2.3)),
        "log-odds": ("a", pytest.approx(odds[0] / sum(odds))),
        "sum": ("b", pytest.approx((0.9 * 0.3 + 0.7 * 0.9) / 2.3)),
    }
    assert elect(ballots[:2], model_weights([0.4, 0.45], 2, "log-odds"), "log-odds")[0] == "b"


@pytest.mark.parametrize("options", [2, 5])
def test_log_odds_do_not_fall_below_the_best_member(options):
    """Independent models with the accuracies of trained readers; where the majority decides, weak ones outvote it."""
    random, recorded = Random(0), [0.42, 0.52, 0.59, 0.70, 0.83]
    rolls = [[(random.random(), random.randrange(1, options)) for _ in recorded] for _ in range(1500)]
    answers = [[0 if p < right else wrong for right, (p, wrong) in zip(recorded, row, strict=True)] for row in rolls]
    below = {"majority": 0, "log-odds": 0}
    for members in (some for size in (2, 3, 4, 5) for some in combinations(range(5), size)):
        best = sum(row[members[-1]] == 0 for row in answers)
        for method in below:
            weights = model_weights([recorded[member] for member in members], len(members), method)
            votes = ([row[member] for member in members] for row in answers)
            right = sum(majority_vote(given, weights, method != "majority") == 0 for given in votes)
            below[method] += right < best
    assert below["log-odds"] == 0 < below["majority"]


@pytest.mark.parametrize(
    ("weights", "models", "method", "message"),
    [
        (None, 0, "majority", "no model to vote"),
        (None, 1, "weighted", "a weighted vote needs weights"),
        (None, 1, "log-odds", "a weighted vote needs weights"),
        ([0.5, 0.5], 3, "sum", "there are 2 weights for 3 models"),
        ([0.5, -0.5], 2, "majority", "a weight is -0.5; it must be a finite number of at least 0"),
        ([float("nan")], 1, "weighted", "a weight is nan"),
        ([71.0], 1, "log-odds", r"a weight is 71.0; log odds need an accuracy between 0 and 1, such as 0.71"),
        (None, 1, "mean", "is 'mean'; it must be one of majority, weighted, log-odds, sum"),
    ],
)
def test_weights_that_do_not_fit(weights, models, method, message):
    with pytest.raises(ValueError, match=message):
        model_weights(weights, models, method)
    assert model_weights([0.0, 80.5], 2, "weighted") == [0.0, 80.5]
