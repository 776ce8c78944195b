"""Bidirectional recurrent layers that skip padding, wherever it stands."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch._higher_order_ops.scan import scan  # torch has no public name for it yet
from torch.nn.functional import dropout, linear
from transformers.modeling_layers import GradientCheckpointingLayer

from .packing import pack, values_are_known

RecurrentKind = Literal["lstm", "gru"]
_CELLS = {"lstm": nn.LSTM, "gru": nn.GRU}


class BidirectionalRNN(GradientCheckpointingLayer):
    """LSTM or GRU layers in both directions.

    With gradients, each direction is a layer over padded tensors with real positions first: packed sequences train
    slowly on a CPU. Without them, packed sequences are faster, and all layers and directions run in one call.

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

    # One graph break: torch.compile does not trace recurrent layers, whose fused kernels are faster than a graph.
    @torch.compiler.disable(reason="recurrent layers run in fused kernels")
    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """``[B, M, input_size]`` and a boolean mask ``[B, M]`` -> ``[B, M, 2 * hidden_size]``."""
        if self._runs_packed(inputs):
            return self._run_packed(inputs, mask)
        order, ranks = pack(mask)
        steps = torch.arange(mask.size(1), device=mask.device).expand_as(order)
        last = mask.sum(1, keepdim=True) - 1
        reverse = torch.where(steps <= last, last - steps, steps)
        is_ordered = values_are_known(mask) and torch.equal(order, steps)
        onwards = None if is_ordered else (order, ranks)
        directions = (onwards, (order.gather(1, reverse), reverse.gather(1, ranks)))
        exporting = torch.compiler.is_exporting()
        run = scan_layer if exporting else _run_layer
        reorder: Any = _gather if exporting else _Reordering.apply
        for layers in zip(self.forwards, self.backwards, strict=True):
            inputs = dropout(inputs, self.dropout, self.training)
            both = [
                reorder(run(layer, reorder(inputs, *direction)), *direction[::-1]) if direction else run(layer, inputs)
                for layer, direction in zip(layers, directions, strict=True)
            ]
            inputs = torch.cat(both, dim=-1)
        return inputs

    def _runs_packed(self, inputs: Tensor) -> bool:
        """Whether packed sequences are faster and compute the same: bfloat16, for instance, has a faster kernel."""
        if self.training or torch.is_grad_enabled() or torch.compiler.is_exporting():
            return False
        layers = [*self.forwards, *self.backwards]
        is_supported = inputs.device.type == "cpu" and inputs.dtype in (torch.float32, torch.float64)
        is_supported &= inputs.numel() > 0 and not torch.is_autocast_enabled("cpu")
        return is_supported and all(is_plain(layer, inputs) for layer in layers)

    def _run_packed(self, inputs: Tensor, mask: Tensor) -> Tensor:
        order, _ = pack(mask)
        lengths, rows = mask.sum(1).clamp(min=1).sort(descending=True)
        steps = torch.arange(int(lengths[0]))
        is_real = steps.unsqueeze(1) < lengths
        positions = (rows * mask.size(1) + order[rows, : len(steps)].T)[is_real]
        layers = [layer for both in zip(self.forwards, self.backwards, strict=True) for layer in both]
        weights = [parameter for layer in layers for parameter in layer.parameters()]
        hidden = inputs.new_zeros(len(layers), len(rows), self.output_size // 2)
        packed, counts = inputs.flatten(0, 1).index_select(0, positions), is_real.sum(1)
        is_lstm = isinstance(layers[0], nn.LSTM)
        run: Any = torch.lstm if is_lstm else torch.gru
        states = (hidden, hidden) if is_lstm else hidden
        outputs = run(packed, counts, states, weights, True, len(self.forwards), 0.0, False, True)[0]
        everywhere = inputs.new_zeros(mask.numel(), self.output_size)
        return everywhere.index_copy_(0, positions, outputs).view(*mask.shape, -1)


def is_plain(layer: nn.Module, inputs: Tensor) -> bool:
    """Return whether a layer is torch's own, with weights at hand: not quantised, adapted, hooked or offloaded."""
    return (
        type(layer) in (nn.Linear, *_CELLS.values())
        and "forward" not in vars(layer)
        and not (layer._forward_hooks or layer._forward_pre_hooks)
        and all(weight.dtype == inputs.dtype and weight.device == inputs.device for weight in layer.parameters())
    )


class _Reordering(torch.autograd.Function):
    """Permute the positions of each row; the gradient of a permutation is a permutation too."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, order: Tensor, ranks: Tensor) -> Tensor:
        ctx.save_for_backward(ranks)
        return _reorder(inputs, order)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return _reorder(gradients[0], *ctx.saved_tensors), None, None


def _reorder(inputs: Tensor, order: Tensor) -> Tensor:
    rows = torch.arange(0, order.numel(), order.size(1), device=order.device).unsqueeze(1)
    return inputs.flatten(0, 1).index_select(0, (order + rows).flatten()).view(*order.shape, -1)


def _gather(inputs: Tensor, order: Tensor, _: Tensor) -> Tensor:
    """As `_Reordering`, slower, from operations that are exported for every size."""
    return inputs.gather(1, order.unsqueeze(-1).expand_as(inputs))


def _run_layer(layer: nn.Module, inputs: Tensor) -> Tensor:
    outputs: Tensor = layer(inputs)[0]
    return outputs


def scan_layer(layer: nn.Module, inputs: Tensor) -> Tensor:
    """Run an `nn.LSTM` or `nn.GRU` of one layer and direction, ``[B, M, input] -> [B, M, hidden]``, as one scan.

    Exporters unroll the fused kernels to a fixed number of positions; a scan has any number. It passes no gradients,
    which torch cannot export.
    """
    input_weight, weight, input_bias, bias = (parameter.detach() for parameter in layer.parameters())
    steps = linear(inputs.detach(), input_weight, input_bias).transpose(0, 1)
    hidden = inputs.new_zeros(inputs.size(0), weight.size(1))

    def lstm(carry: tuple[Tensor, Tensor], step: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
        hidden, cell = carry
        gates = step + linear(hidden, weight, bias)
        enter, forget, new, leave = gates.chunk(4, dim=-1)
        cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
        hidden = leave.sigmoid() * cell.tanh()
        return (hidden, cell), hidden.clone()

    def gru(hidden: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
        from_inputs = step.chunk(3, dim=-1)
        from_hidden = linear(hidden, weight, bias).chunk(3, dim=-1)
        reset, update = ((x + h).sigmoid() for x, h in zip(from_inputs[:2], from_hidden[:2], strict=True))
        new = (from_inputs[2] + reset * from_hidden[2]).tanh()
        hidden = new + update * (hidden - new)
        return hidden, hidden.clone()

    outputs: Tensor
    if isinstance(layer, nn.LSTM):
        _, outputs = scan(lstm, (hidden, hidden.clone()), steps)
    else:
        _, outputs = scan(gru, hidden, steps)
    return outputs.transpose(0, 1)
