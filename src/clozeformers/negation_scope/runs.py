"""Runs of the negation scope script: one training, seeds, or folds; each scored on every test corpus and resumable."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from datasets import Dataset
from transformers import set_seed

from ..metrics import SemStarScope
from ..training.corpora import HELD_OUT, Corpora, corpus_statistics, file_label, load_corpora
from ..training.cross_validation import folds
from ..training.results import summary_table, write_json
from ..training.runs import (
    command_line,
    is_checkpoint,
    measured_record,
    publish_record,
    refuse_other_results,
    run_arguments,
    run_name,
    run_once,
    run_result,
    seeds_of,
    set_up_logging,
    train_and_evaluate,
)
from ..training.sampling import sorted_by_length
from .arguments import NegationDataArguments, NegationModelArguments, NegationTrainingArguments
from .corpora.cd_sco import read_cd_sco, write_cd_sco
from .corpora.jsonl import write_negation_jsonl
from .encoding import negation_features
from .loading import load_model, resolve_arguments
from .model_card import TASK, write_model_card
from .trainer import NegationScopeTrainer, predict_scopes

MEASURES = ("precision", "recall", "f1", "pcs")


class Run(NamedTuple):
    """One training of a command."""

    name: str
    seed: int
    corpora: Corpora


def run_negation_scope(
    model_args: NegationModelArguments,
    data_args: NegationDataArguments,
    args: NegationTrainingArguments,
    command: list[str],
) -> str:
    """Do all runs that the arguments ask for, and write results beside them.

    Args:
        model_args: which model.
        data_args: which corpora.
        args: how to train; `num_folds` and `num_seeds` ask for several runs.
        command: the command line, for the record.

    Returns:
        A Markdown table of the scores, mean and standard deviation.
    """
    set_up_logging(args)
    refuse_other_results(args)
    if args.push_to_hub and args.num_folds:
        raise ValueError("--push_to_hub pushes one model; leave out --num_folds")
    model_args, data_args = resolve_arguments(model_args, data_args, is_trained=has_training_data(data_args))
    corpora = load_corpora(data_args, args)
    results = [one_run(run, model_args, data_args, args) for run in plan_runs(corpora, args)]
    shown = command_line("run_negation_scope.py", command, args.hub_token)
    record = measured_record(TASK, shown, (model_args, data_args, args), corpus_statistics(corpora), results)
    if args.process_index == 0:
        publish_record(record, args, write_model_card)
    return summary_table(record["scores"], MEASURES)


def has_training_data(data_args: NegationDataArguments) -> bool:
    """Whether the arguments name a corpus to train on."""
    return data_args.train_file is not None or data_args.dataset_name is not None


# ---------------------------------------------------------------------------------------------------------------- runs


def plan_runs(corpora: Corpora, args: NegationTrainingArguments) -> Iterator[Run]:
    """The runs of a command: every fold with every seed, or the corpora as they are with every seed."""
    seeds = seeds_of(args)
    if args.folds is not None and not set(args.folds) <= set(range(1, (args.num_folds or 0) + 1)):
        raise ValueError(f"--folds {args.folds}: with --num_folds {args.num_folds} they are counted from 1 up to that")
    if is_checkpoint(args.resume_from_checkpoint) and args.num_folds:
        raise ValueError("several runs do not start from one checkpoint; --resume_from_checkpoint true resumes each")
    for seed in seeds:
        suffix = run_name(args, seed)
        if not args.num_folds:
            yield Run(suffix, seed, corpora)
            continue
        if corpora.train is None:
            raise ValueError("--num_folds needs --train_file or --dataset_name: the folds are made of it")
        for number, split in enumerate(folds(corpora.train["id"], args.num_folds, args.seed), start=1):
            if args.folds is None or number in args.folds:
                train, validation, test = (corpora.train.select(rows) for rows in split)
                parts = Corpora(train, validation, {HELD_OUT: test, **corpora.test}, corpora.files)
                yield Run(f"fold-{number}" + (f"-{suffix}" if suffix else ""), seed, parts)


def one_run(
    run: Run, model_args: NegationModelArguments, data_args: NegationDataArguments, args: NegationTrainingArguments
) -> dict[str, Any]:
    """Train, score and save one model; or read what an earlier, interrupted command has measured of it."""
    return run_once(
        Path(str(args.output_dir)) / run.name,
        run_arguments(model_args, data_args, args),
        args,
        run.seed,
        lambda run_args: train_and_score(run, model_args, data_args, run_args),
    )


def train_and_score(
    run: Run, model_args: NegationModelArguments, data_args: NegationDataArguments, args: NegationTrainingArguments
) -> dict[str, Any]:
    """One training, from the pretrained encoder to the scores of every test set."""
    started = time.monotonic()
    set_seed(args.seed)
    model, tokenizer = load_model(model_args, data_args)

    def features(rows: Dataset, overlapping: bool = False) -> Dataset:
        prepared = negation_features(
            rows,
            tokenizer,
            max_length=tokenizer.model_max_length,
            cue_token=model.config.cue_token,
            max_cue_length=model.config.max_cue_length,
            overlapping=overlapping,
        )
        return sorted_by_length(prepared)

    trainer = NegationScopeTrainer(
        model,
        args,
        tokenizer,
        train_dataset=features(run.corpora.train) if run.corpora.train is not None else None,
        eval_dataset=features(run.corpora.validation) if run.corpora.validation is not None else None,
    )
    train_and_evaluate(trainer)
    scores = {}
    for name, rows in run.corpora.test.items():
        labels, metrics = predict_scopes(trainer, features(rows, overlapping=True))
        scores[name] = {measure: metrics[f"test_{measure}"] for measure in MEASURES}
        label = file_label(name)
        trainer.save_metrics(f"predict_{label}", metrics)
        if trainer.is_world_process_zero():
            predicted = [{**row, "scope": labels[number]} for number, row in enumerate(rows)]
            write_predictions(
                predicted, run.corpora.files.get(name), Path(str(args.output_dir)) / f"predictions_{label}"
            )
    return run_result(trainer, run.name, scores, started) | {"parameters": model.num_parameters()}


def write_predictions(rows: list[Any], gold: Path | None, path: Path) -> None:
    """Write predicted scopes as JSON lines and, for a whole CD-SCO file, in its columns with the *SEM 2012 scores.

    Args:
        rows: corpus rows with the predicted scope.
        gold: the file they were read from, if it was one.
        path: where to, without ending.
    """
    write_negation_jsonl(rows, path.with_name(path.name + ".jsonl"))
    scopes = {row["id"]: row["scope"] for row in rows}
    if gold is not None and rows[0]["corpus"] == "cd-sco" and {row["id"] for row in read_cd_sco(gold)} == scopes.keys():
        columns = path.with_name(path.name + ".txt")
        write_cd_sco(gold, scopes, columns)
        write_json(
            SemStarScope().compute(predictions=[str(columns)], references=[str(gold)]),
            path.with_name(path.name.replace("predictions", "sem_star", 1) + ".json"),
        )
