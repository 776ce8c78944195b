"""Auto classes: from any checkpoint of a known backbone to the model with the head on it."""

from __future__ import annotations

from os import PathLike
from typing import Any

from transformers import AutoConfig, PreTrainedConfig

from .configuration_negation_scope import NegationScopeConfigMixin
from .modeling_negation_scope import NEGATION_SCOPE_MODELS, NegationScopeMixin


class AutoModelForNegationScope:
    """Picks the negation scope model for a checkpoint's encoder.

    `AutoModelForNegationScope.from_pretrained("google-bert/bert-base-uncased", attention_variant="OA-EMB")` gives a
    `BertForNegationScopeOA` with pretrained encoder and new head; a checkpoint of one of our models is loaded whole.
    """

    _models = {model.config_class.model_type: model for model in NEGATION_SCOPE_MODELS} | {
        model.config_class.backbone_model_type: model for model in NEGATION_SCOPE_MODELS
    }

    def __init__(self) -> None:
        raise OSError(f"use {type(self).__name__}.from_pretrained(...) or .from_config(...)")

    @classmethod
    def model_class(cls, config: PreTrainedConfig) -> type[NegationScopeMixin]:
        """The model class for a config, ours or a backbone's.

        Raises:
            ValueError: for an encoder that no class is bound to.
        """
        try:
            return cls._models[config.model_type]
        except KeyError:
            known = ", ".join(model.config_class.backbone_model_type for model in NEGATION_SCOPE_MODELS)
            raise ValueError(
                f"no negation scope model stands on encoders of type {config.model_type!r}; there is one for {known}. "
                "Another is bound by a subclass of NegationScopeMixin and the encoder's PreTrainedModel."
            ) from None

    @classmethod
    def from_config(cls, config: PreTrainedConfig, **kwargs: Any) -> NegationScopeMixin:
        """Build an untrained model.

        Args:
            config: a negation scope config, or the config of a known backbone.
            **kwargs: fields of the head's config (`attention_variant`, `num_attention_blocks`, ...).
        """
        loading = {name: kwargs.pop(name) for name in ("dtype", "attn_implementation") if name in kwargs}
        return cls.model_class(config)._from_config(cls._own_config(config, kwargs), **loading)

    @classmethod
    def _own_config(cls, config: PreTrainedConfig, fields: dict[str, Any]) -> PreTrainedConfig:
        """The config of our model: `config` itself if it is one, else the backbone's made into one; with the fields."""
        own_class = cls.model_class(config).config_class
        values = config.to_dict()
        if not isinstance(config, own_class):
            values = {key: value for key, value in values.items() if key not in ("model_type", "id2label", "label2id")}
        own = own_class.from_dict(values | fields)
        own._attn_implementation = config._attn_implementation
        return own

    @classmethod
    def from_pretrained(cls, name_or_path: str | PathLike[str], *model_args: Any, **kwargs: Any) -> NegationScopeMixin:
        """Load a checkpoint, from the Hub or a folder.

        Args:
            name_or_path: a negation scope model, or a pretrained encoder.
            *model_args: handed to the model's constructor.
            **kwargs: fields of the head's config, and the arguments of `PreTrainedModel.from_pretrained`.
        """
        config = kwargs.get("config")
        if config is None:
            hub_arguments = ("cache_dir", "force_download", "local_files_only", "revision", "subfolder", "token")
            config = AutoConfig.from_pretrained(name_or_path, **{k: kwargs[k] for k in hub_arguments if k in kwargs})
        else:
            names = NegationScopeConfigMixin.__dataclass_fields__
            kwargs["config"] = cls._own_config(config, {name: kwargs.pop(name) for name in names if name in kwargs})
        return cls.model_class(config).from_pretrained(name_or_path, *model_args, **kwargs)
