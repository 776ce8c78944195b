"""Negation scope: a negation cue reads its sentence."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .corpora.loading import load_corpus
    from .trainer import NegationScopeTrainer

__all__ = ["NegationScopeTrainer", "load_corpus"]

# Imported at first use: `datasets` takes a second to import, and a pipeline does not need it.
_MODULES = {
    "NegationScopeTrainer": ".trainer",
    "load_corpus": ".corpora.loading",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)
