"""Training and scoring of one abstract cloze model over Trainer, and the vote of several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from transformers import EvalPrediction

from ..training.sampling import sorted_by_length
from ..training.trainer import TwoRatesTrainer
from .arguments import ClozeTrainingArguments
from .collator import ClozeCollator

Probabilities = dict[str, list[float]]


class AbstractClozeTrainer(TwoRatesTrainer):
    """`TwoRatesTrainer` with accuracy over the questions whose label is known.

    Args:
        model: any multiple-choice model.
        args: `ClozeTrainingArguments`.
        tokenizer: saved with the model.
        **kwargs: other arguments of `Trainer`; datasets are what `cloze_features` returns.
    """

    def __init__(self, model: Any, args: ClozeTrainingArguments, tokenizer: Any, **kwargs: Any) -> None:
        super().__init__(
            model=model,
            args=args,
            processing_class=tokenizer,
            data_collator=ClozeCollator(tokenizer),
            compute_metrics=_accuracy,
            preprocess_logits_for_metrics=_option_probabilities,
            **kwargs,
        )

    def predict_options(self, rows: Dataset, features: Dataset) -> tuple[Probabilities, dict[str, float]]:
        """Predict a corpus.

        Args:
            rows: of the corpus.
            features: of the rows, in their order.

        Returns:
            Row id -> the probability of each of its options; and loss, accuracy and timings, prefixed `test_`.

        Raises:
            ValueError: if the model has diverged.
        """
        numbered = sorted_by_length(features.add_column("row", list(range(len(features)))))
        output = self.predict(numbered, metric_key_prefix="test")
        if not np.isfinite(output.predictions).all():
            raise ValueError(
                f"the model of seed {self.args.seed} gives probabilities that are no numbers: its training has "
                "diverged; lower --learning_rate, or give --bf16 false"
            )
        predicted = dict(zip(numbered["row"], output.predictions, strict=True))
        probabilities = {
            row_id: predicted[number][: len(options)].tolist()
            for number, (row_id, options) in enumerate(zip(rows["id"], rows["options"], strict=True))
        }
        return probabilities, dict(output.metrics or {})


def _option_probabilities(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    # Trainer fills up questions with fewer options than others by -100, which no probability comes near.
    return logits.float().softmax(dim=-1)


def _accuracy(prediction: EvalPrediction) -> dict[str, float]:
    known = prediction.label_ids >= 0
    right = prediction.predictions.argmax(axis=-1) == prediction.label_ids
    return {"accuracy": float(right[known].mean())} if known.any() else {}


def best_options(probabilities: Mapping[str, Sequence[float]]) -> dict[str, int]:
    """The most probable option of each question, the first of equal ones."""
    return {row_id: max(range(len(values)), key=values.__getitem__) for row_id, values in probabilities.items()}


def vote(models: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, int]:
    """Let several models vote (section 4.1 of the paper).

    Args:
        models: for each, question id -> the probability of each option. All have the same questions.

    Returns:
        For each question, the option that most models find the most probable; of options with equally many votes the
        one whose probabilities have the highest sum over all models, and of those the first.
    """
    votes = [best_options(model) for model in models]
    chosen = {}
    for row_id, first in models[0].items():
        given = [choices[row_id] for choices in votes]
        # Exact sums: the order of the models must not decide.
        sums = [math.fsum(model[row_id][option] for model in models) for option in range(len(first))]
        chosen[row_id] = max(range(len(first)), key=lambda option: (given.count(option), sums[option]))
    return chosen


def accuracy(predictions: Mapping[str, int], rows: Dataset) -> dict[str, float]:
    """Share of the labelled questions whose option is right, as `{"accuracy": ...}`; empty without labelled ones."""
    labelled = [(row_id, label) for row_id, label in zip(rows["id"], rows["label"], strict=True) if label >= 0]
    right = sum(predictions[row_id] == label for row_id, label in labelled)
    return {"accuracy": right / len(labelled)} if labelled else {}
