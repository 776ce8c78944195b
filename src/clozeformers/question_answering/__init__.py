"""Extractive question answering: a question reads a passage."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .squad import load_squad
    from .trainer import QuestionAnsweringTrainer

__all__ = ["QuestionAnsweringTrainer", "load_squad"]

# Imported at first use: `datasets` takes a second to import, and a pipeline does not need it.
_MODULES = {
    "QuestionAnsweringTrainer": ".trainer",
    "load_squad": ".squad",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)
