"""Trainer of abstract cloze models, and the vote of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from datasets import Dataset
from transformers import EvalPrediction

from ..files import read_json_object, write_json
from ..training.corpora import file_label
from ..training.experiment import Experiment
from ..training.sampling import sort_by_length
from ..training.trainer import LengthGroupedTrainer
from ..voting import majority_vote
from .collator import ClozeCollator

Probabilities = dict[str, list[float]]


class AbstractClozeTrainer(LengthGroupedTrainer):
    """`LengthGroupedTrainer` with accuracy, in percent, over the questions whose label is known.

    Args:
        model: any multiple-choice model.
        args: `ClozeTrainingArguments`.
        processing_class: the tokenizer, saved with the model.
        **kwargs: other arguments of `Trainer`; datasets are what `encode_dataset` returns.
    """

    def __init__(self, model: Any, args: Any, processing_class: Any, **kwargs: Any) -> None:
        super().__init__(
            model=model,
            args=args,
            processing_class=processing_class,
            data_collator=ClozeCollator(processing_class),
            compute_metrics=_accuracy,
            preprocess_logits_for_metrics=_option_probabilities,
            **kwargs,
        )

    def predict_options(self, rows: Dataset, features: Dataset) -> tuple[Probabilities, dict[str, float]]:
        """Predict a corpus, given as its rows and their features in the same order.

        Returns:
            Row id -> the probability of each of its options; and loss, accuracy and timings, prefixed `test_`.
        """
        numbered = sort_by_length(features.add_column("row", list(range(len(features)))))
        output = self.predict(numbered, metric_key_prefix="test")
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
    return {"accuracy": 100 * float(right[known].mean())} if known.any() else {}


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
    votes, chosen = list(map(best_options, models)), {}
    for row_id, first in models[0].items():
        scores = {option: [model[row_id][option] for model in models] for option in range(len(first))}
        chosen[row_id] = majority_vote([options[row_id] for options in votes], scores=scores)
    return chosen


def accuracy(predictions: Mapping[str, int], rows: Dataset) -> dict[str, float]:
    """Percentage of the labelled questions whose option is right; empty without labelled ones."""
    labelled = [(row_id, label) for row_id, label in zip(rows["id"], rows["label"], strict=True) if label >= 0]
    right = sum(predictions[row_id] == label for row_id, label in labelled)
    return {"accuracy": 100 * right / len(labelled)} if labelled else {}


def vote_of_runs(experiment: Experiment) -> dict[str, dict[str, float]]:
    """Let the models of several runs vote, write their choices, and score them; nothing for a single run.

    The main process alone has written, and reads, the probabilities of the runs.
    """
    scores = {}
    votes = len(experiment.results) > 1 and experiment.args.process_index == 0
    for name, rows in experiment.corpora.test.items() if votes else ():
        folders = [experiment.output_dir / result["run"] for result in experiment.results]
        files = [folder / f"probabilities_{file_label(name)}.json" for folder in folders]
        chosen = vote([read_json_object(file, "delete run-results.json beside it to score it again") for file in files])
        write_json(chosen, experiment.output_dir / f"predictions_{file_label(name)}.json")
        scores[name] = accuracy(chosen, rows)
    return {name: measured for name, measured in scores.items() if measured}
