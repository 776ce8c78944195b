"""Orthogonal Attention.

Source: Khandelwal & Attar, "Orthogonal Attention: A Cloze-Style Approach to Negation Scope Resolution".

For one head, a context C of m positions and a query Q of n positions::

    K = alpha_K(C, Q), V = alpha_V(C, Q)     [m, n, d_k]
    S = beta(C, Q)                           [n, d_k]
    w[i, j] = softmax over j of K[i, j] . S[j] / sqrt(d_k)
    out[i]  = sum over j of w[i, j] V[i, j]

The four variants of section 3.3 differ in alpha and beta. Both of the paper's alphas are, for a given query position,
a linear map of the context followed by ReLU. The matrix of that map is a function of the query position and small
(d_k x d_k per head), so one batched product serves all heads and positions: see `QueryGeneratedMap`.

Shapes: B batch, M context length, N query length, H heads, D hidden size, d_k = D / H.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor, nn

from .attention import QueryContextAttention, attention_class, check_heads, masked_softmax, split_heads


class FanInLinear(nn.Linear):
    """Linear layer that keeps PyTorch's default initialisation in models that initialise `nn.Linear` otherwise."""

    @property
    def fan_in(self) -> int:
        """Number of inputs."""
        return self.in_features


class HeadwiseParameters(nn.Module):
    """Weight and bias of one linear layer per head.

    The maps below multiply with the weight themselves. They call this module to get it: with offloading, a module has
    its parameters only while its `forward` runs.
    """

    bias: nn.Parameter

    def __init__(self, num_heads: int, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        self.fan_in = in_features
        self.weight = nn.Parameter(torch.empty(num_heads, in_features, out_features))
        self.register_parameter("bias", nn.Parameter(torch.empty(num_heads, out_features)) if bias else None)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(in_features**-0.5), in_features**-0.5)

    def forward(self) -> tuple[Tensor, Tensor]:
        """Return weight ``[H, in, out]`` and bias ``[H, out]``."""
        return self.weight, self.bias


class HeadwiseLinear(HeadwiseParameters):
    """One linear layer per head: ``[B, H, *, in] -> [B, H, *, out]``."""

    def forward(self, inputs: Tensor) -> Tensor:  # type: ignore[override]
        """Apply each head's layer to that head's vectors."""
        outputs = inputs @ self.weight
        return outputs if self.bias is None else outputs + self.bias.unsqueeze(-2)


class _Part(nn.Module):
    needs_square_head_size: ClassVar[bool] = False

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.head_size = hidden_size // num_heads


class Alpha(_Part):
    """Base class: one vector for each pair of a context and a query position."""

    def forward(self, context: Tensor, query: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D] -> [B, H, M, N, d_k]``."""
        raise NotImplementedError(f"{type(self).__name__} must define forward(context, query)")


class QueryGeneratedMap(Alpha):
    """``alpha(C, Q)[i, j] = ReLU(ReLU(C W0 + b0)[i] A_j + a_j)``, with ``A_j`` and ``a_j`` computed from query j."""

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__(hidden_size, num_heads)
        self.context_projection = FanInLinear(hidden_size, hidden_size)
        self.output = HeadwiseParameters(num_heads, self.head_size, self.head_size)

    def generate_weights(self, query: Tensor) -> tuple[Tensor, Tensor]:
        """``[B, N, D] -> A [B, H, N, d_k (in), d_k (out)]`` and ``a``, broadcastable to ``[B, H, N, d_k]``."""
        raise NotImplementedError(f"{type(self).__name__} must define generate_weights(query)")

    def forward(self, context: Tensor, query: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D] -> [B, H, M, N, d_k]``."""
        context = split_heads(self.context_projection(context).relu(), self.num_heads)
        matrix, bias = self.generate_weights(query)
        all_queries = matrix.transpose(2, 3).flatten(3)  # [B, H, d_k, N * d_k]
        features = (context @ all_queries).unflatten(-1, (query.size(1), self.head_size))
        return (features + bias.unsqueeze(2)).relu()


