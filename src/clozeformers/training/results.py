"""Results of runs as data: what was measured, and everything needed to measure it again."""

from __future__ import annotations

import datetime
import json
import platform
import statistics
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

LIBRARIES = ("clozeformers", "torch", "transformers", "tokenizers", "datasets", "accelerate")


def environment() -> dict[str, Any]:
    """Date, versions and hardware of this machine."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in LIBRARIES},
        "hardware": gpu or f"CPU {platform.machine()}, {torch.get_num_threads()} threads",
    }


def summarise(runs: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, dict[str, float]]]:
    """Mean and standard deviation over runs.

    Args:
        runs: for each run, test set -> measure -> value.

    Returns:
        Test set -> measure -> `mean`, `std` (of the sample; 0 for a single run), `runs`.
    """
    summary: dict[str, dict[str, dict[str, float]]] = {}
    for test_set, measures in runs[0].items():
        summary[test_set] = {}
        for measure in measures:
            values = [run[test_set][measure] for run in runs]
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            summary[test_set][measure] = {"mean": statistics.fmean(values), "std": spread, "runs": len(values)}
    return summary


def percent(value: Mapping[str, float]) -> str:
    """A mean of `summarise` in percent; over several runs with the standard deviation."""
    spread = f" ± {100 * value['std']:.2f}" if value["runs"] > 1 else ""
    return f"{100 * value['mean']:.2f}{spread}"


def summary_table(summary: Mapping[str, Mapping[str, Mapping[str, float]]], measures: Sequence[str]) -> str:
    """Markdown table of a summary, in percent: one row a test set, mean and, over several runs, standard deviation."""
    lines = ["| test set | " + " | ".join(measures) + " |", "| --- |" + " ---: |" * len(measures)]
    for test_set, values in summary.items():
        cells = [percent(values[measure]) for measure in measures]
        lines.append(f"| {test_set} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_json(value: Any, path: Path) -> None:
    """Write a result so that a killed process leaves either the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.replace(path)


def read_json(path: Path) -> Any:
    """Read what `write_json` wrote; a file that is damaged all the same is named by a ValueError."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}); delete it to measure again") from error
