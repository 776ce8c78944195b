"""Metrics for negation scope, as :class:`evaluate.Metric` classes that need no network."""

from .negation_scope import NegationScope
from .sem_star_scope import SemStarScope

__all__ = ["NegationScope", "SemStarScope"]
