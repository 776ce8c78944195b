"""Runs of the negation scope script: one training, seeds, or folds; each scored on every test corpus and resumable."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from datasets import Dataset
from transformers import set_seed

from ..data.cd_sco import read_cd_sco, write_cd_sco
from ..data.negation_features import negation_features
from ..data.negation_jsonl import write_negation_jsonl
from ..metrics import SemStarScope
from .arguments import NegationDataArguments, NegationModelArguments, NegationTrainingArguments
from .corpora import HELD_OUT, Corpora, corpus_statistics, file_label, load_corpora
from .cross_validation import folds
from .model_card import write_model_card
from .model_loading import load_model, resolve_arguments
from .negation_scope import NegationScopeTrainer, predict_scopes, sorted_by_length
from .results import environment, summarise, summary_table, write_json
from .runs import (
    RESULTS_FILE,
    checkpoint_to_resume,
    command_line,
    is_checkpoint,
    push_run,
    run_once,
    set_up_logging,
    training_record,
)

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
    if args.push_to_hub and (args.num_folds or args.num_seeds > 1):
        raise ValueError("--push_to_hub pushes one model; leave out --num_folds and --num_seeds")
    model_args, data_args = resolve_arguments(model_args, data_args, is_trained=has_training_data(data_args))
    corpora = load_corpora(data_args, args)
    results = [one_run(run, model_args, data_args, args) for run in plan_runs(corpora, args)]
    summary = summarise([result["scores"] for result in results]) if results[0]["scores"] else {}
    record = {
        "name": args.run_name or Path(str(args.output_dir)).name,
        "command": command_line("run_negation_scope.py", command, args.hub_token),
        "model": dataclasses.asdict(model_args),
        "data": {name: value for name, value in dataclasses.asdict(data_args).items() if value is not None},
        "training": training_record(args),
        "corpora": corpus_statistics(corpora),
        "environment": environment(),
        "minutes": sum(result["minutes"] for result in results),
        "parameters": results[0]["parameters"],
        "scores": summary,
        "runs": results,
    }
    if args.process_index == 0:
        write_record(record, Path(str(args.output_dir)), args.card_dir)
        if args.push_to_hub:
            push_run(Path(str(args.output_dir)), args)
    return summary_table(summary, MEASURES)


def has_training_data(data_args: NegationDataArguments) -> bool:
    """Whether the arguments name a corpus to train on."""
    return data_args.train_file is not None or data_args.dataset_name is not None


def write_record(record: dict[str, Any], output_dir: Path, card_dir: str | None) -> None:
    """Write results and model card into the output folder and, named by the run, into the folder of all cards."""
    model_folder: Path | None = output_dir / record["runs"][0]["run"]
    if not (output_dir / record["runs"][0]["run"] / "config.json").exists():
        model_folder = None
    write_json(record, output_dir / RESULTS_FILE)
    card = write_model_card(record, output_dir, model_folder)
    if card_dir is not None:
        write_json(record, Path(card_dir) / f"{record['name']}.json")
        (Path(card_dir) / f"{record['name']}.md").write_bytes(card.read_bytes())


# ---------------------------------------------------------------------------------------------------------------- runs


def plan_runs(corpora: Corpora, args: NegationTrainingArguments) -> Iterator[Run]:
    """The runs of a command: every fold with every seed, or the corpora as they are with every seed."""
    if args.num_seeds < 1:
        raise ValueError(f"--num_seeds is {args.num_seeds}; it must be at least 1")
    if args.folds is not None and not set(args.folds) <= set(range(1, (args.num_folds or 0) + 1)):
        raise ValueError(f"--folds {args.folds}: with --num_folds {args.num_folds} they are counted from 1 up to that")
    if is_checkpoint(args.resume_from_checkpoint) and (args.num_folds or args.num_seeds > 1):
        raise ValueError("several runs do not start from one checkpoint; --resume_from_checkpoint true resumes each")
    for seed in range(args.seed, args.seed + args.num_seeds):
        suffix = f"seed-{seed}" if args.num_seeds > 1 else ""
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
    arguments = {**dataclasses.asdict(model_args), **dataclasses.asdict(data_args), **training_record(args)}
    return run_once(
        Path(str(args.output_dir)) / run.name,
        arguments,
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
    if trainer.train_dataset is not None:
        metrics = trainer.train(resume_from_checkpoint=checkpoint_to_resume(args)).metrics
        trainer.save_model()
        trainer.save_metrics("train", metrics)
        trainer.save_state()
    if trainer.eval_dataset is not None:
        trainer.save_metrics("eval", trainer.evaluate())
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
    return {
        "run": run.name,
        "seed": args.seed,
        "scores": scores,
        "epochs": trainer.state.epoch,
        "best": {
            "step": trainer.state.best_global_step,
            args.metric_for_best_model or "loss": trainer.state.best_metric,
        },
        "minutes": (time.monotonic() - started) / 60,
        "parameters": model.num_parameters(),
    }


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
