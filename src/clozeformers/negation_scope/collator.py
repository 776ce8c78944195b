"""Pad features to batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ..modeling.losses import IGNORED_LABEL
from .windows import NO_WORD


@dataclass
class NegationCollator:
    """Pad a batch of features on the right, whichever side the tokenizer pads: the models ignore padding.

    Args:
        pad_token_id: fills `input_ids`.
    """

    pad_token_id: int

    def __call__(self, features: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        """Return ``[B, L]`` tensors: `input_ids`, `attention_mask`, `cue_mask`, and those of the other columns."""
        fillers = {"input_ids": self.pad_token_id, "cue_mask": 0, "word_ids": NO_WORD, "labels": IGNORED_LABEL}
        fillers["cue_labels"] = IGNORED_LABEL
        lengths = torch.tensor([len(feature["input_ids"]) for feature in features])
        length = int(lengths.max())
        batch = {
            name: torch.tensor([list(feature[name]) + [filler] * (length - len(feature[name])) for feature in features])
            for name, filler in fillers.items()
            if name in features[0]
        }
        batch["attention_mask"] = (torch.arange(length) < lengths.unsqueeze(1)).long()
        return batch
