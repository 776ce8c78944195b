"""Dual multi-head co-attention: the option attends to the article, and the article to the option.

Both modes have the same parameters::

    stacked    rep1 = LayerNorm(O + MHA(O, P, P))      rep2 = LayerNorm(P + MHA(P, rep1, rep1))
    parallel   rep1 = MHA(O, P, P)                     rep2 = MHA(P, O, O)

Sources: Jiang et al., "XRJL-HKUST at SemEval-2021 Task 4", section 2 (stacked); Zhu et al., "DUMA: Reading
Comprehension with Transposition Thinking" (parallel).

Shapes: B rows (options of all questions), L word pieces, M article positions P, N option positions O, D hidden size,
H heads.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers.modeling_layers import GradientCheckpointingLayer

from .attention import QueryContextAttention, masked_softmax, split_heads
from .packing import gather_query, longest

CO_ATTENTIONS = ("stacked", "parallel")
OPTION_TYPE, END_TYPE = 1, 2  # token types of the option and of a class token at the end of the input


class MultiHeadAttention(QueryContextAttention):
    """Multi-head dot-product attention of the context to the query, without biases (equations 1 to 5).

    Args:
        hidden_size: D, of context, query and output.
        num_heads: H.
        head_size: width of a head; H times this need not be D.
    """

    def __init__(self, hidden_size: int, num_heads: int, head_size: int) -> None:
        super().__init__()
        self.output_size = hidden_size
        self.num_heads = num_heads
        self.query_projection = nn.Linear(hidden_size, num_heads * head_size, bias=False)
        self.key_projection = nn.Linear(hidden_size, num_heads * head_size, bias=False)
        self.value_projection = nn.Linear(hidden_size, num_heads * head_size, bias=False)
        self.output_projection = nn.Linear(num_heads * head_size, hidden_size, bias=False)

    def forward(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D], [B, M], [B, N] -> [B, M, D]``, by a fused kernel; zero without a query."""
        # A fully masked query attends to padding, since its softmax would be NaN; the result is zeroed below.
        mask = query_mask[:, None, None, :]
        is_empty = ~mask.any(-1, keepdim=True)
        attended = scaled_dot_product_attention(*self._project(context, query), attn_mask=mask | is_empty)
        return self._merge(attended.masked_fill(is_empty, 0.0))

    def attend(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> tuple[Tensor, Tensor]:
        """As `forward`, with the attention weights ``[B, H, M, N]`` beside the output."""
        queries, keys, values = self._project(context, query)
        scores = queries @ keys.transpose(-1, -2) * queries.size(-1) ** -0.5
        weights = masked_softmax(scores, query_mask[:, None, None, :])
        return self._merge(weights @ values), weights

    def _project(self, context: Tensor, query: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the `query`, `key` and `value` of scaled dot-product attention, each ``[B, H, *, head_size]``."""
        return (
            split_heads(self.query_projection(context), self.num_heads),
            split_heads(self.key_projection(query), self.num_heads),
            split_heads(self.value_projection(query), self.num_heads),
        )

    def _merge(self, attended: Tensor) -> Tensor:
        return self.output_projection(attended.transpose(1, 2).flatten(2))


class DualCoAttention(GradientCheckpointingLayer):
    """One layer of co-attention.

    Args:
        hidden_size: D.
        num_heads: H.
        head_size: width of a head.
        mode: `"stacked"` or `"parallel"`.
        dropout: dropout of the attention's output.
    """

    def __init__(self, hidden_size: int, num_heads: int, head_size: int, mode: str, dropout: float) -> None:
        super().__init__()
        self.mode = mode
        self.attention = MultiHeadAttention(hidden_size, num_heads, head_size)
        self.norm = nn.LayerNorm(hidden_size)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, article: Tensor, option: Tensor, article_mask: Tensor, option_mask: Tensor, with_weights: bool = False
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """Update article ``[B, M, D]`` and option ``[B, N, D]``, under boolean masks ``[B, M]`` and ``[B, N]``.

        Returns:
            New article (rep2), new option (rep1), and, on request, their attention weights ``[B, H, M, N]`` and
            ``[B, H, N, M]``.
        """

        def update(context: Tensor, *inputs: Tensor) -> tuple[Tensor, Tensor | None]:
            weights = None
            if with_weights:
                attended, weights = self.attention.attend(context, *inputs)
            else:
                attended = self.attention(context, *inputs)
            attended = self.dropout(attended)
            return self.norm(context + attended) if self.mode == "stacked" else attended, weights

        new_option, option_weights = update(option, article, option_mask, article_mask)
        read = new_option if self.mode == "stacked" else option
        new_article, article_weights = update(article, read, article_mask, option_mask)
        return new_article, new_option, article_weights, option_weights


class CoAttentionFeatures(NamedTuple):
    """Output of a stack of co-attention layers; the weights are empty unless asked for."""

    features: Tensor  # [B, 2 D]: the mean of rep1, then the mean of rep2
    article_weights: tuple[Tensor, ...]  # per layer, [B, H, M, N]
    option_weights: tuple[Tensor, ...]  # per layer, [B, H, N, M]
    article_positions: Tensor  # [B, M]: position of each article vector in the row, -1 for none
    option_positions: Tensor  # [B, N]: likewise


class CoAttentionStack(nn.Module):
    """Layers of co-attention with shared weights, on the normalised output of an encoder."""

    _no_split_modules = ("CoAttentionStack",)  # for models, which gather the names from their children

    def __init__(
        self, num_layers: int, hidden_size: int, num_heads: int, head_size: int, mode: str, dropout: float
    ) -> None:
        super().__init__()
        self.num_layers = num_layers
        self.layer = DualCoAttention(hidden_size, num_heads, head_size, mode, dropout)

    def forward(
        self, hidden_states: Tensor, article_mask: Tensor, option_mask: Tensor, with_weights: bool = False
    ) -> CoAttentionFeatures:
        """Attend between the two segments of ``[B, L, D]``, given by boolean masks ``[B, L]``, and average both."""
        encoded = self.layer.norm(self.layer.dropout(hidden_states))
        article, article_mask, article_positions = gather_query(encoded, article_mask, longest(article_mask))
        option, option_mask, option_positions = gather_query(encoded, option_mask, longest(option_mask))
        weights: list[tuple[Tensor, Tensor]] = []
        for _ in range(self.num_layers):
            article, option, *layer_weights = self.layer(article, option, article_mask, option_mask, with_weights)
            weights.append(tuple(layer_weights))
        features = torch.cat([masked_mean(option, option_mask), masked_mean(article, article_mask)], dim=-1)
        article_weights, option_weights = zip(*weights, strict=True) if with_weights else ((), ())
        return CoAttentionFeatures(features, article_weights, option_weights, article_positions, option_positions)


def masked_mean(vectors: Tensor, mask: Tensor) -> Tensor:
    """Mean over real positions, ``[B, N, D], [B, N] -> [B, D]``; zero where a row has none."""
    total = vectors.masked_fill(~mask.unsqueeze(-1), 0.0).sum(1)
    return total / mask.sum(1, keepdim=True).clamp(min=1)


def segment_masks(token_type_ids: Tensor, real: Tensor, article_separators: int) -> tuple[Tensor, Tensor]:
    """Separate article and option, without the separators that end them.

    Args:
        token_type_ids: ``[B, L]``: 0 on the article's segment, 1 on the option's, each with its separators; 2 on a
            class token at the end of the input.
        real: ``[B, L]``, boolean, False at padding.
        article_separators: number of separators after the article.

    Returns:
        The article's mask ``[B, L]``, with the class token, and the option's ``[B, L]``. The class token has type 2
        or, in inputs without type 2, is the first real position of type 0; it is never taken for a separator.
    """
    article, option, end = (real & (token_type_ids == kind) for kind in (0, OPTION_TYPE, END_TYPE))
    is_class = end | (article & (article.cumsum(1) == 1) & ~end.any(1, keepdim=True))
    return is_class | (article & ~_last(article, article_separators)), option & ~_last(option, 1)


def _last(mask: Tensor, count: int) -> Tensor:
    """The last `count` True positions of each row."""
    return mask & (mask.flip(1).cumsum(1).flip(1) <= count)
