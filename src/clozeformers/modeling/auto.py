"""Auto classes: from any checkpoint of a known backbone to the model with the head on it."""

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
    """Picks, among the models of one head, the one for a checkpoint's encoder; a subclass names both."""

    _head: ClassVar[str]
    _mixin: ClassVar[str]
    _models: ClassVar[dict[str, Any]]
    _backbones: ClassVar[list[str]]

    def __init_subclass__(cls, head: str, mixin: type[Model], models: Sequence[type[Model]], **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._head, cls._mixin = head, mixin.__name__
        cls._backbones = [model.config_class.backbone_model_type for model in models]
        cls._models = {model.config_class.model_type: model for model in models}
        cls._models |= dict(zip(cls._backbones, models, strict=True))

    def __init__(self) -> None:
        raise OSError(f"use {type(self).__name__}.from_pretrained(...) or .from_config(...)")

    @classmethod
    def model_class(cls, config: PreTrainedConfig) -> type[Model]:
        """The model class for a config, ours or a backbone's.

        Raises:
            TypeError: for what is no config.
            ValueError: for an encoder that no class is bound to.
        """
        if not isinstance(config, PreTrainedConfig):
            raise TypeError(
                f"the config is {type(config).__name__} {config!r:.80}; give a config, such as "
                "AutoConfig.from_pretrained(...) loads"
            )
        try:
            return cls._models[config.model_type]
        except KeyError:
            raise ValueError(
                f"no {cls._head} model stands on encoders of type {config.model_type!r}; there is one for "
                f"{', '.join(cls._backbones)}. Another is bound by a subclass of {cls._mixin} and the encoder's "
                "PreTrainedModel."
            ) from None

    @classmethod
    def from_config(cls, config: PreTrainedConfig, **kwargs: Any) -> Model:
        """Build an untrained model.

        Args:
            config: one of the head's configs, or the config of a known backbone.
            **kwargs: fields of the head's config.

        Raises:
            TypeError, ValueError: as `model_class`.
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
    def from_pretrained(cls, name_or_path: str | PathLike[str], *model_args: Any, **kwargs: Any) -> Model:
        """Load a checkpoint, from the Hub or a folder.

        Args:
            name_or_path: a model with the head, or a pretrained encoder.
            *model_args: handed to the model's constructor.
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


class AutoModelForNegationScope(
    AutoModelOverBackbone[NegationScopeMixin],
    head="negation scope",
    mixin=NegationScopeMixin,
    models=NEGATION_SCOPE_MODELS,
):
    """Picks the negation scope model for a checkpoint's encoder.

    `AutoModelForNegationScope.from_pretrained("google-bert/bert-base-uncased", attention_variant="OA-EMB")` gives a
    `BertForNegationScopeOA` with pretrained encoder and new head; a checkpoint of one of our models is loaded whole.
    """


class AutoModelForAbstractCloze(
    AutoModelOverBackbone[WNDumaMixin], head="abstract cloze", mixin=WNDumaMixin, models=WN_DUMA_MODELS
):
    """Picks the abstract cloze model for a checkpoint's encoder.

    `AutoModelForAbstractCloze.from_pretrained("albert/albert-xxlarge-v2", co_attention="parallel")` gives an
    `AlbertWithWNDuma` with pretrained encoder and new head; a checkpoint of one of our models is loaded whole.
    """
