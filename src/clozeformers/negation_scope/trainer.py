"""Training and scoring of one negation scope model over Trainer."""

from __future__ import annotations

from typing import Any

import torch
from datasets import Dataset
from torch.utils.data import DataLoader
from transformers import EvalPrediction
from transformers.trainer_utils import EvalLoopOutput

from ..metrics import NegationScope
from ..training.trainer import TwoRatesTrainer
from .arguments import NegationTrainingArguments
from .collator import NegationCollator
from .windows import word_probabilities


class NegationScopeTrainer(TwoRatesTrainer):
    """`TwoRatesTrainer` with scores over words.

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

    def evaluation_loop(self, dataloader: DataLoader[Any], *args: Any, **kwargs: Any) -> EvalLoopOutput:
        """As `Trainer.evaluation_loop`; remembers whose predictions will be scored."""
        self._scored_features: Dataset = dataloader.dataset
        return super().evaluation_loop(dataloader, *args, **kwargs)

    def _score(self, prediction: EvalPrediction) -> dict[str, float]:
        probabilities = scope_probabilities(self._scored_features, prediction.predictions)
        gold = dict(zip(self._scored_features["row"], self._scored_features["scope"], strict=True))
        return NegationScope().compute(
            predictions=[scope_labels(probabilities[row]) for row in gold], references=list(gold.values())
        )


def _scope_probabilities(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return logits.softmax(dim=-1)[..., 1]


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
