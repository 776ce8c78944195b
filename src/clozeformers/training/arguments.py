"""Arguments that the training scripts of all tasks share."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

import torch
from transformers import AutoConfig, TrainingArguments
from transformers.utils import (
    is_torch_bf16_gpu_available,
    is_torch_tf32_available,
    is_torch_xla_available,
)

from .pretrained import loading

Arguments = TypeVar("Arguments")

UNLIMITED = 10**6  # tokenizers without a limit have a model_max_length far above it


def split_test_file(given: str) -> tuple[str, list[str]]:
    """Name and files of a value of `--test_file`: ``name=file,file``, or a file or folder, without a name."""
    name, is_named, paths = given.partition("=")
    return (name, paths.split(",")) if is_named and not Path(given).exists() else ("", [given])


@dataclass
class DataArguments:
    """Data sets of a command; a task's own class adds how they are read.

    Attributes:
        path_fields: fields that name files or folders.
    """

    path_fields: ClassVar[tuple[str, ...]] = ("train_file", "extra_train_file", "validation_file", "test_file")

    dataset_name: str | None = field(default=None, metadata={"help": "A dataset on the Hub with the task's columns."})
    dataset_config_name: str | None = field(default=None, metadata={"help": "Its configuration."})
    train_file: list[str] | None = field(default=None, metadata={"help": "Files to train on."})
    extra_train_file: list[str] | None = field(
        default=None, metadata={"help": "Files that every fold of --num_folds trains on, and none scores."}
    )
    validation_file: str | None = field(default=None, metadata={"help": "File to choose the best model on."})
    validation_fraction: float | None = field(
        default=None, metadata={"help": "Without a validation file: fraction of the training data held out for it."}
    )
    test_file: list[str] | None = field(
        default=None, metadata={"help": "Files to score the trained model on; name=a,b makes two files one test set."}
    )
    max_train_samples: int | None = field(default=None, metadata={"help": "Use the first rows only."})
    max_eval_samples: int | None = field(default=None, metadata={"help": "Use the first rows only."})
    max_predict_samples: int | None = field(default=None, metadata={"help": "Use the first rows only."})

    @property
    def paths(self) -> list[str]:
        """The files and folders that are named; some may be names on the Hub."""
        values = [getattr(self, name) or () for name in self.path_fields]
        named = [each for value in values for each in ([value] if isinstance(value, str) else value)]
        return [path for each in named for path in split_test_file(each)[1]]

    @property
    def trains(self) -> bool:
        """Whether there is something to train on."""
        return bool(self.train_file) or self.dataset_name is not None


@dataclass
class DistillationArguments(DataArguments):
    """`DataArguments` of tasks whose models can be distilled."""

    path_fields: ClassVar[tuple[str, ...]] = (*DataArguments.path_fields, "teachers")

    teachers: list[str] | None = field(
        default=None, metadata={"help": "Trained models whose probabilities are learned along with the annotation."}
    )
    teacher_weight: float = field(
        default=0.5, metadata={"help": "Weight of the teachers where there is an annotation, from 0 to 1."}
    )

    def __post_init__(self) -> None:
        """Validate the weight."""
        if not 0 <= self.teacher_weight <= 1:
            raise ValueError(f"--teacher_weight is {self.teacher_weight}; it must be between 0 and 1")


@dataclass
class ScriptTrainingArguments(TrainingArguments):
    """`TrainingArguments` with repeats over seeds and folds, early stopping, and batches of similar length.

    Attributes:
        best_measure: measure of the task that early stopping compares, unless `metric_for_best_model` names another.
        always_recorded: fields that are recorded even where they have this class's defaults.
    """

    best_measure: ClassVar[str] = "f1"
    always_recorded: ClassVar[frozenset[str]] = frozenset()

    num_seeds: int = field(default=1, metadata={"help": "Repeat the training with the seeds seed, seed + 1, ..."})
    num_folds: int | None = field(default=None, metadata={"help": "Cross-validation over the training data."})
    folds: list[int] | None = field(default=None, metadata={"help": "Run these folds only, counted from 1."})
    head_learning_rate: float | None = field(
        default=None, metadata={"help": "Learning rate of all parameters outside the encoder; None: learning_rate."}
    )
    ema_decay: float | None = field(
        default=None, metadata={"help": "Evaluate and save exponential moving averages of the weights."}
    )
    early_stopping_patience: int | None = field(
        default=None, metadata={"help": "Stop after this many evaluations without a better validation score."}
    )
    keep_checkpoints: bool = field(
        default=False, metadata={"help": "Keep the checkpoints of finished runs, which only interrupted ones need."}
    )
    weight_step: float | None = field(
        default=None,
        metadata={
            "help": "Save weights in half precision, as multiples of about this fraction of their standard deviation, "
            "such as 0.125, which compress well; they are scored as saved."
        },
    )
    card_dir: str | None = field(
        default=None, metadata={"help": "Write results and model card here as well, named by --run_name."}
    )
    resume_from_checkpoint: str | None = field(
        default=None, metadata={"help": "true: continue an interrupted command; or the folder of a checkpoint."}
    )
    remove_unused_columns: bool = field(default=False, metadata={"help": "Keep false: scores read the other columns."})
    train_sampling_strategy: Literal["group_by_length", "random", "sequential"] = field(
        default="group_by_length", metadata={"help": "How batches are formed."}
    )

    def __post_init__(self) -> None:
        """Choose the best model by the task's measure if training stops early; pin memory only for an accelerator."""
        if self.early_stopping_patience is not None:
            self.metric_for_best_model = self.metric_for_best_model or self.best_measure  # type: ignore[has-type]
            self.load_best_model_at_end = True
        if self.output_dir == "":
            raise ValueError("--output_dir is empty; give . for the current folder")
        self.unsupported = self._leave_out_unsupported_precision()
        super().__post_init__()
        for name in (
            "learning_rate",
            "head_learning_rate",
            "weight_decay",
            "num_train_epochs",
            "dataloader_num_workers",
        ):
            self._check_at_least(0, name)
        for name in ("per_device_train_batch_size", "per_device_eval_batch_size", "gradient_accumulation_steps"):
            self._check_at_least(1, name)
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"--seed is {self.seed}; it must be at least 0 and below 2**32")
        if self.checkpoint is not None and not Path(self.checkpoint).is_dir():
            raise ValueError(
                f"--resume_from_checkpoint is {self.checkpoint!r}; it must be true, or the folder of a checkpoint"
            )
        if self.ema_decay is not None and not 0 < self.ema_decay < 1:
            raise ValueError(f"--ema_decay is {self.ema_decay}; it must be between 0 and 1, such as 0.999")
        if self.weight_step is not None and not 0 < self.weight_step <= 1:
            raise ValueError(f"--weight_step is {self.weight_step}; it must be above 0 and at most 1, such as 0.125")
        if self.remove_unused_columns:
            raise ValueError("--remove_unused_columns true would remove what the scores are read from; leave it out")
        self.dataloader_pin_memory: bool = self.dataloader_pin_memory and self.device.type != "cpu"

    def _check_at_least(self, least: int, name: str) -> None:
        value = getattr(self, name)
        if value is not None and not least <= value < math.inf:
            raise ValueError(f"--{name} is {value}; it must be a number of at least {least}")

    def _leave_out_unsupported_precision(self) -> list[str]:
        """Turn off the kinds of precision that this machine does not support, and return their names."""
        has_bf16 = self.use_cpu or is_torch_bf16_gpu_available() or is_torch_xla_available()
        supported = {
            "bf16": has_bf16,
            "bf16_full_eval": has_bf16,
            "fp16": not self.use_cpu and torch.accelerator.is_available(),
            "tf32": is_torch_tf32_available(),
        }
        unsupported = [name for name, is_supported in supported.items() if getattr(self, name) and not is_supported]
        for name in unsupported:
            setattr(self, name, type(self).__dataclass_fields__[name].default)
        return unsupported

    @property
    def precision(self) -> str:
        """What the model is trained in, for people: `"bf16"`, or `"float32; this machine does not support bf16"`."""
        used = next((name for name in ("bf16", "fp16") if getattr(self, name)), "float32")
        asked = f"; this machine does not support {', '.join(self.unsupported)}" if self.unsupported else ""
        return used + asked

    @property
    def resumes(self) -> bool:
        """Whether the command continues what an interrupted one has left: `--resume_from_checkpoint true`."""
        return str(self.resume_from_checkpoint).lower() == "true"

    def for_prediction(self) -> Any:
        """Arguments for a `Trainer` that only predicts, as this one does; it sets this seed for all that follows."""
        return type(self)(
            output_dir=self.output_dir,
            seed=self.seed,
            use_cpu=self.use_cpu,
            bf16=self.bf16,  # of accelerate, all trainers of a process have one precision
            fp16=self.fp16,
            per_device_eval_batch_size=self.per_device_eval_batch_size,
            disable_tqdm=self.disable_tqdm,
            report_to="none",
        )

    @property
    def checkpoint(self) -> str | None:
        """The checkpoint that `--resume_from_checkpoint` names, if it names one."""
        given = self.resume_from_checkpoint
        return None if given is None or str(given).lower() in ("true", "false") else str(given)


