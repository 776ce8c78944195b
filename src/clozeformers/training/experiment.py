"""The runs of a command: one a seed and fold, each resumable, recorded and never overwritten.

    arguments = (model_args, data_args, args)
    experiment = Experiment(CARD, "my_package.my_script", arguments=arguments, corpora=corpora, command=command)
    for run in experiment.runs():                     # finished ones are skipped
        trainer = ...                                 # with run.args and run.corpora
        run.fit(trainer)
        for name, rows in run.corpora.test.items():
            run.record(trainer, name, metrics)
    experiment.publish()                              # results.json, model card, Hub

The output folder holds `results.json` and `README.md`, and a folder a run if there are several. A run's folder holds
the model, `run-arguments.json` while it is running and `run-results.json` when it is finished. Its checkpoints, from
which it goes on if it is interrupted, are removed when it is finished, unless `--keep_checkpoints true` is given.
"""

from __future__ import annotations

import copy
import dataclasses
import gc
import json
import logging
import shlex
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import datasets
import transformers
from transformers import TrainingArguments, set_seed
from transformers.trainer import TRAINER_STATE_NAME
from transformers.utils import CONFIG_NAME

from ..digest import digest, model_digest
from ..files import (
    atomic_file,
    atomic_folder,
    read_json_object,
    remove_unfinished,
    write_json,
    write_text,
)
from .arguments import ScriptTrainingArguments
from .corpora import HELD_OUT, Corpora, file_label, holds_corpus
from .model_card import TaskCard, name_in_record, scores_table, write_model_card
from .pretrained import upload
from .recipe import recipe_name
from .results import environment, summarize
from .small_weights import round_weights, save_in_half

logger = logging.getLogger(__name__)

RESULTS_FILE = "results.json"
_RUN_RESULTS, _RUN_ARGUMENTS = "run-results.json", "run-arguments.json"
_DAMAGED = "delete it to measure again"
# Arguments that change nothing about the model; and the token, which must not be written down.
_NOT_RECORDED = {"output_dir", "resume_from_checkpoint", "run_name", "card_dir", "report_to", "disable_tqdm", "folds"}
_NOT_RECORDED |= {"log_level", "log_level_replica", "hub_token", "keep_checkpoints"}


