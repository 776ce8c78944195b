"""Weights of few bits in half precision: half the size on disk, a quarter once a wheel has compressed them.

They are ordinary weights: everything that reads safetensors reads them, and computes with them in float32.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

_LEAST_STEP = 2.0**-24  # the smallest number above zero in half precision


@torch.no_grad()
def round_weights(model: nn.Module, bits: int) -> None:
    """Round the weights of a model, so that it is scored as it will be saved.

    Each row of a matrix becomes whole multiples of a power of two, as small as `bits`, sign included, allow for its
    largest weight. Compression then finds little but these bits. Vectors are rounded to half precision only.

    Args:
        model: is changed in place.
        bits: from 2 to 12.

    Raises:
        ValueError: a weight is too large for half precision.
    """
    for name, value in model.state_dict().items():
        if value.is_floating_point():
            rounded = _round_rows(value, bits) if value.dim() > 1 else value.half()
            if not rounded.isfinite().all() and value.isfinite().all():
                raise ValueError(
                    f"{name} has a weight above {torch.finfo(torch.float16).max:.0f}, the most that half precision "
                    "holds; leave out --weight_bits"
                )
            value.copy_(rounded)


def _round_rows(value: Tensor, bits: int) -> Tensor:
    rows = value.float().flatten(1)
    largest = 2 ** (bits - 1) - 1
    least = (rows.abs().amax(1, keepdim=True) / largest).clamp(min=_LEAST_STEP)
    step = least.log2().ceil().exp2()
    return ((rows / step).round() * step).reshape(value.shape).half()


def save_in_half(folder: Path) -> None:
    """Write the weights of a saved model again, in half precision; its config still has it loaded in float32."""
    for path in folder.glob("*.safetensors"):
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata()
        save_file({name: _half(value) for name, value in load_file(path).items()}, path, metadata)


def _half(value: Tensor) -> Tensor:
    return value.half() if value.is_floating_point() else value
