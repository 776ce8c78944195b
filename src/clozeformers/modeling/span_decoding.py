"""Answer spans from the log probabilities of starts and ends, without a loop over positions."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad


def best_spans(
    start_log_probs: Tensor, end_log_probs: Tensor, allowed: Tensor, max_answer_length: int, top_k: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Find the spans with the highest sum of the start's and the end's log probability.

    All spans ``s <= e`` with ``e - s < max_answer_length`` are compared, in memory of ``B * L * max_answer_length``.
    Ties go to the smaller start, then to the smaller end.

    Args:
        start_log_probs: ``[B, L]``, floating point.
        end_log_probs: ``[B, L]``.
        allowed: ``[B, L]``, boolean, True where an answer may start and end.
        max_answer_length: largest number of positions in a span, at least 1.
        top_k: number of spans, at least 1.

    Returns:
        Scores, starts and ends, each ``[B, top_k]``, best first. Where an example has fewer spans with a score above
        minus infinity, the score is minus infinity and both positions are 0.
    """
    batch_size, length = start_log_probs.shape
    width = min(max_answer_length, max(length, 1))
    starts = start_log_probs.masked_fill(~allowed, -torch.inf)
    ends = end_log_probs.masked_fill(~allowed, -torch.inf)
    following = pad(ends, (0, width), value=-torch.inf).unfold(1, width, 1)[:, :length]
    scores = (starts.unsqueeze(2) + following).reshape(batch_size, length * width)
    scores = scores.masked_fill(scores.isnan(), -torch.inf)
    count = min(top_k, length * width)
    values, places = _stable_top_k(scores, count)
    first = places // width
    found = values > -torch.inf
    short = (0, top_k - count)
    return (
        pad(values, short, value=-torch.inf),
        pad(first * found, short),
        pad((first + places % width) * found, short),
    )


def _stable_top_k(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`torch.topk` of the rows of ``[B, N]`` that resolves ties by position, which `torch.topk` does not guarantee."""
    if count == 0:
        return scores[:, :0], torch.zeros_like(scores[:, :0], dtype=torch.long)
    least = scores.topk(count).values[:, -1:]
    above, equal = scores > least, scores == least
    vacant = count - above.sum(1, keepdim=True)
    chosen = above | (equal & (equal.cumsum(1) <= vacant))
    places = chosen.nonzero()[:, 1].view(-1, count)
    values, order = scores.gather(1, places).sort(dim=1, descending=True, stable=True)
    return values, places.gather(1, order)


def rescore_log_probs(
    start_log_probs: Tensor, end_log_probs: Tensor, kind: str, window: int = 15
) -> tuple[Tensor, Tensor]:
    """Weight starts by the probability of an end shortly after them, and ends by that of a start shortly before.

    ``p'_start[i] = p_start[i] * sum(p_end[i .. i + window])`` and
    ``p'_end[j] = p_end[j] * sum(p_start[j - window .. j])``, computed in log space; "window-max" takes the maximum in
    place of the sum.

    Args:
        start_log_probs: ``[B, L]``; minus infinity, or the dtype's minimum, where no answer may start.
        end_log_probs: ``[B, L]``, likewise.
        kind: `"window-sum"` or `"window-max"`.
        window: number of positions after a start, or before an end, beside its own.

    Returns:
        Starts and ends, ``[B, L]``, as unnormalised log probabilities; minus infinity where the input is.
    """
    # Exporters take an index, but not `unfold`, for any length.
    offsets = torch.arange(window + 1, device=start_log_probs.device)
    windows = torch.arange(start_log_probs.size(1), device=start_log_probs.device).unsqueeze(1) + offsets
    after = pad(end_log_probs, (0, window), value=-torch.inf)[:, windows]
    before = pad(start_log_probs, (window, 0), value=-torch.inf)[:, windows]
    if kind == "window-sum":
        return start_log_probs + after.logsumexp(2), end_log_probs + before.logsumexp(2)
    return start_log_probs + after.amax(2), end_log_probs + before.amax(2)
