"""What the training scripts have in common: logging, seeds, records, checkpoints, publishing."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import logging
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import transformers
from huggingface_hub import create_repo, upload_folder
from transformers import TrainingArguments

from .arguments import ScriptTrainingArguments
from .results import environment, read_json, summarise, write_json

logger = logging.getLogger(__name__)

RESULTS_FILE = "results.json"
# Places and reports, which change nothing about the model; and what must not be written down.
_SILENT = {"output_dir", "resume_from_checkpoint", "run_name", "card_dir", "report_to", "disable_tqdm", "folds"}
_SILENT |= {"log_level", "log_level_replica", "hub_token"}


def set_up_logging(args: TrainingArguments) -> None:
    """Show what the library and transformers have to say, from each rank at the level asked for."""
    logging.basicConfig(format=f"%(asctime)s rank {args.process_index} %(levelname)s %(name)s: %(message)s")
    level = args.get_process_log_level()
    logging.getLogger("clozeformers").setLevel(level)
    transformers.utils.logging.set_verbosity(level)
    datasets.utils.logging.set_verbosity(level)


def command_line(script: str, arguments: list[str], token: str | None) -> str:
    """The command as it can be shown to anyone: without the token, however it was spelled."""
    shown = [word.replace(token, "...") if token else word for word in arguments]
    return shlex.join(["python", f"run_glue_style/{script}", *shown])


def training_record(args: ScriptTrainingArguments) -> dict[str, Any]:
    """The training arguments that were given or that the class always records, places and reports left out."""
    defaults = type(args)(output_dir="unused", use_cpu=args.use_cpu)
    record = {}
    for spec in dataclasses.fields(args):
        value = getattr(args, spec.name)
        given = value != getattr(defaults, spec.name) or spec.name in args.always_recorded
        if given and spec.init and spec.name not in _SILENT and isinstance(value, (int, float, str, list)):
            record[spec.name] = getattr(value, "value", value)
    return record


def run_arguments(*arguments: Any) -> dict[str, Any]:
    """All that decides a run's result: what is recorded of the training arguments, every other field, and the data.

    Of each local file or folder that a field names, `"contents of <path>"` is a digest.
    """
    decisive: dict[str, Any] = {}
    for group in arguments:
        if isinstance(group, ScriptTrainingArguments):
            decisive |= training_record(group)
            # One seed more changes nothing about the others.
            decisive.pop("num_seeds", None)
            continue
        fields = dataclasses.asdict(group)
        decisive |= fields
        for name in ("train_file", "validation_file", "test_file", "exclude_articles_of"):
            named = fields.get(name) or []
            for path in [named] if isinstance(named, str) else named:
                decisive[f"contents of {path}"] = _digest(Path(path))
    return decisive


def _digest(path: Path) -> str:
    """A digest of a file, or of all files of a folder."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def seeds_of(args: Any) -> range:
    """The seeds `seed`, `seed` + 1, ... of a command; they have `num_seeds` among their arguments.

    Raises:
        ValueError: if there is none, or several are to start from one checkpoint or to be pushed as one model.
    """
    if args.num_seeds < 1:
        raise ValueError(f"--num_seeds is {args.num_seeds}; it must be at least 1")
    if args.num_seeds > 1 and is_checkpoint(args.resume_from_checkpoint):
        raise ValueError("several runs do not start from one checkpoint; --resume_from_checkpoint true resumes each")
    if args.num_seeds > 1 and args.push_to_hub:
        raise ValueError("--push_to_hub pushes one model; leave out --num_seeds")
    return range(args.seed, args.seed + args.num_seeds)


def run_name(args: Any, seed: int) -> str:
    """The folder of a seed's run within that of the command: empty where there is one seed only."""
    return f"seed-{seed}" if args.num_seeds > 1 else ""


def refuse_other_results(args: ScriptTrainingArguments) -> None:
    """Raise a ValueError if the output folder holds results that the command does not go on from."""
    results = Path(str(args.output_dir)) / RESULTS_FILE
    if results.exists() and str(args.resume_from_checkpoint).lower() != "true":
        raise ValueError(
            f"{results} holds the results of an earlier command; give another --output_dir, or "
            "--resume_from_checkpoint true to go on with the same arguments, perhaps with more seeds or folds"
        )


def run_once(
    folder: Path, arguments: Mapping[str, Any], args: Any, seed: int, train: Callable[[Any], dict[str, Any]]
) -> dict[str, Any]:
    """Do a run; or read what an earlier, interrupted command has measured of it.

    Args:
        folder: of the run.
        arguments: all that decides its result.
        args: training arguments of the command.
        seed: of the run.
        train: does it, given the training arguments of the run.

    Raises:
        ValueError: if the folder holds a finished run that the command does not resume, or the command resumes a run,
            finished or not, with other arguments.
    """
    done, begun = folder / ("run-" + RESULTS_FILE), folder / "run-arguments.json"
    resumes = str(args.resume_from_checkpoint).lower() == "true"
    earlier = next((path for path in (done, begun) if path.exists()), None)
    if earlier is not None and (earlier is done or resumes):
        known = read_json(earlier)["arguments"]
        changed = sorted(key for key in {**known, **arguments} if known.get(key) != arguments.get(key))
        if changed or not resumes:
            raise ValueError(
                f"{folder} holds {'a finished' if earlier is done else 'an interrupted'} run"
                + (f" with other {', '.join(changed)}" if changed else "")
                + "; give another --output_dir, or --resume_from_checkpoint true to go on with the same arguments"
            )
    if earlier is done:
        result: dict[str, Any] = read_json(done)
        logger.info("%s is finished already: its results are read from %s", folder.name or "the run", done)
        return result
    run_args = copy.copy(args)
    run_args.output_dir, run_args.seed = str(folder), seed
    # Trainer would push checkpoints, before there is a card; `push_run` does it at the end.
    run_args.push_to_hub = False
    if args.process_index == 0:
        write_json({"arguments": dict(arguments)}, begun)
    result = train(run_args) | {"arguments": dict(arguments)}
    if args.process_index == 0:
        write_json(result, done)
    return result


