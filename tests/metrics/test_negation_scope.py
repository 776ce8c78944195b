"""NegationScope: token-level scores and the share of whole scopes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clozeformers.metrics import NegationScope


@pytest.fixture
def metric(tmp_path):
    return NegationScope(cache_dir=str(tmp_path))


def test_counts_are_summed_before_dividing(metric):
    scores = metric.compute(
        predictions=[[0, 1, 1, 0], [1, 1, 1], [0, 0]],
        references=[[0, 1, 1, 1], [0, 0, 1], [0, 0]],
    )
    assert scores == {
        "precision": 60.0,
        "recall": 75.0,
        "f1": pytest.approx(200 / 3),
        "pcs": pytest.approx(100 / 3),
        "tp": 3,
        "fp": 2,
        "fn": 1,
        "cues": 3,
    }


def test_nothing_over_nothing_is_zero(metric):
    scores = metric.compute(predictions=[[0, 0]], references=[[0, 0]])
    assert (scores["precision"], scores["recall"], scores["f1"]) == (0.0, 0.0, 0.0)
    assert scores["pcs"] == 100.0
    assert set(metric.compute(predictions=[], references=[]).values()) == {0}


def test_lengths_that_differ(metric):
    with pytest.raises(ValueError, match=r"predictions\[1\] has 3 labels and references\[1\] has 2"):
        metric.compute(predictions=[[0], [0, 1, 1]], references=[[0], [0, 1]])


@pytest.mark.parametrize("value", [2, 0.5, float("nan"), None])
@pytest.mark.parametrize("side", ["predictions", "references"])
def test_invalid_labels(metric, side, value):
    inputs = {"predictions": [[0, 1], [0, 1]], "references": [[0, 1], [0, 1]]} | {side: [[0, 1], [value, 1]]}
    with pytest.raises(ValueError, match=rf"{side}\[1\]\[0\] is .*1 \(in scope\) or 0"):
        metric.compute(**inputs)


PAIRS = st.lists(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=6), min_size=1, max_size=5)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PAIRS)
def test_counting_one_word_at_a_time(metric, pairs):
    words = [pair for cue in pairs for pair in cue]
    tp, fp, fn = words.count((1, 1)), words.count((1, 0)), words.count((0, 1))
    predictions, references = ([[pair[side] for pair in cue] for cue in pairs] for side in (0, 1))
    scores = metric.compute(predictions=predictions, references=references)
    assert (scores["tp"], scores["fp"], scores["fn"], scores["cues"]) == (tp, fp, fn, len(pairs))
    assert scores["pcs"] == 100 * sum(all(a == b for a, b in cue) for cue in pairs) / len(pairs)
    assert scores["f1"] == pytest.approx(200 * tp / max(2 * tp + fp + fn, 1))
