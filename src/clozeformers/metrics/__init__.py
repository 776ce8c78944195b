"""The metrics as `evaluate.Metric` classes; they need no network."""

from .negation_scope import NegationScope
from .sem_star_scope import SemStarScope
from .squad import Squad

__all__ = ["NegationScope", "SemStarScope", "Squad"]
