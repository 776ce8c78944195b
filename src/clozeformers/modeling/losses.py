"""Losses of the three tasks: each divides a sum of negative log-likelihoods by the number of labels.

Where every label is ignored, they are zero, not NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax, nll_loss, pad

IGNORED_LABEL = -100  # the default of torch.nn.functional.cross_entropy


def word_loss(
    logits: Tensor, labels: Tensor, word_ids: Tensor | None, num_items_in_batch: Tensor | int | None
) -> Tensor:
    """Negative log-likelihood per word; a word's log-likelihood is the mean over its pieces.

    Args:
        logits: ``[B, L, C]``.
        labels: ``[B, L]``, one per word, -100 elsewhere; of two classes, also the probability of the second.
        word_ids: ``[B, L]``, -1 for none; None: each labelled piece is a word.
        num_items_in_batch: divisor; None for the number of labels here.
    """
    scores = log_softmax(logits.float(), dim=-1)
    if word_ids is not None:
        # Average over the pieces of each word, which are adjacent, in one slot per word. Slots are numbered per input,
        # because the word ids of a window may exceed its length.
        is_next = pad(word_ids[:, 1:] != word_ids[:, :-1], (1, 0), value=False)
        slots = is_next.cumsum(1).unsqueeze(-1)
        counts = torch.zeros_like(scores[..., :1]).scatter_add(1, slots, torch.ones_like(scores[..., :1]))
        sums = torch.zeros_like(scores).scatter_add(1, slots.expand_as(scores), scores)
        scores = (sums / counts.clamp(min=1)).gather(1, slots.expand_as(scores))
    if labels.is_floating_point():
        return _mean_cross_entropy(scores, labels, num_items_in_batch)
    return _mean_loss(scores.flatten(0, 1), labels.flatten(), num_items_in_batch)


def option_loss(logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None) -> Tensor:
    """Negative log-likelihood of the correct options, from logits ``[B, C]`` and labels ``[B]``."""
    scores = log_softmax(logits, dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))
    return _mean_loss(scores, labels.long(), num_items_in_batch)


def _mean_cross_entropy(scores: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None) -> Tensor:
    targets = torch.stack([1 - labels, labels], dim=-1).to(scores)
    total = -(targets * scores).sum(-1).masked_fill(labels == IGNORED_LABEL, 0).sum()
    return total / _divisor(labels, num_items_in_batch)


def _mean_loss(scores: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None) -> Tensor:
    total = nll_loss(scores, labels, ignore_index=IGNORED_LABEL, reduction="sum")
    return total / _divisor(labels, num_items_in_batch)


def _divisor(labels: Tensor, num_items_in_batch: Tensor | int | None) -> Tensor:
    """The number of labels, of the whole batch if it is given: at least 1, because no item may have a label."""
    counted = (labels != IGNORED_LABEL).sum() if num_items_in_batch is None else num_items_in_batch
    return torch.as_tensor(counted, device=labels.device).clamp(min=1)


def _span_cross_entropy(logits: Tensor, allowed: Tensor, positions: Tensor) -> Tensor:
    """Mean over the inputs that have a label."""
    positions = positions.view(-1)
    inside = (positions >= 0) & (positions < allowed.size(1))
    inside &= allowed.gather(1, positions.clamp(0, allowed.size(1) - 1).unsqueeze(1)).squeeze(1)
    labels = positions.masked_fill(~inside, IGNORED_LABEL)
    losses = cross_entropy(logits.float(), labels, ignore_index=IGNORED_LABEL, reduction="sum")
    return losses / inside.sum().clamp(min=1)


def span_loss(start: Tensor, end: Tensor, allowed: Tensor, start_positions: Tensor, end_positions: Tensor) -> Tensor:
    """Mean of the cross-entropies of start and end.

    Args:
        start: ``[B, L]`` logits.
        end: ``[B, L]`` logits.
        allowed: ``[B, L]``, boolean, True where an answer may start or end; labels elsewhere are ignored.
        start_positions: ``[B]``.
        end_positions: likewise.
    """
    of_start = _span_cross_entropy(start, allowed, start_positions)
    return (of_start + _span_cross_entropy(end, allowed, end_positions)) / 2


def span_target_loss(logits: Sequence[Tensor], targets: Sequence[Tensor], attention_mask: Tensor) -> Tensor:
    """Mean of the cross-entropies of start and end, over the inputs that have a target.

    Args:
        logits: of start and end, ``[B, L]`` each.
        targets: likewise, the probability of each position, zero at padding.
        attention_mask: ``[B, L]``.
    """
    losses = []
    for scores, target in zip(logits, targets, strict=True):
        log_probs = scores.float().masked_fill(attention_mask == 0, -torch.inf).log_softmax(-1)
        # Where nothing is expected, a logit may be the least of its dtype, or that of padding.
        total = -(target * log_probs.masked_fill(target == 0, 0)).sum()
        losses.append(total / (target.sum(1) > 0).sum().clamp(min=1))
    return (losses[0] + losses[1]) / 2
