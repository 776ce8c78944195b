"""Weights on a coarse grid, in half precision: half the size on disk, and a quarter once a wheel has compressed them.

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
def round_weights(model: nn.Module, fraction: float) -> None:
    """Round the weights of a model, so that it is scored as it will be saved.

    The weights of a matrix become multiples of one step, the power of two nearest to a fraction of the root of
    their mean square: then most of their bits are zero, and compression leaves few others. Vectors are rounded to half
    precision only.

    Args:
        model: is changed in place.
        fraction: above 0. With 1/8, the rounding errors are a 28th of the weights, and seven bits of 16 are left.

    Raises:
        ValueError: a weight is too large for half precision.
    """
    for name, value in model.state_dict().items():
        if value.is_floating_point():
            rounded = (_on_grid(value, fraction) if value.dim() > 1 else value).half()
            if not rounded.isfinite().all() and value.isfinite().all():
                raise ValueError(
                    f"{name} has a weight above {torch.finfo(torch.float16).max:.0f}, the most that half precision "
                    "holds; leave out --weight_step"
                )
            value.copy_(rounded)


def _on_grid(value: Tensor, fraction: float) -> Tensor:
    deviation = value.float().square().mean().sqrt()
    step = (deviation * fraction).clamp(min=_LEAST_STEP).log2().round().exp2()
    return (value / step).round() * step


def save_in_half(folder: Path) -> None:
    """Write the weights of a saved model again, in half precision; its config still has it loaded in float32."""
    for path in folder.glob("*.safetensors"):
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata()
        save_file({name: _half(value) for name, value in load_file(path).items()}, path, metadata)


def _half(value: Tensor) -> Tensor:
    return value.half() if value.is_floating_point() else value