def load_head_config(name: str, revision: str, config_class: type, trains: bool, kind: str) -> Any | None:
    """Load the config of a model with a trained head; None for an encoder without one.

    Args:
        name: of the model, on the Hub or a folder.
        revision: on the Hub.
        config_class: base class of the configs of models with the head.
        trains: whether the command trains; if not, the model must have its head.
        kind: of the model with a head, for the error.

    Raises:
        OSError, ValueError: it cannot be loaded, or there is neither head nor training.
    """
    with loading(name, revision):
        config = AutoConfig.from_pretrained(name, revision=revision)
    if isinstance(config, config_class):
        return config
    if not trains:
        raise ValueError(f"{name} is an encoder without a trained head: give --train_file, or {kind} model")
    return None


def resolve_model_arguments(
    arguments: Arguments, values: Mapping[str, Any], model: str | None, overridable: Collection[str]
) -> Arguments:
    """Complete the arguments that were not given.

    Args:
        arguments: a dataclass, None where nothing was given.
        values: name of a field -> the value of the model, or the default of a new head.
        model: name of the model that the values belong to; None for a new head.
        overridable: fields that may differ from the model's.

    Raises:
        ValueError: an argument contradicts the model.
    """
    resolved = {}
    for spec in dataclasses.fields(arguments):  # type: ignore[arg-type]
        if spec.name in values:
            given, value = getattr(arguments, spec.name), values[spec.name]
            if model is not None and given not in (None, value) and spec.name not in overridable:
                raise ValueError(
                    f"--{spec.name} {given}, but {model} was trained with {value}; leave the option out, and a recipe "
                    "that sets it"
                )
            resolved[spec.name] = value if given is None else given
    return dataclasses.replace(arguments, **resolved)  # type: ignore[type-var]
