"""Move the masked positions of each row of a padded batch to its front, in order.

Positions are ranked by a cumulative sum and scattered: the result of a stable argsort of the mask, from operations that
every exporter knows (ONNX has no stable sort).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad


def pack(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Order the positions of each row: first those in the mask, then the others, each group from left to right.

    Args:
        mask: ``[B, L]``, boolean.

    Returns:
        The permutation of positions ``[B, L]`` (int64) and its inverse, the rank of each position ``[B, L]``.
    """
    ranks = torch.where(mask, mask.cumsum(1), mask.sum(1, keepdim=True) + (~mask).cumsum(1)) - 1
    positions = torch.arange(mask.size(1), device=mask.device).expand_as(ranks)
    return torch.zeros_like(ranks).scatter(1, ranks, positions), ranks


def gather_query(hidden_states: Tensor, query_mask: Tensor, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Extract the query from a sequence that holds both query and context.

    Args:
        hidden_states: ``[B, M, D]``.
        query_mask: ``[B, M]``, boolean, True at the query's positions.
        length: number of query positions to keep, N; at least the largest count in the batch.

    Returns:
        The query ``[B, N, D]``, its mask ``[B, N]``, and its positions in the sequence ``[B, N]`` (-1 where the mask is
        False).
    """
    # With N columns of padding the slice has N columns for every M, also in a graph exported for all lengths.
    padded = pad(query_mask, (0, length), value=False)
    positions = pack(padded)[0][:, :length]
    mask = padded.gather(1, positions)
    positions = positions.masked_fill(~mask, 0)
    query = hidden_states.gather(1, positions.unsqueeze(-1).expand(-1, -1, hidden_states.size(-1)))
    return query * mask.unsqueeze(-1), mask, positions.masked_fill(~mask, -1)


def values_are_known(tensor: Tensor) -> bool:
    """Return whether a tensor's values can be read: not while compiling or exporting, nor on the meta device."""
    return not (torch.compiler.is_compiling() or tensor.is_meta)


def longest(mask: Tensor) -> int:
    """Return the largest number of True positions in a row of ``[B, L]``, at least 1; L where values are unknown."""
    if not values_are_known(mask):
        return mask.size(1)
    return max(int(mask.sum(1).max()), 1) if mask.numel() else 1
