"""A model of three layers."""

from __future__ import annotations

from typing import Any

from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from ..modeling.context_query_attention import DotAttention


@strict
class WordPresenceConfig(PreTrainedConfig):
    """Sizes of the model."""

    model_type = "word-presence"
    vocab_size: int = 100
    hidden_size: int = 16


class WordPresenceModel(PreTrainedModel):
    """Word vectors, a dot-product attention of the text to the word, and a linear layer."""

    config_class = WordPresenceConfig

    def __init__(self, config: WordPresenceConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.attention = DotAttention(config.hidden_size)
        self.classifier = nn.Linear(self.attention.output_size, 2)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor,
        labels: Tensor | None = None,
        **_: Any,
    ) -> SequenceClassifierOutput:
        """``[B, L]`` word [SEP] text -> logits ``[B, 2]``."""
        words, real = self.embedding(input_ids), attention_mask.bool()
        read = self.attention(words, words, real & (token_type_ids == 1), real & (token_type_ids == 0))
        logits = self.classifier(read.masked_fill(~real.unsqueeze(-1), -1e4).amax(1))
        return SequenceClassifierOutput(loss=None if labels is None else cross_entropy(logits, labels), logits=logits)
