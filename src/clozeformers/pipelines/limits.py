"""What a model can read, and what a pipeline's numbers may be."""

from __future__ import annotations

from typing import Any


def readable_length(model: Any, tokenizer: Any) -> int:
    """Tokens of an input that the tokenizer and the encoder's positions both allow."""
    positions = getattr(model.config, "max_position_embeddings", None) or -1
    for name, module in model.named_modules():
        # RoBERTa's kind begins to count after the padding index.
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            positions -= module.padding_idx + 1
    limit = tokenizer.model_max_length
    return int(min(limit, positions) if positions > 0 else limit)


def check_count(name: str, value: Any) -> None:
    """Raise a ValueError unless this is a whole number of at least 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least 1")
