"""Configs of the abstract cloze models: a backbone's config with the fields of the co-attention head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict
from transformers import (
    AlbertConfig,
    BertConfig,
    DebertaV2Config,
    ModernBertConfig,
    PreTrainedConfig,
    RobertaConfig,
    XLNetConfig,
)

from .co_attention import CO_ATTENTIONS
from .configuration_backbone import BackboneConfigMixin


@dataclass(kw_only=True, repr=False, eq=False)
class WNDumaConfigMixin(BackboneConfigMixin):
    """The fields that the head adds to a backbone's config.

    Args:
        co_attention: `"stacked"`, where the article reads what the option has found in it (WN-DUMA), or `"parallel"`,
            where both read the encoder's output (DUMA).
        num_co_attention_layers: layers of co-attention, one after the other, all with the same weights; 0 is the
            encoder alone, with its pooled output.
        num_co_attention_heads: heads of the attention.
        co_attention_head_size: size of a head; it times the heads need not be the encoder's hidden size.
        co_attention_dropout: on the encoder's output and on the attention's.
        use_definitions: whether the options were read with their words' definitions. This field and the next two tell
            data preparation and the pipeline how the model was trained.
        use_article: whether the article was read; False for the question alone.
        max_option_length: word pieces that an option was cut to, with article, definitions and special tokens.
    """

    co_attention: str = "stacked"
    num_co_attention_layers: int = 1
    num_co_attention_heads: int = 64
    co_attention_head_size: int = 64
    co_attention_dropout: float | int = 0.1
    use_definitions: bool = True
    use_article: bool = True
    max_option_length: int = 150

    auto_model: ClassVar[str] = "AutoModelForAbstractCloze"
    pipeline_task: ClassVar[str] = "abstract-cloze"

    def __post_init__(self, **kwargs: Any) -> None:
        """Refuse impossible fields."""
        super().__post_init__(**kwargs)  # type: ignore[misc]
        # `@strict` runs this hook as well, later, but wraps what it raises in an error that is no ValueError.
        self.validate_wn_duma_head()

    def validate_wn_duma_head(self) -> None:
        """Part of the `@strict` validation: fields that no head can be built with."""
        if self.co_attention not in CO_ATTENTIONS:
            raise ValueError(f"co_attention is {self.co_attention!r}; known are {', '.join(CO_ATTENTIONS)}")
        counts = ("num_co_attention_layers", "num_co_attention_heads", "co_attention_head_size", "max_option_length")
        for name in counts:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise ValueError(f"{name} is {value!r}; it must be a whole number")
        if self.num_co_attention_layers < 0:
            raise ValueError(
                f"num_co_attention_layers is {self.num_co_attention_layers}; 0 is the encoder alone, 1 is the paper's "
                "model"
            )
        for name in counts[1:]:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if not 0 <= self.co_attention_dropout < 1:
            raise ValueError(f"co_attention_dropout is {self.co_attention_dropout}; it must be at least 0 and below 1")


@strict
class AlbertWNDumaConfig(WNDumaConfigMixin, AlbertConfig):
    """`AlbertConfig` with the head's fields."""

    model_type = "albert-wn-duma"
    backbone_model_type = AlbertConfig.model_type


@strict
class BertWNDumaConfig(WNDumaConfigMixin, BertConfig):
    """`BertConfig` with the head's fields."""

    model_type = "bert-wn-duma"
    backbone_model_type = BertConfig.model_type


@strict
class RobertaWNDumaConfig(WNDumaConfigMixin, RobertaConfig):
    """`RobertaConfig` with the head's fields."""

    model_type = "roberta-wn-duma"
    backbone_model_type = RobertaConfig.model_type


@strict
class DebertaV2WNDumaConfig(WNDumaConfigMixin, DebertaV2Config):
    """`DebertaV2Config` with the head's fields."""

    model_type = "deberta-v2-wn-duma"
    backbone_model_type = DebertaV2Config.model_type


@strict
class XLNetWNDumaConfig(WNDumaConfigMixin, XLNetConfig):
    """`XLNetConfig` with the head's fields."""

    model_type = "xlnet-wn-duma"
    backbone_model_type = XLNetConfig.model_type


@strict
class ModernBertWNDumaConfig(WNDumaConfigMixin, ModernBertConfig):
    """`ModernBertConfig` with the head's fields."""

    model_type = "modernbert-wn-duma"
    backbone_model_type = ModernBertConfig.model_type


WN_DUMA_CONFIGS: tuple[type[PreTrainedConfig], ...] = (
    AlbertWNDumaConfig,
    BertWNDumaConfig,
    RobertaWNDumaConfig,
    DebertaV2WNDumaConfig,
    XLNetWNDumaConfig,
    ModernBertWNDumaConfig,
)