@dataclass
class Run:
    """One training of a command.

    Attributes:
        name: of its folder within the output folder; empty if the command has one run.
        args: training arguments, with the run's own seed and folder.
        corpora: its data.
        measures: names of the task's scores.
        scores: test set -> measure -> percent.
        features: name of a corpus -> a summary of its encoding, for the model card.
        measured: what else is recorded.
        started: when this process began with it.
        earlier_seconds: what an interrupted command spent on it before.
    """

    name: str
    args: Any
    corpora: Corpora
    measures: tuple[str, ...]
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    features: dict[str, str] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    earlier_seconds: float = 0.0
    _metrics: dict[str, float] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return Path(str(self.args.output_dir))

    def fit(self, trainer: Any) -> dict[str, float]:
        """Train and save the model if there is something to train on; evaluate if there is something to evaluate on.

        Returns:
            Metrics of the validation set; empty without one.
        """
        evaluated: dict[str, float] = {}
        if trainer.train_dataset is not None:
            metrics = trainer.train(resume_from_checkpoint=checkpoint_to_resume(trainer.args)).metrics
            trainer.check_weights()
            self.earlier_seconds = trainer.earlier_seconds
            # Every process takes part, and the main one writes.
            if trainer.args.weight_step is not None:
                round_weights(trainer.model, trainer.args.weight_step)
            with atomic_folder(self.folder) if trainer.args.should_save else nullcontext(self.folder) as folder:
                trainer.save_model(str(folder))
                if trainer.args.weight_step is not None and trainer.args.should_save:
                    save_in_half(Path(folder))
            self._save_metrics(trainer, "train", metrics)
            if trainer.is_world_process_zero():
                with atomic_file(self.folder / TRAINER_STATE_NAME) as path:
                    trainer.state.save_to_json(str(path))
        if trainer.eval_dataset is not None:
            evaluated = trainer.evaluate()
            self._save_metrics(trainer, "eval", evaluated)
        state, args, model = trainer.state, trainer.args, trainer.model
        self.measured |= {
            "epochs": state.epoch,
            "steps": state.global_step,
            "best": {"step": state.best_global_step, args.metric_for_best_model or "loss": state.best_metric},
            "parameters": model.num_parameters(),
            "trained_parameters": model.num_parameters(only_trainable=True),
            "config": json.loads(model.config.to_json_string()),
        }
        return evaluated

    def save_config(self, trainer: Any) -> None:
        """Write the config of a model that was trained again, for what evaluation has added."""
        if trainer.train_dataset is not None and trainer.args.should_save:
            with atomic_file(self.folder / CONFIG_NAME) as path:
                trainer.model.config.to_json_file(path)

    def record(self, trainer: Any, test_set: str, metrics: Mapping[str, float]) -> None:
        """Record the scores of a test set.

        Args:
            trainer: the trainer that has predicted it.
            test_set: its name.
            metrics: as `Trainer.predict` returns them, with the prefix ``test_``. All are saved; the task's measures
                are recorded.
        """
        self._save_metrics(trainer, f"predict_{file_label(test_set)}", metrics)
        scores = {name: metrics[f"test_{name}"] for name in self.measures if f"test_{name}" in metrics}
        if scores:
            self.scores[test_set] = scores

    def write(self, trainer: Any, name: str, test_set: str, value: Any) -> None:
        """Write predictions of a test set as ``<name>_<test set>.json``, on the main process."""
        if trainer.is_world_process_zero():
            write_json(value, self.path(name, test_set))

    def _save_metrics(self, trainer: Any, split: str, metrics: Mapping[str, float]) -> None:
        """As `Trainer.save_metrics`, which would leave half a file when it is killed."""
        self._metrics |= metrics
        if trainer.is_world_process_zero():
            write_json(dict(metrics), self.folder / f"{split}_results.json")
            write_json(self._metrics, self.folder / "all_results.json")

    def path(self, name: str, test_set: str, suffix: str = ".json") -> Path:
        """File of the run for a test set."""
        return self.folder / f"{name}_{file_label(test_set)}{suffix}"


