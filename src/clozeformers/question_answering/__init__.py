"""Extractive question answering: a question reads a passage."""

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .squad import load_squad
    from .trainer import QuestionAnsweringTrainer

__all__ = ["QuestionAnsweringTrainer", "load_squad"]

__getattr__ = lazy_names(__name__, {"QuestionAnsweringTrainer": ".trainer", "load_squad": ".squad"})
