"""Training and scoring of one negation scope model over Trainer."""

from __future__ import annotations

from typing import Any

import torch
from datasets import Dataset
from torch.utils.data import DataLoader, Sampler, SequentialSampler
from transformers import EarlyStoppingCallback, EvalPrediction, Trainer
from transformers.trainer_utils import EvalLoopOutput

from ..data.alignment import word_probabilities
from ..data.negation_collator import NegationCollator
from ..metrics import NegationScope
from .arguments import NegationTrainingArguments
from .parameter_groups import backbone_and_head_groups
from .sampling import EpochLengthGroupedSampler


class NegationScopeTrainer(Trainer):
    """`Trainer` with two learning rates and scores over words.

    Evaluation and prediction take what `negation_features` returns and report the loss over words and token-level
    precision, recall, F1 and PCS over the corpus, windows merged.

    Args:
        model: a negation scope model.
        args: `NegationTrainingArguments`.
        tokenizer: saved with the model.
        **kwargs: other arguments of `Trainer`.
    """

    args: NegationTrainingArguments

    def __init__(self, model: Any, args: NegationTrainingArguments, tokenizer: Any, **kwargs: Any) -> None:
        super().__init__(
            model=model,
            args=args,
            processing_class=tokenizer,
            data_collator=NegationCollator(tokenizer.pad_token_id),
            compute_metrics=self._score,
            preprocess_logits_for_metrics=_scope_probabilities,
            **kwargs,
        )
        if args.early_stopping_patience is not None:
            self.add_callback(EarlyStoppingCallback(args.early_stopping_patience))

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """Build the optimizer with the backbone's and the head's learning rate."""
        if self.optimizer is None:  # type: ignore[has-type]
            model = model or self.model
            optimizer_class, arguments = self.get_optimizer_cls_and_kwargs(self.args, model)
            groups = backbone_and_head_groups(
                model,
                self.get_decay_parameter_names(model),
                self.args.weight_decay,
                self.args.learning_rate,
                self.args.head_learning_rate,
            )
            self.optimizer = optimizer_class(groups, **arguments)
        return self.optimizer

    def evaluation_loop(self, dataloader: DataLoader[Any], *args: Any, **kwargs: Any) -> EvalLoopOutput:
        """As `Trainer.evaluation_loop`; remembers whose predictions will be scored."""
        self._scored_features: Dataset = dataloader.dataset
        return super().evaluation_loop(dataloader, *args, **kwargs)

    def _get_train_sampler(self, train_dataset: Dataset | None = None) -> Sampler[int] | None:
        rows = self.train_dataset if train_dataset is None else train_dataset
        if self.args.train_sampling_strategy != "group_by_length":
            return super()._get_train_sampler(rows)
        whole_batch = self.args.train_batch_size * self.args.world_size * self.args.gradient_accumulation_steps
        seed = self.args.seed if self.args.data_seed is None else self.args.data_seed
        return EpochLengthGroupedSampler(whole_batch, list(rows["length"]), seed)

    def _get_eval_sampler(self, eval_dataset: Dataset) -> SequentialSampler:
        # Trainer would group by length at random; predictions must come in the order of the features, which
        # `sorted_by_length` puts into cheap batches.
        return SequentialSampler(eval_dataset)

    def _score(self, prediction: EvalPrediction) -> dict[str, float]:
        probabilities = scope_probabilities(self._scored_features, prediction.predictions)
        gold = dict(zip(self._scored_features["row"], self._scored_features["scope"], strict=True))
        return NegationScope().compute(
            predictions=[scope_labels(probabilities[row]) for row in gold], references=list(gold.values())
        )


def _scope_probabilities(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return logits.softmax(dim=-1)[..., 1]


def sorted_by_length(features: Dataset) -> Dataset:
    """Longest first, so that batches hold like lengths and a batch too large for the memory fails at once."""
    lengths = features["length"]
    return features.select(sorted(range(len(features)), key=lambda number: -lengths[number]), keep_in_memory=True)


def scope_probabilities(features: Dataset, predictions: Any) -> dict[int, list[float]]:
    """Probability of each word of each corpus row.

    Args:
        features: what was predicted, in that order.
        predictions: ``[number of features, L]``, probabilities of the word pieces.

    Returns:
        For each corpus row, one number a word; windows of one row are merged.
    """
    windows: dict[int, tuple[int, list[list[int]], list[list[float]]]] = {}
    columns = (features[name] for name in ("row", "scope", "word_ids"))
    for row, scope, word_ids, pieces in zip(*columns, predictions, strict=True):
        _, all_word_ids, all_pieces = windows.setdefault(row, (len(scope), [], []))
        all_word_ids.append(word_ids)
        all_pieces.append(pieces[: len(word_ids)].tolist())
    return {row: word_probabilities(*parts) for row, parts in windows.items()}


def scope_labels(probabilities: list[float]) -> list[int]:
    """1 for each word that is more likely in scope than out of it."""
    return [int(probability > 0.5) for probability in probabilities]


def predict_scopes(trainer: NegationScopeTrainer, features: Dataset) -> tuple[dict[int, list[int]], dict[str, float]]:
    """Predict a corpus.

    Args:
        trainer: with the model to predict with.
        features: of the corpus, as `negation_features` returns them.

    Returns:
        For each corpus row, 0 or 1 a word; and the scores, their names prefixed `test_`.
    """
    output = trainer.predict(features, metric_key_prefix="test")
    probabilities = scope_probabilities(features, output.predictions)
    return {row: scope_labels(values) for row, values in probabilities.items()}, dict(output.metrics or {})
