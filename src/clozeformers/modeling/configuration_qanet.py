"""Config of QANet."""

from __future__ import annotations

from huggingface_hub.dataclasses import strict

from .configuration_word_reader import WordReaderConfig


@strict
class QANetConfig(WordReaderConfig):
    """Sizes of QANet (Yu et al., 2018); the defaults are the paper's base model.

    Args:
        num_model_blocks: blocks of the model encoder, which is run three times.
        encoder_kernel_size: of the embedding encoder's four convolutions; odd.
        model_kernel_size: of the model encoder's two a block; odd.
        layer_drop: chance that the last layer of an encoder is skipped in training; earlier ones in proportion
            (stochastic depth).
        conditional_output: let the end read the start's logit (Jain & Dutta, section 3.2, item 5).
    """

    model_type = "qanet"

    num_model_blocks: int = 7
    encoder_kernel_size: int = 7
    model_kernel_size: int = 5
    layer_drop: float | int = 0.1
    conditional_output: bool = True

    def validate_qanet(self) -> None:
        """Part of the `@strict` validation."""
        if self.hidden_size % self.num_attention_heads or self.hidden_size % 2:
            raise ValueError(
                f"hidden_size is {self.hidden_size}; it must be even, and a multiple of num_attention_heads, "
                f"{self.num_attention_heads}"
            )
        for name in ("encoder_kernel_size", "model_kernel_size"):
            if getattr(self, name) < 1 or getattr(self, name) % 2 == 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be an odd number")
        if self.num_model_blocks < 1:
            raise ValueError(f"num_model_blocks is {self.num_model_blocks}; it must be at least 1")
        if not 0 <= self.layer_drop < 1:
            raise ValueError(f"layer_drop is {self.layer_drop}; it must be at least 0 and below 1")

    def validate_word_reader(self) -> None:
        """As the base class, with QANet's own sizes."""
        super().validate_word_reader()
        self.validate_qanet()
