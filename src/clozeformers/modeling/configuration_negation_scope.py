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
from transformers.pipelines import PIPELINE_REGISTRY

from .orthogonal_attention import check_sizes

SCOPE_LABELS = {0: "out-of-scope", 1: "in-scope"}


@dataclass(kw_only=True, repr=False, eq=False)
class NegationScopeConfigMixin:
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

    backbone_model_type: ClassVar[str]

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
    def max_pieces(self) -> int | None:
        """Most word pieces that the encoder's positions allow; None where they are relative."""
        positions: int = getattr(self, "max_position_embeddings", None) or -1
        # RoBERTa's positions begin after the padding index.
        offset = self.pad_token_id + 1 if self.backbone_model_type == "roberta" else 0  # type: ignore[attr-defined]
        return positions - offset if positions > 0 else None

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

    @classmethod
    def get_config_dict(cls, *args: Any, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read a config; a plain backbone's is taken for ours, as loading pretrained weights into a model means."""
        config, unused = super().get_config_dict(*args, **kwargs)  # type: ignore[misc]
        given = config.get("model_type")
        if given not in (None, cls.backbone_model_type, cls.model_type):  # type: ignore[attr-defined]
            raise ValueError(
                f"this is a checkpoint of type {given!r}, not {cls.backbone_model_type!r}; "
                "AutoModelForNegationScope.from_pretrained(...) picks the class that fits"
            )
        if given == cls.backbone_model_type:
            config["model_type"] = cls.model_type  # type: ignore[attr-defined]
            # Labels of another task are not the new head's.
            config = {key: value for key, value in config.items() if key not in ("id2label", "label2id", "num_labels")}
        return config, unused

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """As `PreTrainedConfig.from_dict`, but our fields are set before the config is validated, not after."""
        ours = {name: kwargs[name] for name in NegationScopeConfigMixin.__dataclass_fields__ if name in kwargs}
        rest = {name: value for name, value in kwargs.items() if name not in ours}
        if "negation-scope" in PIPELINE_REGISTRY.supported_tasks:
            # transformers prefers the pipeline that a checkpoint brings, and asks to trust it, over a registered one.
            config_dict = {key: config_dict[key] for key in config_dict if key not in ("auto_map", "custom_pipelines")}
        return super().from_dict(config_dict | ours, **rest)  # type: ignore[misc]


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
