"""Orthogonal Attention.

Source: Khandelwal & Attar, "Orthogonal Attention: A Cloze-Style Approach to Negation Scope Resolution".

One head, for a context C of m positions and a query Q of n positions::

    K = alpha_K(C, Q), V = alpha_V(C, Q)     [m, n, d_k]
    S = beta(C, Q)                           [n, d_k]
    w[i, j] = softmax over j of K[i, j] . S[j] / sqrt(d_k)
    out[i]  = sum over j of w[i, j] V[i, j]

The four variants of section 3.3 differ in alpha and beta. Both of the paper's alphas are, for a given query position,
linear in the context followed by ReLU: the query *writes* a matrix, which then reads every context position. That
matrix is small (d_k x d_k a head and query position), so all heads and positions go through one batched product and
the feature map [m, n, d_k] is built once, already mixed. `QueryWrittenMap` is this idea; its subclasses say what is
written.

Shapes: B batch, M context length, N query length, H heads, D hidden size, d_k = D / H.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers.modeling_layers import GradientCheckpointingLayer

from .attention import QueryContextAttention, gather_query, masked_softmax


class FanInLinear(nn.Linear):
    """A linear layer with PyTorch's own initialisation, U(-1/sqrt(fan_in), 1/sqrt(fan_in)), inside any backbone."""

    @property
    def fan_in(self) -> int:
        """Number of inputs of one output."""
        return self.in_features


class HeadwiseLinear(nn.Module):
    """One linear layer a head: ``[B, H, *, in] -> [B, H, *, out]``."""

    bias: nn.Parameter

    def __init__(self, num_heads: int, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        self.fan_in = in_features
        self.weight = nn.Parameter(torch.empty(num_heads, in_features, out_features))
        self.register_parameter("bias", nn.Parameter(torch.empty(num_heads, out_features)) if bias else None)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(in_features**-0.5), in_features**-0.5)

    def forward(self, inputs: Tensor) -> Tensor:
        """Apply every head's layer to that head's vectors."""
        outputs = inputs @ self.weight
        return outputs if self.bias is None else outputs + self.bias.unsqueeze(-2)


def split_heads(hidden_states: Tensor, num_heads: int) -> Tensor:
    """``[B, L, H * k] -> [B, H, L, k]``."""
    return hidden_states.unflatten(-1, (num_heads, -1)).transpose(1, 2)


# ------------------------------------------------------------------------------------------------------------- alphas


class Alpha(nn.Module):
    """Makes one vector for each pair of a context and a query position."""

    needs_square_head_size: ClassVar[bool] = False

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.head_size = hidden_size // num_heads

    def forward(self, context: Tensor, query: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D] -> [B, H, M, N, d_k]``."""
        raise NotImplementedError(f"{type(self).__name__} must define forward(context, query)")


class QueryWrittenMap(Alpha):
    """``alpha(C, Q)[i, j] = ReLU(ReLU(C W0 + b0)[i] A_j + a_j)``, where query position j writes ``A_j``, ``a_j``."""

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__(hidden_size, num_heads)
        self.context_projection = FanInLinear(hidden_size, hidden_size)
        self.output = HeadwiseLinear(num_heads, self.head_size, self.head_size)

    def write(self, query: Tensor) -> tuple[Tensor, Tensor]:
        """``[B, N, D] -> A [B, H, N, d_k (in), d_k (out)]`` and ``a``, broadcastable to ``[B, H, N, d_k]``."""
        raise NotImplementedError(f"{type(self).__name__} must define write(query)")

    def forward(self, context: Tensor, query: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D] -> [B, H, M, N, d_k]``."""
        context = split_heads(self.context_projection(context).relu(), self.num_heads)
        matrix, bias = self.write(query)
        side_by_side = matrix.transpose(2, 3).flatten(3)  # [B, H, d_k, N * d_k]: one product for all query positions
        features = (context @ side_by_side).unflatten(-1, (query.size(1), self.head_size))
        return (features + bias.unsqueeze(2)).relu()


class MultiplicationAlpha(QueryWrittenMap):
    """Elementwise product of context and query (OA-EM, OA-EMB; section 3.3.1): ``ReLU((c[i] * q[j]) W2 + b2)``."""

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__(hidden_size, num_heads)
        self.query_projection = FanInLinear(hidden_size, hidden_size)

    def write(self, query: Tensor) -> tuple[Tensor, Tensor]:
        """A_j is W2 with its rows scaled by q[j]."""
        scale = split_heads(self.query_projection(query).relu(), self.num_heads)
        return scale.unsqueeze(-1) * self.output.weight.unsqueeze(1), self.output.bias.unsqueeze(1)


