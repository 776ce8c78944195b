"""What the training scripts have in common: logging, records, checkpoints, publishing."""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import datasets
import transformers
from huggingface_hub import create_repo, upload_folder
from transformers import TrainingArguments

from .results import read_json, write_json

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


def training_record(args: TrainingArguments) -> dict[str, Any]:
    """The training arguments that were given, places and reports left out."""
    defaults = type(args)(output_dir="unused", use_cpu=args.use_cpu)
    record = {}
    for spec in dataclasses.fields(args):
        value = getattr(args, spec.name)
        given = spec.init and spec.name not in _SILENT and value != getattr(defaults, spec.name)
        if given and isinstance(value, (int, float, str, list)):
            record[spec.name] = getattr(value, "value", value)
    return record


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
