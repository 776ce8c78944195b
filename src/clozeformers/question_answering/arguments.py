"""Arguments of the question answering script."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from transformers import AutoConfig

from ..training.arguments import DistillationArguments, ScriptTrainingArguments, resolve_model_arguments
from ..training.pretrained import loading

# Lengths as in Yu et al. (2018), section 4.1.1; a trained model has its own values in its config.
_DEFAULTS = {"max_question_length": 50, "max_answer_length": 30, "doc_stride": 128, "simplify_questions": False}


def _option(default: Any, description: str) -> Any:
    return field(default=default, metadata={"help": description})


@dataclass
class QAModelArguments:
    """An existing model, or a new one that reads words and characters."""

    model_name_or_path: str | None = _option(None, "A model to continue with or to score: Hub name or folder.")
    revision: str = _option("main", "Branch, tag or commit on the Hub.")
    model_type: Literal["qanet", "bidaf"] | None = _option(None, "Type of a new model.")
    model_config: str = _option(
        "{}", "Fields of a new model's config that differ from the defaults, as JSON; or an existing model's dropout."
    )
    word_vectors: str | None = _option(
        None,
        "Fixed word vectors of a new model, or those of an existing one, to add words to it: a GloVe or fastText "
        "file, or encoder:NAME for what an encoder makes of each word by itself. By default they are learned.",
    )
    lowercase: bool = _option(False, "Look up words in lower case, for uncased vectors.")
    min_frequency: int = _option(2, "Learned vectors: rarer words share the vector of unknown words.")


@dataclass
class QADataArguments(DistillationArguments):
    """The questions, and how they are encoded."""

    no_answer: bool = _option(
        False,
        "Questions may have no answer, as in SQuAD 2.0. The no-answer threshold for the test files is the best one "
        "on the validation file.",
    )
    unanswerable_fraction: float = _option(0.0, "Fraction of the training questions to pair with other paragraphs.")
    simplify_questions: bool | None = _option(
        None, "Also read inverted and passive questions in their simple form; by default as the model was trained."
    )
    max_length: int | None = _option(None, "Maximum words or pieces of an input, special tokens included.")
    max_question_length: int | None = _option(None, "Maximum words or pieces of a question; 50 for a new model.")
    doc_stride: int | None = _option(None, "Overlap of the windows of a long context; 128 for a new model.")
    max_answer_length: int | None = _option(None, "Maximum words or pieces of an answer; 30 for a new model.")


@dataclass
class QATrainingArguments(ScriptTrainingArguments):
    """`TrainingArguments`, with what QANet and BiDAF add (Yu et al., 2018, section 4.1; Jain & Dutta, section 5)."""

    optimizer: Literal["adam", "adadelta"] | None = _option(
        None, "Adam with L2 regularisation, or Adadelta; by default what --optim names."
    )
    log_warmup_steps: int = _option(0, "Raise the learning rate as the logarithm of the step, then keep it.")
    replay_batches: int = _option(0, "Run so many batches of highest loss once more at the end of an epoch.")

    def __post_init__(self) -> None:
        """Check what this class adds."""
        self.label_names = self.label_names or ["start_positions", "end_positions"]  # type: ignore[has-type]
        super().__post_init__()
        if self.optimizer is not None and self.head_learning_rate is not None:
            raise ValueError("--head_learning_rate is for the optimizer of Trainer; leave it out, or --optimizer")
        if self.replay_batches < 0 or self.log_warmup_steps < 0:
            raise ValueError("--replay_batches and --log_warmup_steps must be at least 0")
        if self.replay_batches and (
            self.gradient_accumulation_steps > 1
            or self.dataloader_num_workers
            or self.train_sampling_strategy != "group_by_length"
        ):
            raise ValueError(
                "--replay_batches needs batches grouped by length, and the loss of each before the next but one; leave "
                "out --train_sampling_strategy, --gradient_accumulation_steps and --dataloader_num_workers"
            )


def resolve_arguments(model_args: QAModelArguments, data_args: QADataArguments) -> QADataArguments:
    """Complete how questions are read: as the model's config says, else as in the paper.

    Raises:
        OSError, ValueError: the arguments name no model, two, or one that cannot be loaded, or a length is below 1.
    """
    if (model_args.model_name_or_path is None) == (model_args.model_type is None):
        raise ValueError("give either --model_name_or_path of an existing model, or --model_type for a new one")
    values = dict(_DEFAULTS)
    if model_args.model_name_or_path is not None:
        with loading(model_args.model_name_or_path, model_args.revision):
            config = AutoConfig.from_pretrained(model_args.model_name_or_path, revision=model_args.revision)
        values = {name: getattr(config, name, None) or value for name, value in values.items()}
    resolved = resolve_model_arguments(data_args, values, None, ())
    if (resolved.max_answer_length or 0) < 1:
        raise ValueError(f"--max_answer_length is {resolved.max_answer_length}; an answer has at least one word")
    return resolved
