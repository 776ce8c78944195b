"""Arguments of the abstract cloze script."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ..modeling.configuration_wn_duma import WNDumaConfigMixin
from ..training.arguments import DataArguments, ScriptTrainingArguments, load_head_config, resolve_model_arguments

# Section 3 of the paper; a model with a trained head keeps its own values.
NEW_HEAD = {
    "co_attention": "stacked",
    "num_co_attention_layers": 1,
    "num_co_attention_heads": 64,
    "co_attention_head_size": 64,
    "co_attention_dropout": 0.1,
    "option_features": None,
}
_NEW_INPUT = {"use_definitions": True, "use_article": True, "article_sentences": "first", "max_length": 150}


@dataclass
class ClozeModelArguments:
    """The encoder, and the head on it."""

    model_name_or_path: str = field(
        metadata={"help": "A pretrained encoder or an abstract cloze model: a name on the Hub or a folder."}
    )
    revision: str = field(default="main", metadata={"help": "Branch, tag or commit on the Hub."})
    co_attention: Literal["stacked", "parallel"] | None = field(
        default=None, metadata={"help": "stacked (WN-DUMA; of a new head) or parallel (DUMA)."}
    )
    num_co_attention_layers: int | None = field(
        default=None, metadata={"help": "Layers of co-attention; 1 in a new head, 0 is the encoder alone."}
    )
    num_co_attention_heads: int | None = field(default=None, metadata={"help": "Its heads; 64 in a new one."})
    co_attention_head_size: int | None = field(default=None, metadata={"help": "Size of a head; 64 in a new one."})
    co_attention_dropout: float | None = field(default=None, metadata={"help": "Its dropout; 0.1 in a new one."})
    option_features: Literal["span", "gap"] | None = field(
        default=None, metadata={"help": "What is read of the option's own pieces: span (their mean) or gap (a mask)."}
    )
    freeze_word_embeddings: bool = field(default=False, metadata={"help": "Freeze the embeddings of word pieces."})


@dataclass
class ClozeDataArguments(DataArguments):
    """The questions, and how they are encoded."""

    path_fields: ClassVar[tuple[str, ...]] = (*DataArguments.path_fields, "exclude_articles_of", "pretrain_file")
    exclude_articles_of: list[str] | None = field(
        default=None, metadata={"help": "ReCAM files whose articles are left out of training."}
    )
    pretrain_file: list[str] | None = field(
        default=None,
        metadata={"help": "Files with more texts for --num_pretrain_epochs: SQuAD, ReCAM, or rows with `text`."},
    )
    use_definitions: bool | None = field(default=None, metadata={"help": "Read WordNet's definitions of the options."})
    use_article: bool | None = field(default=None, metadata={"help": "Read the article; false: the question alone."})
    article_sentences: Literal["first", "similar"] | None = field(
        default=None,
        metadata={"help": "What is read of a long article: its first sentences, or those similar to the question."},
    )
    max_length: int | None = field(
        default=None,
        metadata={"help": "Maximum number of word pieces of an article with an option; 150 in a new head."},
    )


@dataclass
class ClozeTrainingArguments(ScriptTrainingArguments):
    """`ScriptTrainingArguments` with the paper's settings as defaults (section 3)."""

    best_measure: ClassVar[str] = "accuracy"
    always_recorded: ClassVar[frozenset[str]] = frozenset(
        {"learning_rate", "per_device_train_batch_size", "max_grad_norm", "lr_scheduler_type", "warmup_steps"}
        | {"num_train_epochs", "eval_strategy", "eval_steps", "load_best_model_at_end", "metric_for_best_model", "seed"}
    )

    learning_rate: float = field(default=5e-6, metadata={"help": "The initial learning rate of the encoder."})
    per_device_train_batch_size: int = field(default=2, metadata={"help": "Questions, each with all its options."})
    max_grad_norm: float = field(default=10.0, metadata={"help": "Maximum norm of the gradients."})
    warmup_steps: float = field(default=0.1, metadata={"help": "Steps of warm-up; below 1, a fraction of all steps."})
    eval_strategy: Literal["no", "steps", "epoch"] = field(default="steps", metadata={"help": "When to evaluate."})
    eval_steps: float | None = field(default=200, metadata={"help": "Steps between evaluations."})
    save_strategy: Literal["no", "steps", "epoch", "best"] = field(default="steps", metadata={"help": "When to save."})
    save_steps: float = field(default=200, metadata={"help": "Steps between checkpoints."})
    save_total_limit: int | None = field(default=1, metadata={"help": "Checkpoints to keep, besides the best."})
    num_pretrain_epochs: float = field(
        default=0.0, metadata={"help": "Before training, predict masked words of the training articles; 0: do not."}
    )
    pretrain_learning_rate: float = field(default=3e-4, metadata={"help": "Its learning rate of the encoder."})
    pretrain_batch_size: int = field(default=64, metadata={"help": "Texts, of two sentences each."})
    load_best_model_at_end: bool = field(default=True, metadata={"help": "Keep the best model of the training."})
    metric_for_best_model: str | None = field(default="accuracy", metadata={"help": "Measure of the best model."})

    def __post_init__(self) -> None:
        """Leave `eval_steps` out of records unless evaluation goes by steps."""
        super().__post_init__()
        if self.eval_strategy != "steps":
            self.eval_steps = None


def resolve_arguments(
    model_args: ClozeModelArguments, data_args: ClozeDataArguments
) -> tuple[ClozeModelArguments, ClozeDataArguments]:
    """Complete the arguments: from the model if it has a trained head, else as in the paper.

    Raises:
        ValueError: an argument contradicts the model's head, or there is neither head nor training.
    """
    name = model_args.model_name_or_path
    config = load_head_config(name, model_args.revision, WNDumaConfigMixin, data_args.trains, "an abstract cloze")
    values: dict[str, Any] = NEW_HEAD | _NEW_INPUT
    if config is not None:
        renamed = {"max_length": "max_option_length"}
        values = {field: getattr(config, renamed.get(field, field)) for field in values}
    model = None if config is None else name
    overridable = ("co_attention_dropout", "max_length")
    return (
        resolve_model_arguments(model_args, values, model, overridable),
        resolve_model_arguments(data_args, values, model, overridable),
    )
