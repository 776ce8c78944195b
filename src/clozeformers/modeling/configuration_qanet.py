"""Config of QANet."""

# Without `from __future__ import annotations`: `@strict` cannot check types that are strings.
from huggingface_hub.dataclasses import strict

from .configuration_backbone import MAX_LAYERS
from .configuration_word_reader import WordReaderConfig


@strict
class QANetConfig(WordReaderConfig):
    """Sizes of QANet (Yu et al., 2018); the defaults are the paper's base model.

    Args:
        num_model_blocks: blocks of the model encoder, which is applied three times.
        encoder_kernel_size: kernel size of the four convolutions of the embedding encoder; odd.
        model_kernel_size: kernel size of the two convolutions per block of the model encoder; odd.
        layer_drop: probability of skipping the last layer of an encoder in training; that of earlier layers grows
            linearly (stochastic depth).
        conditional_output: feed the start logit to the end's layer (Jain & Dutta, section 3.2, item 5).
    """

    model_type = "qanet"

    num_model_blocks: int = 7
    encoder_kernel_size: int = 7
    model_kernel_size: int = 5
    layer_drop: float | int = 0.1
    conditional_output: bool = True

    def validate_word_reader(self) -> None:
        """As the base class, with QANet's own sizes."""
        super().validate_word_reader()
        if self.hidden_size % self.num_attention_heads or self.hidden_size % 2:
            raise ValueError(
                f"hidden_size is {self.hidden_size}; it must be even, and a multiple of num_attention_heads, "
                f"{self.num_attention_heads}"
            )
        self.check_odd("encoder_kernel_size", "model_kernel_size")
        self.check_between(1, MAX_LAYERS, "num_model_blocks")
        self.check_dropout("layer_drop")
