"""What a task's pipeline knows of checkpoints: its default one, and whether one is trained for the task."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from transformers import AutoConfig, PreTrainedModel, pipelines
from transformers.models.auto.auto_factory import _get_model_class
from transformers.pipelines import PIPELINE_REGISTRY
from transformers.utils import CONFIG_NAME

from ..text import join_names
from .onnx_model import OnnxModel, find_onnx

PACKAGED_MODELS = Path(__file__).parents[1] / "models"
_AUTO = "AutoModelFor"
_SOURCE = ("revision", "token", "cache_dir", "local_files_only")


class DefaultModel:
    """The default model of a task in the registry of transformers: the one in the package, if there is one.

    Args:
        task: the pipeline's name, and that of the model's folder.
        hint: how to get another model, for the error.
        folder: of all packaged models.
    """

    def __init__(self, task: str, hint: str, folder: Path = PACKAGED_MODELS) -> None:
        self.task, self.hint, self.folder = task, hint, folder / task

    def __iter__(self) -> Iterator[str]:
        """What `pipeline(task)` unpacks: a name and a revision."""
        if not (self.folder / CONFIG_NAME).exists():
            raise ValueError(
                f'there is no default model for "{self.task}"; name one: pipeline("{self.task}", model="..."), with '
                f"the folder of a trained model or its name on the Hub; or {self.hint}"
            )
        # `pipeline` then warns that the default model may change: this one comes with the package.
        logging.getLogger(pipelines.__name__).addFilter(self._is_worth_logging)
        yield from (str(self.folder), "main")

    def _is_worth_logging(self, record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith(f"No model was supplied, defaulted to {self.folder} ")


class CheckpointReport(NamedTuple):
    """What `pipeline` found when it loaded a model.

    Attributes:
        name: of the checkpoint, as given.
        missing: names of the weights that it lacks, or has in another shape; they are random in the model.
        head: what the Auto class is for, as in the names of model classes: `"QuestionAnswering"`.
        is_adapter: whether it is an adapter; then the config is that of the model below.
    """

    name: str
    missing: list[str]
    head: str
    is_adapter: bool


def reporting(auto_model: Any) -> type:
    """Subclass an Auto class so that its models carry a `CheckpointReport`, which `check_checkpoint` reads.

    Registered with a pipeline, it loads what `pipeline` is given by name. A model whose head was trained in memory has
    no report, although its head was missing from the checkpoint that it began with.
    """

    class ReportingAutoModel(auto_model):
        @classmethod
        def from_pretrained(cls, name: str, *args: Any, **kwargs: Any) -> PreTrainedModel:
            try:
                model, found = super().from_pretrained(name, *args, output_loading_info=True, **kwargs)
            except OSError:  # it has no weights
                if (export := cls._load_onnx(name, **kwargs)) is None:
                    raise
                return export
            missing = found["missing_keys"] | {weight for weight, *_ in found["mismatched_keys"]}
            if model._hf_peft_config_loaded:  # what was found is only the adapter's
                missing |= _random_weights(model)
            head = cls.__name__.removeprefix(_AUTO)
            model._checkpoint_report = CheckpointReport(name, sorted(missing), head, model._hf_peft_config_loaded)
            return model

        @classmethod
        def _load_onnx(cls, name: str, **kwargs: Any) -> Any:
            source = {key: kwargs[key] for key in _SOURCE if key in kwargs}
            if not (files := find_onnx(name, **source)):
                return None
            config = AutoConfig.from_pretrained(name, trust_remote_code=kwargs.get("trust_remote_code"), **source)
            model: Any = OnnxModel(config, files, _get_model_class(config, cls._model_mapping).__name__)
            model._checkpoint_report = CheckpointReport(name, [], cls.__name__.removeprefix(_AUTO), False)
            return model

    # transformers looks for a checkpoint's own model class under the name of the Auto class.
    ReportingAutoModel.__name__ = auto_model.__name__
    return ReportingAutoModel


def _random_weights(model: PreTrainedModel) -> set[str]:
    """Names of the weights that were in no checkpoint, without those that a module of an adapter replaces."""
    return {
        name
        for name, weight in model.named_parameters()
        if not getattr(weight, "_is_hf_initialized", False) and ".original_module." not in name
    }


def class_name(model: Any) -> str:
    """Name of a model's class; of an ONNX export, that of the PyTorch model."""
    return model.class_name if isinstance(model, OnnxModel) else type(model).__name__


def check_checkpoint(model: Any, task: str, hint: str) -> None:
    """Check that a checkpoint which `pipeline` has loaded is one of its task, with all weights.

    Args:
        model: the model; any is accepted that `pipeline` has not loaded itself.
        task: the pipeline's name.
        hint: what to do instead, for the error.

    Raises:
        ValueError: weights are missing, or the checkpoint is of another class whose head has weights of the same names.
    """
    report: CheckpointReport | None = vars(model).pop("_checkpoint_report", None)
    if report is None:
        return
    saved = ", ".join(model.config.architectures or ())
    is_of_task = not saved or class_name(model) in saved or report.head in saved
    if report.missing or not (is_of_task or report.is_adapter):
        what = "an adapter of " * report.is_adapter + _describe(saved, is_of_task)
        missing = f"; it lacks {join_names(report.missing, 'weight')} of {class_name(model)}" if report.missing else ""
        raise ValueError(f'{report.name} is not trained for "{task}": it is {what}{missing}; {hint}')


def _describe(saved: str, is_of_task: bool) -> str:
    """Say what the class is that a checkpoint was saved from."""
    if is_of_task:
        return f"an incomplete {saved}" if saved else "a checkpoint whose config names no class"
    if saved.endswith("Model"):
        return f"a bare encoder, {saved}"
    for task, entry in PIPELINE_REGISTRY.supported_tasks.items():
        if any(_AUTO in auto.__name__ and auto.__name__.removeprefix(_AUTO) in saved for auto in entry["pt"]):
            return f'a {saved}, which pipeline("{task}", ...) runs'
    return f"a {saved}"
