"""What abstract cloze models read of the option's own pieces: their mean, or a mask in their place.

Shapes: B questions, C options, L word pieces, D hidden size, E size of the input embeddings, K candidate words.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from .co_attention import masked_mean
from .packing import pack


class GapHead(nn.Module):
    """Compares the encoder's state at a mask with the input embeddings of candidate words.

    Like BERT's head of masked language modelling, but a candidate may have several pieces: it is the normalised mean of
    their embeddings. Scores are cosines times the square root of E, up to the learned scales of both normalisations.

    Args:
        hidden_size: D.
        embedding_size: E.
    """

    def __init__(self, hidden_size: int, embedding_size: int) -> None:
        super().__init__()
        self.dense = nn.Linear(hidden_size, embedding_size)
        self.state_norm = nn.LayerNorm(embedding_size)
        self.candidate_norm = nn.LayerNorm(embedding_size)

    def states(self, hidden_states: Tensor) -> Tensor:
        """Map the encoder's states at masks to the space of the candidates, ``[..., D] -> [..., E]``."""
        return self.state_norm(gelu(self.dense(hidden_states)))

    def candidates(self, embeddings: Tensor, mask: Tensor) -> Tensor:
        """Average the embeddings of each candidate's pieces, ``[K, L, E], [K, L] -> [K, E]``."""
        return self.candidate_norm(masked_mean(embeddings, mask))

    def forward(self, states: Tensor, candidates: Tensor) -> Tensor:
        """Score candidates, ``[..., E], [..., K, E] -> [..., K]``, in float32 or more: in less, scores tie."""
        dtype = torch.promote_types(states.dtype, torch.float32)
        with torch.autocast(states.device.type, enabled=False):
            states = states.to(dtype) * states.size(-1) ** -0.5
            # A product of matrices, not of a batch of them, where all states share their candidates.
            return (states.unsqueeze(-2) @ candidates.to(dtype).transpose(-1, -2)).squeeze(-2)


class MaskedQuestions(NamedTuple):
    """One row per question, with a mask in the place of the option, padded on one side."""

    rows: Tensor  # [B]: which of the B * C rows it was
    order: Tensor  # [B, L]: position in that row of each position here
    input_ids: Tensor  # [B, L]
    real: Tensor  # [B, L], False at padding
    gap: Tensor  # [B, L], True at the mask


def mask_gap(
    input_ids: Tensor, real: Tensor, own: Tensor, num_options: int, mask_token_id: int, padding_side: str
) -> MaskedQuestions:
    """Put a mask in the place of the option.

    Of the rows of a question, that with the longest option is read: the others may have room for more of the article.

    Args:
        input_ids: ``[B * C, L]``.
        real: ``[B * C, L]``, boolean, False at padding.
        own: ``[B * C, L]``, boolean, True at the option's own pieces.
        num_options: C.
        mask_token_id: of the tokenizer.
        padding_side: `"left"` or `"right"`.
    """
    longest = own.sum(1).view(-1, num_options).argmax(1)
    rows = longest + torch.arange(longest.size(0), device=own.device) * num_options
    own, real = own[rows], real[rows]
    gap = own & (own.cumsum(1) == 1)
    real = real & (~own | gap)
    order, _ = pack(real if padding_side == "right" else ~real)
    masked = input_ids[rows].masked_fill(gap, mask_token_id)
    return MaskedQuestions(rows, order, *(values.gather(1, order) for values in (masked, real, gap)))
