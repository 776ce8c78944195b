"""What the configs of all heads share: a backbone's config that a head has added its fields to."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar

from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.pipelines import PIPELINE_REGISTRY


class BackboneConfigMixin:
    """Base of the mixins that add a head's fields to the config of a backbone, a model's second base."""

    backbone_model_type: ClassVar[str]
    auto_model: ClassVar[str]
    pipeline_task: ClassVar[str]

    @classmethod
    def head_fields(cls) -> set[str]:
        """Names of the fields that the head adds to the backbone's."""
        backbone_config = CONFIG_MAPPING[cls.backbone_model_type]
        return {field.name for field in fields(cls)} - {field.name for field in fields(backbone_config)}  # type: ignore[arg-type]

    @property
    def max_pieces(self) -> int | None:
        """Most word pieces that the encoder's positions allow; None where they are relative."""
        positions: int = getattr(self, "max_position_embeddings", None) or -1
        # RoBERTa's positions begin after the padding index.
        offset = self.pad_token_id + 1 if self.backbone_model_type == "roberta" else 0  # type: ignore[attr-defined]
        return positions - offset if positions > 0 else None

    @classmethod
    def get_config_dict(cls, *args: Any, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read a config; a plain backbone's is taken for ours, as loading pretrained weights into a model means."""
        config, unused = super().get_config_dict(*args, **kwargs)  # type: ignore[misc]
        given = config.get("model_type")
        if given not in (None, cls.backbone_model_type, cls.model_type):  # type: ignore[attr-defined]
            raise ValueError(
                f"this is a checkpoint of type {given!r}, not {cls.backbone_model_type!r}; "
                f"{cls.auto_model}.from_pretrained(...) picks the class that fits"
            )
        if given == cls.backbone_model_type:
            config["model_type"] = cls.model_type  # type: ignore[attr-defined]
            # Labels of another task are not the new head's.
            config = {key: value for key, value in config.items() if key not in ("id2label", "label2id", "num_labels")}
        return config, unused

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """As `PreTrainedConfig.from_dict`, but our fields are set before the config is validated, not after."""
        ours = {name: kwargs[name] for name in cls.head_fields() if name in kwargs}
        rest = {name: value for name, value in kwargs.items() if name not in ours}
        if cls.pipeline_task in PIPELINE_REGISTRY.supported_tasks:
            # transformers prefers the pipeline that a checkpoint brings, and asks to trust it, over a registered one.
            config_dict = {key: config_dict[key] for key in config_dict if key not in ("auto_map", "custom_pipelines")}
        return super().from_dict(config_dict | ours, **rest)  # type: ignore[misc]
