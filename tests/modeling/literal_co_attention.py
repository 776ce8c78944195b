"""Dual multi-head co-attention written down once more: row by row, head by head, position by position.

The slow twin of `clozeformers.modeling.co_attention`, and the tests' oracle for it. It knows no padding (every row is
handled at its own length) and takes nothing from the package but the parameters of the modules it is compared with. It
is differentiable.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .literal_orthogonal_attention import layer_norm, softmax


def attention(module: nn.Module, heads: int, reader: Tensor, read: Tensor) -> tuple[Tensor, Tensor]:
    """Equations 1 to 5: ``[m, D]`` reads ``[n, D]``; what it gets ``[m, D]``, and the weights ``[H, m, n]``."""
    size = module.query_projection.weight.size(0) // heads
    of_heads, weights_of_heads = [], []
    for head in range(heads):
        rows = slice(head * size, (head + 1) * size)
        Q = [x @ module.query_projection.weight[rows].T for x in reader]
        K = [x @ module.key_projection.weight[rows].T for x in read]
        V = [x @ module.value_projection.weight[rows].T for x in read]
        out, weights = [], []
        for q in Q:
            w = softmax([q @ k / math.sqrt(size) for k in K])
            out.append(sum(share * v for share, v in zip(w, V, strict=True)))
            weights.append(torch.stack(w))
        of_heads.append(torch.stack(out))
        weights_of_heads.append(torch.stack(weights))
    for projection in (module.query_projection, module.key_projection, module.value_projection):
        assert projection.bias is None
    assert module.output_projection.bias is None
    return torch.cat(of_heads, dim=1) @ module.output_projection.weight.T, torch.stack(weights_of_heads)


def layer(module: nn.Module, mode: str, heads: int, P: Tensor, O: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # noqa: E741
    """Equations 6: the new P (REP_2) and O (REP_1), and the weights that each was read with."""

    def add_and_normalise(before: Tensor, read: Tensor) -> Tensor:
        return torch.stack([layer_norm(x + y, module.norm) for x, y in zip(before, read, strict=True)])

    read, option_weights = attention(module.attention, heads, reader=O, read=P)
    if mode == "parallel":
        rep1 = read
        rep2, article_weights = attention(module.attention, heads, reader=P, read=O)
    else:
        rep1 = add_and_normalise(O, read)
        read, article_weights = attention(module.attention, heads, reader=P, read=rep1)
        rep2 = add_and_normalise(P, read)
    return rep2, rep1, article_weights, option_weights


def stack(
    module: nn.Module, mode: str, heads: int, layers: int, hidden_states: Tensor, article: list[int], option: list[int]
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """One row ``[l, D]`` of an encoder's output: its features ``[2 D]``, and each layer's weights."""
    E = [layer_norm(x, module.layer.norm) for x in hidden_states]
    P, O = torch.stack([E[i] for i in article]), torch.stack([E[i] for i in option])  # noqa: E741
    article_weights, option_weights = [], []
    for _ in range(layers):
        P, O, of_article, of_option = layer(module.layer, mode, heads, P, O)  # noqa: E741
        article_weights.append(of_article)
        option_weights.append(of_option)
    return torch.cat([sum(O) / len(O), sum(P) / len(P)]), article_weights, option_weights