def train_and_evaluate(trainer: Any) -> dict[str, float]:
    """Train and save, if there is something to train on, and evaluate, if there is something to evaluate on.

    Returns:
        What was measured on the validation set; empty without one.
    """
    evaluated: dict[str, float] = {}
    if trainer.train_dataset is not None:
        metrics = trainer.train(resume_from_checkpoint=checkpoint_to_resume(trainer.args)).metrics
        trainer.save_model()
        trainer.save_metrics("train", metrics)
        trainer.save_state()
    if trainer.eval_dataset is not None:
        evaluated = trainer.evaluate()
        trainer.save_metrics("eval", evaluated)
    return evaluated


def run_result(trainer: Any, name: str, scores: Mapping[str, Any], started: float) -> dict[str, Any]:
    """What is recorded of a run.

    Args:
        trainer: after training and scoring.
        name: of the run, that of its folder.
        scores: test set -> measure -> value.
        started: when, as `time.monotonic` tells it.
    """
    state, args = trainer.state, trainer.args
    return {
        "run": name,
        "seed": args.seed,
        "scores": scores,
        "epochs": state.epoch,
        "steps": state.global_step,
        "best": {"step": state.best_global_step, args.metric_for_best_model or "loss": state.best_metric},
        "minutes": (time.monotonic() - started) / 60,
    }


def measured_record(
    task: str,
    command: str,
    arguments: tuple[Any, Any, ScriptTrainingArguments],
    corpora: Mapping[str, Any],
    results: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The record of a command: how it was done, and what it measured.

    Args:
        task: name of the task.
        command: the command line, as it can be shown.
        arguments: model, data and training arguments.
        corpora: name of a corpus -> its counts.
        results: of the runs; what `run_result` returns, and `parameters`.
    """
    model_args, data_args, args = arguments
    return {
        "name": args.run_name or Path(str(args.output_dir)).name,
        "task": task,
        "command": command,
        "model": dataclasses.asdict(model_args),
        "data": {name: value for name, value in dataclasses.asdict(data_args).items() if value is not None},
        "training": training_record(args),
        "corpora": corpora,
        "environment": environment(),
        "minutes": sum(result["minutes"] for result in results),
        "parameters": results[0]["parameters"],
        "scores": summarise([result["scores"] for result in results]) if results[0]["scores"] else {},
        "runs": results,
    }


def publish_record(
    record: Mapping[str, Any],
    args: ScriptTrainingArguments,
    write_card: Callable[[Mapping[str, Any], Path, Path | None], Path],
) -> None:
    """Write results and model card into the output folder and, named by the run, into `card_dir`; push, if asked to.

    Args:
        record: what `measured_record` returns, with what the task adds.
        args: training arguments of the command.
        write_card: writes a record's card into a folder, given a saved model or None, and returns the file.
    """
    output_dir = Path(str(args.output_dir))
    first = output_dir / record["runs"][0]["run"]
    write_json(record, output_dir / RESULTS_FILE)
    card = write_card(record, output_dir, first if (first / "config.json").exists() else None)
    if args.card_dir is not None:
        write_json(record, Path(args.card_dir) / f"{record['name']}.json")
        (Path(args.card_dir) / f"{record['name']}.md").write_bytes(card.read_bytes())
    if args.push_to_hub:
        push_run(output_dir, args)


def push_run(folder: Path, args: TrainingArguments) -> None:
    """Push the trained model with its card and results, but no checkpoints, to `hub_model_id`."""
    token, repo_id = args.hub_token, args.hub_model_id or folder.name
    repo = create_repo(repo_id, token=token, private=args.hub_private_repo, exist_ok=True)
    upload_folder(
        repo_id=repo.repo_id, folder_path=folder, token=token, ignore_patterns=["checkpoint-*", "training_args.bin"]
    )


def is_checkpoint(resume: str | None) -> bool:
    """Whether `--resume_from_checkpoint` names a checkpoint, rather than asking for the last one."""
    return resume is not None and str(resume).lower() not in ("true", "false")


def checkpoint_to_resume(args: TrainingArguments) -> str | None:
    """The checkpoint to go on with: the one named, or the last complete one of this run, or None."""
    wanted = args.resume_from_checkpoint
    if is_checkpoint(wanted):
        return str(wanted)
    if str(wanted).lower() != "true":
        return None
    states = Path(str(args.output_dir)).glob("checkpoint-*/trainer_state.json")
    folders = [state.parent for state in states if _is_whole(state) and state.parent.name.split("-")[1].isdecimal()]
    return str(max(folders, key=lambda folder: int(folder.name.split("-")[1]))) if folders else None


def _is_whole(state: Path) -> bool:
    """Whether a checkpoint is complete: Trainer writes its state last, and a run may be killed while it does."""
    try:
        json.loads(state.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True
