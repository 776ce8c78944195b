"""Training curves of several runs, from the log that transformers' Trainer keeps of each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import CorpusError, read_json_object, write_json, write_text
from .plots import line_chart, require_matplotlib
from .tables import markdown_table

if TYPE_CHECKING:
    from pandas import DataFrame, Series

STATE_FILE = "trainer_state.json"
_HINT = f"give the {STATE_FILE} of a run, or the folder that holds it"


@dataclass(frozen=True)
class TrainingCurves:
    """A measure of several runs.

    Attributes:
        measure: its name in the Trainer's log, such as ``"eval_f1"``.
        curves: name of a run -> a frame with the columns ``epoch`` and ``value``, indexed by the training step.
        losses: name of a run -> its training loss by step, empty where none was logged.
    """

    measure: str
    curves: Mapping[str, DataFrame]
    losses: Mapping[str, Series]

    def best_step(self, run: str) -> int:
        """Return the first step with the highest value of a run; with the lowest if the measure is a loss."""
        values = self.curves[run]["value"]
        return int(values.idxmin() if "loss" in self.measure else values.idxmax())

    def to_markdown(self) -> str:
        """Return a table of the best and the last value of each run."""
        header = ["run", f"best {self.measure}", "step", "epoch", "last value", "last step"]
        rows = []
        for run, curve in self.curves.items():
            step = self.best_step(run)
            epoch, best = curve.loc[step]
            last = [f"{curve['value'].iloc[-1]:.4f}", f"{curve.index[-1]:,}"]
            rows.append([run, f"{best:.4f}", f"{step:,}", f"{epoch:.2f}", *last])
        return f"# Training curves\n\n{markdown_table(header, rows, len(header) - 1)}\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the best step and all values of each run as JSON can hold them."""
        runs = {
            run: {
                "best_step": self.best_step(run),
                self.measure: curve["value"].to_dict(),
                "training_loss": self.losses[run].to_dict(),
            }
            for run, curve in self.curves.items()
        }
        return {"measure": self.measure, "runs": runs}


def training_curves(runs: Mapping[str, str | Path], measure: str) -> TrainingCurves:
    """Read a measure and the training loss of several runs.

    The curve of a run with several seeds is the mean over the steps that all seeds logged. Values that are not finite
    are left out. The first value of a step counts: the best model is evaluated once more at the end.

    Args:
        runs: name of a run -> its ``trainer_state.json``, the folder that holds it, or the output folder of a training
            script with several seeds.
        measure: a name in the Trainer's log, such as ``"eval_f1"``.

    Raises:
        FileNotFoundError: there is no ``trainer_state.json``.
        ValueError: a file is damaged or has no values of the measure, or the seeds of a run have no step in common.
    """
    curves, losses = {}, {}
    for run, path in runs.items():
        logs = [_read_log(file, measure) for file in _state_files(Path(path))]
        curves[run] = logs[0][["epoch"]].join(_mean(logs, measure), how="inner")
        losses[run] = _mean(logs, "loss")
        if curves[run].empty:
            raise ValueError(f"the seeds in {path} have no step in common at which {measure!r} was logged")
    return TrainingCurves(measure, curves, losses)


def write_training_curves(curves: TrainingCurves, folder: str | Path) -> None:
    """Write ``training_curves.png``, ``.json`` and ``.md`` into a folder; without matplotlib, raise an ImportError."""
    require_matplotlib()
    panels = {curves.measure: {run: curve["value"] for run, curve in curves.curves.items()}}
    losses = {run: loss for run, loss in curves.losses.items() if len(loss)}
    if losses and curves.measure != "loss":
        panels["training loss"] = losses
    write_text(curves.to_markdown(), Path(folder, "training_curves.md"))
    write_json(curves.to_dict(), Path(folder, "training_curves.json"))
    line_chart(panels, "step", Path(folder, "training_curves.png"))


def run_names(paths: Sequence[Path]) -> list[str]:
    """Name each run by its folder, with as many parent folders as distinguish it from the other runs."""
    parts = [path.resolve().parts for path in paths]
    names = []
    for own in parts:
        others = [other for other in parts if other != own]
        lengths = range(1, len(own) + 1)
        needed = next((n for n in lengths if all(other[-n:] != own[-n:] for other in others)), len(own))
        names.append("/".join(own[-needed:]))
    return names


def _state_files(path: Path) -> list[Path]:
    """The state files of a run: one, or one a seed."""
    if not path.is_dir():
        return [path]
    if (path / STATE_FILE).exists():
        return [path / STATE_FILE]
    return sorted(path.glob(f"seed-*/{STATE_FILE}")) or [path / STATE_FILE]


def _read_log(path: Path, measure: str) -> DataFrame:
    """Return the finite values of a Trainer's log: one row a step, one column a measure."""
    from pandas import DataFrame, to_numeric

    log: Any = read_json_object(path, _HINT).get("log_history")
    if not isinstance(log, list) or not all(
        isinstance(entry, dict) and type(entry.get("step")) is int for entry in log
    ):
        raise CorpusError(path, 1, f"there is no list log_history of objects with a step, an integer; {_HINT}")
    try:
        frame = DataFrame(log, columns=sorted({"step", "epoch"}.union(*log)))
        values = frame.apply(to_numeric, errors="coerce")
    except OverflowError as error:
        raise CorpusError(path, 1, f"log_history holds a number that is too large ({error}); {_HINT}") from None
    values = values.replace([math.inf, -math.inf], math.nan).groupby("step").first()
    if measure not in values or values[measure].isna().all():
        logged = values.drop(columns="epoch").dropna(axis="columns", how="all")
        raise ValueError(f"{path} has no values of {measure!r}; it has {', '.join(logged) or 'none'}")
    return values


def _mean(logs: Sequence[DataFrame], measure: str) -> Series:
    """Average a measure at the steps that all logs have."""
    from pandas import Series, concat

    columns = [log[measure].dropna() if measure in log else Series(dtype=float) for log in logs]
    return concat(columns, axis="columns", join="inner").mean(axis="columns").rename("value")
