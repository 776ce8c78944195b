"""Trainer of negation scope models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from torch.utils.data import DataLoader
from transformers import EvalPrediction
from transformers.trainer_utils import EvalLoopOutput

from ..metrics import NegationScope
from ..training.sampling import sort_by_length
from ..training.trainer import LengthGroupedTrainer
from ..words import words_of_tokens
from .collator import NegationCollator
from .corpora.schema import NEGATION_FEATURES, NegationRow
from .cue_labels import cues_of_windows
from .cue_scores import Cue, Negation, cue_of_parts, lexicon_cues
from .cues import has_affixes
from .encoding import LabelledSentence, encode_dataset, encode_labelled
from .windows import word_probabilities


class NegationScopeTrainer(LengthGroupedTrainer):
    """`LengthGroupedTrainer` that scores words: precision, recall, F1 and PCS over the corpus, windows merged.

    Args:
        model: a negation scope model.
        args: `NegationTrainingArguments`.
        processing_class: the tokenizer, saved with the model.
        cue_in_scope: `"keep"` scores scopes as they are annotated; `"drop"` and `"add"` score them, gold and predicted,
            with all cue words out of them or in them, which makes corpora of different conventions comparable.
        **kwargs: other arguments of `Trainer`; datasets are what `encode_dataset` returns.
    """

    def __init__(
        self, model: Any, args: Any, processing_class: Any, *, cue_in_scope: str = "keep", **kwargs: Any
    ) -> None:
        super().__init__(
            model=model,
            args=args,
            processing_class=processing_class,
            data_collator=NegationCollator(processing_class.pad_token_id),
            compute_metrics=self._score,
            preprocess_logits_for_metrics=_probabilities,
            **kwargs,
        )
        self.cue_in_scope = cue_in_scope
        self.label_names = ["labels"]  # those of cues are not in all features
        self._num_cue_items: torch.Tensor | int | None = None

    def _get_num_items_in_batch(self, batch_samples: list[Any], device: torch.device) -> torch.Tensor | int | None:
        """As `Trainer`'s, which counts `labels`; counts the labels of cues too, which have a loss of their own."""
        cues = [{"labels": batch["cue_labels"]} for batch in batch_samples if "cue_labels" in batch]
        self._num_cue_items = super()._get_num_items_in_batch(cues, device)
        return super()._get_num_items_in_batch(batch_samples, device)

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> Any:
        """As `Trainer.compute_loss`; each of the two losses is a mean over the whole batch."""
        if num_items_in_batch is not None and self._num_cue_items is not None:
            inputs = {**inputs, "num_cue_items_in_batch": self._num_cue_items}
        return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)

    def evaluation_loop(self, dataloader: DataLoader[Any], *args: Any, **kwargs: Any) -> EvalLoopOutput:
        """As `Trainer.evaluation_loop`; keeps the features, which the scores are computed from."""
        self._scored_features: Dataset = dataloader.dataset
        return super().evaluation_loop(dataloader, *args, **kwargs)

    def _score(self, prediction: EvalPrediction) -> dict[str, float]:
        features = self._scored_features
        if "scope" not in features.column_names:
            return {}
        predicted = scopes(features, prediction.predictions)
        rows = {row: parts for row, *parts in zip(features["row"], features["scope"], features["cue"], strict=True)}
        pairs = [
            (self._with_cue_words(predicted[row], cue), self._with_cue_words(gold, cue))
            for row, (gold, cue) in rows.items()
        ]
        return NegationScope().compute(predictions=[each for each, _ in pairs], references=[gold for _, gold in pairs])

    def _with_cue_words(self, scope: list[int], cue: list[int]) -> list[int]:
        """A scope as it is scored."""
        if self.cue_in_scope == "keep":
            return scope
        value = int(self.cue_in_scope == "add")
        return [value if is_cue else inside for inside, is_cue in zip(scope, cue, strict=True)]

    def predict_scopes(self, features: Dataset) -> tuple[dict[int, list[int]], dict[str, float]]:
        """Predict a corpus, encoded with overlapping windows.

        Returns:
            For each corpus row, 0 or 1 a word; and the metrics, names prefixed ``test_``.
        """
        output = self.predict(features, metric_key_prefix="test")
        return scopes(features, output.predictions), dict(output.metrics or {})

    def find_cues(self, sentences: Sequence[LabelledSentence]) -> list[list[Cue]]:
        """Find the cues of sentences, whose labels are not used, as the pipeline would, with model or lexicon."""
        config = self.model.config
        read = [sentence for sentence in sentences if config.finds_cues_under(sentence.corpus)]
        found = iter(self._read_cues(read) if read else [])
        return [next(found) if config.finds_cues_under(each.corpus) else lexicon_cues(each) for each in sentences]

    def _read_cues(self, sentences: Sequence[LabelledSentence]) -> list[list[Cue]]:
        tokenizer: Any = self.processing_class
        length, config = tokenizer.model_max_length, self.model.config
        features = sort_by_length(encode_labelled(sentences, tokenizer, max_length=length, config=config))
        _, probabilities = self.predict(features).predictions
        words = [words_of_tokens(sentence.tokens) for sentence in sentences]
        windows = zip(features["row"], features["word_ids"], probabilities, strict=True)
        found = cues_of_windows(words, windows, [has_affixes(sentence.corpus, config) for sentence in sentences])
        return [[cue_of_parts(own, parts) for parts in cues] for own, cues in zip(words, found, strict=True)]

    def find_negations(self, sentences: Sequence[LabelledSentence]) -> list[list[Negation]]:
        """Find the cues of sentences, whose labels are not used, and their scopes."""
        found = self.find_cues(sentences)
        rows = [
            NegationRow(
                id="",
                corpus=sentence.corpus,
                kind=sentence.kind,
                tokens=sentence.tokens,
                cue=[int(place in dict(cue)) for place in range(len(sentence.tokens))],
                cue_text="",
                scope=[0] * len(sentence.tokens),
            )
            for sentence, cues in zip(sentences, found, strict=True)
            for cue in cues
        ]
        if not rows:
            return [[] for _ in sentences]
        tokenizer: Any = self.processing_class
        features = encode_dataset(
            Dataset.from_list(rows, features=NEGATION_FEATURES),
            tokenizer,
            max_length=tokenizer.model_max_length,
            config=self.model.config,
            overlapping=True,
        )
        predicted, _ = self.predict_scopes(sort_by_length(features))
        scopes = (frozenset(np.flatnonzero(predicted[number]).tolist()) for number in range(len(rows)))
        return [[Negation(cue, next(scopes)) for cue in cues] for cues in found]


