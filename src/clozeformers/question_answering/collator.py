"""Collate question answering features into padded batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence


@dataclass
class QuestionAnsweringCollator:
    """Pad a batch of features on the right; columns that are no model input are dropped.

    Args:
        pad_token_id: the id that `input_ids` are padded with.
    """

    pad_token_id: int

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        """Pad features as returned by `encode_questions`.

        Returns:
            int64 tensors: `attention_mask`, `input_ids` and `token_type_ids` ``[B, L]``, `char_ids` ``[B, L, W]``,
            `start_positions` and `end_positions` ``[B]``; all but the first two only if the features have them. As
            floats ``[B, L]``, `start_targets` and `end_targets`, in place of the positions.
        """
        lengths = [len(feature["input_ids"]) for feature in features]
        batch = {"attention_mask": pad_sequence([torch.ones(length, dtype=torch.int64) for length in lengths], True)}
        for name, padding in (("input_ids", self.pad_token_id), ("token_type_ids", 0), ("char_ids", 0)):
            if name in features[0]:
                rows = [torch.from_numpy(np.asarray(feature[name], dtype=np.int64)) for feature in features]
                if name == "char_ids":
                    rows = [row.reshape(length, -1) for row, length in zip(rows, lengths, strict=True)]
                batch[name] = pad_sequence(rows, batch_first=True, padding_value=padding)
        for name in ("start_positions", "end_positions"):
            target = name.replace("positions", "targets")
            if target in features[0]:
                targets = [torch.tensor(feature[target], dtype=torch.float32) for feature in features]
                batch[target] = pad_sequence(targets, batch_first=True)
            elif name in features[0]:
                batch[name] = torch.tensor([int(feature[name]) for feature in features])
        return batch
