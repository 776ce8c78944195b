"""Results of runs as data."""

from __future__ import annotations

import datetime
import platform
import statistics
from collections.abc import Mapping, Sequence
from importlib.metadata import version
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


def summarize(runs: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, dict[str, float]]]:
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
