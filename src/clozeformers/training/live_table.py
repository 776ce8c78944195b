"""A table of losses and scores that grows while a model trains in a terminal."""

from __future__ import annotations

import sys
import time
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from transformers import Trainer, TrainerCallback
from transformers.trainer_callback import ProgressCallback
from transformers.utils import logging

_MOST_ROWS = 20  # while it trains; afterwards, all are shown
_NO_SCORES = ("runtime", "_per_second", "epoch", "grad_norm", "learning_rate")  # ends of names
Row = dict[str, float]


def show_live_table(trainer: Trainer) -> LiveTable | None:
    """Let a trainer show a `LiveTable` in place of its progress bar, if it has one and a person is watching."""
    bars = [each for each in trainer.callback_handler.callbacks if type(each) is ProgressCallback]
    if not bars or not sys.stderr.isatty():
        return None
    table = LiveTable()
    trainer.remove_callback(bars[0])
    trainer.add_callback(table)
    return table


class LiveTable(TrainerCallback):
    """Shows a row an evaluation, or a row a log if there are none, above a progress bar.

    Args:
        console: where to show it; the standard error by default.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self.rows: list[Row] = []
        self._live: Live | None = None

    def on_train_begin(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
        """Begin the table."""
        if not state.is_world_process_zero:
            return
        self.rows, self._evaluates, self._started = [], args.eval_strategy != "no", time.monotonic()
        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self._progress = Progress(TextColumn("{task.description}"), *columns, console=self.console)
        self._training = self._progress.add_task("training", total=state.max_steps, completed=state.global_step)
        self._evaluation: TaskID | None = None
        self._best: int | None = None
        self._had_bars = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()  # those of saved files would break the table
        self._live = Live(self._view(_MOST_ROWS), console=self.console, refresh_per_second=4)
        self._live.start()

    def on_step_end(self, _: Any, state: Any, *__: Any, **___: Any) -> None:
        """Move the bar."""
        if self._live is not None:
            self._progress.update(self._training, completed=state.global_step)

    def on_prediction_step(self, *_: Any, eval_dataloader: Any = None, **__: Any) -> None:
        """Move the bar of an evaluation."""
        if self._live is not None:
            if self._evaluation is None:
                self._evaluation = self._progress.add_task("evaluation", total=len(eval_dataloader))
            self._progress.advance(self._evaluation)

    def on_log(self, _: Any, state: Any, *__: Any, logs: dict[str, Any] | None = None, **___: Any) -> None:
        """Add what is logged: losses are kept for the row of the next evaluation."""
        if self._live is None or logs is None or "train_runtime" in logs:
            return
        evaluated = any(name.startswith("eval_") for name in logs)
        found = {name.removeprefix("eval_") if name != "eval_loss" else name: value for name, value in logs.items()}
        scores = {name: value for name, value in found.items() if not name.endswith(_NO_SCORES)}
        own = {"epoch": float(state.epoch or 0.0), "step": state.global_step, **scores}
        if self.rows and "minutes" not in self.rows[-1]:
            own = self.rows.pop() | own
        if evaluated or not self._evaluates:
            own["minutes"] = (time.monotonic() - self._started) / 60
        self.rows.append(own)
        self._live.update(self._view(_MOST_ROWS))

    def on_evaluate(self, _: Any, state: Any, *__: Any, **___: Any) -> None:
        """End the bar of an evaluation."""
        if self._live is not None and self._evaluation is not None:
            self._progress.remove_task(self._evaluation)
            self._evaluation, self._best = None, state.best_global_step

    def on_save(self, _: Any, state: Any, *__: Any, **___: Any) -> None:
        """Mark the best step, which is known when it is saved."""
        if self._live is not None:
            self._best = state.best_global_step
            self._live.update(self._view(_MOST_ROWS))

    def on_train_end(self, *_: Any, **__: Any) -> None:
        """End the table."""
        self.stop()

    def stop(self) -> None:
        """Show all rows and give the terminal back, also after an error."""
        if self._live is not None:
            self._live.update(self._view(len(self.rows)))
            self._live.stop()
            self._live = None
            if self._had_bars:
                logging.enable_progress_bar()

    def _view(self, most: int) -> Group:
        """The last rows, and the progress bars."""
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        # The time that a row took is its last column.
        names = [name for name in names if name != "minutes"] + ["minutes"] * ("minutes" in names)
        table = Table(box=None, header_style="bold", pad_edge=False)
        for name in names:
            table.add_column(name.replace("_", " "), justify="right")
        for row in self.rows[-most:]:
            is_best = self._best is not None and row["step"] == self._best
            table.add_row(*(_shown(name, row.get(name)) for name in names), style="bold green" if is_best else None)
        return Group(table, self._progress)


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if "loss" in name else f"{value:.2f}"
