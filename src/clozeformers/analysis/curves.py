"""Curves of several training runs side by side, from the state that the Trainer keeps of each."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from .plots import Line, line_chart, require_matplotlib
from .tables import markdown_table

STATE_FILE = "trainer_state.json"
TRAINING_LOSS = "loss"
_NOT_MEASURED = ("step", "epoch")


class Point(NamedTuple):
    """A value and when it was measured."""

    step: int
    epoch: float
    value: float


@dataclass(frozen=True)
class TrainingCurves:
    """A measure of several runs over their steps.

    Attributes:
        measure: its name in the Trainer's log, such as ``"eval_f1"``.
        curves: name of a run -> its points.
        losses: name of a run -> the points of its training loss; empty where none was logged.
    """

    measure: str
    curves: Mapping[str, tuple[Point, ...]]
    losses: Mapping[str, tuple[Point, ...]]

    def best(self, run: str) -> Point:
        """The first highest point of a run; the lowest where the measure is a loss."""
        points = self.curves[run]
        if "loss" in self.measure:
            return min(points, key=lambda point: point.value)
        return max(points, key=lambda point: point.value)

    def to_markdown(self) -> str:
        """A row a run: its best value, the step and epoch of it, and the last value."""
        header = ["run", f"best {self.measure}", "step", "epoch", "last value", "last step"]
        rows = []
        for run, points in self.curves.items():
            best, last = self.best(run), points[-1]
            rows.append(
                [
                    run,
                    f"{best.value:.4f}",
                    f"{best.step:,}",
                    f"{best.epoch:.2f}",
                    f"{last.value:.4f}",
                    f"{last.step:,}",
                ]
            )
        return f"# Training curves\n\n{markdown_table(header, rows)}\n"

    def to_json(self) -> str:
        """Measure, best point and all points of each run, as JSON."""
        runs = {
            run: {
                "best": self.best(run)._asdict(),
                self.measure: [point._asdict() for point in points],
                "training_loss": [point._asdict() for point in self.losses[run]],
            }
            for run, points in self.curves.items()
        }
        return json.dumps({"measure": self.measure, "runs": runs}, ensure_ascii=False, indent=1) + "\n"


def training_curves(runs: Mapping[str, str | Path], measure: str) -> TrainingCurves:
    """Read a measure and the training loss of several runs.

    Values that are no finite numbers are left out. Of several values of one step the first counts: the later ones are
    those of the best model, scored once more at the end. Of several seeds, the curve is the mean at the steps that all
    have measured.

    Args:
        runs: name of a run -> its ``trainer_state.json``, or the folder that holds it, or the folder of a command with
            several seeds.
        measure: a name of the Trainer's log, such as ``"eval_f1"``.

    Raises:
        FileNotFoundError: a run has no such file.
        ValueError: there are no runs; a file is damaged, or has no value of this measure.
    """
    if not runs:
        raise ValueError("there are no runs to compare; give one or more, by name")
    curves, losses = {}, {}
    for run, place in runs.items():
        logs = {path: _read_log(path) for path in _state_files(Path(place))}
        for path, log in logs.items():
            if not _points(log, measure):
                there = {name for entry in log for name in entry if _points(log, name)}.difference(_NOT_MEASURED)
                raise ValueError(
                    f"{path} has no values of {measure!r}; there are: {', '.join(sorted(there)) or 'none'}"
                )
        curves[run] = _mean([_points(log, measure) for log in logs.values()])
        losses[run] = _mean([_points(log, TRAINING_LOSS) for log in logs.values()])
        if not curves[run]:
            raise ValueError(f"the runs in {place} have no step in common at which {measure!r} was measured")
    return TrainingCurves(measure, curves, losses)


def write_training_curves(curves: TrainingCurves, folder: str | Path) -> None:
    """Write ``training_curves.png``, ``.json`` and ``.md`` into a folder, which is made if it is not there.

    Raises:
        ImportError: matplotlib is not installed. Nothing is written then.
    """
    panels = {curves.measure: _lines(curves.curves)}
    if curves.measure != TRAINING_LOSS and any(curves.losses.values()):
        panels["training loss"] = _lines(curves.losses)
    require_matplotlib()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    line_chart(panels, "step", folder / "training_curves.png")
    (folder / "training_curves.json").write_text(curves.to_json(), encoding="utf-8")
    (folder / "training_curves.md").write_text(curves.to_markdown(), encoding="utf-8")


def run_names(places: Sequence[Path]) -> list[str]:
    """Name each run by its folder, with as many of the folders above as tell it from the other runs."""
    parts = [place.resolve().parts for place in places]
    names = []
    for own in parts:
        others = [other for other in parts if other != own]
        lengths = range(1, len(own) + 1)
        needed = next((n for n in lengths if all(other[-n:] != own[-n:] for other in others)), len(own))
        names.append("/".join(own[-needed:]))
    return names


def _state_files(place: Path) -> list[Path]:
    """The Trainer's states of a run: one, or one a seed."""
    if not place.is_dir():
        return [place]
    of_seeds = sorted(place.glob(f"seed-*/{STATE_FILE}"))
    return of_seeds if of_seeds and not (place / STATE_FILE).exists() else [place / STATE_FILE]


def _mean(curves: Sequence[Sequence[Point]]) -> tuple[Point, ...]:
    """The mean of several curves at the steps that all of them have."""
    by_step = [{point.step: point for point in points} for points in curves]
    common = [point for point in curves[0] if all(point.step in points for points in by_step)]
    return tuple(
        Point(point.step, point.epoch, fmean(points[point.step].value for points in by_step)) for point in common
    )


def _read_log(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path}; give the {STATE_FILE} of a run, or the folder that holds it")
    try:
        log = json.loads(path.read_text(encoding="utf-8"))["log_history"]
        if not isinstance(log, list) or not all(isinstance(entry, dict) for entry in log):
            raise TypeError("log_history must be a list of objects")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged, or no {STATE_FILE} of the Trainer ({error!r})") from None
    return log


def _points(log: Sequence[Mapping[str, Any]], measure: str) -> tuple[Point, ...]:
    points: dict[int, Point] = {}
    for entry in log:
        value, step = entry.get(measure), entry.get("step")
        if isinstance(value, (int, float)) and math.isfinite(value) and isinstance(step, int):
            points.setdefault(step, Point(step, float(entry.get("epoch") or 0), float(value)))
    return tuple(points.values())


def _lines(curves: Mapping[str, Sequence[Point]]) -> list[Line]:
    return [
        Line(run, [point.step for point in points], [point.value for point in points])
        for run, points in curves.items()
        if points
    ]
