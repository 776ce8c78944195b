"""What the trainers of all tasks share."""

from __future__ import annotations

from typing import Any

import torch
from datasets import Dataset
from torch.utils.data import Sampler, SequentialSampler
from transformers import EarlyStoppingCallback, Trainer

from .arguments import ScriptTrainingArguments
from .parameter_groups import backbone_and_head_groups
from .sampling import EpochLengthGroupedSampler


class ReadingTrainer(Trainer):
    """`Trainer` with early stopping, and batches of like lengths whose order a resumed run repeats.

    The training features have a column `length`. Predictions come in the order of the features.
    """

    args: ScriptTrainingArguments

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.args.early_stopping_patience is not None:
            self.add_callback(EarlyStoppingCallback(self.args.early_stopping_patience))

    @property
    def data_seed(self) -> int:
        """The seed of the order."""
        return self.args.seed if self.args.data_seed is None else self.args.data_seed

    def _get_train_sampler(self, train_dataset: Dataset | None = None) -> Sampler[int] | None:
        rows = self.train_dataset if train_dataset is None else train_dataset
        if self.args.train_sampling_strategy != "group_by_length":
            return super()._get_train_sampler(rows)
        whole_batch = self.args.train_batch_size * self.args.world_size * self.args.gradient_accumulation_steps
        return EpochLengthGroupedSampler(whole_batch, list(rows["length"]), self.data_seed)

    def _get_eval_sampler(self, eval_dataset: Dataset) -> SequentialSampler:
        # Trainer would group by length at random; predictions must come in the order of the features, which
        # `sorted_by_length` puts into cheap batches.
        return SequentialSampler(eval_dataset)


class TwoRatesTrainer(ReadingTrainer):
    """`ReadingTrainer` with a learning rate for the encoder and one for the head, `head_learning_rate`.

    Without the latter (None), both have the encoder's.
    """

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """Build the optimizer with the backbone's and the head's learning rate."""
        if self.optimizer is None:  # type: ignore[has-type]
            model = model or self.model
            optimizer_class, arguments = self.get_optimizer_cls_and_kwargs(self.args, model)
            head_learning_rate = self.args.head_learning_rate
            groups = backbone_and_head_groups(
                model,
                self.get_decay_parameter_names(model),
                self.args.weight_decay,
                self.args.learning_rate,
                self.args.learning_rate if head_learning_rate is None else head_learning_rate,
            )
            self.optimizer = optimizer_class(groups, **arguments)
        return self.optimizer
