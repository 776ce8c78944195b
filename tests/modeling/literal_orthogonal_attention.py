"""Orthogonal Attention written down once more: example by example, head by head, pair by pair.

The slow twin of `clozeformers.modeling.orthogonal_attention`, and the tests' oracle for it. It follows the formulas of
the paper one at a time, knows no padding (every example is handled at its own length, with its own query), and takes
nothing from the package but the parameters of the modules it is compared with. It is differentiable.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import conv1d


class HeadWeights:
    """The weights of one head, cut out of the parameters that the fast modules hold for all heads."""

    def __init__(self, head: int, head_size: int) -> None:
        self.head = head
        self.head_size = head_size

    def projection(self, layer: nn.Linear, size: int | None = None) -> tuple[Tensor, Tensor]:
        """W ``[D, size]`` and b ``[size]`` of a layer whose outputs are those of head 0, of head 1, and so on."""
        size = size or self.head_size
        rows = slice(self.head * size, (self.head + 1) * size)
        return layer.weight[rows].T, layer.bias[rows]

    def own(self, layer: nn.Module) -> tuple[Tensor, Tensor | float]:
        """W and b of a layer that keeps one matrix a head; 0 for no b."""
        return layer.weight[self.head], 0.0 if layer.bias is None else layer.bias[self.head]


def relu(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, torch.zeros_like(x))


def softmax(scores: list[Tensor]) -> list[Tensor]:
    exponentials = [torch.exp(score - max(s.item() for s in scores)) for score in scores]
    return [exponential / sum(exponentials) for exponential in exponentials]


def layer_norm(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    centred = x - x.mean()
    return centred / torch.sqrt((centred**2).mean() + norm.eps) * norm.weight + norm.bias


def convolution(signal: Tensor, filters: Tensor, biases: Tensor) -> Tensor:
    """A one-channel signal ``[d_k]`` through sqrt(d_k) filters, stride their width; flattened filter by filter."""
    width = math.isqrt(signal.numel())
    feature_map = conv1d(signal.view(1, 1, -1), filters.view(width, 1, width), biases, stride=width)
    return feature_map.view(-1)


# -------------------------------------------------------------------------------------- one pair, one head: the alphas


def multiplication_alpha(weights: HeadWeights, alpha: nn.Module, context: Tensor, query: Tensor) -> Tensor:
    W0, b0 = weights.projection(alpha.context_projection)
    W1, b1 = weights.projection(alpha.query_projection)
    W2, b2 = weights.own(alpha.output)
    c = relu(context @ W0 + b0)
    q = relu(query @ W1 + b1)
    return relu((c * q) @ W2 + b2)


def convolution_alpha(weights: HeadWeights, alpha: nn.Module, context: Tensor, query: Tensor) -> Tensor:
    W0, b0 = weights.projection(alpha.context_projection)
    W1, b1 = weights.projection(alpha.filters)
    W2, b2 = weights.projection(alpha.filter_biases, math.isqrt(weights.head_size))
    W3, b3 = weights.own(alpha.output)
    c = relu(context @ W0 + b0)
    x = convolution(c, filters=query @ W1 + b1, biases=query @ W2 + b2)
    return relu(x @ W3 + b3)


# ------------------------------------------------------------------------------------- one query, one head: the betas


def query_beta(weights: HeadWeights, beta: nn.Module, context: list[Tensor], query: Tensor) -> Tensor:
    W3, b3 = weights.projection(beta.projection)
    return relu(query @ W3 + b3)


def query_and_summary(
    weights: HeadWeights, beta: nn.Module, context: list[Tensor], query: Tensor
) -> tuple[Tensor, Tensor]:
    W0, b0 = weights.projection(beta.context_projection)
    W1, b1 = weights.projection(beta.query_projection)
    W_out, _ = weights.own(beta.summary)
    assert beta.summary.bias is None
    q = relu(query @ W1 + b1)
    c = [relu(position @ W0 + b0) for position in context]
    shares = softmax([q @ position for position in c])
    mix = sum(share * position for share, position in zip(shares, c, strict=True))
    return q, torch.tanh(torch.cat([mix, q]) @ W_out)


def multiplied_summary_beta(weights: HeadWeights, beta: nn.Module, context: list[Tensor], query: Tensor) -> Tensor:
    W2, b2 = weights.own(beta.output)
    q, a = query_and_summary(weights, beta, context, query)
    return relu((q * a) @ W2 + b2)


def convolved_summary_beta(weights: HeadWeights, beta: nn.Module, context: list[Tensor], query: Tensor) -> Tensor:
    W_f, b_f = weights.own(beta.filters)
    W_g, b_g = weights.own(beta.filter_biases)
    q, a = query_and_summary(weights, beta, context, query)
    return relu(convolution(q, filters=a @ W_f + b_f, biases=a @ W_g + b_g))


ALPHA_AND_BETA = {
    "OA-EM": (multiplication_alpha, query_beta),
    "OA-EMB": (multiplication_alpha, multiplied_summary_beta),
    "OA-C": (convolution_alpha, query_beta),
    "OA-CA": (convolution_alpha, convolved_summary_beta),
}


# --------------------------------------------------------------------------------------------- attention, block, stack


def attention(module: nn.Module, variant: str, heads: int, context: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
    """One example, ``[m, D]`` and ``[n, D]``: what all heads read, through W_D, ``[m, D]``; weights ``[H, m, n]``."""
    alpha, beta = ALPHA_AND_BETA[variant]
    length, hidden_size = context.shape
    head_size = hidden_size // heads
    heads_read, heads_weights = [], []
    for head in range(heads):
        weights = HeadWeights(head, head_size)
        S = [beta(weights, module.query, list(context), query_position) for query_position in query]
        rows, shares_of_rows = [], []
        for i in range(length):
            K = [alpha(weights, module.key, context[i], query_position) for query_position in query]
            V = [alpha(weights, module.value, context[i], query_position) for query_position in query]
            w = softmax([K[j] @ S[j] / math.sqrt(head_size) for j in range(len(query))]) if len(query) else []
            rows.append(sum((w[j] * V[j] for j in range(len(query))), start=context.new_zeros(head_size)))
            shares_of_rows.append(torch.stack(w) if w else context.new_zeros(0))
        heads_read.append(torch.stack(rows))
        heads_weights.append(torch.stack(shares_of_rows))
    assert module.projection.bias is None
    return torch.cat(heads_read, dim=1) @ module.projection.weight.T, torch.stack(heads_weights)


def self_attention(module: nn.Module, heads: int, hidden_states: Tensor) -> Tensor:
    """One example, ``[m, D]``: the heads concatenated, not projected."""
    hidden_size = hidden_states.size(1)
    head_size = hidden_size // heads
    weight, bias = module.query_key_value.weight, module.query_key_value.bias
    heads_read = []
    for head in range(heads):
        # Queries of all heads come first, then keys, then values.
        rows = [
            slice(part * hidden_size + head * head_size, part * hidden_size + (head + 1) * head_size)
            for part in range(3)
        ]
        Q, K, V = (hidden_states @ weight[r].T + bias[r] for r in rows)
        read = []
        for i in range(len(Q)):
            w = softmax([Q[i] @ K[j] / math.sqrt(head_size) for j in range(len(K))])
            read.append(sum(w[j] * V[j] for j in range(len(V))))
        heads_read.append(torch.stack(read))
    return torch.cat(heads_read, dim=1)


def block(module: nn.Module, variant: str, heads: int, context: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
    """One example, ``[m, D]`` and ``[n, D]``: the new context ``[m, D]`` and the weights ``[H, m, n]``."""
    Z, weights = attention(module.attention, variant, heads, context, query)
    X2 = [layer_norm(Z[i] + context[i], module.attention_norm) for i in range(len(context))]
    X3 = self_attention(module.self_attention, heads, torch.stack(X2))
    rows = []
    for i in range(len(context)):
        inner = relu(X3[i] @ module.intermediate.weight.T + module.intermediate.bias)
        outer = inner @ module.output.weight.T + module.output.bias
        rows.append(layer_norm(outer + X2[i], module.output_norm))
    return torch.stack(rows), weights


def stack(
    module: nn.Module, variant: str, heads: int, hidden_states: Tensor, query_positions: list[int]
) -> tuple[Tensor, list[Tensor]]:
    """One example, ``[m, D]``; each block's query is read off that block's own input."""
    all_weights = []
    for one in module.blocks:
        query = torch.stack([hidden_states[i] for i in query_positions]) if query_positions else hidden_states[:0]
        hidden_states, weights = block(one, variant, heads, hidden_states, query)
        all_weights.append(weights)
    return hidden_states, all_weights
