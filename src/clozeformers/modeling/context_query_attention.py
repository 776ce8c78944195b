"""Attention between context and question, as in QANet, BiDAF and their variants; all keep the contract of `attention`.

Shapes: B batch, M context length, N question length, D width of both.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, pad
from torch.utils.checkpoint import checkpoint

from .attention import QueryContextAttention, masked_softmax
from .orthogonal_attention import VARIANTS, OrthogonalAttention, check_sizes
from .recurrent import BidirectionalRNN, RecurrentKind


class TrilinearSimilarity(nn.Module):
    """``S[i, j] = w . [c_i ; q_j ; c_i * q_j]`` (Seo et al., 2016, equation 1).

    Computed as ``C w1 + (Q w2)^T + (C * w3) Q^T``: the concatenation, ``[B, M, N, 3 D]``, is never made.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.context_weight = nn.Linear(size, 1, bias=False)
        self.query_weight = nn.Linear(size, 1, bias=False)
        self.product_weight = nn.Parameter(torch.empty(size))
        nn.init.uniform_(self.product_weight, -(size**-0.5), size**-0.5)

    def forward(self, context: Tensor, query: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D] -> [B, M, N]``."""
        products = (context * self.product_weight) @ query.transpose(1, 2)
        return self.context_weight(context) + self.query_weight(query).transpose(1, 2) + products


class DotAttention(QueryContextAttention):
    """``[c ; a]`` with ``a`` the question read by dot product (Khullar, section 3.3.1): the baseline of its paper."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.output_size = 2 * size

    def forward(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D], [B, M], [B, N] -> [B, M, 2 D]``."""
        weights = masked_softmax(context @ query.transpose(1, 2), query_mask.unsqueeze(1))
        return torch.cat([context, weights @ query], dim=-1)


class BiDAFAttention(QueryContextAttention):
    """Bi-directional attention flow, ``[c ; a ; c * a ; c * c']`` (Seo et al., 2016, section 2, item 4).

    ``a`` is the question as context position i reads it; ``c'`` is the context, each position weighed by its best match
    with any question position.
    """

    def __init__(self, size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.output_size = 4 * size
        self.similarity = TrilinearSimilarity(size)
        self.dropout = dropout

    def forward(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D], [B, M], [B, N] -> [B, M, 4 D]``."""
        similarity = self.similarity(
            dropout(context, self.dropout, self.training), dropout(query, self.dropout, self.training)
        )
        attended = masked_softmax(similarity, query_mask.unsqueeze(1)) @ query
        # One more column, so that there is a maximum over no question, too. It is 0 there: all positions match alike,
        # and no number that marks padding may be among the scores.
        nothing = torch.finfo(similarity.dtype).min
        best = pad(similarity.masked_fill(~query_mask.unsqueeze(1), nothing), (0, 1), value=nothing).amax(2)
        best = best.masked_fill(~query_mask.any(1, keepdim=True), 0)
        summary = masked_softmax(best, context_mask).unsqueeze(1) @ context
        return torch.cat([context, attended, context * attended, context * summary], dim=-1)


class TrilinearAttention(QueryContextAttention):
    """Context-query attention of QANet and DCN, ``[c ; a ; c * a ; c * b]`` (Yu et al., 2018, section 2.2, item 3).

    ``A = R Q`` and ``B = R K^T C``, with R the similarity's softmax over the question and K that over the context.
    """

    def __init__(self, size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.output_size = 4 * size
        self.similarity = TrilinearSimilarity(size)
        self.dropout = dropout

    def forward(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D], [B, M], [B, N] -> [B, M, 4 D]``."""
        similarity = self.similarity(
            dropout(context, self.dropout, self.training), dropout(query, self.dropout, self.training)
        )
        rows = masked_softmax(similarity, query_mask.unsqueeze(1))
        columns = masked_softmax(similarity.transpose(1, 2), context_mask.unsqueeze(1))
        attended, summary = rows @ query, rows @ (columns @ context)
        return torch.cat([context, attended, context * attended, context * summary], dim=-1)


class AdditiveSelfAttention(nn.Module):
    """Each position's summary of its sequence, ``e[i, j] = V . tanh(W1 v_j + W2 v_i)`` (Deng & Huang, 6.1.2)."""

    def __init__(self, size: int, attention_size: int) -> None:
        super().__init__()
        self.key = nn.Linear(size, attention_size, bias=False)
        self.query = nn.Linear(size, attention_size, bias=False)
        self.score = nn.Linear(attention_size, 1, bias=False)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """``[B, M, D]`` and a boolean mask ``[B, M]`` -> ``[B, M, D]``."""
        # The tanh of every pair is [B, M, M, attention_size]: too large to keep for the backward pass, cheap to repeat.
        scores = checkpoint(self._scores, self.key(inputs), self.query(inputs), use_reentrant=False)
        return masked_softmax(scores, mask.unsqueeze(1)) @ inputs

    def _scores(self, keys: Tensor, queries: Tensor) -> Tensor:
        return self.score((keys.unsqueeze(1) + queries.unsqueeze(2)).tanh()).squeeze(-1)


class SelfAttention(QueryContextAttention):
    """Dot attention, self-attention over what it gives, and a recurrent layer over both (Deng & Huang, 6.1.2)."""

    def __init__(self, size: int, hidden_size: int, rnn: RecurrentKind, dropout: float = 0.0) -> None:
        super().__init__()
        self.dot = DotAttention(size)
        self.self_attention = AdditiveSelfAttention(self.dot.output_size, hidden_size)
        self.rnn = BidirectionalRNN(rnn, 2 * self.dot.output_size, hidden_size, dropout=dropout)
        self.output_size = self.rnn.output_size

    def forward(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D], [B, M], [B, N] -> [B, M, 2 * hidden_size]``."""
        read = self.dot(context, query, context_mask, query_mask)
        return self.rnn(torch.cat([read, self.self_attention(read, context_mask)], dim=-1), context_mask)


class CombinedAttention(QueryContextAttention):
    """Self-attention and bi-directional attention side by side, through a recurrent layer (Deng & Huang, 6.1.3)."""

    def __init__(self, size: int, hidden_size: int, rnn: RecurrentKind, dropout: float = 0.0) -> None:
        super().__init__()
        self.dot = DotAttention(size)
        self.self_attention = AdditiveSelfAttention(self.dot.output_size, hidden_size)
        self.flow = BiDAFAttention(size, dropout)
        width = self.dot.output_size + self.flow.output_size
        self.rnn = BidirectionalRNN(rnn, width, hidden_size, dropout=dropout)
        self.output_size = self.rnn.output_size

    def forward(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D], [B, M], [B, N] -> [B, M, 2 * hidden_size]``."""
        summary = self.self_attention(self.dot(context, query, context_mask, query_mask), context_mask)
        flow = self.flow(context, query, context_mask, query_mask)
        return self.rnn(torch.cat([summary, flow], dim=-1), context_mask)


ATTENTIONS = ("trilinear", "bidaf", "dot", "self", "combined")


def check_attention(name: str, size: int, num_heads: int) -> None:
    """Raise a ValueError if there is no attention of this name, or none of this size."""
    if name in VARIANTS:
        check_sizes(size, num_heads, name)
    elif name not in ATTENTIONS:
        raise ValueError(f"unknown attention {name!r}; known are {', '.join([*ATTENTIONS, *sorted(VARIANTS)])}")


def build_attention(
    name: str, size: int, *, num_heads: int, hidden_size: int, rnn: RecurrentKind = "lstm", dropout: float = 0.0
) -> QueryContextAttention:
    """Build an attention by name.

    Args:
        name: one of `ATTENTIONS`, or a variant of Orthogonal Attention.
        size: D, width of context and question.
        num_heads: of Orthogonal Attention.
        hidden_size: units of a direction of the recurrent layer that ends `"self"` and `"combined"`.
        rnn: kind of that layer.
        dropout: of what the attention compares.

    Raises:
        ValueError: if there is no such attention, or none of this size.
    """
    check_attention(name, size, num_heads)
    if name in VARIANTS:
        return OrthogonalAttention(size, num_heads, name, dropout)
    if name == "dot":
        return DotAttention(size)
    if name == "bidaf":
        return BiDAFAttention(size, dropout)
    if name == "trilinear":
        return TrilinearAttention(size, dropout)
    return {"self": SelfAttention, "combined": CombinedAttention}[name](size, hidden_size, rnn, dropout)
