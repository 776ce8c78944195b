"""Abstract cloze: a summary with a gap reads its article."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .recam import load_recam
    from .trainer import AbstractClozeTrainer
    from .wordnet import definitions

__all__ = ["AbstractClozeTrainer", "definitions", "load_recam"]

# Imported at first use: `datasets` takes a second to import, and a pipeline does not need it.
_MODULES = {
    "AbstractClozeTrainer": ".trainer",
    "definitions": ".wordnet",
    "load_recam": ".recam",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)
