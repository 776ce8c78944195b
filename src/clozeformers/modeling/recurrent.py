"""Bidirectional recurrent layers that skip padding, wherever it stands."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from .packing import pack

RecurrentKind = Literal["lstm", "gru"]
_CELLS = {"lstm": nn.LSTM, "gru": nn.GRU}


class BidirectionalRNN(nn.Module):
    """LSTM or GRU layers in both directions.

    Each direction is a layer over padded tensors with real positions first: packed sequences are slow on a CPU.

    Args:
        kind: `"lstm"` or `"gru"`.
        input_size: width of the input.
        hidden_size: units per direction; the output is twice as wide.
        num_layers: number of layers.
        dropout: dropout of each layer's input.
    """

    def __init__(
        self, kind: RecurrentKind, input_size: int, hidden_size: int, num_layers: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.output_size = 2 * hidden_size
        self.dropout = dropout
        sizes = [input_size] + [self.output_size] * (num_layers - 1)
        self.forwards = nn.ModuleList(_CELLS[kind](size, hidden_size, batch_first=True) for size in sizes)
        self.backwards = nn.ModuleList(_CELLS[kind](size, hidden_size, batch_first=True) for size in sizes)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """``[B, M, input_size]`` and a boolean mask ``[B, M]`` -> ``[B, M, 2 * hidden_size]``."""
        order, ranks = pack(mask)
        steps = torch.arange(mask.size(1), device=mask.device).expand_as(order)
        last = mask.sum(1, keepdim=True) - 1
        reverse = torch.where(steps <= last, last - steps, steps)
        directions = ((order, ranks), (order.gather(1, reverse), reverse.gather(1, ranks)))
        for layers in zip(self.forwards, self.backwards, strict=True):
            inputs = dropout(inputs, self.dropout, self.training)
            both = [
                _reorder(layer(_reorder(inputs, order))[0], ranks)
                for layer, (order, ranks) in zip(layers, directions, strict=True)
            ]
            inputs = torch.cat(both, dim=-1)
        return inputs


def _reorder(inputs: Tensor, order: Tensor) -> Tensor:
    return inputs.gather(1, order.unsqueeze(-1).expand_as(inputs))
