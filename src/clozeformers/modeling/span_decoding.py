"""From the log probabilities of starts and ends to answer spans, without a loop over positions."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

NO_RESCORING = "none"
RESCORINGS = (NO_RESCORING, "window-sum", "window-max")


def best_spans(
    start_log_probs: Tensor, end_log_probs: Tensor, allowed: Tensor, max_answer_length: int, top_k: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Find the spans with the highest sum of the start's and the end's log probability.

    Every span ``s <= e`` with ``e - s < max_answer_length`` is compared, in memory of
    ``B * L * max_answer_length``. Of equal scores, the smaller start comes first, then the smaller end.

    Args:
        start_log_probs: ``[B, L]``, floating point.
        end_log_probs: ``[B, L]``.
        allowed: ``[B, L]``, boolean, True where an answer may start and end.
        max_answer_length: most positions in a span, at least 1.
        top_k: number of spans, at least 1.

    Returns:
        Scores, starts and ends, each ``[B, top_k]``, best first. Where an example has fewer spans (of a log probability
        above minus infinity, and not NaN), the score is minus infinity and both positions are 0.

    Raises:
        ValueError: if `max_answer_length` or `top_k` is below 1.
    """
    for name, value in (("max_answer_length", max_answer_length), ("top_k", top_k)):
        if value < 1:
            raise ValueError(f"{name} is {value}; it must be at least 1")
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
    """`torch.topk` of the rows of ``[B, N]`` whose ties go by position; it leaves open which of them it picks."""
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
    """Strengthen starts that have likely ends near behind them, and ends that have likely starts near before them.

    Of probabilities ``p`` come ``p'_start[i] = p_start[i] * sum(p_end[i .. i + window])`` and
    ``p'_end[j] = p_end[j] * sum(p_start[j - window .. j])``; "window-max" takes the maximum in place of the sum. All is
    done in log space, so that small probabilities survive.

    Args:
        start_log_probs: ``[B, L]``; minus infinity, or the dtype's minimum, where no answer may start.
        end_log_probs: ``[B, L]``, likewise.
        kind: one of `RESCORINGS`.
        window: how many positions behind a start, or before an end, are looked at besides its own.

    Returns:
        Starts and ends, ``[B, L]``, as logs of products that do not sum to one; minus infinity where the input is.

    Raises:
        ValueError: for another `kind`.
    """
    if kind not in RESCORINGS:
        raise ValueError(f"the span rescoring is {kind!r}; it must be one of {', '.join(map(repr, RESCORINGS))}")
    if kind == NO_RESCORING:
        return start_log_probs, end_log_probs
    behind = pad(end_log_probs, (0, window), value=-torch.inf).unfold(1, window + 1, 1)
    before = pad(start_log_probs, (window, 0), value=-torch.inf).unfold(1, window + 1, 1)
    if kind == "window-sum":
        return start_log_probs + behind.logsumexp(2), end_log_probs + before.logsumexp(2)
    return start_log_probs + behind.amax(2), end_log_probs + before.amax(2)
