"""Training arguments that all scripts share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from transformers import TrainingArguments


@dataclass
class ScriptTrainingArguments(TrainingArguments):
    """`TrainingArguments`, with early stopping by the task's own measure and batches of like lengths.

    Attributes:
        best_measure: what early stopping goes by where no other measure is named.
        always_recorded: fields that a run's record holds even where they have this class's defaults.
    """

    best_measure: ClassVar[str] = "f1"
    always_recorded: ClassVar[frozenset[str]] = frozenset()

    early_stopping_patience: int | None = field(
        default=None, metadata={"help": "Stop after so many evaluations without a better validation score."}
    )
    card_dir: str | None = field(
        default=None, metadata={"help": "Write the run's results and model card here as well, named by --run_name."}
    )
    remove_unused_columns: bool = field(default=False, metadata={"help": "Keep it: scores read the other columns."})
    train_sampling_strategy: Literal["group_by_length", "random", "sequential"] = field(
        default="group_by_length", metadata={"help": "How batches are formed."}
    )

    def __post_init__(self) -> None:
        """Early stopping goes by the best measure; and no memory is pinned where no accelerator copies it."""
        if self.early_stopping_patience is not None:
            self.metric_for_best_model = self.metric_for_best_model or self.best_measure  # type: ignore[has-type]
            self.load_best_model_at_end = True
        super().__post_init__()
        if self.remove_unused_columns:
            raise ValueError("--remove_unused_columns true would remove what the scores are read from; leave it out")
        self.dataloader_pin_memory: bool = self.dataloader_pin_memory and self.device.type != "cpu"
