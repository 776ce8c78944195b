"""Models in the package: how they get there, and what is said of them."""

from __future__ import annotations

import re
import shlex
import subprocess
from importlib import import_module
from pathlib import Path

import pytest
from transformers import pipeline

from clozeformers.cli import main
from clozeformers.packaged import package_run, packaged_models_table
from clozeformers.tasks import TASKS
from clozeformers.training.recipe import check_command

from .tiny_tasks import LAST, TINY_TASKS

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", [task.name for task in TASKS])
def test_a_finished_run_becomes_a_packaged_model(name: str, tmp_path: Path) -> None:
    task, run, models = TINY_TASKS[name](tmp_path), tmp_path / "run", tmp_path / "models"
    folds = ["--num_folds", "2", "--folds", "1", "--max_steps", "1", "--weight_step", "0.125"]
    record = task.run(run, *task.data("train", "test"), *LAST, *folds)
    (run / "README.md").rename(run / "card.md")
    with pytest.raises(ValueError, match=r"README.md does not exist; give the output folder of a finished training"):
        package_run(run, models)
    assert not models.exists()
    (run / "card.md").rename(run / "README.md")
    folder = package_run(run, models)
    assert pipeline(folder.name, model=str(folder), device="cpu").model.num_parameters() == record["parameters"]
    table = packaged_models_table(models)
    size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    assert table.count(f"| {folder.name} | None | {record['parameters'] / 1e6:.1f} M | {size:.1f} MB |") == 2
    assert table.count("| none |") == len(TASKS) - 1


def test_the_command_lists_a_row_for_each_task(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    printed = capsys.readouterr().out
    assert all(f"\n| {task.pipeline_name} | " in printed for task in TASKS)


def test_the_commands_that_train_packaged_models_are_right() -> None:
    dry_run = ["make", "models", "CORPORA=tests", "--dry-run"]
    printed = subprocess.run(dry_run, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    commands = []
    for line in printed.replace("\\\n", " ").splitlines():
        loop = re.match(r"for variant in ([\w -]+);", line)
        for variant in loop[1].split() if loop else [""]:
            words = shlex.split(line.partition("||")[0].replace("$variant", variant))
            commands += [words] if any(word.startswith("run_glue_style/") for word in words) else []
    assert len(commands) >= 8
    for words in commands:
        [place] = [number for number, word in enumerate(words) if word.startswith("run_glue_style/")]
        script = import_module(f"clozeformers.run_glue_style.{Path(words[place]).stem}")
        check_command(script.main, words[place + 1 :])
