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
        Test set -> measure -> `mean`, `std` (of the sample; 0 for a single run), `runs`: those with this measure, which
        a fold without unanswerable questions lacks, for example.
    """
    values: dict[str, dict[str, list[float]]] = {}
    for run in runs:
        for test_set, measures in run.items():
            for measure, value in measures.items():
                values.setdefault(test_set, {}).setdefault(measure, []).append(value)
    return {
        test_set: {
            measure: {
                "mean": statistics.fmean(own),
                "std": statistics.stdev(own) if len(own) > 1 else 0.0,
                "runs": len(own),
            }
            for measure, own in measures.items()
        }
        for test_set, measures in values.items()
    }
