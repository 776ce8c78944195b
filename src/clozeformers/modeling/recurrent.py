"""Bidirectional recurrent layers whose backward direction begins at the end of each sequence, not of the batch."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

RecurrentKind = Literal["lstm", "gru"]
_CELLS = {"lstm": nn.LSTM, "gru": nn.GRU}


def reading_orders(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Orders in which the positions of each row are read: the real ones first, from the left or from the right.

    Args:
        mask: ``[B, M]``, boolean, True at real positions.

    Returns:
        Positions ``[B, M]`` in reading order, forwards and backwards.
    """
    forwards = torch.argsort((~mask).to(torch.uint8), dim=1, stable=True)
    steps = torch.arange(mask.size(1), device=mask.device).expand_as(forwards)
    last = mask.sum(1, keepdim=True) - 1
    return forwards, forwards.gather(1, torch.where(steps <= last, last - steps, steps))


def _reorder(inputs: Tensor, order: Tensor) -> Tensor:
    return inputs.gather(1, order.unsqueeze(-1).expand_as(inputs))


class BidirectionalRNN(nn.Module):
    """LSTM or GRU layers that read both ways.

    Each direction is a layer of its own over plain tensors: batches hold like lengths, so there is little padding to
    save, and packed sequences are slow on a CPU.

    Args:
        kind: `"lstm"` or `"gru"`.
        input_size: width of the input.
        hidden_size: units of one direction; the output is twice as wide.
        num_layers: one after the other.
        dropout: of each layer's input.
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
        orders = reading_orders(mask)
        places = [order.argsort(1) for order in orders]
        for layers in zip(self.forwards, self.backwards, strict=True):
            inputs = dropout(inputs, self.dropout, self.training)
            both = [
                _reorder(layer(_reorder(inputs, order))[0], place)
                for layer, order, place in zip(layers, orders, places, strict=True)
            ]
            inputs = torch.cat(both, dim=-1)
        return inputs
