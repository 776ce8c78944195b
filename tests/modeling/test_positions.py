"""How many tokens an encoder reads."""

from __future__ import annotations

import pytest
import torch

from clozeformers.modeling.positions import first_position, max_tokens

from .tiny_models import NEGATION, every_backbone


@every_backbone
def test_as_many_tokens_as_an_encoder_reads(name: str) -> None:
    model = NEGATION.build(name)
    longest = max_tokens(model)
    if longest is None or name in ("deberta-v2", "modernbert"):  # positions are relative, or rotations
        return
    assert (first_position(model) > 0) == (name == "roberta")
    assert model(torch.full((1, longest), 5)).logits.isfinite().all()
    with pytest.raises((IndexError, RuntimeError)):
        model(torch.full((1, longest + 1), 5))
