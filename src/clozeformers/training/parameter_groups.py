"""Parameter groups: a pretrained backbone learns more slowly than the layers that are new."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from transformers import PreTrainedModel


def backbone_and_head_groups(
    model: PreTrainedModel,
    decayed: Collection[str],
    weight_decay: float,
    learning_rate: float,
    head_learning_rate: float,
) -> list[dict[str, Any]]:
    """Split a model's parameters into up to four groups: backbone or head, with or without weight decay.

    Args:
        model: any model of the library.
        decayed: names of the parameters that weight decay applies to.
        weight_decay: for those.
        learning_rate: of the backbone.
        head_learning_rate: of everything else.

    Returns:
        Groups for a `torch.optim.Optimizer`; empty ones are left out.
    """
    groups = {
        (is_backbone, is_decayed): {
            "params": [],
            "lr": learning_rate if is_backbone else head_learning_rate,
            "weight_decay": weight_decay if is_decayed else 0.0,
        }
        for is_backbone in (True, False)
        for is_decayed in (True, False)
    }
    prefix = f"{model.base_model_prefix}."
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            groups[name.startswith(prefix), name in decayed]["params"].append(parameter)  # type: ignore[attr-defined]
    return [group for group in groups.values() if group["params"]]
