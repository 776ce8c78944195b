"""Arguments of the negation scope script."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from transformers import AutoTokenizer

from ..modeling.attention import attention_class
from ..modeling.configuration_negation_scope import NegationScopeConfigMixin
from ..training.arguments import (
    UNLIMITED,
    DistillationArguments,
    ScriptTrainingArguments,
    load_head_config,
    resolve_model_arguments,
)
from ..training.pretrained import loading
from .cues import check_convention

# Sizes as in section 4 of the paper; a model with a trained head keeps its own values.
NEW_HEAD = {
    "attention_variant": "OA-CA",
    "num_attention_blocks": 2,
    "num_block_heads": None,
    "head_dropout": 0.3,
    "lexicon_conventions": None,
}
_NEW_INPUT = {"input": "augment", "max_length": 128, "kind": "negation", "target": ["scopes"]}


@dataclass
class NegationModelArguments:
    """The encoder, and the head on it."""

    model_name_or_path: str = field(
        metadata={"help": "A pretrained encoder or a negation scope model: a name on the Hub or a folder."}
    )
    revision: str = field(default="main", metadata={"help": "Branch, tag or commit on the Hub."})
    attention_variant: str | None = field(
        default=None, metadata={"help": "OA-C, OA-CA (of a new head), OA-EM, OA-EMB, or another registered attention."}
    )
    num_attention_blocks: int | None = field(
        default=None, metadata={"help": "Blocks of the attention; 2 in a new head, 0 is the baseline."}
    )
    num_block_heads: int | None = field(
        default=None, metadata={"help": "Heads of a block; as many as the encoder's in a new head."}
    )
    head_dropout: float | None = field(default=None, metadata={"help": "Dropout of the head; 0.3 in a new one."})
    lexicon_conventions: list[str] | None = field(
        default=None, metadata={"help": "Where a model that finds cues takes the lexicon's: cd-sco bioscope sfu."}
    )
    attn_implementation: str | None = field(
        default=None, metadata={"help": "The encoder's attention: eager, sdpa, ..."}
    )


@dataclass
class NegationDataArguments(DistillationArguments):
    """The corpora, and how they are encoded."""

    path_fields: ClassVar[tuple[str, ...]] = (*DistillationArguments.path_fields, "unlabelled_file")
    corpus_format: Literal["cd-sco", "bioscope", "sfu", "jsonl"] | None = field(
        default=None, metadata={"help": "Format of all corpora; without it, detected for each."}
    )
    kind: Literal["negation", "speculation"] | None = field(
        default=None, metadata={"help": "Kind of the cues; negation with a new head."}
    )
    input: Literal["augment", "normal"] | None = field(
        default=None, metadata={"help": "augment (of a new head): a special token precedes each cue word."}
    )
    target: list[str] | None = field(
        default=None, metadata={"help": "What is learnt: scopes (of a new head), or cues too: cues scopes."}
    )
    unlabelled_file: list[str] | None = field(
        default=None, metadata={"help": "Texts, whole sentences a line, whose cues are learnt from the teachers alone."}
    )
    label_pieces: Literal["all", "first"] = field(
        default="all",
        metadata={
            "help": "Train and score a word by the mean of its pieces, or by its first, as transformers' run_ner."
        },
    )
    cue_in_scope: Literal["keep", "drop", "add"] = field(
        default="keep",
        metadata={"help": "Score scopes as annotated, or with all cue words out of or in them, as across corpora."},
    )
    max_length: int | None = field(
        default=None, metadata={"help": "Maximum number of word pieces of an input; 128 with a new head."}
    )

    @property
    def finds_cues(self) -> bool:
        """Whether cues are learnt, or found by a model that has learnt them."""
        return "cues" in (self.target or ())


@dataclass
class NegationTrainingArguments(ScriptTrainingArguments):
    """`ScriptTrainingArguments` with the paper's rate for the head (section 4); the recipes hold its other settings."""

    head_learning_rate: float | None = field(
        default=1e-4, metadata={"help": "Learning rate of all parameters outside the encoder."}
    )


def resolve_arguments(
    model_args: NegationModelArguments, data_args: NegationDataArguments
) -> tuple[NegationModelArguments, NegationDataArguments]:
    """Complete the arguments: from the model if it has a trained head, else as in the paper.

    Raises:
        ValueError: an argument contradicts the model's head, there is neither head nor training, or no such attention.
    """
    if data_args.unlabelled_file and not data_args.teachers:
        raise ValueError("--unlabelled_file has no annotation; give --teachers, the models to learn it from")
    if model_args.attention_variant is not None:
        attention_class(model_args.attention_variant)
    name, revision = model_args.model_name_or_path, model_args.revision
    config = load_head_config(name, revision, NegationScopeConfigMixin, data_args.trains, "a negation scope")
    values: dict[str, Any] = NEW_HEAD | _NEW_INPUT
    if config is not None:
        with loading(name, revision):
            limit = AutoTokenizer.from_pretrained(name, revision=revision).model_max_length
        values = {field: getattr(config, field) for field in NEW_HEAD} | {
            "input": "normal" if config.cue_token is None else "augment",
            "max_length": limit if limit < UNLIMITED else _NEW_INPUT["max_length"],
            "kind": config.kind or _NEW_INPUT["kind"],
            "target": ["cues", "scopes"] if config.finds_cues else ["scopes"],
        }
    if data_args.target is not None:
        if sorted(set(data_args.target)) not in (["scopes"], ["cues", "scopes"]):
            raise ValueError(f"--target is {' '.join(data_args.target)}; it must be scopes, or cues scopes")
        data_args.target = sorted(set(data_args.target))
    model = None if config is None else name
    for convention in model_args.lexicon_conventions or ():
        check_convention(convention)
    overridable = ["head_dropout", "lexicon_conventions", "max_length"]
    if data_args.trains:
        overridable.append("target")
    if data_args.trains or config is None or config.kind is None:
        overridable.append("kind")
    return (
        resolve_model_arguments(model_args, values, model, overridable),
        resolve_model_arguments(data_args, values, model, overridable),
    )
