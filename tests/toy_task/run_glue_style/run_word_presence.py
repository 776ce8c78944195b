"""Train a word presence model, and score it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from clozeformers.word_presence.card import CARD
from clozeformers.word_presence.model import WordPresenceConfig, WordPresenceModel
from datasets import Dataset
from transformers import AutoTokenizer, DataCollatorWithPadding

from clozeformers.files import read_json_lines
from clozeformers.training.arguments import DataArguments, ScriptTrainingArguments
from clozeformers.training.corpora import load_corpora
from clozeformers.training.experiment import Experiment
from clozeformers.training.recipe import parse_recipe
from clozeformers.training.trainer import LengthGroupedTrainer


@dataclass
class ModelArguments:
    """The tokenizer of the new model."""

    tokenizer: str


def read(path: str) -> Dataset:
    """Read JSON lines with `word`, `text` and `labels`."""
    return Dataset.from_list([row for _, row in read_json_lines(path)])


def main(arguments: list[str]) -> dict[str, Any]:
    classes = (ModelArguments, DataArguments, ScriptTrainingArguments)
    model_args, data_args, args = parse_recipe("word_presence", classes, arguments)
    corpora = load_corpora(
        data_args, args.seed, read=read, from_hub=lambda rows, _: rows, group_of=lambda rows: rows["text"]
    )
    given = (model_args, data_args, args)
    experiment = Experiment(CARD, "run_word_presence", arguments=given, corpora=corpora, command=arguments)
    for run in experiment.runs():
        tokenizer = AutoTokenizer.from_pretrained(model_args.tokenizer)

        def encode(rows: Dataset, tokenizer: Any = tokenizer) -> Dataset:
            encoded = rows.map(lambda row: dict(tokenizer(row["word"], row["text"])), remove_columns=["word", "text"])
            return encoded.add_column("length", list(map(len, encoded["input_ids"])))

        trainer = LengthGroupedTrainer(
            WordPresenceModel(WordPresenceConfig(vocab_size=len(tokenizer))),
            run.args,
            processing_class=tokenizer,
            data_collator=DataCollatorWithPadding(tokenizer),
            train_dataset=encode(run.corpora.train),
            compute_metrics=lambda p: {"accuracy": 100 * float((p.predictions.argmax(-1) == p.label_ids).mean())},
        )
        run.fit(trainer)
        for name, rows in run.corpora.test.items():
            run.record(trainer, name, trainer.predict(encode(rows), metric_key_prefix="test").metrics)
    return experiment.publish()


if __name__ == "__main__":
    main(sys.argv[1:])
