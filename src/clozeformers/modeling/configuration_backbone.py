"""Base classes of the configs, and of those that add a head's fields to a backbone's config."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar

from huggingface_hub.errors import StrictDataclassError
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.pipelines import PIPELINE_REGISTRY

# Upper bounds, far above every model's: a config from elsewhere must not make the library allocate all memory.
MAX_SIZE, MAX_LAYERS, MAX_LENGTH = 16_384, 1_000, 1_000_000


class _PipelineOfCheckpoint(dict[str, Any]):
    """What `pipeline` reads as `config.custom_pipelines`: the name of the model's task, but no code to run.

    `pipeline` infers a task that is not given from the only key. It then looks with `in` whether the checkpoint has a
    pipeline of its own for the task, before the model is loaded: here it learns which pipeline is the right one.
    """

    def __init__(self, config: TaskConfigMixin) -> None:
        super().__init__({config.pipeline_task: {}})
        self.config = config

    def __contains__(self, task: object) -> bool:
        own, name = self.config.pipeline_task, self.config.name_or_path  # type: ignore[attr-defined]
        if task != own and not _is_registered_elsewhere(task):
            raise ValueError(f'{name} is a model for "{own}", not for "{task}"; use pipeline("{own}", model="{name}")')
        return False


def _is_registered_elsewhere(task: object) -> bool:
    """Whether a pipeline was registered by code that is neither in transformers nor in this library."""
    if task not in PIPELINE_REGISTRY.supported_tasks:
        return False
    pipeline = PIPELINE_REGISTRY.supported_tasks[task]["impl"]
    module = pipeline if isinstance(pipeline, str) else pipeline.__module__
    return module.partition(".")[0] not in ("transformers", __name__.partition(".")[0])


class _CustomPipelines:
    """Descriptor of `config.custom_pipelines`, which an attribute of that name replaces.

    The attribute comes from a checkpoint's config where the library is not registered.
    """

    def __get__(self, config: Any, owner: type) -> _PipelineOfCheckpoint:
        if config is None or not config.name_or_path or config.pipeline_task not in PIPELINE_REGISTRY.supported_tasks:
            raise AttributeError("custom_pipelines")
        return _PipelineOfCheckpoint(config)


class TaskConfigMixin:
    """Base of all configs of the library."""

    pipeline_task: ClassVar[str]
    custom_pipelines = _CustomPipelines()

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """As `PreTrainedConfig.from_dict`, without the checkpoint's own code if the library is registered.

        Raises:
            ValueError: for a field of another type or out of range.
        """
        if cls.pipeline_task in PIPELINE_REGISTRY.supported_tasks:
            # transformers prefers a checkpoint's pipeline, which it asks to trust, to the registered one.
            config_dict = {key: config_dict[key] for key in config_dict if key not in ("auto_map", "custom_pipelines")}
        labels = config_dict.get("num_labels")
        if isinstance(labels, int) and labels > MAX_SIZE:  # transformers names every label before it validates
            raise ValueError(f"num_labels is {labels}; it must be at most {MAX_SIZE}")
        try:
            return super().from_dict(config_dict, **kwargs)  # type: ignore[misc]
        except StrictDataclassError as error:
            raise ValueError(f"{cls.__name__}: {str(error.__cause__)[:300]}") from error

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
