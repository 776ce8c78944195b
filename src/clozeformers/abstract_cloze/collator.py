"""Features of abstract cloze to padded batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

IGNORED_LABEL = -100


@dataclass
class ClozeCollator:
    """Pads a batch of features to its longest option, and to the most options; other columns are left out.

    Args:
        tokenizer: which has the padding token and its side.
        pad_to_multiple_of: round lengths up, for hardware that likes it.
        padding_side: where the padding stands, if not where the tokenizer says.
    """

    tokenizer: Any
    pad_to_multiple_of: int | None = None
    padding_side: Literal["right", "left"] | None = None

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        """Pad features as `cloze_features` returns them.

        Returns:
            Tensors of int64: `input_ids`, `attention_mask` and `token_type_ids`, each ``[B, C, L]``, and, where given,
            `labels` ``[B]``, -100 for one that is not known. Nothing of an option that only pads the batch is real.
        """
        counts = np.array([len(feature["input_ids"]) for feature in features])
        lengths = np.zeros((len(features), counts.max()), dtype=np.int64)
        is_option = np.arange(lengths.shape[1]) < counts[:, None]
        lengths[is_option] = [len(option) for feature in features for option in feature["input_ids"]]
        longest = int(lengths.max())
        if self.pad_to_multiple_of:
            longest += -longest % self.pad_to_multiple_of
        side = self.padding_side or self.tokenizer.padding_side
        begins = longest - lengths if side == "left" else np.zeros_like(lengths)
        places = np.arange(longest)
        is_real = (places >= begins[..., None]) & (places < (begins + lengths)[..., None])
        batch = {"attention_mask": torch.from_numpy(is_real.astype(np.int64))}
        for name, filler in (("input_ids", self.tokenizer.pad_token_id or 0), ("token_type_ids", 0)):
            padded = np.full(is_real.shape, filler, dtype=np.int64)
            padded[is_real] = np.concatenate(
                [np.asarray(option, dtype=np.int64) for feature in features for option in feature[name]]
            )
            batch[name] = torch.from_numpy(padded)
        if "label" in features[0]:
            labels = np.array([feature["label"] for feature in features], dtype=np.int64)
            batch["labels"] = torch.from_numpy(np.where(labels < 0, IGNORED_LABEL, labels))
        return batch
