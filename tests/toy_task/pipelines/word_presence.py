"""`pipeline("word-presence")`: from a word and a text to whether the text holds the word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ..text import check_text
from .base import TextPipeline


class WordPresencePipeline(TextPipeline):
    """Takes a mapping with `word` and `text`."""

    def _sanitize_parameters(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        return self._group_parameters({}, {}, **kwargs)

    def preprocess(self, input_: Mapping[str, str]) -> dict[str, Any]:
        """Encode one input."""
        return {"features": [self.tokenizer(*(check_text(input_[name], name) for name in ("word", "text")))]}

    def collate(self, features: list[Any]) -> dict[str, torch.Tensor]:
        """Pad a batch."""
        return dict(self.tokenizer.pad(features, return_tensors="pt"))

    def _forward(self, input_tensors: dict[str, torch.Tensor], **_: Any) -> torch.Tensor:
        logits: torch.Tensor = self.model(**input_tensors).logits
        return logits

    def postprocess(self, model_outputs: Mapping[str, Any]) -> dict[str, Any]:
        """Probability that the text holds the word."""
        score = model_outputs["logits"][0].softmax(-1)[1].item()
        return {"present": score > 0.5, "score": score}
