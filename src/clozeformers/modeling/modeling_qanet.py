"""QANet: encoders of convolutions and self-attention for question and context (Yu et al., 2018).

Shapes: B batch, M sequence length, D hidden size, H heads.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from transformers import initialization as init
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from .attention import masked_softmax, split_heads
from .configuration_qanet import QANetConfig
from .context_query_attention import build_attention
from .modeling_word_reader import ReaderOutput, WordReaderForQuestionAnswering
from .packing import values_are_known


def position_signal(length: int, size: int, like: Tensor) -> Tensor:
    """Sines and cosines of the positions, ``[length, size]`` (Vaswani et al., 2017, section 3.5)."""
    dtype = torch.promote_types(like.dtype, torch.float32)
    rates = torch.arange(size // 2, device=like.device, dtype=dtype)
    rates = torch.exp(rates * (-math.log(10_000.0) / max(size // 2 - 1, 1)))
    angles = torch.arange(length, device=like.device, dtype=dtype).unsqueeze(1) * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1).to(like.dtype)


class SeparableConvolution(nn.Module):
    """Depthwise separable convolution over positions, with ReLU; padding counts as zero."""

    def __init__(self, size: int, kernel_size: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(size, size, (1, kernel_size), padding=(0, kernel_size // 2), groups=size, bias=False)
        self.pointwise = nn.Linear(size, size)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """``[B, M, D]`` and a boolean mask ``[B, M]`` -> ``[B, M, D]``."""
        # An image of one row, channels last, takes no copy and is faster on a CPU than a 1-D convolution.
        image = (inputs * mask.unsqueeze(-1)).transpose(1, 2).unsqueeze(2)
        return self.pointwise(self.depthwise(image).squeeze(2).transpose(1, 2)).relu()


class MultiHeadSelfAttention(nn.Module):
    """Multi-head self-attention with an output projection."""

    def __init__(self, config: QANetConfig) -> None:
        super().__init__()
        self.config = config
        self.num_heads = config.num_attention_heads
        self.query_key_value = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.output = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """``[B, M, D]`` and a boolean mask ``[B, M]`` -> ``[B, M, D]``."""
        # No dropout of the weights, which fused kernels lack: the layer's output has its own.
        attend = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, eager_attention_forward)
        parts = self.query_key_value(inputs).chunk(3, dim=-1)
        query, key, value = (split_heads(part, self.num_heads) for part in parts)
        # A fully padded sequence attends to itself: the softmax of an empty set is NaN.
        mask = mask | ~mask.any(dim=1, keepdim=True)
        attended, _ = attend(self, query, key, value, mask[:, None, None, :], scaling=key.size(-1) ** -0.5)
        return self.output(attended.flatten(2))


def eager_attention_forward(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor, scaling: float, **_: Any
) -> tuple[Tensor, Tensor]:
    """``[B, H, M, D / H]`` and a boolean mask -> ``[B, M, H, D / H]`` and weights ``[B, H, M, M]``."""
    weights = masked_softmax(query @ key.transpose(-1, -2) * scaling, attention_mask)
    return (weights @ value).transpose(1, 2), weights


class FeedForward(nn.Module):
    """Two linear layers of the same width, with ReLU between them."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.intermediate = nn.Linear(size, size)
        self.output = nn.Linear(size, size)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """``[B, M, D] -> [B, M, D]``; ignores the mask."""
        return self.output(self.intermediate(inputs).relu())


