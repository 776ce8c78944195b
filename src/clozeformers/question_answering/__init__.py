"""Extractive question answering: a question reads a passage."""

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .arguments import QATrainingArguments
    from .encoding import encode_questions
    from .squad import load_squad
    from .trainer import QuestionAnsweringTrainer, Questions

__all__ = ["QATrainingArguments", "QuestionAnsweringTrainer", "Questions", "encode_questions", "load_squad"]

__getattr__ = lazy_names(
    __name__,
    {
        "QATrainingArguments": ".arguments",
        "QuestionAnsweringTrainer": ".trainer",
        "Questions": ".trainer",
        "encode_questions": ".encoding",
        "load_squad": ".squad",
    },
)
