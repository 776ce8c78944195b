"""Configs of the abstract cloze models: a backbone's config with the fields of the co-attention head."""

# Without `from __future__ import annotations`: `@strict` cannot check types that are strings.
from dataclasses import dataclass
from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict
from transformers import (
    AlbertConfig,
    BertConfig,
    DebertaV2Config,
    ModernBertConfig,
    RobertaConfig,
    XLNetConfig,
)

from .co_attention import CO_ATTENTIONS
from .configuration_backbone import MAX_LAYERS, MAX_LENGTH, MAX_SIZE, BackboneConfigMixin

OPTION_FEATURES = ("span", "gap")
ARTICLE_SENTENCES = ("first", "similar")


@dataclass(kw_only=True, repr=False, eq=False)
class WNDumaConfigMixin(BackboneConfigMixin):
    """The fields that the head adds to a backbone's config.

    Args:
        co_attention: `"stacked"`, where the article attends to the updated option (WN-DUMA), or `"parallel"`, where
            both attend to the encoder's output (DUMA).
        num_co_attention_layers: layers of co-attention, with shared weights; 0 is the encoder alone, with its pooler.
        num_co_attention_heads: heads of the co-attention.
        co_attention_head_size: width of a head; independent of the encoder's hidden size.
        co_attention_dropout: dropout of the outputs of encoder and co-attention.
        use_definitions: whether options are encoded with the definitions of their words. Like the next two fields, for
            data preparation and the pipeline.
        use_article: whether the article is encoded; False for the question alone.
        max_option_length: word pieces of an encoded option, with article, definitions and special tokens.
        option_features: what is read of the option's own pieces, without its definitions: None for nothing; `"span"`,
            their normalised mean, beside the means of the co-attention or the pooled output; or `"gap"`, which reads
            the question once, with a mask in the gap, and compares that mask with the embedding of each option.
        article_sentences: which sentences of a long article are encoded: `"first"`, or those `"similar"` to the
            question. For data preparation and the pipeline.
        mask_token_id: of the tokenizer; for `option_features="gap"`.
    """

    co_attention: str = "stacked"
    num_co_attention_layers: int = 1
    num_co_attention_heads: int = 64
    co_attention_head_size: int = 64
    co_attention_dropout: float | int = 0.1
    use_definitions: bool = True
    use_article: bool = True
    max_option_length: int = 150
    option_features: str | None = None
    article_sentences: str = "first"
    mask_token_id: int | None = None

    auto_model: ClassVar[str] = "AutoModelForAbstractCloze"
    pipeline_task: ClassVar[str] = "abstract-cloze"

    def __post_init__(self, **kwargs: Any) -> None:
        """Validate."""
        super().__post_init__(**kwargs)  # type: ignore[misc]
        # `@strict` calls this method too, but wraps its errors in a type that is no ValueError.
        self.validate_wn_duma_head()

    def validate_wn_duma_head(self) -> None:
        """Raise a ValueError for fields out of range; also called by `@strict`."""
        if self.co_attention not in CO_ATTENTIONS:
            raise ValueError(f"co_attention is {self.co_attention!r:.80}; known are {', '.join(CO_ATTENTIONS)}")
        if self.option_features not in (None, *OPTION_FEATURES):
            known = ", ".join(OPTION_FEATURES)
            raise ValueError(f"option_features is {self.option_features!r:.80}; known are {known}, and None for none")
        if self.article_sentences not in ARTICLE_SENTENCES:
            known = ", ".join(ARTICLE_SENTENCES)
            raise ValueError(f"article_sentences is {self.article_sentences!r:.80}; known are {known}")
        if self.option_features == "gap" and (self.num_co_attention_layers or self.use_definitions):
            raise ValueError(
                'option_features is "gap", which reads no definitions and has no co-attention; set use_definitions to '
                "False and num_co_attention_layers to 0"
            )
        self.check_between(0, MAX_LAYERS, "num_co_attention_layers")
        self.check_between(1, MAX_SIZE, "num_co_attention_heads", "co_attention_head_size")
        self.check_between(1, MAX_LENGTH, "max_option_length")
        self.check_dropout("co_attention_dropout")


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
