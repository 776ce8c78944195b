"""Training steps on a CPU: dropout from few random numbers, and attention in float32.

torch draws one random number for each element that dropout may zero, which takes long on a CPU. Here a 64-bit random
number serves four elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import dropout, scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

_STEPS = 2**16


class CPUSteps(TorchFunctionMode):
    """Within this context, `dropout` and `scaled_dot_product_attention` run in forms that train faster on a CPU.

    Both are functions of torch's generator, as torch's own are, but draw other masks. The probability of dropout is
    rounded to a multiple of 2**-16, and so is the scale of what remains. In bfloat16, attention computes in float32 and
    returns the dtype of its input: the backward pass of the fused kernel is much slower in bfloat16.

    Not for models with gradient checkpointing: what is computed again in the backward pass would be outside of the
    context, and draw other masks.
    """

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if function is dropout:
            return _dropout(*args, **kwargs)
        if function is scaled_dot_product_attention:
            return _attend(*args, **kwargs)
        return function(*args, **kwargs)


def _dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    dropped = round(p * _STEPS)
    if not training or not 0 < dropped < _STEPS or inplace or input.device.type != "cpu":
        return dropout(input, p, training, inplace)
    bits = torch.empty(-(-input.numel() // 4), dtype=torch.int64).random_(-(2**63), None)  # None: to the largest
    is_kept = bits.view(torch.int16)[: input.numel()].view(input.shape) >= dropped - _STEPS // 2
    return input * is_kept.to(input.dtype).mul_(_STEPS / (_STEPS - dropped))


def _attend(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, **kwargs: Any
) -> Tensor:
    with torch.autocast("cpu", enabled=False):
        dtype = query.dtype
        if dtype == torch.bfloat16:
            query, key, value = query.float(), key.float(), value.float()
            if attn_mask is not None and attn_mask.is_floating_point():
                attn_mask = attn_mask.float()
        if dropout_p == 0 or kwargs.get("is_causal") or kwargs.get("enable_gqa"):
            return scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, **kwargs).to(dtype)
        scale = kwargs["scale"] if kwargs.get("scale") is not None else query.size(-1) ** -0.5
        scores = (query * scale) @ key.transpose(-2, -1)
        if attn_mask is None:
            weights = scores.softmax(-1)
        elif attn_mask.dtype == torch.bool:
            # As torch's: a row without any position gives zeros.
            weights = scores.masked_fill(~attn_mask, torch.finfo(scores.dtype).min).softmax(-1)
            weights = weights * attn_mask.any(-1, keepdim=True)
        else:
            weights = (scores + attn_mask).softmax(-1)
        return (_dropout(weights, dropout_p) @ value).to(dtype)
