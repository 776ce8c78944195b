"""Configs of the negation scope models: a backbone's config with the fields of the Orthogonal Attention head."""

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

from .configuration_backbone import BackboneConfigMixin
from .orthogonal_attention import check_sizes

SCOPE_LABELS = {0: "out-of-scope", 1: "in-scope"}


@dataclass(kw_only=True, repr=False, eq=False)
class NegationScopeConfigMixin(BackboneConfigMixin):
    """The fields that the head adds to a backbone's config.

    Args:
        attention_variant: `"OA-C"`, `"OA-CA"`, `"OA-EM"`, `"OA-EMB"`, or a name given to `register_variant`; None for
            the baseline, a linear layer on the backbone.
        num_attention_blocks: blocks of Orthogonal Attention, one after the other; 0 is the baseline too.
        num_block_heads: heads of a block; None for as many as the backbone has.
        head_dropout: dropout of the head, on attention weights and hidden states.
        max_cue_length: most word pieces that a cue may have. Compiled and exported models reserve as many.
        cue_token: the token that stands before each cue word of the input ("augment"); None for input as it is
            ("normal"). It tells data preparation and the pipeline how the model was trained.
    """

    attention_variant: str | None = "OA-CA"
    num_attention_blocks: int = 2
    num_block_heads: int | None = None
    head_dropout: float | int = 0.3
    max_cue_length: int = 16
    cue_token: str | None = None

    auto_model: ClassVar[str] = "AutoModelForNegationScope"
    pipeline_task: ClassVar[str] = "negation-scope"

    def __post_init__(self, **kwargs: Any) -> None:
        """Name the two labels, unless the checkpoint names its own."""
        super().__post_init__(**kwargs)  # type: ignore[misc]
        if self.id2label in (None, {0: "LABEL_0", 1: "LABEL_1"}):  # type: ignore[has-type]
            self.id2label = dict(SCOPE_LABELS)
            self.label2id = {label: index for index, label in SCOPE_LABELS.items()}
        # `@strict` runs this hook as well, later, but wraps what it raises in an error that is no ValueError.
        self.validate_negation_scope_head()

    @property
    def is_baseline(self) -> bool:
        """Whether there is no block, only a linear layer on the backbone."""
        return self.attention_variant is None or self.num_attention_blocks == 0

    @property
    def block_heads(self) -> int:
        """The number of heads of a block."""
        return self.num_block_heads or self.num_attention_heads  # type: ignore[attr-defined]

    def validate_negation_scope_head(self) -> None:
        """Part of the `@strict` validation: sizes that no block can be built with."""
        if self.num_attention_blocks < 0:
            raise ValueError(
                f"num_attention_blocks is {self.num_attention_blocks}; 0 is the baseline, 2 is the paper's model"
            )
        if not 0 <= self.head_dropout < 1:
            raise ValueError(f"head_dropout is {self.head_dropout}; it must be at least 0 and below 1")
        if self.num_labels != len(SCOPE_LABELS):  # type: ignore[attr-defined]
            raise ValueError(f"num_labels is {self.num_labels}; a word is in scope or out of it, so it must be 2")  # type: ignore[attr-defined]
        if self.max_cue_length < 1:
            raise ValueError(f"max_cue_length is {self.max_cue_length}; a cue has at least one word piece")
        if not self.is_baseline:
            check_sizes(self.hidden_size, self.block_heads, self.attention_variant)  # type: ignore[attr-defined, arg-type]


@strict
class XLNetNegationScopeOAConfig(NegationScopeConfigMixin, XLNetConfig):
    """`XLNetConfig` with the head's fields."""

    model_type = "xlnet-negation-scope-oa"
    backbone_model_type = XLNetConfig.model_type


@strict
class BertNegationScopeOAConfig(NegationScopeConfigMixin, BertConfig):
    """`BertConfig` with the head's fields."""

    model_type = "bert-negation-scope-oa"
    backbone_model_type = BertConfig.model_type


@strict
class RobertaNegationScopeOAConfig(NegationScopeConfigMixin, RobertaConfig):
    """`RobertaConfig` with the head's fields."""

    model_type = "roberta-negation-scope-oa"
    backbone_model_type = RobertaConfig.model_type


@strict
class AlbertNegationScopeOAConfig(NegationScopeConfigMixin, AlbertConfig):
    """`AlbertConfig` with the head's fields."""

    model_type = "albert-negation-scope-oa"
    backbone_model_type = AlbertConfig.model_type


@strict
class DebertaV2NegationScopeOAConfig(NegationScopeConfigMixin, DebertaV2Config):
    """`DebertaV2Config` with the head's fields."""

    model_type = "deberta-v2-negation-scope-oa"
    backbone_model_type = DebertaV2Config.model_type


@strict
class ModernBertNegationScopeOAConfig(NegationScopeConfigMixin, ModernBertConfig):
    """`ModernBertConfig` with the head's fields."""

    model_type = "modernbert-negation-scope-oa"
    backbone_model_type = ModernBertConfig.model_type


NEGATION_SCOPE_CONFIGS: tuple[type[PreTrainedConfig], ...] = (
    XLNetNegationScopeOAConfig,
    BertNegationScopeOAConfig,
    RobertaNegationScopeOAConfig,
    AlbertNegationScopeOAConfig,
    DebertaV2NegationScopeOAConfig,
    ModernBertNegationScopeOAConfig,
)
