"""The table that grows in a terminal while a model trains."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from transformers import Trainer
from transformers.utils import logging

from clozeformers.training.live_table import LiveTable

from ..tiny_tasks import TinyTask

Tiny = Callable[[str], TinyTask]
ARGUMENTS = [
    "--disable_tqdm",
    "false",
    "--per_device_train_batch_size",
    "8",
    "--max_train_samples",
    "32",
    "--seed",
    "0",
]


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def watch(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Let the standard error be a terminal for the rest of the test."""
    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    for name, value in (("TERM", "xterm"), ("COLUMNS", "160"), ("LINES", "60")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    return shown


def last_table(terminal: Terminal) -> list[list[str]]:
    """The cells of the table as it was left."""
    text = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", terminal.getvalue()).replace("\r", "")
    lines = [line.strip() for line in text[text.rindex("epoch") :].split("\n")]
    return [re.split(r"\s{2,}", line) for line in lines if re.match(r"epoch|\d+\.\d\d ", line)]


def test_a_row_an_evaluation(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watch(monkeypatch)
    every = ["--eval_strategy", "epoch", "--save_strategy", "epoch", "--logging_steps", "2", "--num_train_epochs", "3"]
    best = ["--metric_for_best_model", "f1", "--load_best_model_at_end", "true"]
    task = tiny("negation_scope")
    task.run(tmp_path, *task.data("train", "dev"), *ARGUMENTS, *every, *best)
    assert "\x1b[1;32m" in terminal.getvalue(), "the best row is marked"
    history = json.loads((tmp_path / "trainer_state.json").read_text())["log_history"]
    evaluations = [entry for entry in history if "eval_f1" in entry]
    header, *rows = last_table(terminal)
    assert header[0].startswith("epoch")
    assert len(rows) == len(evaluations) == 3
    for row, entry in zip(rows, evaluations, strict=True):
        assert row[0] == f"{entry['epoch']:.2f}"
        assert f"{entry['eval_f1']:.2f}" in row
    assert "training" not in str(header)
    assert logging.is_progress_bar_enabled()


def test_a_row_a_log_and_after_an_error(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watch(monkeypatch)
    step, tables = Trainer.training_step, []
    begin = LiveTable.on_train_begin

    def began(self: LiveTable, *args: Any, **kwargs: Any) -> None:
        tables.append(self)
        begin(self, *args, **kwargs)

    def killed(self: Trainer, *args: Any, **kwargs: Any) -> Any:
        if self.state.global_step == 3:
            raise KeyboardInterrupt
        return step(self, *args, **kwargs)

    monkeypatch.setattr(LiveTable, "on_train_begin", began)
    monkeypatch.setattr(Trainer, "training_step", killed)
    task = tiny("question_answering")
    with pytest.raises(KeyboardInterrupt):
        task.run(tmp_path, *task.data("train"), *ARGUMENTS, "--logging_steps", "1", "--num_train_epochs", "2")
    [table] = tables
    assert table._live is None
    assert [row["step"] for row in table.rows] == [1, 2, 3]
    assert len(last_table(terminal)) == 4
    assert logging.is_progress_bar_enabled()


def test_there_is_none_where_nobody_watches(tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = tiny("negation_scope")
    task.run(tmp_path, *task.data("train"), *ARGUMENTS, "--max_steps", "1", "--logging_steps", "1")
    assert "1/1" in capsys.readouterr().err
