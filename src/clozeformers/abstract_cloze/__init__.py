"""Abstract cloze: a summary with a gap reads its article."""

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .arguments import ClozeTrainingArguments
    from .features import encode_dataset
    from .recam import load_recam
    from .trainer import AbstractClozeTrainer
    from .wordnet import definitions

__all__ = ["AbstractClozeTrainer", "ClozeTrainingArguments", "definitions", "encode_dataset", "load_recam"]

__getattr__ = lazy_names(
    __name__,
    {
        "AbstractClozeTrainer": ".trainer",
        "ClozeTrainingArguments": ".arguments",
        "definitions": ".wordnet",
        "encode_dataset": ".features",
        "load_recam": ".recam",
    },
)