def _probabilities(logits: Any, labels: torch.Tensor) -> Any:
    """Of each piece, the probability to be in scope and, from a model with a cue head, those of the cue labels."""
    if isinstance(logits, tuple):
        return tuple(part.softmax(dim=-1) if part.size(-1) > 2 else _probabilities(part, labels) for part in logits)
    return logits.softmax(dim=-1)[..., 1]


def scopes(features: Dataset, predictions: Any) -> dict[int, list[int]]:
    """For each corpus row, 1 for each word that is more likely in scope than not; see `probabilities_of_words`."""
    return {
        row: [int(value > 0.5) for value in values]
        for row, values in probabilities_of_words(features, predictions).items()
    }


def probabilities_of_words(features: Dataset, predictions: Any) -> dict[int, list[float]]:
    """Merge the windows of each corpus row: the probability of each word to be in scope.

    Args:
        features: that were predicted, in that order.
        predictions: ``[number of features, L]``, probabilities of the word pieces; or a tuple that begins with them.
    """
    if isinstance(predictions, tuple):
        predictions = predictions[0]  # of a model with a cue head
    windows: dict[int, tuple[int, list[list[int]], list[list[float]]]] = {}
    columns = (features[name] for name in ("row", "scope", "word_ids"))
    for row, scope, word_ids, pieces in zip(*columns, predictions, strict=True):
        _, all_word_ids, all_pieces = windows.setdefault(row, (len(scope), [], []))
        all_word_ids.append(word_ids)
        all_pieces.append(pieces[: len(word_ids)].tolist())
    return {row: word_probabilities(*parts) for row, parts in windows.items()}
