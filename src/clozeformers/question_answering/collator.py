"""Features of question answering to padded batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

_LABELS = ("start_positions", "end_positions")


@dataclass
class QuestionAnsweringCollator:
    """Pads a batch of features to its longest; columns that no model takes are left out.

    Args:
        pad_token_id: what `input_ids` are padded with.
        padding_side: where the padding stands. On the left, the labels move with the words.
    """

    pad_token_id: int
    padding_side: Literal["right", "left"] = "right"

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        """Pad features as `qa_features` returns them.

        Returns:
            Tensors of int64: `input_ids`, `attention_mask` and, where given, `token_type_ids`, each ``[B, L]``; where
            given, `char_ids` ``[B, L, W]``, and `start_positions` and `end_positions`, each ``[B]``.
        """
        lengths = np.array([len(feature["input_ids"]) for feature in features])
        longest = int(lengths.max())
        begins = longest - lengths if self.padding_side == "left" else np.zeros_like(lengths)
        places = np.arange(longest)
        is_real = (places >= begins[:, None]) & (places < (begins + lengths)[:, None])
        batch = {"attention_mask": torch.from_numpy(is_real.astype(np.int64))}
        for name, filler in (("input_ids", self.pad_token_id), ("token_type_ids", 0), ("char_ids", 0)):
            if name in features[0]:
                rows = np.concatenate([np.asarray(feature[name], dtype=np.int64).reshape(-1) for feature in features])
                # Of characters, a row a token.
                rows = rows.reshape(is_real.sum(), -1) if name == "char_ids" else rows
                padded = np.full((*is_real.shape, *rows.shape[1:]), filler, dtype=np.int64)
                padded[is_real] = rows
                batch[name] = torch.from_numpy(padded)
        for name in _LABELS:
            if name in features[0]:
                batch[name] = torch.from_numpy(
                    np.array([feature[name] for feature in features], dtype=np.int64) + begins
                )
        return batch
