"""Weights in half precision on disk: half the size, and computed with in float32 as ever."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn


@torch.no_grad()
def round_to_half(model: nn.Module) -> None:
    """Round the weights of a model to numbers of half precision, so that it is scored as it will be saved.

    Raises:
        ValueError: a weight is too large for half precision.
    """
    for name, value in model.state_dict().items():
        if value.is_floating_point():
            rounded = value.half()
            if not rounded.isfinite().all() and value.isfinite().all():
                raise ValueError(
                    f"{name} has a weight above {torch.finfo(torch.float16).max:.0f}, the most that half "
                    "precision holds; leave out --save_in_half"
                )
            value.copy_(rounded)


def save_in_half(folder: Path) -> None:
    """Write the weights of a saved model again, in half precision; its config still has it loaded in float32."""
    for path in folder.glob("*.safetensors"):
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata()
        save_file({name: _half(value) for name, value in load_file(path).items()}, path, metadata)


def _half(value: Tensor) -> Tensor:
    return value.half() if value.is_floating_point() else value
