"""The attentions of QANet, BiDAF and their variants, and the table of all the library's mechanisms.

Shapes: B batch, M context length, N query length, D width of both.
"""

from __future__ import annotations

from inspect import signature

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, pad
from torch.utils.checkpoint import checkpoint

from .attention import QueryContextAttention, attention_class, masked_softmax, register_attention
from .orthogonal_attention import (
    ConvolutionAttention,
    MultiplicationAttention,
    MultipliedSummaryAttention,
    OrthogonalAttention,
)
from .recurrent import BidirectionalRNN, RecurrentKind


class TrilinearSimilarity(nn.Module):
    """``S[i, j] = w . [c_i ; q_j ; c_i * q_j]`` (Seo et al., 2016, equation 1).

    Computed as ``C w1 + (Q w2)^T + (C * w3) Q^T``, without the concatenation ``[B, M, N, 3 D]``.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.fan_in = size
        self.context_weight = nn.Linear(size, 1, bias=False)
        self.query_weight = nn.Linear(size, 1, bias=False)
        self.product_weight = nn.Parameter(torch.empty(size))
        nn.init.uniform_(self.product_weight, -(size**-0.5), size**-0.5)

    def forward(self, context: Tensor, query: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D] -> [B, M, N]``."""
        products = (context * self.product_weight) @ query.transpose(1, 2)
        return self.context_weight(context) + self.query_weight(query).transpose(1, 2) + products


