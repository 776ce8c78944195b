"""Negation scope: a negation cue reads its sentence."""

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .arguments import NegationTrainingArguments
    from .collator import NegationCollator
    from .corpora.loading import load_corpus
    from .encoding import encode_dataset
    from .trainer import NegationScopeTrainer

__all__ = ["NegationCollator", "NegationScopeTrainer", "NegationTrainingArguments", "encode_dataset", "load_corpus"]

__getattr__ = lazy_names(
    __name__,
    {
        "NegationCollator": ".collator",
        "NegationScopeTrainer": ".trainer",
        "NegationTrainingArguments": ".arguments",
        "encode_dataset": ".encoding",
        "load_corpus": ".corpora.loading",
    },
)
