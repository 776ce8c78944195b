"""Best spans against all spans, and rescoring against its formula written out."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from clozeformers.modeling.span_decoding import best_spans, rescore_log_probs

# Few different values, so that many spans tie, beside any others. Sums of small halves are exact.
values = st.one_of(
    st.integers(-6, 0).map(lambda number: number / 2), st.floats(-50, 0), st.sampled_from([-math.inf, -3.4e38])
)


@st.composite
def batches(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor]:
    size, length = draw(st.integers(1, 3)), draw(st.integers(1, 9))
    numbers = [draw(st.lists(values, min_size=size * length, max_size=size * length)) for _ in range(2)]
    allowed = draw(st.lists(st.booleans(), min_size=size * length, max_size=size * length))
    starts, ends = (torch.tensor(row, dtype=torch.float64).view(size, length) for row in numbers)
    return starts, ends, torch.tensor(allowed).view(size, length)


def all_spans(
    starts: list[float], ends: list[float], allowed: list[bool], longest: int
) -> list[tuple[float, int, int]]:
    found = [
        (starts[s] + ends[e], s, e)
        for s in range(len(starts))
        for e in range(s, min(s + longest, len(starts)))
        if allowed[s] and allowed[e] and starts[s] + ends[e] > -math.inf
    ]
    return sorted(found, key=lambda span: (-span[0], span[1], span[2]))


@given(batch=batches(), longest=st.integers(1, 12), top_k=st.integers(1, 60))
@settings(max_examples=100, deadline=None)
def test_the_best_of_all_spans(batch: tuple[Tensor, Tensor, Tensor], longest: int, top_k: int) -> None:
    scores, starts, ends = best_spans(*batch, longest, top_k)
    assert scores.shape == starts.shape == ends.shape == (len(batch[0]), top_k)
    for example, rows in enumerate(zip(*(part.tolist() for part in batch), strict=True)):
        expected = all_spans(*rows, longest)[:top_k]
        expected += [(-math.inf, 0, 0)] * (top_k - len(expected))
        found = zip(scores[example].tolist(), starts[example].tolist(), ends[example].tolist(), strict=True)
        assert list(found) == expected


def test_many_equal_spans_come_in_order() -> None:
    equal = torch.zeros(2, 300)
    _, starts, ends = best_spans(equal, equal, torch.ones(2, 300, dtype=torch.bool), 30, 40)
    assert starts.tolist() == [[0] * 30 + [1] * 10] * 2
    assert ends.tolist() == [[*range(30), *range(1, 11)]] * 2


def test_nothing_to_choose_from() -> None:
    nan = torch.full((1, 3), torch.nan)
    for starts in (nan, torch.zeros(1, 3)):
        scores, *places = best_spans(starts, nan, torch.ones(1, 3, dtype=torch.bool), 5, 2)
        assert scores.tolist() == [[-math.inf] * 2]
        assert [place.tolist() for place in places] == [[[0, 0]]] * 2
    assert best_spans(torch.zeros(2, 0), torch.zeros(2, 0), torch.zeros(2, 0).bool(), 5, 2)[0].shape == (2, 2)
    assert best_spans(torch.zeros(0, 4), torch.zeros(0, 4), torch.zeros(0, 4).bool(), 5, 2)[0].shape == (0, 2)


def literal_rescoring(
    starts: list[float], ends: list[float], kind: str, window: int
) -> tuple[list[float], list[float]]:
    """The formula in probability space, position by position."""
    combine = {"window-sum": math.fsum, "window-max": max}[kind]
    length = len(starts)
    new_starts = [p * combine([ends[k] for k in range(i, min(i + window + 1, length))]) for i, p in enumerate(starts)]
    new_ends = [p * combine([starts[k] for k in range(max(0, j - window), j + 1)]) for j, p in enumerate(ends)]
    return new_starts, new_ends


@pytest.mark.parametrize("kind", ["window-sum", "window-max"])
@pytest.mark.parametrize("window", [0, 1, 15])
@pytest.mark.parametrize("length", [1, 7, 60])
def test_rescoring_is_the_formula(kind: str, window: int, length: int) -> None:
    generator = torch.Generator().manual_seed(length)
    logits = 5 * torch.randn(2, 3, length, generator=generator, dtype=torch.float64)
    masked = torch.rand(3, length, generator=generator) < 0.3
    masked[:, 0] = False
    starts, ends = logits.masked_fill(masked, -torch.inf).log_softmax(-1)
    rescored = [part.exp() for part in rescore_log_probs(starts, ends, kind, window)]
    for example in range(3):
        expected = literal_rescoring(starts[example].exp().tolist(), ends[example].exp().tolist(), kind, window)
        for part, literal in zip(rescored, expected, strict=True):
            torch.testing.assert_close(
                part[example], torch.tensor(literal, dtype=torch.float64), atol=1e-10, rtol=1e-10
            )
            assert (part[example][masked[example]] == 0).all()


def test_rescoring_keeps_what_is_small_and_never_gives_nan() -> None:
    starts = torch.tensor([[-800.0, -torch.inf, -900.0]], dtype=torch.float64)
    for kind in ("window-sum", "window-max"):
        for part in rescore_log_probs(starts, starts, kind):
            assert part.isfinite().tolist() == [[True, False, True]]
    lowest = torch.full((1, 4), torch.finfo(torch.float32).min)
    for kind in ("window-sum", "window-max"):
        assert not any(part.isnan().any() for part in rescore_log_probs(lowest, lowest, kind))
