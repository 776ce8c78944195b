"""Error analysis: tables, charts and a report of what a model gets right and wrong."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..abstract_cloze.analysis import ClozeAnalysis, analyse_cloze
    from ..question_answering.analysis import Analysis, analyse
    from .curves import TrainingCurves, training_curves, write_training_curves
    from .files import analyse_files, write_analysis

__all__ = [
    "Analysis",
    "ClozeAnalysis",
    "TrainingCurves",
    "analyse",
    "analyse_cloze",
    "analyse_files",
    "training_curves",
    "write_analysis",
    "write_training_curves",
]

# Imported at first use: the metrics take a second to import.
_MODULES = {
    "Analysis": "..question_answering.analysis",
    "ClozeAnalysis": "..abstract_cloze.analysis",
    "TrainingCurves": ".curves",
    "analyse": "..question_answering.analysis",
    "analyse_cloze": "..abstract_cloze.analysis",
    "analyse_files": ".files",
    "training_curves": ".curves",
    "write_analysis": ".files",
    "write_training_curves": ".curves",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
