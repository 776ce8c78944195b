"""Base classes of the configs, and of those that add a head's fields to a backbone's config."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar

from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.pipelines import PIPELINE_REGISTRY


class TaskConfigMixin:
    """Base of all configs of the library."""

    pipeline_task: ClassVar[str]

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """As `PreTrainedConfig.from_dict`, without the checkpoint's own code if the library is registered."""
        if cls.pipeline_task in PIPELINE_REGISTRY.supported_tasks:
            # transformers prefers a checkpoint's pipeline, which it asks to trust, to the registered one.
            config_dict = {key: config_dict[key] for key in config_dict if key not in ("auto_map", "custom_pipelines")}
        return super().from_dict(config_dict, **kwargs)  # type: ignore[misc]

    def check_at_least(self, least: int, *names: str) -> None:
        """Raise a ValueError if a field is neither None nor at least this large."""
        for name in names:
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"{name} is {value}; it must be at least {least}")

    def check_between(self, least: int, most: int, *names: str) -> None:
        """Raise a ValueError if a field is neither None nor within these bounds."""
        for name in names:
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise ValueError(f"{name} is {value}; it must be at least {least} and at most {most}")

    def check_dropout(self, *names: str) -> None:
        """Raise a ValueError if a field is no probability below 1."""
        for name in names:
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 0 and below 1")


class BackboneConfigMixin(TaskConfigMixin):
    """Base of the mixins that add a head's fields to the config of a backbone, a config's second base."""

    backbone_model_type: ClassVar[str]
    auto_model: ClassVar[str]

    @classmethod
    def head_fields(cls) -> set[str]:
        """Return the names of the fields that the head adds to the backbone's."""
        backbone_config = CONFIG_MAPPING[cls.backbone_model_type]
        return {field.name for field in fields(cls)} - {field.name for field in fields(backbone_config)}  # type: ignore[arg-type]

    @property
    def max_pieces(self) -> int | None:
        """Largest number of word pieces that the positions of the encoder allow; None for relative positions."""
        positions: int = getattr(self, "max_position_embeddings", None) or -1
        # RoBERTa's positions begin after the padding index.
        offset = self.pad_token_id + 1 if self.backbone_model_type == "roberta" else 0  # type: ignore[attr-defined]
        return positions - offset if positions > 0 else None

    @classmethod
    def get_config_dict(cls, *args: Any, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read a config; that of a plain backbone is converted, so that pretrained weights can be loaded."""
        config, unused = super().get_config_dict(*args, **kwargs)  # type: ignore[misc]
        given = config.get("model_type")
        if given not in (None, cls.backbone_model_type, cls.model_type):  # type: ignore[attr-defined]
            raise ValueError(
                f"this is a checkpoint of type {given!r}, not {cls.backbone_model_type!r}; "
                f"{cls.auto_model}.from_pretrained(...) picks the class that fits"
            )
        if given == cls.backbone_model_type:
            config["model_type"] = cls.model_type  # type: ignore[attr-defined]
            # Labels of another task are not those of the new head.
            config = {key: value for key, value in config.items() if key not in ("id2label", "label2id", "num_labels")}
        return config, unused

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """As the base class, but the head's fields are set before the config is validated, not after."""
        given = {name: kwargs.pop(name) for name in cls.head_fields() & kwargs.keys()}
        return super().from_dict(config_dict | given, **kwargs)