class EncoderBlock(GradientCheckpointingLayer):
    """Convolutions, self-attention, feed-forward, each in ``x + f(LayerNorm(x))`` (section 2.2, Figure 1)."""

    def __init__(self, config: QANetConfig, num_convolutions: int, kernel_size: int) -> None:
        super().__init__()
        size = config.hidden_size
        layers: list[nn.Module] = [SeparableConvolution(size, kernel_size) for _ in range(num_convolutions)]
        layers += [MultiHeadSelfAttention(config), FeedForward(size)]
        self.layers = nn.ModuleList(layers)
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in layers)
        self.dropout = config.dropout

    def forward(self, inputs: Tensor, mask: Tensor, signal: Tensor, skip: list[float]) -> Tensor:
        """``[B, M, D]``, a boolean mask ``[B, M]``, position signal ``[M, D]``, skip probabilities -> ``[B, M, D]``."""
        inputs = inputs + signal.to(inputs.dtype)
        for layer, norm, chance in zip(self.layers, self.norms, skip, strict=True):
            may_skip, in_graph = self.training and chance > 0, not values_are_known(inputs)
            if may_skip and not in_graph and float(torch.rand(())) < chance:
                continue
            change = dropout(layer(norm(inputs), mask), self.dropout, self.training)
            if may_skip and in_graph:  # the same for all batches: every layer runs
                change = change * (torch.rand((), device=inputs.device) >= chance)
            inputs = inputs + change
        return inputs


class EncoderStack(nn.Module):
    """Blocks one after the other, with stochastic depth: layer l of L is skipped with chance ``layer_drop * l / L``."""

    def __init__(self, config: QANetConfig, num_blocks: int, num_convolutions: int, kernel_size: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(EncoderBlock(config, num_convolutions, kernel_size) for _ in range(num_blocks))
        depth = num_convolutions + 2
        skip = [config.layer_drop * (layer + 1) / (num_blocks * depth) for layer in range(num_blocks * depth)]
        self.skip = [skip[first : first + depth] for first in range(0, len(skip), depth)]

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """``[B, M, D]`` and a boolean mask ``[B, M]`` -> ``[B, M, D]``."""
        signal = position_signal(inputs.size(1), inputs.size(2), inputs)
        for block, skip in zip(self.blocks, self.skip, strict=True):
            inputs = block(inputs, mask, signal, skip)
        return inputs


class QANetForQuestionAnswering(WordReaderForQuestionAnswering):
    """QANet with a span head."""

    config_class = QANetConfig
    config: QANetConfig
    _supports_sdpa = True
    _no_split_modules = ("WordEmbeddings", "EncoderBlock")

    def __init__(self, config: QANetConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.projection = nn.Linear(self.input_size, size)
        self.embedding_encoder = EncoderStack(config, 1, 4, config.encoder_kernel_size)
        self.attention = build_attention(
            config.attention, size, num_heads=config.num_attention_heads, rnn_size=size, dropout=config.dropout
        )
        self.attention_projection = nn.Linear(self.attention.output_size, size)
        self.model_encoder = EncoderStack(config, config.num_model_blocks, 2, config.model_kernel_size)
        self.start = nn.Linear(2 * size, 1, bias=False)
        self.end = nn.Linear(2 * size + config.conditional_output, 1, bias=False)
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if module in (self.start, self.end):
            # The encoder's outputs are large sums, without a norm: training starts from even guesses.
            init.xavier_uniform_(module.weight, gain=0.05)

    def compute_logits(
        self,
        context: Tensor,
        question: Tensor,
        context_mask: Tensor,
        question_mask: Tensor,
        output_attentions: bool,
    ) -> ReaderOutput:
        """As the base class; the layers after the attention are its projection and the three runs of the encoder."""
        context = self.embedding_encoder(self.projection(context), context_mask)
        question = self.embedding_encoder(self.projection(question), question_mask)
        attended, weights = self.attend(context, question, context_mask, question_mask, output_attentions)
        projected = self.attention_projection(self._dropout(attended))
        first = self.model_encoder(self._dropout(projected), context_mask)
        second = self.model_encoder(first, context_mask)
        third = self.model_encoder(second, context_mask)
        start = self.start(torch.cat([first, second], dim=-1))
        ends = [start] if self.config.conditional_output else []
        end = self.end(torch.cat([*ends, first, third], dim=-1))
        after = ((state, None) for state in (attended, projected, first, second, third))
        return ReaderOutput(start.squeeze(-1), end.squeeze(-1), ((context, question), *after), weights)

    def _dropout(self, inputs: Tensor) -> Tensor:
        return dropout(inputs, self.config.dropout, self.training)
