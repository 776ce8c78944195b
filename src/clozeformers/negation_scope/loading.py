"""From the arguments of a command to corpora, model and tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from datasets import Dataset
from transformers import AutoTokenizer

from ..modeling.auto import AutoModelForNegationScope
from ..modeling.positions import max_tokens
from ..training import corpora
from ..training.pretrained import loading
from .arguments import NEW_HEAD, NegationDataArguments, NegationModelArguments
from .corpora.loading import load_corpus
from .corpora.schema import NEGATION_FEATURES, sentence_id
from .cues import CORPUS_HAS_AFFIXES
from .windows import CANDIDATE_TOKEN, CUE_TOKEN, add_cue_token, convention_token


def load_corpora(data_args: NegationDataArguments, seed: int) -> corpora.Corpora:
    """Read all corpora that the arguments, which must be complete, name; raises as `training.corpora.load_corpora`."""
    kind = data_args.kind
    assert kind is not None

    def read(path: str) -> Dataset:
        return load_corpus(path, format=data_args.corpus_format, kind=kind, without_cues=data_args.finds_cues)

    return corpora.load_corpora(data_args, seed, read=read, from_hub=_check_columns, group_of=sentence_ids)


def _check_columns(rows: Dataset, name: str) -> Dataset:
    missing = sorted(set(NEGATION_FEATURES) - set(rows.column_names))
    if missing:
        raise ValueError(f"{name}: no columns {', '.join(missing)}; a corpus has {', '.join(NEGATION_FEATURES)}")
    return rows


def with_cues(rows: Dataset) -> Dataset:
    """The rows that have a cue; those of sentences without one are for finding cues."""
    has_cue = [any(cue) for cue in rows["cue"]]
    return rows if all(has_cue) else rows.select([number for number, has in enumerate(has_cue) if has])


def sentence_ids(rows: Dataset | None) -> Sequence[str]:
    """The sentence of each row: the rows of one sentence stay together in splits."""
    return [] if rows is None else list(map(sentence_id, rows["id"]))


def strata_of(rows: Dataset | None) -> list[tuple[str, str]]:
    """The corpus of each row, and whether there is a cue.

    Folds of these hold out the same cues, whether or not the sentences without one are read too: a teacher of scopes
    has not seen the sentences that its student is scored on.
    """
    if rows is None:
        return []
    return [(corpus, "cue" if any(cue) else "") for corpus, cue in zip(rows["corpus"], rows["cue"], strict=True)]


def set_cue_fields(config: Any, augment: bool, train: Dataset | None) -> None:
    """Record in a model's config how cues are marked and, with training rows, what they say of the cues.

    A model of several conventions has a token for each; the first, in the order of `CORPUS_HAS_AFFIXES`, is the
    pipeline's default.
    """
    config.cue_token = (config.cue_token or CUE_TOKEN) if augment else None
    if train is None:
        return
    columns = (train[name] for name in ("corpus", "tokens", "cue", "cue_text"))
    affixes = False
    for corpus, tokens, cue, text in zip(*columns, strict=True):
        words = [token for token, is_cue in zip(tokens, cue, strict=True) if is_cue]
        affixes |= CORPUS_HAS_AFFIXES.get(corpus, text.split() != words)
    known = set(train["corpus"])
    conventions = [convention for convention in CORPUS_HAS_AFFIXES if convention in known]
    config.kind, config.conventions, config.affixes = train[0]["kind"], conventions, affixes
    # Those of a model that was fine-tuned say nothing of another corpus.
    config.lexicon_conventions = [each for each in config.lexicon_conventions or () if each in conventions] or None
    if config.finds_cues and config.kind == "negation":  # the lexicon has no cues of speculation
        config.candidate_token = CANDIDATE_TOKEN
    if conventions and (len(conventions) > 1 or config.convention_tokens):
        own = {convention: convention_token(convention) for convention in conventions}
        config.convention_tokens = (config.convention_tokens or {}) | own
        config.cue_token = own[conventions[0]] if augment else None


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
            finds_cues=data_args.finds_cues,
            **({"attn_implementation": model_args.attn_implementation} if model_args.attn_implementation else {}),
            **source,
        )
    config = model.config
    set_cue_fields(config, data_args.input == "augment", train)
    tokens = list((config.convention_tokens or {}).values()) or ([config.cue_token] if config.cue_token else [])
    tokens += [config.candidate_token] if config.candidate_token else []
    if tokens and add_cue_token(tokenizer, *tokens):
        model.resize_token_embeddings(len(tokenizer))
    length, shortest = int(data_args.max_length or 0), tokenizer.num_special_tokens_to_add() + 2
    longest = max_tokens(model)
    if length < shortest or (longest is not None and length > longest):
        raise ValueError(
            f"--max_length is {length}; this encoder reads {shortest} to {longest or 'any number of'} word pieces"
        )
    tokenizer.model_max_length = length  # saved with the model: the pipeline reads windows of this length
    return model, tokenizer
