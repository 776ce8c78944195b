"""Distillation: a model learns the word probabilities of trained models, its teachers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, List, Value, concatenate_datasets
from transformers import AutoTokenizer

from ..files import data_name, read_text
from ..modeling.auto import AutoModelForNegationScope
from ..training.pretrained import loading
from ..training.sampling import sort_by_length
from .arguments import NegationDataArguments, NegationTrainingArguments
from .corpora.schema import NEGATION_FEATURES, NegationRow
from .cues import has_affixes
from .encoding import encode_dataset
from .inputs import cues_of_text, read_input
from .trainer import NegationScopeTrainer, probabilities_of_words

_MAX_CONTEXT = 200  # words on either side of a cue, where a text has no sentence ends


def add_teacher_targets(rows: Dataset, data_args: NegationDataArguments, args: NegationTrainingArguments) -> Dataset:
    """Add the teachers' probabilities to training rows, and the rows of unlabelled texts.

    A teacher that was trained on known corpora teaches the rows of these, any other teaches all rows. The target of a
    labelled row is `teacher_weight` times the mean of its teachers plus the rest times the annotation; that of a row
    without a teacher is the annotation.

    Args:
        rows: annotated rows.
        data_args: name the teachers, their weight, and the unlabelled texts.
        args: say where to compute.

    Returns:
        The rows with a further column `target`: for each word, the probability to be in scope that is learnt.
    """
    teachers = [_Teacher(name, args) for name in data_args.teachers or ()]
    conventions = list(dict.fromkeys(name for teacher in teachers for name in teacher.conventions))
    texts = [row for path in data_args.unlabelled_file or () for row in unlabelled_rows(path, conventions)]
    parts = [_with_targets(rows, teachers, data_args.teacher_weight)]
    if texts:
        parts.append(_with_targets(Dataset.from_list(texts, features=NEGATION_FEATURES), teachers, 1.0))
    return concatenate_datasets(parts)


def unlabelled_rows(path: str | Path, conventions: Sequence[str]) -> Iterator[NegationRow]:
    """Find the cues of a text file: a row a cue and convention, as `NegationRow`, with an empty scope.

    Args:
        path: a text file; a line holds whole sentences.
        conventions: under which the lexicon looks for cues; none: all cues, once.
    """
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        text = read_input(line)
        for convention in conventions or (None,):
            found = cues_of_text(text, _MAX_CONTEXT, affixes=has_affixes(convention), convention=convention)
            for count, cue in enumerate(found):
                yield NegationRow(
                    id=f"{data_name(path)}/{number}/{convention}#{count}",
                    corpus=convention or data_name(path),
                    kind="negation",
                    tokens=[word.text for word in cue.words],
                    cue=cue.cue_words,
                    cue_text=" ".join(cue.text[start:end] for start, end in cue.parts),
                    scope=[0] * len(cue.words),
                )


class _Teacher:
    def __init__(self, name: str, args: NegationTrainingArguments) -> None:
        with loading(name):
            self.tokenizer = AutoTokenizer.from_pretrained(name)
            self.model = AutoModelForNegationScope.from_pretrained(name)
        self.conventions: list[str] = self.model.config.conventions or []
        self.trainer = NegationScopeTrainer(self.model, args.for_prediction(), self.tokenizer)

    def teaches(self, corpus: str) -> bool:
        return not self.conventions or corpus in self.conventions

    def probabilities(self, rows: Dataset) -> list[list[float]]:
        """For each row, the probability of each word to be in scope."""
        length = self.tokenizer.model_max_length
        encoded = encode_dataset(rows, self.tokenizer, max_length=length, config=self.model.config, overlapping=True)
        features = sort_by_length(encoded)
        predicted = probabilities_of_words(features, self.trainer.predict(features).predictions)
        return [predicted[number] for number in range(len(rows))]


def _with_targets(rows: Dataset, teachers: Sequence[_Teacher], weight: float) -> Dataset:
    taught: list[list[Any]] = [[] for _ in rows]
    for teacher in teachers:
        own = [number for number, corpus in enumerate(rows["corpus"]) if teacher.teaches(corpus)]
        if own:
            for number, probabilities in zip(own, teacher.probabilities(rows.select(own)), strict=True):
                taught[number].append(probabilities)
    targets = [
        weight * np.mean(probabilities, axis=0) + (1 - weight) * np.array(scope) if probabilities else np.array(scope)
        for probabilities, scope in zip(taught, rows["scope"], strict=True)
    ]
    return rows.add_column("target", [target.tolist() for target in targets], feature=List(Value("float64")))
