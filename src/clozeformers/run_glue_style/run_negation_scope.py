"""Fine-tune a negation scope model, score it on any number of corpora, and write its results and model card.

    python run_glue_style/run_negation_scope.py oa-ca-augment --train_file SEM-2012-...-training-09032012.txt \
        --validation_fraction 0.1 --test_file SEM-2012-...-dev-09032012.txt --output_dir runs/oa-ca

The first argument may be a recipe, a file or a name; the arguments that follow override it. `--num_folds 10`
cross-validates, `--num_seeds 10` repeats with other seeds; `--resume_from_checkpoint true` continues an interrupted
command. Runs unchanged under `accelerate launch` and `torchrun`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from datasets import Dataset

from clozeformers.errors import run_script
from clozeformers.negation_scope.arguments import (
    NegationDataArguments,
    NegationModelArguments,
    NegationTrainingArguments,
    resolve_arguments,
)
from clozeformers.negation_scope.card import CARD
from clozeformers.negation_scope.cue_scores import found_scores, lexicon_scores, negation_of_row
from clozeformers.negation_scope.distillation import add_teacher_targets
from clozeformers.negation_scope.encoding import encode_dataset, encode_labelled, join_features, label_sentences
from clozeformers.negation_scope.loading import load_corpora, load_model, sentence_ids, strata_of, with_cues
from clozeformers.negation_scope.predictions import write_found, write_predictions
from clozeformers.negation_scope.trainer import NegationScopeTrainer
from clozeformers.training.experiment import Experiment, Run
from clozeformers.training.recipe import parse_recipe
from clozeformers.training.sampling import sort_by_length


def main(arguments: list[str]) -> dict[str, Any]:
    """Run a command line, print the scores, and return the record that `results.json` holds."""
    classes = (NegationModelArguments, NegationDataArguments, NegationTrainingArguments)
    model_args, data_args, args = parse_recipe("negation_scope", classes, arguments)
    model_args, data_args = resolve_arguments(model_args, data_args)
    corpora = load_corpora(data_args, args.seed)
    experiment = Experiment(
        CARD,
        "clozeformers.run_glue_style.run_negation_scope",
        arguments=(model_args, data_args, args),
        corpora=corpora,
        command=arguments,
        groups=sentence_ids(corpora.train),
        strata=strata_of(corpora.train),
    )
    for run in experiment.runs():
        train_and_score(run, model_args, data_args)
    return experiment.publish()


def train_and_score(run: Run, model_args: NegationModelArguments, data_args: NegationDataArguments) -> None:
    """Train and score the model of a run. It goes with this function, before that of the next run is loaded."""
    train, validation = run.corpora.train, run.corpora.validation
    scopes = None if train is None else with_cues(train)
    if scopes is not None and data_args.teachers:
        scopes = add_teacher_targets(scopes, data_args, run.args)
    model, tokenizer = load_model(model_args, data_args, scopes)
    encode = partial(
        encode_dataset,
        tokenizer=tokenizer,
        max_length=tokenizer.model_max_length,
        config=model.config,
        label_pieces=data_args.label_pieces,
    )
    features = None if scopes is None else encode(scopes)
    if train is not None and features is not None and data_args.finds_cues:
        sentences = label_sentences(train)
        length = tokenizer.model_max_length
        cues = encode_labelled(sentences, tokenizer, max_length=length, config=model.config)
        features = join_features(features, cues)
    trainer = NegationScopeTrainer(
        model,
        run.args,
        processing_class=tokenizer,
        cue_in_scope=data_args.cue_in_scope,
        train_dataset=None if features is None else sort_by_length(features),
        eval_dataset=None if validation is None else sort_by_length(encode(with_cues(validation))),
    )
    run.fit(trainer)
    for name, all_rows in run.corpora.test.items():
        rows = with_cues(all_rows)
        predicted, metrics = trainer.predict_scopes(sort_by_length(encode(rows, overlapping=True)))
        gold = run.corpora.files.get(name, [])
        if data_args.finds_cues:
            metrics |= score_found(trainer, all_rows, gold, run.path("found", name, ".jsonl"))
        run.record(trainer, name, metrics)
        if trainer.is_world_process_zero():
            predictions = [predicted[number] for number in range(len(rows))]
            write_predictions(rows, predictions, gold, run.path("predictions", name, ".jsonl"))


def score_found(trainer: NegationScopeTrainer, rows: Dataset, gold: Sequence[Path], path: Path) -> dict[str, float]:
    """Find the cues of a corpus and their scopes, write them, see `write_found`, and return the scores."""
    sentences = label_sentences(rows)
    annotated = [[negation_of_row(rows[number]) for number in each.rows] for each in sentences]
    found = trainer.find_negations(sentences)
    if trainer.is_world_process_zero():
        write_found(sentences, found, gold, path)
    scores = found_scores(zip(annotated, found, strict=True))
    if sentences and sentences[0].kind == "negation":
        scores |= lexicon_scores(sentences, annotated, found)
    return {f"test_{measure}": value for measure, value in scores.items()}


if __name__ == "__main__":
    sys.exit(run_script(main))
