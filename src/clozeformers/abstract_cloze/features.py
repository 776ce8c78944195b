"""Rows of an abstract cloze corpus to encoded features."""

from __future__ import annotations

import logging
import secrets
from typing import Any

from datasets import Dataset, Features, List, Value

from .encoding import DefinitionReader, encode_questions, find_definitions
from .questions import ClozeQuestion

logger = logging.getLogger(__name__)

_COUNTS = ("options", "with_definitions", "definitions_cut", "articles_cut")
_SUMMARY = (
    "{:,} questions with {:,} options: {:,} have definitions, {:,} truncated definitions, {:,} a truncated article"
)
_FEATURES = Features(
    {
        "input_ids": List(List(Value("int32"))),
        "token_type_ids": List(List(Value("int8"))),
        "option_mask": List(List(Value("int8"))),
        "label": Value("int32"),
        "length": Value("int32"),
        **{name: Value("int32") for name in _COUNTS},
    }
)


def encode_dataset(
    rows: Dataset,
    tokenizer: Any,
    *,
    max_length: int = 150,
    option_reader: DefinitionReader | None,
    use_article: bool = True,
    article_sentences: str = "first",
    with_option_mask: bool = False,
) -> tuple[Dataset, str]:
    """Encode corpus rows: the article, and the question filled with each option, with the option's definitions.

    Args:
        rows: questions as `load_recam` returns them.
        tokenizer: a fast tokenizer.
        max_length: see `encode_questions`.
        option_reader: finds the definitions, such as `DefinitionLookup`; None for none.
        use_article: False leaves the article empty; its separators stay.
        article_sentences: see `encode_questions`.
        with_option_mask: keep the column `option_mask`, which models with `option_features` read.

    Returns:
        The features in memory, one row per question, with `input_ids`, `token_type_ids` and, on request, `option_mask`
        (a list per option; see `EncodedOption`), `label` (-1 if unknown) and `length`, that of the longest option; and
        a summary.

    Raises:
        TypeError, ValueError: see `encode_questions`.
    """

    def encode(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        columns = (batch["article"], batch["question"], batch["options"])
        questions = [
            ClozeQuestion(article if use_article else "", question, tuple(options))
            for article, question, options in zip(*columns, strict=True)
        ]
        definitions = find_definitions(questions, option_reader)
        names = [f"row {row_id!r}" for row_id in batch["id"]]
        encoded = encode_questions(
            tokenizer, questions, definitions, max_length, names, article_sentences=article_sentences
        )
        return {
            "input_ids": [[option.input_ids for option in options] for options in encoded],
            "token_type_ids": [[option.token_type_ids for option in options] for options in encoded],
            "option_mask": [[option.option_mask for option in options] for options in encoded],
            "label": batch["label"],
            "length": [max(len(option.input_ids) for option in options) for options in encoded],
            "options": [len(options) for options in encoded],
            "with_definitions": [sum(map(bool, found)) for found in definitions],
            "definitions_cut": [sum(option.definitions_are_cut for option in options) for options in encoded],
            "articles_cut": [sum(option.article_is_cut for option in options) for options in encoded],
        }

    features = rows.map(
        encode,
        batched=True,
        remove_columns=rows.column_names,
        features=_FEATURES,
        # The definitions are not part of the rows' fingerprint, so nothing may come from a cache.
        load_from_cache_file=False,
        keep_in_memory=True,
        new_fingerprint=secrets.token_hex(8),
        desc="Tokenizing",
    )
    summary = _SUMMARY.format(len(features), *(sum(features[name]) for name in _COUNTS))
    logger.info("%s", summary)
    dropped = [*_COUNTS, *([] if with_option_mask else ["option_mask"])]
    return features.remove_columns(dropped), summary
