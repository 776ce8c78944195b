"""The Trainer that the trainers of all tasks derive from."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.utils.data import Sampler, SequentialSampler
from transformers import EarlyStoppingCallback, Trainer, TrainerCallback
from transformers.trainer_callback import ExportableState

from ..files import finite_or_none
from ..text import did_you_mean
from .arguments import ScriptTrainingArguments
from .cpu_steps import CPUSteps
from .ema import ExponentialMovingAverage
from .live_table import show_live_table
from .sampling import EpochLengthGroupedSampler

TRAINING_WEIGHTS_FILE = "training_weights.safetensors"

_DIVERGED = "the training has diverged: {}; give a lower --learning_rate or --max_grad_norm, and no --fp16"


class LengthGroupedTrainer(Trainer):
    """`Trainer` with batches of similar length in a reproducible order, averaged weights, and a rate for the head.

    The training features have a column `length`. Predictions are in the order of the features. Parameters outside the
    encoder learn at `args.head_learning_rate`, if it is given. With `args.ema_decay`, exponential moving averages of
    the weights are evaluated and saved.
    """

    args: ScriptTrainingArguments

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            super().__init__(*args, **kwargs)
        except (ImportError, RuntimeError, ValueError) as error:  # of arguments that only Trainer checks
            raise ValueError(str(error)) from error
        self._stopping: EarlyStoppingCallback | None = None
        if self.args.early_stopping_patience is not None:
            self._stopping = EarlyStoppingCallback(self.args.early_stopping_patience)
            self.add_callback(self._stopping)
        self._clock = _Clock()
        self.add_callback(self._clock)
        self._sampler: EpochLengthGroupedSampler | None = None
        self._table = show_live_table(self)
        decay = self.args.ema_decay
        if decay is not None and self.is_fsdp_enabled:
            raise ValueError(
                "--ema_decay averages whole weights, which FSDP splits over processes; leave it out, or extend the "
                "recipe that sets it by one with `ema_decay: null`"
            )
        self._averages = None if decay is None else ExponentialMovingAverage(self.model, decay)
        if self._averages is not None:
            self.add_callback(_AveragingCallback(self._averages))

    @property
    def earlier_seconds(self) -> float:
        """What the training took before it was interrupted, up to the checkpoint that it goes on from."""
        return self._clock.seconds

    @property
    def data_seed(self) -> int:
        """Seed of the order of the training batches."""
        return self.args.seed if self.args.data_seed is None else self.args.data_seed

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """Build the optimizer, with parameter groups for encoder and head if they learn at different rates."""
        if self.optimizer is None and self.args.head_learning_rate is not None:  # type: ignore[has-type]
            model = model or self.model
            optimizer_class, arguments = self.get_optimizer_cls_and_kwargs(self.args, model)
            self.optimizer = optimizer_class(self._encoder_and_head_groups(model), **arguments)
        return super().create_optimizer(model)

    def _encoder_and_head_groups(self, model: Any) -> list[dict[str, Any]]:
        """Up to four parameter groups: encoder or head, with or without weight decay."""
        decayed = set(self.get_decay_parameter_names(model))
        groups: dict[tuple[bool, bool], list[torch.nn.Parameter]] = {}
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                in_encoder = name.startswith(f"{model.base_model_prefix}.")
                groups.setdefault((in_encoder, name in decayed), []).append(parameter)
        return [
            {
                "params": parameters,
                "lr": self.args.learning_rate if in_encoder else self.args.head_learning_rate,
                "weight_decay": self.args.weight_decay if is_decayed else 0.0,
            }
            for (in_encoder, is_decayed), parameters in groups.items()
        ]

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """Train; afterwards the model has the averages of its weights, if they are kept."""
        self._restores_callbacks = True
        try:
            output = super().train(*args, **kwargs)
        finally:
            if self._table is not None:
                self._table.stop()
        if self._averages is not None:
            if not (self.args.load_best_model_at_end and self.state.best_model_checkpoint):
                self._averages.copy_to_model()
            self._averages = None
        return output

    def training_step(self, *args: Any, **kwargs: Any) -> Tensor:
        """Run a training step; on a CPU, with `CPUSteps`, unless the model is compiled or computes anything again."""
        again = any(getattr(module, "gradient_checkpointing", False) for module in self.model.modules())
        if self.args.device.type != "cpu" or self.args.torch_compile or again:
            return super().training_step(*args, **kwargs)
        with CPUSteps():
            return super().training_step(*args, **kwargs)

    def evaluation_loop(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate with the averages of the weights, if they are kept."""
        with nullcontext() if self._averages is None else self._averages.applied():
            return super().evaluation_loop(*args, **kwargs)

    def prediction_step(self, *args: Any, **kwargs: Any) -> Any:
        """Predict a batch; raises a ValueError if logits are NaN, which would be scored as some prediction."""
        loss, logits, labels = super().prediction_step(*args, **kwargs)
        for values in logits if isinstance(logits, (list, tuple)) else [logits]:
            if values is not None and (values.isnan() | values.isposinf()).any():
                raise ValueError(_DIVERGED.format("the logits of the model are NaN or infinite"))
        return loss, logits, labels

    def check_weights(self) -> None:
        """Raise a ValueError if a training has diverged."""
        for name, weights in self.model.named_parameters():
            if not weights.isfinite().all():
                raise ValueError(_DIVERGED.format(f"{name} is NaN or infinite"))

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Save the averages of the weights, if they are kept; a checkpoint also holds the weights themselves."""
        if self._averages is None:
            return super().save_model(output_dir, _internal_call)
        with self._averages.applied() as weights:
            super().save_model(output_dir, _internal_call)
        if _internal_call and self.args.should_save:
            save_file(weights, Path(str(output_dir)) / TRAINING_WEIGHTS_FILE)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        path = Path(resume_from_checkpoint) / TRAINING_WEIGHTS_FILE
        if path.exists() != (self._averages is not None):
            written = "with" if path.exists() else "without"
            raise ValueError(f"{path.parent} was written {written} --ema_decay; resume with the same arguments")
        if self._averages is not None:
            self._averages.resume(load_file(path, device=str(self.args.device)))

    def _run_epoch(self, model: Any, epoch: int, *args: Any, **kwargs: Any) -> None:
        # Where it resumes within an epoch, Trainer does not reach the sampler of one of several processes.
        if self._sampler is not None:
            self._sampler.set_epoch(epoch)
        if self._restores_callbacks:  # nor do its callbacks count on
            for callback in filter(None, (self._stopping, self._clock)):
                saved = self.state.stateful_callbacks.get(type(callback).__name__, {})
                vars(callback).update(saved.get("attributes", {}))
        self._restores_callbacks = False
        # Trainer takes another step, or epoch, where it resumes from the checkpoint of the last.
        control = self.state.stateful_callbacks.get("TrainerControl", {}).get("args", {})
        stopped_early = self.args.resumes and control.get("should_training_stop", False)
        if stopped_early or self.state.global_step >= self.state.max_steps:
            self.control.should_training_stop = True
        else:
            super()._run_epoch(model, epoch, *args, **kwargs)

    def _determine_best_metric(self, metrics: dict[str, float], trial: Any) -> bool:
        measures = [name.removeprefix("eval_") for name in metrics]
        best = str(self.args.metric_for_best_model or "loss").removeprefix("eval_")
        if best not in measures:
            suggested = did_you_mean(best, measures) or f"; the measures are {', '.join(measures)}"
            raise ValueError(f"--metric_for_best_model is {best!r}, which is not measured{suggested}")
        return super()._determine_best_metric(metrics, trial)

    def _get_train_sampler(self, train_dataset: Dataset | None = None) -> Sampler[int] | None:
        rows = self.train_dataset if train_dataset is None else train_dataset
        if self.args.train_sampling_strategy != "group_by_length":
            return super()._get_train_sampler(rows)
        whole_batch = self.args.train_batch_size * self.args.world_size * self.args.gradient_accumulation_steps
        self._sampler = EpochLengthGroupedSampler(whole_batch, list(rows["length"]), self.data_seed)
        return self._sampler

    def _get_eval_sampler(self, eval_dataset: Dataset) -> SequentialSampler:
        # Trainer would shuffle groups of similar length; predictions have to be in the order of the features, which
        # `sort_by_length` puts into efficient batches.
        return SequentialSampler(eval_dataset)

    def save_metrics(self, split: str, metrics: dict[str, float], combined: bool = True) -> None:
        """Save metrics as `Trainer` does; NaN and infinity, which JSON does not have, become null."""
        super().save_metrics(split, finite_or_none(metrics), combined)


class _Clock(TrainerCallback, ExportableState):
    """Counts the seconds of a training over its checkpoints."""

    def __init__(self) -> None:
        self.seconds = 0.0  # before this process
        self._started: float | None = None

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self._started = time.monotonic()

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        own = 0.0 if self._started is None else time.monotonic() - self._started
        return {"args": {}, "attributes": {"seconds": self.seconds + own}}


class _AveragingCallback(TrainerCallback):
    def __init__(self, averages: ExponentialMovingAverage) -> None:
        self.averages = averages

    def on_step_end(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
        self.averages.update(state.global_step)
