"""Arguments of the negation scope training script."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..training.arguments import ScriptTrainingArguments


@dataclass
class NegationModelArguments:
    """Which encoder, and which head on it."""

    model_name_or_path: str = field(
        metadata={"help": "A pretrained encoder or a negation scope model: a name on the Hub or a folder."}
    )
    revision: str = field(default="main", metadata={"help": "Branch, tag or commit on the Hub."})
    attention_variant: str | None = field(
        default=None, metadata={"help": "OA-C, OA-CA (of a new head), OA-EM, OA-EMB, or a registered name."}
    )
    num_attention_blocks: int | None = field(
        default=None, metadata={"help": "Blocks of Orthogonal Attention; 2 in a new head, 0 is the baseline."}
    )
    num_block_heads: int | None = field(
        default=None, metadata={"help": "Heads of a block; as many as the encoder's in a new head."}
    )
    head_dropout: float | None = field(default=None, metadata={"help": "Dropout of the head; 0.3 in a new one."})
    attn_implementation: str | None = field(
        default=None, metadata={"help": "The encoder's attention: eager, sdpa, ..."}
    )


@dataclass
class NegationDataArguments:
    """Which corpora, and how they are read."""

    dataset_name: str | None = field(default=None, metadata={"help": "A dataset on the Hub with the corpus columns."})
    dataset_config_name: str | None = field(default=None, metadata={"help": "Its configuration."})
    train_file: str | None = field(
        default=None, metadata={"help": "Corpus to train on: a file, or a folder of XML files."}
    )
    validation_file: str | None = field(default=None, metadata={"help": "Corpus for early stopping."})
    validation_fraction: float | None = field(
        default=None, metadata={"help": "Without a validation file: share of the training sentences held out for it."}
    )
    test_file: list[str] | None = field(default=None, metadata={"help": "Corpora to score the trained model on."})
    corpus_format: Literal["cd-sco", "bioscope", "sfu", "jsonl"] | None = field(
        default=None, metadata={"help": "cd-sco, bioscope, sfu or jsonl; without it, told from the file."}
    )
    kind: Literal["negation", "speculation"] = field(default="negation", metadata={"help": "Which cues to read."})
    input: Literal["augment", "normal"] | None = field(
        default=None, metadata={"help": "augment (of a new head): a special token stands before each cue word."}
    )
    max_length: int | None = field(
        default=None, metadata={"help": "Most word pieces in an input; 128 with a new head."}
    )
    max_train_samples: int | None = field(default=None, metadata={"help": "Use the first rows only."})
    max_eval_samples: int | None = field(default=None, metadata={"help": "Use the first rows only."})
    max_predict_samples: int | None = field(default=None, metadata={"help": "Use the first rows only."})


@dataclass
class NegationTrainingArguments(ScriptTrainingArguments):
    """`TrainingArguments`, with what the paper's training adds (section 4); its other settings are in the recipes."""

    head_learning_rate: float = field(default=1e-4, metadata={"help": "Of all that is not the encoder's."})
    num_folds: int | None = field(default=None, metadata={"help": "Cross-validation over the training corpus."})
    folds: list[int] | None = field(default=None, metadata={"help": "Run these folds only, counted from 1."})
    num_seeds: int = field(default=1, metadata={"help": "Repeat the training with the seeds seed, seed + 1, ..."})