class DotAttention(QueryContextAttention):
    """``[c ; a]`` with ``a`` the dot-product attention of c to the query (Khullar, section 3.3.1)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.output_size = 2 * size

    def attend(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> tuple[Tensor, Tensor]:
        """``[B, M, D], [B, N, D], [B, M], [B, N] -> [B, M, 2 D]`` and weights ``[B, 1, M, N]``."""
        weights = masked_softmax(context @ query.transpose(1, 2), query_mask.unsqueeze(1))
        return torch.cat([context, weights @ query], dim=-1), weights.unsqueeze(1)


class BiDAFAttention(QueryContextAttention):
    """Bi-directional attention flow, ``[c ; a ; c * a ; c * c']`` (Seo et al., 2016, section 2, item 4).

    ``a`` is the attention of context position i to the query; ``c'`` is the mean of the context, weighted by each
    position's best match with any query position.
    """

    def __init__(self, size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.output_size = 4 * size
        self.similarity = TrilinearSimilarity(size)
        self.dropout = dropout

    def attend(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> tuple[Tensor, Tensor]:
        """``[B, M, D], [B, N, D], [B, M], [B, N] -> [B, M, 4 D]`` and weights ``[B, 1, M, N]``."""
        similarity = self.similarity(
            dropout(context, self.dropout, self.training), dropout(query, self.dropout, self.training)
        )
        weights = masked_softmax(similarity, query_mask.unsqueeze(1))
        attended = weights @ query
        # An additional column gives an empty query a maximum too; it is set to 0, an equal match everywhere.
        nothing = torch.finfo(similarity.dtype).min
        best = pad(similarity.masked_fill(~query_mask.unsqueeze(1), nothing), (0, 1), value=nothing).amax(2)
        best = best.masked_fill(~query_mask.any(1, keepdim=True), 0)
        summary = masked_softmax(best, context_mask).unsqueeze(1) @ context
        return torch.cat([context, attended, context * attended, context * summary], dim=-1), weights.unsqueeze(1)


class TrilinearAttention(QueryContextAttention):
    """Context-query attention of QANet and DCN, ``[c ; a ; c * a ; c * b]`` (Yu et al., 2018, section 2.2, item 3).

    ``A = R Q`` and ``B = R K^T C``, with R the softmax of the similarity over the query and K that over the context.
    """

    def __init__(self, size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.output_size = 4 * size
        self.similarity = TrilinearSimilarity(size)
        self.dropout = dropout

    def attend(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> tuple[Tensor, Tensor]:
        """``[B, M, D], [B, N, D], [B, M], [B, N] -> [B, M, 4 D]`` and weights ``[B, 1, M, N]``."""
        similarity = self.similarity(
            dropout(context, self.dropout, self.training), dropout(query, self.dropout, self.training)
        )
        rows = masked_softmax(similarity, query_mask.unsqueeze(1))
        columns = masked_softmax(similarity.transpose(1, 2), context_mask.unsqueeze(1))
        attended, summary = rows @ query, rows @ (columns @ context)
        return torch.cat([context, attended, context * attended, context * summary], dim=-1), rows.unsqueeze(1)


class AdditiveSelfAttention(nn.Module):
    """Additive self-attention, ``e[i, j] = V . tanh(W1 v_j + W2 v_i)`` (Deng & Huang, 6.1.2)."""

    def __init__(self, size: int, attention_size: int) -> None:
        super().__init__()
        self.key = nn.Linear(size, attention_size, bias=False)
        self.query = nn.Linear(size, attention_size, bias=False)
        self.score = nn.Linear(attention_size, 1, bias=False)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """``[B, M, D]`` and a boolean mask ``[B, M]`` -> ``[B, M, D]``."""
        keys, queries = self.key(inputs), self.query(inputs)
        if torch.is_grad_enabled() and not torch.compiler.is_exporting():
            # The tanh of all pairs, [B, M, M, attention_size], is too large to keep for the backward pass.
            scores = checkpoint(self._scores, keys, queries, use_reentrant=False)
        else:
            scores = self._scores(keys, queries)
        return masked_softmax(scores, mask.unsqueeze(1)) @ inputs

    def _scores(self, keys: Tensor, queries: Tensor) -> Tensor:
        return self.score((keys.unsqueeze(1) + queries.unsqueeze(2)).tanh()).squeeze(-1)


class SelfAttention(QueryContextAttention):
    """Dot attention, self-attention over its output, and a recurrent layer over both (Deng & Huang, 6.1.2)."""

    def __init__(self, size: int, rnn_size: int, rnn: RecurrentKind, dropout: float = 0.0) -> None:
        super().__init__()
        self.dot = DotAttention(size)
        self.self_attention = AdditiveSelfAttention(self.dot.output_size, rnn_size)
        self.rnn = BidirectionalRNN(rnn, 2 * self.dot.output_size, rnn_size, dropout=dropout)
        self.output_size = self.rnn.output_size

    def attend(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> tuple[Tensor, Tensor]:
        """``[B, M, D], [B, N, D], [B, M], [B, N] -> [B, M, 2 * rnn_size]`` and weights ``[B, 1, M, N]``."""
        attended, weights = self.dot.attend(context, query, context_mask, query_mask)
        summary = self.self_attention(attended, context_mask)
        return self.rnn(torch.cat([attended, summary], dim=-1), context_mask), weights


class CombinedAttention(QueryContextAttention):
    """Self-attention and bi-directional attention, concatenated, through a recurrent layer (Deng & Huang, 6.1.3)."""

    def __init__(self, size: int, rnn_size: int, rnn: RecurrentKind, dropout: float = 0.0) -> None:
        super().__init__()
        self.dot = DotAttention(size)
        self.self_attention = AdditiveSelfAttention(self.dot.output_size, rnn_size)
        self.flow = BiDAFAttention(size, dropout)
        width = self.dot.output_size + self.flow.output_size
        self.rnn = BidirectionalRNN(rnn, width, rnn_size, dropout=dropout)
        self.output_size = self.rnn.output_size

    def attend(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> tuple[Tensor, Tensor]:
        """``[B, M, D], [B, N, D], [B, M], [B, N] -> [B, M, 2 * rnn_size]`` and weights ``[B, 1, M, N]``."""
        summary = self.self_attention(self.dot(context, query, context_mask, query_mask), context_mask)
        flow, weights = self.flow.attend(context, query, context_mask, query_mask)
        return self.rnn(torch.cat([summary, flow], dim=-1), context_mask), weights


for _name, _attention in {
    "trilinear": TrilinearAttention,
    "bidaf": BiDAFAttention,
    "dot": DotAttention,
    "self": SelfAttention,
    "combined": CombinedAttention,
    "OA-C": ConvolutionAttention,
    "OA-CA": OrthogonalAttention,
    "OA-EM": MultiplicationAttention,
    "OA-EMB": MultipliedSummaryAttention,
}.items():
    register_attention(_name, _attention)


def check_attention(name: str, size: int, num_heads: int) -> None:
    """Raise a ValueError if no mechanism has this name, or it cannot have this width and number of heads."""
    attention_class(name).check_size(size, num_heads)


def build_attention(
    name: str, size: int, *, num_heads: int, rnn_size: int, rnn: str = "lstm", dropout: float = 0.0
) -> QueryContextAttention:
    """Build a mechanism by name; raise a ValueError if the name is unknown or the sizes do not fit.

    Args:
        name: a key of `ATTENTIONS`.
        size: D, width of context and query.
        num_heads: heads of multi-head mechanisms.
        rnn_size: units per direction of mechanisms with a recurrent layer.
        rnn: cell of that layer, `"lstm"` or `"gru"`.
        dropout: dropout inside the mechanism.
    """
    attention = attention_class(name)
    options = {"num_heads": num_heads, "dropout": dropout, "rnn": rnn, "rnn_size": rnn_size}
    taken = signature(attention).parameters
    return attention(size, **{option: value for option, value in options.items() if option in taken})
