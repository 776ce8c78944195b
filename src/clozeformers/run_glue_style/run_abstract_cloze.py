"""Fine-tune an abstract cloze model, score it on ReCAM files, and write its results and model card.

    python run_glue_style/run_abstract_cloze.py albert-xxlarge-wn-duma --train_file Task_1_train.jsonl \
        --validation_file Task_1_dev.jsonl --test_file Task_1_dev.jsonl --num_seeds 5 --output_dir runs/wn-duma

The first argument may be a recipe, a file or a name; the arguments that follow override it. With several seeds, their
models vote. `--resume_from_checkpoint true` continues an interrupted command. Runs unchanged under `accelerate launch`
and `torchrun`.
"""

from __future__ import annotations

import sys
from functools import lru_cache, partial
from typing import Any

from datasets import Dataset
from transformers import set_seed

from clozeformers.abstract_cloze.arguments import (
    ClozeDataArguments,
    ClozeModelArguments,
    ClozeTrainingArguments,
    resolve_arguments,
)
from clozeformers.abstract_cloze.card import CARD
from clozeformers.abstract_cloze.loading import (
    articles,
    encode_corpora,
    load_corpora,
    load_model,
    load_tokenizer,
    score_held_out,
)
from clozeformers.abstract_cloze.pretraining import pretrain
from clozeformers.abstract_cloze.trainer import AbstractClozeTrainer, best_options, vote_of_runs
from clozeformers.errors import run_script
from clozeformers.training.experiment import Experiment, Run
from clozeformers.training.recipe import parse_recipe
from clozeformers.training.sampling import sort_by_length


def main(arguments: list[str]) -> dict[str, Any]:
    """Run a command line, print the scores, and return the record that `results.json` holds."""
    classes = (ClozeModelArguments, ClozeDataArguments, ClozeTrainingArguments)
    model_args, data_args, args = parse_recipe("abstract_cloze", classes, arguments)
    model_args, data_args = resolve_arguments(model_args, data_args)
    corpora = score_held_out(load_corpora(data_args, args.seed), args)
    experiment = Experiment(
        CARD,
        "clozeformers.run_glue_style.run_abstract_cloze",
        arguments=(model_args, data_args, args),
        corpora=corpora,
        command=arguments,
        groups=articles(corpora.train),
    )
    tokenizer = load_tokenizer(model_args)
    with_option_mask = model_args.option_features is not None
    encode = lru_cache(maxsize=1)(
        partial(encode_corpora, tokenizer=tokenizer, data_args=data_args, with_option_mask=with_option_mask)
    )
    start = None
    for run in experiment.runs():
        start = start or pretrain(model_args, data_args, args, run.corpora.train, tokenizer)  # once for all seeds
        features, run.features = encode(run.corpora)  # once for all seeds
        set_seed(run.args.seed)  # the stage has drawn numbers, unless an earlier command has run it
        train_and_score(run, start, data_args, tokenizer, features)
    return experiment.publish(ensemble=vote_of_runs(experiment))


def train_and_score(
    run: Run,
    model_args: ClozeModelArguments,
    data_args: ClozeDataArguments,
    tokenizer: Any,
    features: dict[str, Dataset],
) -> None:
    """Train and score the model of a run. It goes with this function, before that of the next run is loaded."""
    trainer = AbstractClozeTrainer(
        load_model(model_args, data_args, tokenizer),
        run.args,
        processing_class=tokenizer,
        train_dataset=features.get("train"),
        eval_dataset=sort_by_length(features["validation"]) if "validation" in features else None,
    )
    run.fit(trainer)
    for name, rows in run.corpora.test.items():
        probabilities, metrics = trainer.predict_options(rows, features[name])
        run.record(trainer, name, metrics)
        run.write(trainer, "predictions", name, best_options(probabilities))
        run.write(trainer, "probabilities", name, probabilities)


if __name__ == "__main__":
    sys.exit(run_script(main))
