"""Dual multi-head co-attention: the option reads the article, and the article reads the option.

Two ways, which share every weight and so have equally many parameters::

    stacked    rep1 = LayerNorm(O + MHA(O, P, P))      rep2 = LayerNorm(P + MHA(P, rep1, rep1))
    parallel   rep1 = MHA(O, P, P)                     rep2 = MHA(P, O, O)

Sources: Jiang et al., "XRJL-HKUST at SemEval-2021 Task 4", section 2 (stacked: the second look reads what the first has
found); Zhu et al., "DUMA: Reading Comprehension with Transposition Thinking" (parallel).

Shapes: B rows (options of all questions), L pieces of a row, M article positions P, N option positions O, D hidden
size, H heads.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers.modeling_layers import GradientCheckpointingLayer

from .attention import QueryContextAttention, gather_query, masked_softmax

CO_ATTENTIONS = ("stacked", "parallel")
OPTION_TYPE, END_TYPE = 1, 2  # token types: of the option's segment, and of a class token that ends the input


class MultiHeadAttention(QueryContextAttention):
    """Multi-head dot-product attention without biases (equations 1 to 5): each context position reads the query's.

    Args:
        hidden_size: D, of context, query and output.
        num_heads: H.
        head_size: of a head's queries, keys and values; H times it need not be D.
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
        """``[B, M, D], [B, N, D], [B, M], [B, N] -> [B, M, D]``; zero for an example without query positions."""
        return self.attend(context, query, query_mask)[0]

    def attend(
        self, reader: Tensor, read: Tensor, read_mask: Tensor, with_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """As `forward`, with the attention weights ``[B, H, M, N]`` beside the output if asked for, else None.

        Args:
            reader: ``[B, M, D]``: queries are made of it.
            read: ``[B, N, D]``: keys and values are.
            read_mask: ``[B, N]``, boolean, True at real positions.
            with_weights: compute the weights explicitly rather than in a fused kernel.
        """
        queries, keys, values = (
            projection(vectors).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for projection, vectors in (
                (self.query_projection, reader),
                (self.key_projection, read),
                (self.value_projection, read),
            )
        )
        mask = read_mask[:, None, None, :]
        weights = None
        if with_weights:
            weights = masked_softmax(queries @ keys.transpose(-1, -2) * queries.size(-1) ** -0.5, mask)
            attended = weights @ values
        else:
            # A softmax over nothing would be NaN: who has nothing to read reads the padding, and forgets it.
            nothing = ~mask.any(-1, keepdim=True)
            attended = scaled_dot_product_attention(queries, keys, values, attn_mask=mask | nothing)
            attended = attended.masked_fill(nothing, 0.0)
        return self.output_projection(attended.transpose(1, 2).flatten(2)), weights


class DualCoAttention(GradientCheckpointingLayer):
    """One look of the option at the article, and one of the article at the option.

    Args:
        hidden_size: D.
        num_heads: H.
        head_size: size of a head.
        mode: `"stacked"` or `"parallel"`.
        dropout: on what the attention gives.
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
        """Read each side through the other.

        Args:
            article: ``[B, M, D]``.
            option: ``[B, N, D]``.
            article_mask: ``[B, M]``, boolean, True at real positions.
            option_mask: ``[B, N]``, likewise.
            with_weights: return the attention weights too.

        Returns:
            New article ``[B, M, D]`` (rep2), new option ``[B, N, D]`` (rep1), and the weights ``[B, H, M, N]`` and
            ``[B, H, N, M]`` that they were read with, or None.
        """
        stacked = self.mode == "stacked"
        read, option_weights = self.attention.attend(option, article, article_mask, with_weights)
        new_option = self.norm(option + self.dropout(read)) if stacked else self.dropout(read)
        read, article_weights = self.attention.attend(
            article, new_option if stacked else option, option_mask, with_weights
        )
        new_article = self.norm(article + self.dropout(read)) if stacked else self.dropout(read)
        return new_article, new_option, article_weights, option_weights


class CoAttentionFeatures(NamedTuple):
    """What a stack of co-attention layers makes of a row.

    Attributes:
        features: ``[B, 2 D]``: the mean of rep1, then the mean of rep2.
        article_weights: one a layer, ``[B, H, M, N]``; empty unless asked for.
        option_weights: one a layer, ``[B, H, N, M]``; likewise.
        article_positions: ``[B, M]``: where each article position stands in the row, -1 for none.
        option_positions: ``[B, N]``, likewise.
    """

    features: Tensor
    article_weights: tuple[Tensor, ...]
    option_weights: tuple[Tensor, ...]
    article_positions: Tensor
    option_positions: Tensor


class CoAttentionStack(nn.Module):
    """Layers of co-attention one after the other, all with the same weights, on the normalised output of an encoder."""

    def __init__(
        self, num_layers: int, hidden_size: int, num_heads: int, head_size: int, mode: str, dropout: float
    ) -> None:
        super().__init__()
        self.num_layers = num_layers
        self.layer = DualCoAttention(hidden_size, num_heads, head_size, mode, dropout)

    def forward(
        self,
        hidden_states: Tensor,
        article_mask: Tensor,
        option_mask: Tensor,
        lengths: tuple[int, int],
        with_weights: bool = False,
    ) -> CoAttentionFeatures:
        """Let the two segments of a row read each other, and sum them up.

        Args:
            hidden_states: ``[B, L, D]``, the encoder's output.
            article_mask: ``[B, L]``, boolean, True at the article's positions.
            option_mask: ``[B, L]``, boolean, True at the option's.
            lengths: M and N, at least the largest numbers of article and of option positions in a row.
            with_weights: return the attention weights too.
        """
        encoded = self.layer.norm(self.layer.dropout(hidden_states))
        article, article_mask, article_positions = gather_query(encoded, article_mask, lengths[0])
        option, option_mask, option_positions = gather_query(encoded, option_mask, lengths[1])
        weights: list[tuple[Tensor, Tensor]] = []
        for _ in range(self.num_layers):
            article, option, *of_layer = self.layer(article, option, article_mask, option_mask, with_weights)
            weights.append(tuple(of_layer))
        means = [masked_mean(option, option_mask), masked_mean(article, article_mask)]
        article_weights, option_weights = zip(*weights, strict=True) if with_weights else ((), ())
        return CoAttentionFeatures(
            torch.cat(means, dim=-1), article_weights, option_weights, article_positions, option_positions
        )


def masked_mean(vectors: Tensor, mask: Tensor) -> Tensor:
    """Mean over real positions, ``[B, N, D], [B, N] -> [B, D]``; zero where there is none."""
    total = vectors.masked_fill(~mask.unsqueeze(-1), 0.0).sum(1)
    return total / mask.sum(1, keepdim=True).clamp(min=1)


def segment_masks(token_type_ids: Tensor, real: Tensor, article_separators: int) -> tuple[Tensor, Tensor]:
    """Tell article and option apart, without the separators that end them.

    Args:
        token_type_ids: ``[B, L]``: 0 on the article's segment, 1 on the option's, each with what ends it; 2 on a class
            token that ends the input.
        real: ``[B, L]``, boolean, False at padding.
        article_separators: how many separators end the article.

    Returns:
        The article's mask ``[B, L]``, with the class token, and the option's ``[B, L]``. The class token is what is of
        type 2 or, where nothing is, the first real position of type 0: never a separator, even if no article follows.
    """
    article, option, end = (real & (token_type_ids == kind) for kind in (0, OPTION_TYPE, END_TYPE))
    is_class = torch.where(end.any(1, keepdim=True), end, article & (article.cumsum(1) == 1))
    return is_class | (article & ~_last(article, article_separators)), option & ~_last(option, 1)


def _last(mask: Tensor, count: int) -> Tensor:
    """The last `count` True positions of each row."""
    return mask & (mask.flip(1).cumsum(1).flip(1) <= count)
