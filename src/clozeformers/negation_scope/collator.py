"""Features to padded batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from .windows import NO_WORD

IGNORED_LABEL = -100


@dataclass
class NegationCollator:
    """Pads a batch of features on the right, whichever side the tokenizer pads: padding changes no result.

    Args:
        pad_token_id: what `input_ids` are padded with.
        pad_to_multiple_of: round lengths up, for hardware that likes it.
    """

    pad_token_id: int
    pad_to_multiple_of: int | None = None

    def __call__(self, features: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        """Return ``[B, L]`` tensors: `input_ids`, `attention_mask`, `cue_mask`, `word_ids`, and `labels` if given."""
        fillers = {"input_ids": self.pad_token_id, "cue_mask": 0, "word_ids": NO_WORD, "labels": IGNORED_LABEL}
        length = max(len(feature["input_ids"]) for feature in features)
        if self.pad_to_multiple_of:
            length += -length % self.pad_to_multiple_of
        batch = {
            name: torch.tensor([list(feature[name]) + [filler] * (length - len(feature[name])) for feature in features])
            for name, filler in fillers.items()
            if name in features[0]
        }
        lengths = torch.tensor([len(feature["input_ids"]) for feature in features])
        batch["attention_mask"] = (torch.arange(length) < lengths.unsqueeze(1)).long()
        return batch