class MultiplicationAlpha(QueryGeneratedMap):
    """Elementwise product of context and query (OA-EM, OA-EMB; section 3.3.1): ``ReLU((c[i] * q[j]) W2 + b2)``."""

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__(hidden_size, num_heads)
        self.query_projection = FanInLinear(hidden_size, hidden_size)

    def generate_weights(self, query: Tensor) -> tuple[Tensor, Tensor]:
        """A_j is W2 with its rows scaled by q[j]."""
        scale = split_heads(self.query_projection(query).relu(), self.num_heads)
        weight, bias = self.output()
        return scale.unsqueeze(-1) * weight.unsqueeze(1), bias.unsqueeze(1)


class ConvolutionAlpha(QueryGeneratedMap):
    """1-D convolution of the context with filters computed from the query (OA-C, OA-CA; section 3.3.3).

    Each query position gives sqrt(d_k) filters of width and stride sqrt(d_k), with one bias each. The feature map,
    flattened filter by filter, goes through a linear layer and ReLU.
    """

    needs_square_head_size = True

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__(hidden_size, num_heads)
        self.width = math.isqrt(self.head_size)
        self.filters = FanInLinear(hidden_size, hidden_size)
        self.filter_biases = FanInLinear(hidden_size, num_heads * self.width)

    def generate_weights(self, query: Tensor) -> tuple[Tensor, Tensor]:
        """A_j is the product of the convolution and the linear layer after it."""
        filters = split_heads(self.filters(query), self.num_heads).unflatten(-1, (self.width, self.width))
        filter_biases = split_heads(self.filter_biases(query), self.num_heads)
        weight, bias = self.output()
        layer = weight.unflatten(1, (self.width, self.width))  # [H, filter, position, out]
        matrix = torch.einsum("bhnfw,hfpo->bhnpwo", filters, layer).flatten(3, 4)
        return matrix, filter_biases @ layer.sum(2) + bias.unsqueeze(1)


class Beta(_Part):
    """Base class: one vector for each query position."""

    def forward(self, context: Tensor, query: Tensor, context_mask: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D], [B, M] -> [B, H, N, d_k]``."""
        raise NotImplementedError(f"{type(self).__name__} must define forward(context, query, context_mask)")


class QueryBeta(Beta):
    """``ReLU(Q W3 + b3)``: the query alone (OA-EM, OA-C)."""

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__(hidden_size, num_heads)
        self.projection = FanInLinear(hidden_size, hidden_size)

    def forward(self, context: Tensor, query: Tensor, context_mask: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D], [B, M] -> [B, H, N, d_k]``; ignores the context."""
        return split_heads(self.projection(query).relu(), self.num_heads)


