"""Fused attention in float32 where a CPU trains in bfloat16."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode


class Float32Attention(TorchFunctionMode):
    """Within this context, `scaled_dot_product_attention` computes in float32 and returns the dtype of its input.

    The backward pass of the fused CPU kernel is much slower in bfloat16 than in float32.
    """

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        query = args[0] if args else kwargs.get("query")
        if function is not scaled_dot_product_attention or query.dtype != torch.bfloat16:
            return function(*args, **kwargs)
        with torch.autocast("cpu", enabled=False):
            args, kwargs = tuple(map(_float32, args)), {name: _float32(value) for name, value in kwargs.items()}
            return function(*args, **kwargs).to(query.dtype)


def _float32(value: Any) -> Any:
    return value.float() if isinstance(value, Tensor) and value.is_floating_point() else value