class Experiment:
    """A command of a training script.

    Args:
        card: the task's part of the model card.
        script: module of the script.
        arguments: model, data and training arguments, complete.
        corpora: the data.
        command: the command line.
        groups: for each training row, the group that folds keep together.
        strata: for each training row, its corpus and a name within it, from which folds are drawn; see `Corpora.fold`.

    Raises:
        ValueError: the arguments contradict each other, or the output folder holds results of another command.
    """

    def __init__(
        self,
        card: TaskCard,
        script: str,
        *,
        arguments: tuple[Any, Any, Any],
        corpora: Corpora,
        command: Sequence[str],
        groups: Sequence[str] = (),
        strata: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.card, self.script, self.corpora, self.groups, self.strata = card, script, corpora, groups, strata
        self.model_args, self.data_args, self.args = arguments
        if corpora.train is None:
            self.args = _without_evaluation(self.args)
        self.command = list(command)
        self.results: list[dict[str, Any]] = []
        set_up_logging(self.args)
        if self.args.unsupported and self.args.process_index == 0:
            logger.warning("Training in %s", self.args.precision)
        _check(self.args, self.data_args, corpora)
        results = self.output_dir / RESULTS_FILE
        if results.exists() and not self.args.resumes:
            raise ValueError(
                f"{results} holds the results of an earlier command; give another --output_dir, or "
                "--resume_from_checkpoint true to go on with the same arguments, perhaps with more seeds or folds"
            )

    @property
    def output_dir(self) -> Path:
        """The output folder."""
        return Path(str(self.args.output_dir))

    def runs(self) -> Iterator[Run]:
        """Yield the runs that are not finished, one a seed and fold, with the random state that their seed gives.

        A run is recorded as finished when the next one is asked for.

        Raises:
            ValueError: the folder of a run holds a finished run, or an interrupted one with other arguments.
        """
        if self.args.process_index == 0:
            remove_unfinished(self.output_dir)
        for run in self._planned():
            finished = self._finished(run)
            if finished is None:
                if self.args.process_index == 0:
                    remove_unfinished(run.folder)
                    write_json({"arguments": self._decisive_arguments}, run.folder / _RUN_ARGUMENTS)
                set_seed(run.args.seed)
                yield run
                finished = {
                    "run": run.name,
                    "seed": run.args.seed,
                    "scores": run.scores,
                    "features": run.features,
                    **run.measured,
                    "minutes": (run.earlier_seconds + time.monotonic() - run.started) / 60,
                    "arguments": self._decisive_arguments,
                    # What was scored only has trained elsewhere.
                    "keep_checkpoints": self.args.keep_checkpoints or self.corpora.train is None,
                }
                if self.args.process_index == 0:
                    write_json(finished, run.folder / _RUN_RESULTS)
            gc.collect()  # the model of this run is in cycles, and would stay beside that of the next
            if self.args.process_index == 0 and not finished.get("keep_checkpoints", True):
                remove_checkpoints(run.folder)
            self.results.append(finished)

    def _planned(self) -> Iterator[Run]:
        """Every seed with every fold, or with the data as they are."""
        args = self.args
        for seed in range(args.seed, args.seed + args.num_seeds):
            seed_name = f"seed-{seed}" if args.num_seeds > 1 else ""
            if not args.num_folds:
                yield self._run(seed_name, seed, self.corpora)
                continue
            for number in args.folds or range(1, args.num_folds + 1):
                name = "-".join(part for part in (f"fold-{number}", seed_name) if part)
                fold = self.corpora.fold(number, args.num_folds, args.seed, self.groups, self.strata)
                yield self._run(name, seed, fold)

    def _run(self, name: str, seed: int, corpora: Corpora) -> Run:
        args = copy.copy(self.args)
        args.output_dir, args.seed = str(self.output_dir / name), seed
        args.push_to_hub = False  # Trainer would push checkpoints, before there is a card
        return Run(name, args, corpora, tuple(self.card.measures))

    def _finished(self, run: Run) -> dict[str, Any] | None:
        """Results of a run that an earlier command has finished; None if there are none."""
        done, begun = run.folder / _RUN_RESULTS, run.folder / _RUN_ARGUMENTS
        earlier = next((path for path in (done, begun) if path.exists()), None)
        if earlier is None or (earlier is begun and not self.args.resumes):
            return None
        results = read_json_object(earlier, _DAMAGED)
        known, asked = results.get("arguments"), self._decisive_arguments
        if not isinstance(known, dict) or (earlier is done and not isinstance(results.get("scores"), dict)):
            raise ValueError(f"{earlier} is no complete record of a run; {_DAMAGED}")
        changed = sorted(key for key in {**known, **asked} if known.get(key) != asked.get(key))
        if changed or not self.args.resumes:
            raise ValueError(
                f"{run.folder} holds {'a finished' if earlier is done else 'an interrupted'} run"
                + (f" with other {', '.join(changed)}" if changed else "")
                + "; give another --output_dir, delete the folder to run it again, or go on with the same arguments"
                + ("" if self.args.resumes else " and --resume_from_checkpoint true")
            )
        if earlier is begun:
            return None
        logger.info("%s is finished: its results are read from %s", run.name or "the run", done)
        return results

    @cached_property
    def _decisive_arguments(self) -> dict[str, Any]:
        """All that decides a run's result: arguments, and a digest of each file that the data arguments name."""
        decisive = dataclasses.asdict(self.model_args) | dataclasses.asdict(self.data_args)
        for path in self.data_args.paths:
            if Path(path).exists():
                decisive[f"contents of {path}"] = digest(Path(path))
        model = getattr(self.model_args, "model_name_or_path", None)
        if model is not None and Path(model).is_dir():
            decisive[f"contents of {model}"] = model_digest(Path(model))
        # Additional seeds do not change the others.
        return decisive | {name: value for name, value in training_record(self.args).items() if name != "num_seeds"}

    def publish(self, ensemble: Mapping[str, Mapping[str, float]] | None = None) -> dict[str, Any]:
        """Write the record and the model card into the output folder and `card_dir`, push if asked to, print a table.

        Args:
            ensemble: test set -> measure -> percent, of a vote of all runs.

        Returns:
            The record, as in `results.json`.
        """
        record = self._record() | ({"ensemble": ensemble} if ensemble else {})
        if self.args.process_index == 0:
            first = self.output_dir / self.results[0]["run"]
            write_json(record, self.output_dir / RESULTS_FILE)
            model = first if (first / "config.json").exists() else None
            card = write_model_card(self.card, record, self.output_dir / "README.md", model)
            if self.args.card_dir is not None:
                write_json(record, Path(self.args.card_dir) / f"{record['name']}.json")
                write_text(card.read_text(encoding="utf-8"), Path(self.args.card_dir) / f"{record['name']}.md")
            if self.args.push_to_hub:
                push_run(self.output_dir, self.args)
            print(scores_table(self.card, record))
        return record

    def _record(self) -> dict[str, Any]:
        """How the command was done, and what it measured."""
        token = self.args.hub_token
        words = [word.replace(token, "...") if token else word for word in self.command]
        first, data = self.results[0], dataclasses.asdict(self.data_args)
        data = {name: name_in_record(value) for name, value in data.items() if value is not None}
        return {
            "name": self.args.run_name or self.output_dir.name,
            "task": self.card.task,
            "recipe": recipe_name(self.command),
            "command": shlex.join(["python", "-m", self.script, *words]),
            "model": {name: name_in_record(value) for name, value in dataclasses.asdict(self.model_args).items()},
            "data": data,
            "formats": self.card.formats(data),
            "training": training_record(self.args),
            "precision": self.args.precision,
            "corpora": {name: self.card.statistics(rows) for name, rows in self.corpora.by_name().items()},
            "excluded": self.corpora.excluded,
            "environment": environment(),
            "minutes": sum(result["minutes"] for result in self.results),
            "parameters": first["parameters"],
            "trained_parameters": first["trained_parameters"],
            "config": first["config"],
            "scores": summarize([result["scores"] for result in self.results]),
            "runs": self.results,
        }


def _without_evaluation(args: Any) -> Any:
    """The same arguments for a command that only scores: it has no steps to evaluate at, and no best one."""
    scoring = copy.copy(args)
    scoring.eval_strategy, scoring.load_best_model_at_end = "no", False
    return scoring


def _check(args: Any, data_args: Any, corpora: Corpora) -> None:
    """Raise a ValueError if arguments contradict each other."""
    several = "--num_seeds" if args.num_seeds > 1 else "--num_folds" if args.num_folds else None
    if args.num_seeds < 1:
        raise ValueError(f"--num_seeds is {args.num_seeds}; it must be at least 1")
    if several and args.checkpoint:
        raise ValueError("several runs do not start from one checkpoint; --resume_from_checkpoint true resumes each")
    if several and args.push_to_hub:
        raise ValueError(f"--push_to_hub pushes one model; leave out {several}")
    _check_folds(args, data_args, corpora)
    if args.early_stopping_patience is not None and args.eval_strategy == "no" and corpora.train is not None:
        raise ValueError(
            f"--early_stopping_patience {args.early_stopping_patience} needs evaluations: give --eval_strategy epoch "
            "and --save_strategy epoch, or leave the patience out, also of the recipe"
        )
    evaluates = args.eval_strategy != "no" or args.load_best_model_at_end
    if evaluates and corpora.train is not None and corpora.validation is None and not args.num_folds:
        raise ValueError(
            "evaluation needs a validation set: give --validation_file or --validation_fraction 0.1, or "
            "--eval_strategy no --load_best_model_at_end false to keep the last model"
        )


def _check_folds(args: Any, data_args: Any, corpora: Corpora) -> None:
    """Raise a ValueError if data contradict cross-validation."""
    if args.folds is not None and not set(args.folds) <= set(range(1, (args.num_folds or 0) + 1)):
        raise ValueError(f"--folds {args.folds}: with --num_folds {args.num_folds} they are counted from 1 up to that")
    if args.num_folds and corpora.train is None:
        raise ValueError("--num_folds needs --train_file or --dataset_name: the folds are made of it")
    if corpora.extra is not None and not args.num_folds:
        raise ValueError("--extra_train_file adds to the folds of --num_folds; without folds, name it in --train_file")
    if corpora.extra is not None and holds_corpus(corpora.extra, corpora.train):
        raise ValueError("--extra_train_file holds rows of --train_file, which a fold scores; leave them out")
    for option in ("validation_fraction", "validation_file"):
        if args.num_folds and getattr(data_args, option) is not None:
            raise ValueError(f"--num_folds makes a validation part of its own; leave out --{option}")
    for name, rows in corpora.test.items() if args.num_folds else ():
        if holds_corpus(rows, corpora.train):
            raise ValueError(
                f"--test_file {name} holds rows of the training data, which each fold but one trains on; leave it out: "
                f"with --num_folds, every training row is scored as a part of the {HELD_OUT}"
            )


def set_up_logging(args: TrainingArguments) -> None:
    """Log from each process at the level that the arguments ask for."""
    logging.basicConfig(format=f"%(asctime)s rank {args.process_index} %(levelname)s %(name)s: %(message)s")
    level = args.get_process_log_level()
    logging.getLogger("clozeformers").setLevel(level)
    transformers.utils.logging.set_verbosity(level)
    datasets.utils.logging.set_verbosity(level)


def training_record(args: ScriptTrainingArguments) -> dict[str, Any]:
    """The training arguments that were given or that the class always records, and the processes, if several."""
    defaults = type(args)(output_dir="unused", use_cpu=args.use_cpu)
    record = {}
    for spec in dataclasses.fields(args):
        value = getattr(args, spec.name)
        given = value != getattr(defaults, spec.name) or spec.name in args.always_recorded
        if given and spec.init and spec.name not in _NOT_RECORDED and isinstance(value, (int, float, str, list, dict)):
            record[spec.name] = getattr(value, "value", value)
    return record | ({"processes": args.world_size} if args.world_size > 1 else {})


def push_run(folder: Path, args: TrainingArguments) -> None:
    """Push the trained model with its card and results, but no checkpoints, to `hub_model_id`."""
    token, repo_id = args.hub_token, args.hub_model_id or folder.name
    upload(
        folder,
        repo_id,
        token=token,
        private=args.hub_private_repo,
        again=f"the run is finished in {folder}: push it by the same command with --resume_from_checkpoint true",
        ignore_patterns=["*checkpoint-*", "*training_args.bin", "pretraining/*"],  # arguments hold the token
    )


def checkpoint_to_resume(args: ScriptTrainingArguments) -> str | None:
    """The checkpoint to go on with: the one that is named, or the last complete one of this run, or None."""
    if args.checkpoint or not args.resumes:
        return args.checkpoint
    states = Path(str(args.output_dir)).glob("checkpoint-*/trainer_state.json")
    folders = [state.parent for state in states if _is_whole(state) and state.parent.name.split("-")[1].isdecimal()]
    return str(max(folders, key=lambda folder: int(folder.name.split("-")[1]))) if folders else None


def remove_checkpoints(folder: Path) -> None:
    """Remove the checkpoints of a finished run."""
    for checkpoint in folder.glob("checkpoint-*"):
        if checkpoint.name.removeprefix("checkpoint-").isdecimal():
            (checkpoint / TRAINER_STATE_NAME).unlink(missing_ok=True)  # first: without it, no run goes on from here
            shutil.rmtree(checkpoint)


def _is_whole(state: Path) -> bool:
    """Whether a checkpoint is complete: Trainer writes its state last."""
    try:
        json.loads(state.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True
