"""Abstract cloze: a summary with a gap reads its article."""

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .recam import load_recam
    from .trainer import AbstractClozeTrainer
    from .wordnet import definitions

__all__ = ["AbstractClozeTrainer", "definitions", "load_recam"]

__getattr__ = lazy_names(
    __name__, {"AbstractClozeTrainer": ".trainer", "definitions": ".wordnet", "load_recam": ".recam"}
)
