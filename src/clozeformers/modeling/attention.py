"""Query-context attention: the contract that every mechanism of the library keeps.

A query (a negation cue, a question, a summary) reads a context (a sentence, a passage, an article). A mechanism turns
each context position into a query-aware vector. It keeps three laws:

1. padding, of the context or of the query, changes nothing;
2. the order of the examples in a batch changes nothing;
3. an example without any query position gives finite values, and finite gradients.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import pad


class QueryContextAttention(nn.Module):
    """Base class of all query-context attentions.

    Attributes:
        output_size: width of the vectors that come out, one a context position.
    """

    output_size: int

    def forward(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> Tensor:
        """Let the query read the context.

        Args:
            context: ``[B, M, D]``.
            query: ``[B, N, D]``.
            context_mask: ``[B, M]``, boolean, True at real positions.
            query_mask: ``[B, N]``, boolean, True at real positions; a row may be all False.

        Returns:
            ``[B, M, output_size]``; what stands at padded context positions is finite and without meaning.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define forward(context, query, context_mask, query_mask)"
        )


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension that gives nothing to masked positions.

    Args:
        scores: any shape.
        mask: boolean, broadcastable to ``scores``, True at real positions.

    Returns:
        Weights that sum to one where a row has a real position, and are all zero where it has none.
    """
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1) * mask


def gather_query(hidden_states: Tensor, query_mask: Tensor, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Pick the query's own positions out of a sequence that query and context share.

    Args:
        hidden_states: ``[B, M, D]``.
        query_mask: ``[B, M]``, boolean, True at the query's positions.
        length: number of query positions to keep, N; at least the largest count in the batch.

    Returns:
        The query ``[B, N, D]`` in text order, its mask ``[B, N]``, and the positions ``[B, N]`` it came from (-1 where
        the mask is False).
    """
    # A stable sort brings the query's positions to the front and keeps their order. The padding before it makes the
    # slice the same size for every M, so that an exported graph serves sequences shorter than the longest query too.
    elsewhere = pad(~query_mask, (0, length), value=True)
    positions = torch.argsort(elsewhere.to(torch.uint8), dim=1, stable=True)[:, :length]
    mask = ~elsewhere.gather(1, positions)
    positions = positions.masked_fill(~mask, 0)
    query = hidden_states.gather(1, positions.unsqueeze(-1).expand(-1, -1, hidden_states.size(-1)))
    return query * mask.unsqueeze(-1), mask, positions.masked_fill(~mask, -1)