class SummaryBeta(Beta):
    """Base of the two betas that summarise the context for each query position, by dot-product attention.

    ``mix = softmax(q c^T) c`` and ``a = tanh([mix ; q] W_out)`` (sections 3.3.2 and 3.3.4).
    """

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__(hidden_size, num_heads)
        self.context_projection = FanInLinear(hidden_size, hidden_size)
        self.query_projection = FanInLinear(hidden_size, hidden_size)
        self.summary = HeadwiseLinear(num_heads, 2 * self.head_size, self.head_size, bias=False)

    def summarise(self, context: Tensor, query: Tensor, context_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``q`` and ``a``, both ``[B, H, N, d_k]``."""
        context = split_heads(self.context_projection(context).relu(), self.num_heads)
        query = split_heads(self.query_projection(query).relu(), self.num_heads)
        weights = masked_softmax(query @ context.transpose(-1, -2), context_mask[:, None, None, :])
        mix = weights @ context
        return query, self.summary(torch.cat([mix, query], dim=-1)).tanh()


class MultipliedSummaryBeta(SummaryBeta):
    """``ReLU((q * a) W2 + b2)``: the query times the summary (OA-EMB; section 3.3.2)."""

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__(hidden_size, num_heads)
        self.output = HeadwiseLinear(num_heads, self.head_size, self.head_size)

    def forward(self, context: Tensor, query: Tensor, context_mask: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D], [B, M] -> [B, H, N, d_k]``."""
        query, summary = self.summarise(context, query, context_mask)
        return self.output(query * summary).relu()


class ConvolvedSummaryBeta(SummaryBeta):
    """ReLU of the query convolved with filters computed from the summary (OA-CA; section 3.3.4)."""

    needs_square_head_size = True

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__(hidden_size, num_heads)
        self.width = math.isqrt(self.head_size)
        self.filters = HeadwiseLinear(num_heads, self.head_size, self.head_size)
        self.filter_biases = HeadwiseLinear(num_heads, self.head_size, self.width)

    def forward(self, context: Tensor, query: Tensor, context_mask: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D], [B, M] -> [B, H, N, d_k]``."""
        query, summary = self.summarise(context, query, context_mask)
        filters = self.filters(summary).unflatten(-1, (self.width, self.width))
        windows = query.unflatten(-1, (self.width, self.width))
        feature_map = filters @ windows.transpose(-1, -2) + self.filter_biases(summary).unsqueeze(-1)
        return feature_map.flatten(-2).relu()


class OrthogonalAttention(QueryContextAttention):
    """Multi-head Orthogonal Attention with its output projection ``W_D`` (section 3.2); this class is OA-CA.

    A subclass with its own `alpha` and `beta` is another variant.

    Args:
        hidden_size: D, of context, query and output.
        num_heads: H; must divide D. For OA-C and OA-CA, D / H must be a perfect square.
        variant: registered name of the class whose alpha and beta to use; None for this class.
        dropout: dropout of the attention weights.

    Raises:
        ValueError: for an unknown variant or sizes that do not fit; the message names the sizes that would.
    """

    alpha: ClassVar[type[Alpha]] = ConvolutionAlpha
    beta: ClassVar[type[Beta]] = ConvolvedSummaryBeta

    def __init__(self, hidden_size: int, num_heads: int, variant: str | None = None, dropout: float = 0.0) -> None:
        super().__init__()
        parts = type(self) if variant is None else attention_class(variant)
        if not issubclass(parts, OrthogonalAttention):
            raise ValueError(f"attention {variant!r} is {parts.__name__}, not a variant of Orthogonal Attention")
        parts.check_size(hidden_size, num_heads)
        self.output_size = hidden_size
        self.key = parts.alpha(hidden_size, num_heads)
        self.value = parts.alpha(hidden_size, num_heads)
        self.query = parts.beta(hidden_size, num_heads)
        self.dropout = nn.Dropout(dropout)
        self.projection = FanInLinear(hidden_size, hidden_size, bias=False)

    @classmethod
    def check_size(cls, size: int, num_heads: int) -> None:
        """Raise a ValueError if the heads do not divide the width, or not into squares where the variant convolves."""
        check_heads(size, num_heads)
        square = [h for h in range(1, size + 1) if size % h == 0 and math.isqrt(size // h) ** 2 == size // h]
        if (cls.alpha.needs_square_head_size or cls.beta.needs_square_head_size) and num_heads not in square:
            raise ValueError(
                f"{cls.__name__} convolves with sqrt(head size) filters, but {num_heads} heads over hidden size {size} "
                f"give a head size of {size // num_heads}, which is not a perfect square; these numbers of heads would "
                f"do: {square}"
            )

    def attend(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> tuple[Tensor, Tensor]:
        """``[B, M, D], [B, N, D], [B, M], [B, N] -> [B, M, D]`` (zero without a query) and weights ``[B, H, M, N]``."""
        keys = self.key(context, query)
        query_vectors = self.query(context, query, context_mask)
        scores = (keys * query_vectors.unsqueeze(2)).sum(-1) / math.sqrt(keys.size(-1))
        weights = masked_softmax(scores, query_mask[:, None, None, :])
        mixed = (self.dropout(weights).unsqueeze(-1) * self.value(context, query)).sum(3)
        return self.projection(mixed.transpose(1, 2).flatten(2)), weights


class ConvolutionAttention(OrthogonalAttention):
    """OA-C: convolution with filters computed from the query (section 3.3.3)."""

    beta = QueryBeta


class MultiplicationAttention(OrthogonalAttention):
    """OA-EM: elementwise multiplication (section 3.3.1)."""

    alpha, beta = MultiplicationAlpha, QueryBeta


class MultipliedSummaryAttention(OrthogonalAttention):
    """OA-EMB: elementwise multiplication in alpha and beta (section 3.3.2)."""

    alpha, beta = MultiplicationAlpha, MultipliedSummaryBeta
