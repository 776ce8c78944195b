"""NegationScope: token-level scores and the share of whole scopes."""

from __future__ import annotations

import numpy as np
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
        "precision": 3 / 5,
        "recall": 3 / 4,
        "f1": 2 / 3,
        "pcs": 1 / 3,
        "tp": 3,
        "fp": 2,
        "fn": 1,
        "cues": 3,
    }


def test_nothing_over_nothing_is_zero(metric):
    scores = metric.compute(predictions=[[0, 0]], references=[[0, 0]])
    assert (scores["precision"], scores["recall"], scores["f1"]) == (0.0, 0.0, 0.0)
    assert scores["pcs"] == 1.0
    assert set(metric.compute(predictions=[], references=[]).values()) == {0}


def test_arrays_and_batches(metric):
    metric.add(prediction=[0, 1], reference=[0, 1])
    metric.add_batch(predictions=[np.array([True, True])], references=[np.array([0, 1])])
    scores = metric.compute()
    assert (scores["tp"], scores["fp"], scores["fn"], scores["pcs"]) == (2, 1, 0, 0.5)


def test_lengths_that_differ(metric):
    with pytest.raises(ValueError, match=r"predictions\[1\] has 3 labels and references\[1\] has 2"):
        metric.compute(predictions=[[0], [0, 1, 1]], references=[[0], [0, 1]])


@pytest.mark.parametrize("value", [2, -1, 0.5, float("nan"), None])
@pytest.mark.parametrize("side", ["predictions", "references"])
def test_values_that_are_no_labels(metric, side, value):
    inputs = {"predictions": [[0, 1], [0, 1]], "references": [[0, 1], [0, 1]]}
    inputs[side] = [[0, 1], [value, 1]]
    with pytest.raises(ValueError, match=rf"{side}\[1\]\[0\] is .*1 \(in scope\) or 0"):
        metric.compute(**inputs)


def test_an_error_does_not_spoil_the_next_call(metric):
    with pytest.raises(ValueError, match="labels"):
        metric.compute(predictions=[[1]], references=[[1, 1]])
    assert metric.compute(predictions=[[1]], references=[[1]])["cues"] == 1


PAIRS = st.lists(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=6), min_size=1, max_size=5)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PAIRS)
def test_equals_counting_one_word_at_a_time(tmp_path, pairs):
    words = [pair for cue in pairs for pair in cue]
    tp, fp, fn = words.count((1, 1)), words.count((1, 0)), words.count((0, 1))
    scores = NegationScope(keep_in_memory=True, cache_dir=str(tmp_path)).compute(
        predictions=[[prediction for prediction, _ in cue] for cue in pairs],
        references=[[reference for _, reference in cue] for cue in pairs],
    )
    assert (scores["tp"], scores["fp"], scores["fn"], scores["cues"]) == (tp, fp, fn, len(pairs))
    assert scores["pcs"] == sum(all(a == b for a, b in cue) for cue in pairs) / len(pairs)
    if tp:
        precision, recall = tp / (tp + fp), tp / (tp + fn)
        assert (scores["precision"], scores["recall"]) == (precision, recall)
        assert scores["f1"] == pytest.approx(2 * precision * recall / (precision + recall))
    else:
        assert scores["f1"] == 0.0
