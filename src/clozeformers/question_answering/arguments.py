"""Arguments of the question answering training script."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..training.arguments import ScriptTrainingArguments


@dataclass
class QAModelArguments:
    """Which model: one that is there, or a new one of words and characters."""

    model_name_or_path: str | None = field(
        default=None, metadata={"help": "A model to go on with or to score: a name on the Hub or a folder."}
    )
    revision: str = field(default="main", metadata={"help": "Branch, tag or commit on the Hub."})
    model_type: Literal["qanet", "bidaf"] | None = field(default=None, metadata={"help": "Kind of a new model."})
    model_config: str = field(
        default="{}", metadata={"help": "Fields of a new model's config that are not the defaults, as JSON."}
    )
    word_vectors: str | None = field(
        default=None,
        metadata={
            "help": "Word vectors of a new model: a file of GloVe or fastText, or encoder:NAME for the input "
            "embeddings of an encoder. Without, they are learned. With a model that is there, the vectors that it was "
            "trained with, to read the words of the corpora that it does not know."
        },
    )
    lowercase: bool = field(default=False, metadata={"help": "Look words up in lower case; right for uncased vectors."})
    min_frequency: int = field(
        default=2,
        metadata={
            "help": "Rarer words are unknown, if vectors are learned: from them the vector of unknown words is. "
            "Fixed ones cost nothing."
        },
    )


@dataclass
class QADataArguments:
    """Which questions, and how they are read."""

    dataset_name: str | None = field(
        default=None, metadata={"help": "A dataset on the Hub, such as squad or squad_v2."}
    )
    dataset_config_name: str | None = field(default=None, metadata={"help": "Its configuration."})
    train_file: list[str] | None = field(default=None, metadata={"help": "SQuAD files to train on."})
    validation_file: str | None = field(default=None, metadata={"help": "SQuAD file to evaluate on while training."})
    test_file: list[str] | None = field(default=None, metadata={"help": "SQuAD files to score the trained model on."})
    no_answer: bool = field(
        default=False,
        metadata={
            "help": "Questions may have no answer, as in SQuAD 2.0. The test files' answers are given at the threshold "
            "that is best on the validation file."
        },
    )
    made_unanswerable: float = field(
        default=0.0, metadata={"help": "Share of the training questions to pair with another paragraph of the article."}
    )
    simplify_questions: bool = field(
        default=False, metadata={"help": "Read inverted and passive questions in their simple form as well."}
    )
    max_length: int | None = field(
        default=None, metadata={"help": "Most words or pieces in an input: question, context, special tokens."}
    )
    max_question_length: int = field(default=50, metadata={"help": "Most words or pieces of a question."})
    doc_stride: int = field(default=128, metadata={"help": "How many the windows of a long context share."})
    max_answer_length: int = field(default=30, metadata={"help": "Most words or pieces of an answer."})
    max_train_samples: int | None = field(default=None, metadata={"help": "Use the first questions only."})
    max_eval_samples: int | None = field(default=None, metadata={"help": "Use the first questions only."})
    max_predict_samples: int | None = field(default=None, metadata={"help": "Use the first questions only."})


@dataclass
class QATrainingArguments(ScriptTrainingArguments):
    """`TrainingArguments`, with what QANet and BiDAF add (Yu et al., 2018, section 4.1; Jain & Dutta, section 5)."""

    optimizer: Literal["adam", "adadelta"] | None = field(
        default=None,
        metadata={"help": "Adam with L2 regularisation, or Adadelta; without, the one that --optim names."},
    )
    log_warmup_steps: int = field(
        default=0, metadata={"help": "Raise the learning rate as the logarithm of the step, then keep it."}
    )
    ema_decay: float | None = field(
        default=None, metadata={"help": "Evaluate and save exponential moving averages of the weights."}
    )
    replay_batches: int = field(
        default=0, metadata={"help": "Run so many batches of highest loss once more at the end of an epoch."}
    )

    def __post_init__(self) -> None:
        """Check what this class adds."""
        self.label_names = self.label_names or ["start_positions", "end_positions"]  # type: ignore[has-type]
        super().__post_init__()
        if self.ema_decay is not None and not 0 < self.ema_decay < 1:
            raise ValueError(f"--ema_decay is {self.ema_decay}; it must be between 0 and 1, such as 0.999")
        if self.replay_batches < 0 or self.log_warmup_steps < 0:
            raise ValueError("--replay_batches and --log_warmup_steps must be at least 0")
        if self.replay_batches and (self.gradient_accumulation_steps > 1 or self.dataloader_num_workers):
            raise ValueError(
                "--replay_batches has to know each batch's loss before the next but one is loaded; leave out "
                "--gradient_accumulation_steps and --dataloader_num_workers"
            )
        if self.replay_batches and self.train_sampling_strategy != "group_by_length":
            raise ValueError("--replay_batches goes with --train_sampling_strategy group_by_length; leave one out")
