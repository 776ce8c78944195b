"""Runs of the abstract cloze script: one a seed, each scored on every test file and resumable, and the vote of all."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from datasets import Dataset
from transformers import set_seed

from ..training.corpora import file_label
from ..training.results import read_json, write_json
from ..training.runs import (
    command_line,
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
from .arguments import ClozeDataArguments, ClozeModelArguments, ClozeTrainingArguments
from .encoding import check_separators, pair_layout
from .features import cloze_features
from .loading import (
    ClozeCorpora,
    corpus_statistics,
    load_cloze_corpora,
    load_cloze_model,
    load_cloze_tokenizer,
    resolve_cloze_arguments,
)
from .model_card import TASK, scores_table, write_cloze_model_card
from .part_of_speech import get_tagger
from .trainer import AbstractClozeTrainer, accuracy, best_options, vote
from .wordnet import OptionReader, find_wordnet

SCRIPT = "run_abstract_cloze.py"


class Prepared(NamedTuple):
    """What all runs of a command read: features of each corpus, made by one tokenizer, and what was counted then."""

    tokenizer: Any
    train: Dataset | None
    validation: Dataset | None
    test: dict[str, Dataset]
    counts: dict[str, dict[str, int]]


def run_abstract_cloze(
    model_args: ClozeModelArguments, data_args: ClozeDataArguments, args: ClozeTrainingArguments, command: list[str]
) -> str:
    """Do all runs that the arguments ask for, and write results beside them.

    Args:
        model_args: which model.
        data_args: which questions.
        args: how to train; `num_seeds` asks for several runs.
        command: the command line, for the record.

    Returns:
        A Markdown table of the accuracies, mean and standard deviation; with several seeds also that of their vote.
    """
    set_up_logging(args)
    seeds = seeds_of(args)
    corpora = load_cloze_corpora(data_args)
    model_args, data_args = resolve_cloze_arguments(model_args, data_args, is_trained=corpora.train is not None)
    args = without_evaluation(args) if corpora.train is None else args
    if corpora.validation is None and (args.eval_strategy != "no" or args.load_best_model_at_end):
        raise ValueError(
            "the best model is chosen by its accuracy on --validation_file; give one, or "
            "--eval_strategy no --load_best_model_at_end false to keep the last"
        )

    @cache  # once for all seeds, and not at all where every run is finished
    def prepared() -> Prepared:
        return prepare(corpora, model_args, data_args)

    refuse_other_results(args)
    output_dir, decisive = Path(str(args.output_dir)), run_arguments(model_args, data_args, args)

    def one_run(seed: int) -> dict[str, Any]:
        name = run_name(args, seed)

        def train(run_args: ClozeTrainingArguments) -> dict[str, Any]:
            started = time.monotonic()
            trainer, measured = train_and_score(corpora, prepared(), model_args, data_args, run_args)
            return run_result(trainer, name, measured.pop("scores"), started) | measured

        return run_once(output_dir / name, decisive, args, seed, train)

    results = [one_run(seed) for seed in seeds]
    shown = command_line(SCRIPT, command, args.hub_token)
    record = measured_record(TASK, shown, (model_args, data_args, args), corpus_statistics(corpora), results)
    if args.process_index == 0:
        record["ensemble"] = ensemble_of_seeds(corpora, output_dir, results)
        publish_record(record, args, write_cloze_model_card)
    return scores_table(record)


def without_evaluation(args: ClozeTrainingArguments) -> ClozeTrainingArguments:
    """The same arguments for a command that only scores: there are no steps to evaluate at, and no best one."""
    scoring = copy.copy(args)
    scoring.eval_strategy, scoring.load_best_model_at_end = "no", False
    return scoring


def prepare(corpora: ClozeCorpora, model_args: ClozeModelArguments, data_args: ClozeDataArguments) -> Prepared:
    """Make the features of all corpora.

    Raises:
        FileNotFoundError: if definitions are to be read, and WordNet is not there; names the command that helps.
    """
    tokenizer = load_cloze_tokenizer(model_args)
    settings: dict[str, Any] = {"max_length": data_args.max_length, "use_article": data_args.use_article}
    settings["option_reader"] = OptionReader(find_wordnet(), get_tagger()) if data_args.use_definitions else None
    counts = {}

    def features(rows: Dataset, name: str) -> Dataset:
        made, report = cloze_features(rows, tokenizer, **settings)
        counts[name] = report._asdict()
        return made

    return Prepared(
        tokenizer,
        None if corpora.train is None else features(corpora.train, "train"),
        None if corpora.validation is None else sorted_by_length(features(corpora.validation, "validation")),
        {name: features(rows, name) for name, rows in corpora.test.items()},
        counts,
    )


def train_and_score(
    corpora: ClozeCorpora,
    prepared: Prepared,
    model_args: ClozeModelArguments,
    data_args: ClozeDataArguments,
    args: ClozeTrainingArguments,
) -> tuple[AbstractClozeTrainer, dict[str, Any]]:
    """One training, from the pretrained encoder to the predictions of every test set.

    Returns:
        The trainer; and what was measured: `scores` (test set -> accuracy, where labels are known), parameters, counts.
    """
    set_seed(args.seed)
    model = load_cloze_model(model_args, data_args)
    if model.co_attention is not None:
        check_separators(pair_layout(prepared.tokenizer), model.article_separators, type(model).__name__)
    trainer = AbstractClozeTrainer(
        model, args, prepared.tokenizer, train_dataset=prepared.train, eval_dataset=prepared.validation
    )
    train_and_evaluate(trainer)
    scores = {}
    for name, rows in corpora.test.items():
        probabilities, metrics = trainer.predict_options(rows, prepared.test[name])
        label, folder = file_label(name), Path(str(args.output_dir))
        trainer.save_metrics(f"predict_{label}", metrics)
        if "test_accuracy" in metrics:
            scores[name] = {"accuracy": metrics["test_accuracy"]}
        if trainer.is_world_process_zero():
            write_json(best_options(probabilities), folder / f"predictions_{label}.json")
            write_json(probabilities, folder / f"probabilities_{label}.json")
    return trainer, {
        "scores": scores,
        "parameters": model.num_parameters(),
        "trained_parameters": model.num_parameters(only_trainable=True),
        "features": prepared.counts,
        "config": model.config.to_diff_dict(),
    }


def ensemble_of_seeds(
    corpora: ClozeCorpora, output_dir: Path, results: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, float]]:
    """Let the models of several seeds vote, write what they choose, and score it; nothing where there is one seed."""
    scores = {}
    for name, rows in corpora.test.items() if len(results) > 1 else ():
        label = file_label(name)
        files = [output_dir / result["run"] / f"probabilities_{label}.json" for result in results]
        for file in files:
            if not file.exists():
                raise FileNotFoundError(
                    f"{file} is missing; delete {file.parent / 'run-results.json'} to score it again"
                )
        models = [read_json(file) for file in files]
        chosen = vote(models)
        write_json(chosen, output_dir / f"predictions_{label}.json")
        scores[name] = accuracy(chosen, rows)
    return {name: measured for name, measured in scores.items() if measured}
