"""From the arguments of a command to corpora, model and tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from datasets import Dataset
from transformers import AutoTokenizer

from ..modeling.auto import AutoModelForNegationScope
from ..training import corpora
from ..training.pretrained import loading
from .arguments import NEW_HEAD, NegationDataArguments, NegationModelArguments
from .corpora.loading import load_corpus
from .corpora.schema import NEGATION_FEATURES, sentence_id
from .windows import CUE_TOKEN, add_cue_token

_HAS_AFFIXES = {"cd-sco": True, "bioscope": False, "sfu": False}  # of other corpora, the rows tell


def load_corpora(data_args: NegationDataArguments, seed: int) -> corpora.Corpora:
    """Read all corpora that the arguments, which must be complete, name; raises as `training.corpora.load_corpora`."""
    kind = data_args.kind
    assert kind is not None

    def read(path: str) -> Dataset:
        return load_corpus(path, format=data_args.corpus_format, kind=kind)

    return corpora.load_corpora(data_args, seed, read=read, from_hub=_check_columns, group_of=sentence_ids)


def _check_columns(rows: Dataset, name: str) -> Dataset:
    missing = sorted(set(NEGATION_FEATURES) - set(rows.column_names))
    if missing:
        raise ValueError(f"{name}: no columns {', '.join(missing)}; a corpus has {', '.join(NEGATION_FEATURES)}")
    return rows


def sentence_ids(rows: Dataset | None) -> Sequence[str]:
    """The sentence of each row: the rows of one sentence stay together in splits."""
    return [] if rows is None else list(map(sentence_id, rows["id"]))


def cue_fields(train: Dataset | None) -> dict[str, Any]:
    """What a model's config says of the cues that it is trained on; nothing without training."""
    if train is None:
        return {}
    columns = (train[name] for name in ("corpus", "tokens", "cue", "cue_text"))
    affixes = False
    for corpus, tokens, cue, text in zip(*columns, strict=True):
        words = [token for token, is_cue in zip(tokens, cue, strict=True) if is_cue]
        affixes |= _HAS_AFFIXES.get(corpus, text.split() != words)
    conventions = sorted(set(train["corpus"]) & _HAS_AFFIXES.keys())
    return {"kind": train[0]["kind"], "conventions": conventions, "affixes": affixes}


def load_model(
    model_args: NegationModelArguments, data_args: NegationDataArguments, train: Dataset | None
) -> tuple[Any, Any]:
    """Load the model, with a new head if it has none, and a tokenizer that knows the cue token if one is used.

    Args:
        model_args: complete, as `resolve_arguments` returns them.
        data_args: likewise.
        train: the training rows, whose kind of cues the model's config records.

    Raises:
        ValueError: `max_length` leaves no room for a word, or exceeds the encoder's positions.
    """
    source = {"revision": model_args.revision}
    with loading(model_args.model_name_or_path, model_args.revision):
        tokenizer = AutoTokenizer.from_pretrained(model_args.model_name_or_path, **source)
        model = AutoModelForNegationScope.from_pretrained(
            model_args.model_name_or_path,
            **{field: getattr(model_args, field) for field in NEW_HEAD},
            cue_token=CUE_TOKEN if data_args.input == "augment" else None,
            **cue_fields(train),
            **({"attn_implementation": model_args.attn_implementation} if model_args.attn_implementation else {}),
            **source,
        )
    if model.config.cue_token is not None and add_cue_token(tokenizer):
        model.resize_token_embeddings(len(tokenizer))
    length, shortest = int(data_args.max_length or 0), tokenizer.num_special_tokens_to_add() + 2
    longest = model.config.max_pieces
    if length < shortest or (longest is not None and length > longest):
        raise ValueError(
            f"--max_length is {length}; this encoder reads {shortest} to {longest or 'any number of'} word pieces"
        )
    tokenizer.model_max_length = length  # saved with the model: the pipeline reads windows of this length
    return model, tokenizer
