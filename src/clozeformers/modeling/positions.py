"""How many tokens the positions of an encoder allow."""

from __future__ import annotations

from typing import Any


def first_position(model: Any) -> int:
    """The position of the first token: those of RoBERTa and its kind start after the padding index."""
    if hasattr(model, "first_position"):  # an exported model
        return int(model.first_position)
    return sum(
        module.padding_idx + 1
        for name, module in model.named_modules()
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None
    )


def max_tokens(model: Any) -> int | None:
    """The largest number of tokens that a model can read; None for relative positions."""
    positions = getattr(model.config, "max_position_embeddings", None) or -1  # XLNet: -1, relative positions
    return positions - first_position(model) if positions > 0 else None
