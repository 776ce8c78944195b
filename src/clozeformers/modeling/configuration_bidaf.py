"""Config of BiDAF and its variants."""

# Without `from __future__ import annotations`: `@strict` cannot check types that are strings.
from typing import Literal

from huggingface_hub.dataclasses import strict

from .configuration_word_reader import WordReaderConfig


@strict
class BiDAFConfig(WordReaderConfig):
    """Sizes and variants of BiDAF (Seo et al., 2016; Jain & Dutta; Khullar; Deng & Huang).

    Args:
        rnn: cell of all recurrent layers.
        modeling: modeling layer: `"rnn"`: two recurrent layers; `"dense"`: one linear layer with ReLU.
        output: `"linear"`: start and end logits are linear in the modeling layer; `"rnn"`: the end has one more
            recurrent layer; `"conditional"`: that, and the start logit as a feature.
        span_rescoring: at prediction, multiply each start by the sum or the maximum of the ends within a window, and
            vice versa (Deng & Huang, section 6.3).
    """

    model_type = "bidaf"

    rnn: Literal["lstm", "gru"] = "lstm"
    modeling: Literal["rnn", "dense"] = "rnn"
    output: Literal["linear", "rnn", "conditional"] = "rnn"
    span_rescoring: Literal["none", "window-sum", "window-max"] = "none"
    attention: str = "bidaf"
    char_embedding_size: int = 200
    num_char_filters: int = 16
    num_attention_heads: int = 4
    word_dropout: float | int = 0.2
    char_dropout: float | int = 0.2
    dropout: float | int = 0.2

    @property
    def attention_size(self) -> int:
        """Width of both directions of the encoder."""
        return 2 * self.hidden_size
