"""Auto classes: pick the model class of a head for a checkpoint of any supported backbone."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar, Generic, TypeVar

from transformers import AutoConfig, PreTrainedConfig

from .backbones import BackboneMixin
from .modeling_negation_scope import NEGATION_SCOPE_MODELS, NegationScopeMixin
from .modeling_wn_duma import WN_DUMA_MODELS, WNDumaMixin

Model = TypeVar("Model", bound=BackboneMixin)


class AutoModelOverBackbone(Generic[Model]):
    """Base class: picks the model of one head for a checkpoint's encoder."""

    head: ClassVar[str]
    models: ClassVar[Sequence[type[Any]]]

    def __init__(self) -> None:
        raise OSError(f"use {type(self).__name__}.from_pretrained(...) or .from_config(...)")

    @classmethod
    def model_class(cls, config: PreTrainedConfig) -> type[Model]:
        """Return the model class for a config of the head or of a backbone.

        Raises:
            ValueError: for an encoder without a class.
        """
        for model in cls.models:
            if config.model_type in (model.config_class.model_type, model.config_class.backbone_model_type):
                return model
        known = ", ".join(model.config_class.backbone_model_type for model in cls.models)
        raise ValueError(
            f"no {cls.head} model supports encoders of type {config.model_type!r}; supported are {known}. To add one, "
            "subclass the head's mixin and the encoder's PreTrainedModel."
        )

    @classmethod
    def from_config(cls, config: PreTrainedConfig, **kwargs: Any) -> Model:
        """Build a model with initial weights.

        Args:
            config: one of the head's configs, or the config of a known backbone.
            **kwargs: fields of the head's config, `dtype` and `attn_implementation`.

        Raises:
            ValueError: for an encoder without a class.
        """
        loading = {name: kwargs.pop(name) for name in ("dtype", "attn_implementation") if name in kwargs}
        return cls.model_class(config)._from_config(cls._own_config(config, kwargs), **loading)

    @classmethod
    def _own_config(cls, config: PreTrainedConfig, fields: dict[str, Any]) -> PreTrainedConfig:
        """Return a config of the head, converted from a backbone's if need be, with fields of the head replaced."""
        own_class = cls.model_class(config).config_class
        values = config.to_dict()
        if not isinstance(config, own_class):
            values = {key: value for key, value in values.items() if key not in ("model_type", "id2label", "label2id")}
        own = own_class.from_dict(values | fields)
        own._attn_implementation = config._attn_implementation
        return own

    @classmethod
    def from_pretrained(cls, name_or_path: str | PathLike[str], *model_args: Any, **kwargs: Any) -> Model:
        """Load a checkpoint, from the Hub or a folder.

        Args:
            name_or_path: a model with the head, or a pretrained encoder.
            *model_args: passed to the model's constructor.
            **kwargs: fields of the head's config, and the arguments of `PreTrainedModel.from_pretrained`.
        """
        config = kwargs.get("config")
        if config is None or isinstance(config, (str, PathLike)):
            hub_arguments = ("cache_dir", "force_download", "local_files_only", "revision", "subfolder", "token")
            place = name_or_path if config is None else config
            config = AutoConfig.from_pretrained(place, **{k: kwargs[k] for k in hub_arguments if k in kwargs})
        else:
            names = cls.model_class(config).config_class.head_fields()
            kwargs["config"] = cls._own_config(config, {name: kwargs.pop(name) for name in names if name in kwargs})
        return cls.model_class(config).from_pretrained(name_or_path, *model_args, **kwargs)


class AutoModelForNegationScope(AutoModelOverBackbone[NegationScopeMixin]):
    """Picks the negation scope model for a checkpoint's encoder.

    `AutoModelForNegationScope.from_pretrained("google-bert/bert-base-uncased", attention_variant="OA-EMB")` returns a
    `BertForNegationScopeOA` with pretrained encoder and new head; from a checkpoint with a head, it loads both.
    """

    head = "negation scope"
    models = NEGATION_SCOPE_MODELS


class AutoModelForAbstractCloze(AutoModelOverBackbone[WNDumaMixin]):
    """Picks the abstract cloze model for a checkpoint's encoder.

    `AutoModelForAbstractCloze.from_pretrained("albert/albert-xxlarge-v2", co_attention="parallel")` returns an
    `AlbertWithWNDuma` with pretrained encoder and new head; from a checkpoint with a head, it loads both.
    """

    head = "abstract cloze"
    models = WN_DUMA_MODELS
