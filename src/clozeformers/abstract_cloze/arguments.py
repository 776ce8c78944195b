"""Arguments of the abstract cloze training script."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from ..training.arguments import ScriptTrainingArguments


@dataclass
class ClozeModelArguments:
    """Which encoder, and which head on it."""

    model_name_or_path: str = field(
        metadata={"help": "A pretrained encoder or an abstract cloze model: a name on the Hub or a folder."}
    )
    revision: str = field(default="main", metadata={"help": "Branch, tag or commit on the Hub."})
    co_attention: Literal["stacked", "parallel"] | None = field(
        default=None, metadata={"help": "stacked (of a new head) is WN-DUMA's, parallel is DUMA's."}
    )
    num_co_attention_layers: int | None = field(
        default=None, metadata={"help": "Layers of co-attention; 1 in a new head, 0 is the encoder alone."}
    )
    num_co_attention_heads: int | None = field(
        default=None, metadata={"help": "Heads of the co-attention; 64 in a new one."}
    )
    co_attention_head_size: int | None = field(default=None, metadata={"help": "Size of a head; 64 in a new one."})
    co_attention_dropout: float | None = field(
        default=None, metadata={"help": "Dropout of the co-attention; 0.1 in a new one."}
    )
    freeze_layers: int = field(
        default=0,
        metadata={"help": "Leave the embeddings and so many of the encoder's lower layers as they are; 0: train all."},
    )


@dataclass
class ClozeDataArguments:
    """Which questions, and how they are read."""

    dataset_name: str | None = field(
        default=None, metadata={"help": "A dataset on the Hub whose questions have a placeholder."}
    )
    dataset_config_name: str | None = field(default=None, metadata={"help": "Its configuration."})
    train_file: list[str] | None = field(default=None, metadata={"help": "ReCAM files to train on."})
    validation_file: str | None = field(default=None, metadata={"help": "ReCAM file to choose the best model by."})
    test_file: list[str] | None = field(default=None, metadata={"help": "ReCAM files to score the trained model on."})
    exclude_articles_of: list[str] | None = field(
        default=None, metadata={"help": "ReCAM files whose articles are left out of training."}
    )
    use_definitions: bool | None = field(
        default=None, metadata={"help": "Read the options' definitions in WordNet, as a new model does."}
    )
    use_article: bool | None = field(
        default=None, metadata={"help": "Read the article, as a new model does; false: the question alone."}
    )
    max_length: int | None = field(
        default=None, metadata={"help": "Most word pieces of an article with one option; 150 with a new head."}
    )
    max_train_samples: int | None = field(default=None, metadata={"help": "Use the first questions only."})
    max_eval_samples: int | None = field(default=None, metadata={"help": "Use the first questions only."})
    max_predict_samples: int | None = field(default=None, metadata={"help": "Use the first questions only."})


@dataclass
class ClozeTrainingArguments(ScriptTrainingArguments):
    """`TrainingArguments` with the paper's settings as defaults (section 3), several seeds, and a rate for the head."""

    best_measure: ClassVar[str] = "accuracy"
    always_recorded: ClassVar[frozenset[str]] = frozenset(
        {"learning_rate", "per_device_train_batch_size", "max_grad_norm", "lr_scheduler_type", "warmup_steps"}
        | {"num_train_epochs", "eval_strategy", "eval_steps", "load_best_model_at_end", "metric_for_best_model", "seed"}
    )

    learning_rate: float = field(default=5e-6, metadata={"help": "The initial learning rate of the encoder."})
    head_learning_rate: float | None = field(
        default=None, metadata={"help": "Of all that is not the encoder's; without, the same."}
    )
    per_device_train_batch_size: int = field(default=2, metadata={"help": "Questions, each with all its options."})
    max_grad_norm: float = field(default=10.0, metadata={"help": "Largest norm of the gradients."})
    warmup_steps: float = field(
        default=0.1, metadata={"help": "Steps of warm-up; below 1, their share of all training steps."}
    )
    eval_strategy: Literal["no", "steps", "epoch"] = field(
        default="steps", metadata={"help": "When to evaluate on the validation questions."}
    )
    eval_steps: float | None = field(default=200, metadata={"help": "Evaluate after so many steps each."})
    save_strategy: Literal["no", "steps", "epoch", "best"] = field(
        default="steps", metadata={"help": "When to write checkpoints."}
    )
    save_steps: float = field(default=200, metadata={"help": "Write a checkpoint after so many steps each."})
    save_total_limit: int | None = field(default=1, metadata={"help": "Keep so many checkpoints, and the best."})
    load_best_model_at_end: bool = field(default=True, metadata={"help": "Keep the best model of the training."})
    metric_for_best_model: str | None = field(default="accuracy", metadata={"help": "What is best by this measure."})
    num_seeds: int = field(
        default=1, metadata={"help": "Repeat the training with the seeds seed, seed + 1, ..., and let all vote."}
    )

    def __post_init__(self) -> None:
        """Forget the steps to evaluate at where steps do not decide it, so that no record shows them."""
        super().__post_init__()
        if self.eval_strategy != "steps":
            self.eval_steps = None
