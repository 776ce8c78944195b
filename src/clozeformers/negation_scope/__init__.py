"""Negation scope: a negation cue reads its sentence."""

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .corpora.loading import load_corpus
    from .trainer import NegationScopeTrainer

__all__ = ["NegationScopeTrainer", "load_corpus"]

__getattr__ = lazy_names(__name__, {"NegationScopeTrainer": ".trainer", "load_corpus": ".corpora.loading"})