class ConvolutionAlpha(QueryWrittenMap):
    """1-D convolution of the context with filters that the query makes (OA-C, OA-CA; section 3.3.3).

    Each query position makes sqrt(d_k) filters of width and stride sqrt(d_k), with a bias each; the feature map is
    flattened filter by filter and goes through a linear layer and ReLU. The width is sqrt(d_k), a whole number.
    """

    needs_square_head_size = True

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__(hidden_size, num_heads)
        self.width = math.isqrt(self.head_size)
        self.filters = FanInLinear(hidden_size, hidden_size)
        self.filter_biases = FanInLinear(hidden_size, num_heads * self.width)

    def write(self, query: Tensor) -> tuple[Tensor, Tensor]:
        """A_j is the convolution and the linear layer after it, multiplied out."""
        filters = split_heads(self.filters(query), self.num_heads).unflatten(-1, (self.width, self.width))
        filter_biases = split_heads(self.filter_biases(query), self.num_heads)
        layer = self.output.weight.unflatten(1, (self.width, self.width))  # [H, filter, position, out]
        matrix = torch.einsum("bhnfw,hfpo->bhnpwo", filters, layer).flatten(3, 4)
        bias = filter_biases @ layer.sum(2) + self.output.bias.unsqueeze(1)
        return matrix, bias


# -------------------------------------------------------------------------------------------------------------- betas


class Beta(nn.Module):
    """Makes the query vectors, one for each query position."""

    needs_square_head_size: ClassVar[bool] = False

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.head_size = hidden_size // num_heads

    def forward(self, context: Tensor, query: Tensor, context_mask: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D], [B, M] -> [B, H, N, d_k]``."""
        raise NotImplementedError(f"{type(self).__name__} must define forward(context, query, context_mask)")


class QueryBeta(Beta):
    """``ReLU(Q W3 + b3)``: the query alone (OA-EM, OA-C)."""

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__(hidden_size, num_heads)
        self.projection = FanInLinear(hidden_size, hidden_size)

    def forward(self, context: Tensor, query: Tensor, context_mask: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D], [B, M] -> [B, H, N, d_k]``; the context is not read."""
        return split_heads(self.projection(query).relu(), self.num_heads)


