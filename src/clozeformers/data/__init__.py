"""Corpora in, ``datasets.Dataset`` out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .corpus_error import CorpusError
    from .negation_corpora import load_negation_corpus
    from .recam import load_recam
    from .squad import load_squad

__all__ = ["CorpusError", "load_negation_corpus", "load_recam", "load_squad"]

# Imported at first use: `datasets` takes a second to import.
_MODULES = {
    "CorpusError": ".corpus_error",
    "load_negation_corpus": ".negation_corpora",
    "load_recam": ".recam",
    "load_squad": ".squad",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
