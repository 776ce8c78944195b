"""Killed at random moments, nothing half-written is in place of something whole, and a resumed training ends the same.

`make kill` kills each training and each command more often.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from transformers import AutoTokenizer

from clozeformers.tasks import TASKS, task_named
from clozeformers.training.experiment import checkpoint_to_resume

from ..commands import WRITING_COMMANDS, contents, writing_command
from ..killing import Killer, run
from ..tiny_tasks import QUIET, TinyTask

Tiny = Callable[[str], TinyTask]
KILLS = int(os.environ.get("CLOZEFORMERS_KILLS", "2"))
STEPS = ["--per_device_train_batch_size", "8", "--save_strategy", "steps", "--save_steps", "4", "--seed", "3"]
DRAWING = ("analyze", "curves")  # take long; they write as the others do
DETAILS = {
    "negation_scope": ["--head_dropout", "0.2", "--max_steps", "14", "--eval_strategy", "no"],
    "question_answering": [
        *("--max_steps", "14", "--replay_batches", "3", "--ema_decay", "0.9", "--optimizer", "adam"),
        *("--log_warmup_steps", "20", "--lr_scheduler_type", "constant", "--save_total_limit", "1"),
    ],
    "abstract_cloze": [
        *("--max_steps", "10", "--head_learning_rate", "3e-3", "--co_attention_dropout", "0.1", "--num_seeds", "2"),
        *("--eval_strategy", "steps", "--eval_steps", "4", "--metric_for_best_model", "loss"),
    ],
}


@pytest.mark.parametrize("name", [task.name for task in TASKS])
def test_a_killed_training_goes_on_to_the_same_weights(name: str, tiny: Tiny, tmp_path: Path) -> None:
    task = tiny(name)
    data = task.data("train", "dev", "test") if name == "abstract_cloze" else task.data("train", "test")
    arguments = [*task.arguments, *QUIET, *data, *STEPS, *DETAILS[name], "--resume_from_checkpoint", "true"]
    killer = Killer(lambda folder: (name, [*arguments, "--output_dir", str(folder)]), task.environment)
    whole = tmp_path / "whole"
    killer.finish(whole)
    runs = [run["run"] for run in json.loads((whole / "results.json").read_text())["runs"]]
    for number, moment, at_a_write in killer.moments(KILLS, name):
        folder = tmp_path / str(number)
        killer.kill(folder, moment, at_a_write)
        check_whole(task, folder)
        leave_unfinished_checkpoints(folder / runs[-1])
        Killer(killer.command, killer.environment).finish(folder)
        check_whole(task, folder)
        for weights in whole.rglob("model.safetensors"):
            assert (folder / weights.relative_to(whole)).read_bytes() == weights.read_bytes()
        assert contents(folder).keys() == contents(whole).keys()
        assert not list(folder.rglob(".*.unfinished"))
        records = [json.loads((place / "results.json").read_text()) for place in (whole, folder)]
        for part in ("scores", "ensemble", "config"):
            assert records[0].get(part) == records[1].get(part)


def check_whole(task: TinyTask, folder: Path) -> None:
    """Whatever has its final name is whole: files, the model, and the checkpoint to go on from."""
    for name in contents(folder):
        path = folder / name
        if "checkpoint-" in name:
            continue
        if path.suffix in (".json", ".jsonl"):
            for text in [path.read_text()] if path.suffix == ".json" else path.read_text().splitlines():
                json.loads(text)
        elif path.suffix == ".bin":
            assert zipfile.is_zipfile(path)
        elif path.suffix == ".md":
            assert path.read_text().count("\n---\n") == 1
        if path.name == "config.json":
            task_named(task.name).auto_model.from_pretrained(path.parent)
            AutoTokenizer.from_pretrained(path.parent)
    for place in (folder, *folder.glob("seed-*")):
        checkpoint = checkpoint_to_resume(SimpleNamespace(checkpoint=None, resumes=True, output_dir=place))
        if checkpoint is not None:
            task_named(task.name).auto_model.from_pretrained(checkpoint)


def leave_unfinished_checkpoints(folder: Path) -> None:
    """What a process may leave that is killed while it writes a checkpoint."""
    (folder / "checkpoint-9999").mkdir(parents=True)
    (folder / "checkpoint-9999" / "model.safetensors").write_bytes(b"unfinished")
    (folder / "checkpoint-9998").mkdir()
    (folder / "checkpoint-9998" / "trainer_state.json").write_text('{"best_global_step": 3, "ep')


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in DRAWING else ()) for name in WRITING_COMMANDS]
)
def test_a_killed_command_leaves_old_files_or_new_ones(name: str, tmp_path: Path) -> None:
    command = writing_command(name, tmp_path)
    old, new = tmp_path / "old", tmp_path / "new"
    for version, place in enumerate((old, new)):
        run("", command(version, place))
    killer = Killer(lambda folder: ("", command(1, folder)))
    killer.finish(tmp_path / "whole")
    assert contents(tmp_path / "whole") == contents(new)
    for number, moment, at_a_write in killer.moments(KILLS, name):
        folder = tmp_path / str(number)
        has_old = number % 4 < 2
        if has_old:
            run("", command(0, folder))
        killer.kill(folder, moment, at_a_write)
        found = contents(folder)
        for file, content in found.items():
            assert content in ((contents(old)[file], contents(new)[file]) if has_old else (contents(new)[file],))
        if name == "export" and not has_old:
            assert found in ({}, contents(new))
        assert not has_old or found.keys() == contents(old).keys()
        run("", command(1, folder))
        assert contents(folder) == contents(new)