class SummaryBeta(Beta):
    """Base of the two betas that read the context: a dot-product attention sums it up for each query position.

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
    """Filters made from the summary, convolved over the query: the feature map through ReLU (OA-CA; section 3.3.4)."""

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


# ----------------------------------------------------------------------------------------------------------- variants


class Variant(NamedTuple):
    """What a variant of Orthogonal Attention is made of."""

    alpha: type[Alpha]
    beta: type[Beta]


VARIANTS: dict[str, Variant] = {
    "OA-C": Variant(ConvolutionAlpha, QueryBeta),
    "OA-CA": Variant(ConvolutionAlpha, ConvolvedSummaryBeta),
    "OA-EM": Variant(MultiplicationAlpha, QueryBeta),
    "OA-EMB": Variant(MultiplicationAlpha, MultipliedSummaryBeta),
}


def register_variant(name: str, alpha: type[Alpha], beta: type[Beta]) -> None:
    """Make a new variant known by name, to configs and recipes too.

    Args:
        name: what ``attention_variant`` will say.
        alpha: makes keys and values; a subclass of `Alpha`, or of `QueryWrittenMap` if the query writes a linear map.
        beta: makes the query vectors.

    Raises:
        ValueError: if the name stands for other classes already.
    """
    variant = Variant(alpha, beta)
    if VARIANTS.setdefault(name, variant) != variant:
        raise ValueError(f"the variant {name!r} is registered already; choose another name than {sorted(VARIANTS)}")


class OrthogonalAttention(QueryContextAttention):
    """Multi-head Orthogonal Attention with its output projection ``W_D`` (section 3.2).

    Args:
        hidden_size: D, of context, query and output.
        num_heads: H; must divide D. For OA-C and OA-CA, D / H must be a perfect square.
        variant: a name in `VARIANTS`.
        dropout: on the attention weights.

    Raises:
        ValueError: for an unknown variant or sizes that do not fit; the message names the sizes that would.
    """

    def __init__(self, hidden_size: int, num_heads: int, variant: str = "OA-CA", dropout: float = 0.0) -> None:
        super().__init__()
        check_sizes(hidden_size, num_heads, variant)
        alpha, beta = VARIANTS[variant]
        self.output_size = hidden_size
        self.key = alpha(hidden_size, num_heads)
        self.value = alpha(hidden_size, num_heads)
        self.query = beta(hidden_size, num_heads)
        self.dropout = nn.Dropout(dropout)
        self.projection = FanInLinear(hidden_size, hidden_size, bias=False)

    def forward(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D], [B, M], [B, N] -> [B, M, D]``; zero for an example without query positions."""
        return self.attend(context, query, context_mask, query_mask)[0]

    def attend(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> tuple[Tensor, Tensor]:
        """As `forward`, with the attention weights ``[B, H, M, N]`` beside the output."""
        keys = self.key(context, query)
        query_vectors = self.query(context, query, context_mask)
        scores = (keys * query_vectors.unsqueeze(2)).sum(-1) / math.sqrt(keys.size(-1))
        weights = masked_softmax(scores, query_mask[:, None, None, :])
        mixed = (self.dropout(weights).unsqueeze(-1) * self.value(context, query)).sum(3)
        return self.projection(mixed.transpose(1, 2).flatten(2)), weights


def check_sizes(hidden_size: int, num_heads: int, variant: str) -> None:
    """Raise a ValueError if no Orthogonal Attention of this variant can be built with these sizes."""
    if variant not in VARIANTS:
        raise ValueError(f"unknown attention variant {variant!r}; known are {', '.join(sorted(VARIANTS))}")
    divisors = [heads for heads in range(1, hidden_size + 1) if hidden_size % heads == 0]
    if num_heads not in divisors:
        raise ValueError(f"{num_heads} heads do not divide the hidden size {hidden_size}; these would: {divisors}")
    square = [heads for heads in divisors if math.isqrt(hidden_size // heads) ** 2 == hidden_size // heads]
    if any(part.needs_square_head_size for part in VARIANTS[variant]) and num_heads not in square:
        raise ValueError(
            f"{variant} convolves with sqrt(head size) filters, but {num_heads} heads over hidden size {hidden_size} "
            f"give a head size of {hidden_size // num_heads}, which is not a perfect square; these numbers of heads "
            f"would do: {square}"
        )


class SelfAttention(nn.Module):
    """Multi-head self-attention whose heads are concatenated and not projected (section 3.1)."""

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query_key_value = FanInLinear(hidden_size, 3 * hidden_size)

    def forward(self, hidden_states: Tensor, mask: Tensor) -> Tensor:
        """``[B, M, D]`` and a boolean mask ``[B, M]`` -> ``[B, M, D]``."""
        # A sequence that is all padding attends to itself: a softmax over nothing would be NaN.
        mask = mask | ~mask.any(dim=1, keepdim=True)
        query, key, value = (
            split_heads(part, self.num_heads) for part in self.query_key_value(hidden_states).chunk(3, dim=-1)
        )
        attended = scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
        return attended.transpose(1, 2).flatten(2)


class OrthogonalAttentionBlock(GradientCheckpointingLayer):
    """Orthogonal Attention, self-attention and two fully connected layers, with residuals (Figure 1)."""

    def __init__(
        self, hidden_size: int, num_heads: int, variant: str, dropout: float, layer_norm_eps: float = 1e-5
    ) -> None:
        super().__init__()
        self.attention = OrthogonalAttention(hidden_size, num_heads, variant, dropout)
        self.attention_norm = nn.LayerNorm(hidden_size, eps=layer_norm_eps)
        self.self_attention = SelfAttention(hidden_size, num_heads)
        self.intermediate = FanInLinear(hidden_size, hidden_size)
        self.output = FanInLinear(hidden_size, hidden_size)
        self.output_norm = nn.LayerNorm(hidden_size, eps=layer_norm_eps)

    def forward(
        self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """``[B, M, D], [B, N, D], [B, M], [B, N]`` -> new context ``[B, M, D]`` and weights ``[B, H, M, N]``."""
        attended, weights = self.attention.attend(context, query, context_mask, query_mask)
        context = self.attention_norm(attended + context)
        attended = self.self_attention(context, context_mask)
        return self.output_norm(self.output(self.intermediate(attended).relu()) + context), weights


class OrthogonalAttentionStack(nn.Module):
    """Blocks one after the other; the query of each is read off its own input (section 4)."""

    def __init__(self, num_blocks: int, hidden_size: int, num_heads: int, variant: str, dropout: float) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            OrthogonalAttentionBlock(hidden_size, num_heads, variant, dropout) for _ in range(num_blocks)
        )

    def forward(
        self, hidden_states: Tensor, context_mask: Tensor, query_positions_mask: Tensor, query_length: int
    ) -> tuple[Tensor, tuple[Tensor, ...], Tensor]:
        """Run the blocks over a sequence in which the query stands.

        Args:
            hidden_states: ``[B, M, D]``.
            context_mask: ``[B, M]``, boolean.
            query_positions_mask: ``[B, M]``, boolean, True at the query's positions.
            query_length: N, at least the largest number of query positions in the batch.

        Returns:
            New hidden states ``[B, M, D]``, each block's weights ``[B, H, M, N]``, and the positions ``[B, N]`` of the
            query in the sequence (-1: none).
        """
        all_weights: tuple[Tensor, ...] = ()
        positions = query_positions_mask.new_empty(0)
        for block in self.blocks:
            query, query_mask, positions = gather_query(hidden_states, query_positions_mask, query_length)
            hidden_states, weights = block(hidden_states, query, context_mask, query_mask)
            all_weights = (*all_weights, weights)
        return hidden_states, all_weights, positions
