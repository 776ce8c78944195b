"""Padding of abstract cloze features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from ..modeling.losses import IGNORED_LABEL


@dataclass
class ClozeCollator:
    """Pads a batch of features to its longest option and its largest number of options; drops other columns.

    Args:
        tokenizer: provides the padding token and the side to pad.
        padding_side: overrides the tokenizer's.
    """

    tokenizer: Any
    padding_side: Literal["right", "left"] | None = None

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        """Pad features as `encode_dataset` returns them.

        Returns:
            Tensors of int64: `input_ids`, `attention_mask`, `token_type_ids` and, if given, `option_mask`, each
            ``[B, C, L]``, and, if given, `labels` ``[B]``, -100 for an unknown one. `attention_mask` is 0 on all of an
            option that pads the batch.
        """
        counts = np.array([len(feature["input_ids"]) for feature in features])
        lengths = np.zeros((len(features), counts.max()), dtype=np.int64)
        is_option = np.arange(lengths.shape[1]) < counts[:, None]
        lengths[is_option] = [len(option) for feature in features for option in feature["input_ids"]]
        places = np.arange(lengths.max())
        is_real = places < lengths[..., None]
        if (self.padding_side or self.tokenizer.padding_side) == "left":
            is_real = is_real[..., ::-1]
        batch = {"attention_mask": torch.from_numpy(is_real.astype(np.int64))}
        fillers = {"input_ids": self.tokenizer.pad_token_id or 0, "token_type_ids": 0, "option_mask": 0}
        for name, filler in fillers.items():
            if name not in features[0]:
                continue
            padded = np.full(is_real.shape, filler, dtype=np.int64)
            padded[is_real] = np.concatenate([option for feature in features for option in feature[name]])
            batch[name] = torch.from_numpy(padded)
        if "label" in features[0]:
            labels = np.array([feature["label"] for feature in features], dtype=np.int64)
            batch["labels"] = torch.from_numpy(np.where(labels < 0, IGNORED_LABEL, labels))
        return batch
