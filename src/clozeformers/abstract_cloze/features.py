"""Rows of an abstract cloze corpus to tokenised features."""

from __future__ import annotations

import logging
import secrets
from typing import Any, NamedTuple

from datasets import Dataset, Features, List, Value

from .encoding import (
    DefinitionReader,
    check_max_length,
    encode_questions,
    find_definitions,
    pair_layout,
)
from .questions import cloze_question_of
from .recam import CLOZE_FEATURES

logger = logging.getLogger(__name__)

_FEATURES = Features(
    {
        "input_ids": List(List(Value("int32"))),
        "token_type_ids": List(List(Value("int8"))),
        "label": Value("int32"),
        "length": Value("int32"),
        "options": Value("int32"),
        "with_definitions": Value("int32"),
        "definitions_cut": Value("int32"),
        "articles_cut": Value("int32"),
    }
)
_COUNTED = ("options", "with_definitions", "definitions_cut", "articles_cut")


class ClozeReport(NamedTuple):
    """What tokenising made of a corpus. All but the first are numbers of options.

    Attributes:
        questions: all questions.
        options: all options, each an input of the model.
        with_definitions: options with at least one definition.
        definitions_cut: options of whose definitions the end was left out.
        articles_cut: options with which the end of the article was left out.
    """

    questions: int
    options: int
    with_definitions: int
    definitions_cut: int
    articles_cut: int

    def __str__(self) -> str:
        return (
            f"{self.questions:,} questions with {self.options:,} options; {self.with_definitions:,} options with "
            f"definitions, of {self.definitions_cut:,} cut; the article cut with {self.articles_cut:,}"
        )


def cloze_features(
    rows: Dataset,
    tokenizer: Any,
    *,
    max_length: int = 150,
    option_reader: DefinitionReader | None,
    use_article: bool = True,
) -> tuple[Dataset, ClozeReport]:
    """Tokenise corpus rows: each option in the question's gap, with its definitions, beside the article.

    Args:
        rows: as `load_recam` gives them.
        tokenizer: a fast tokenizer.
        max_length: most pieces in an input, special tokens included. What is cut: see `encoding.cut_lengths`.
        option_reader: what finds the definitions, such as `OptionReader`; None for none.
        use_article: False reads the question alone; the separators of the article stay.

    Returns:
        The features, a row a question: `input_ids` and `token_type_ids` (a list an option; see `EncodedOption`),
        `label` (-1 where it is not known) and `length`, that of the longest option. They are held in memory. And the
        counts.

    Raises:
        ValueError: without rows or a column of `load_recam`; for a `max_length` that leaves no room; for a row that
            cannot be read, or whose question does not fit with one of its options. Says which.
    """
    missing = [column for column in CLOZE_FEATURES if column not in rows.column_names]
    if missing:
        raise ValueError(
            f"the rows have no column {', '.join(missing)}; they have {', '.join(rows.column_names)}. load_recam(path) "
            "reads a file, from_multiple_choice(dataset, name) takes over a dataset"
        )
    if not len(rows):
        raise ValueError("there are no rows to tokenise; give at least one question")
    check_max_length(max_length, pair_layout(tokenizer))

    def tokenise(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        names = [f"row {row_id!r}" for row_id in batch["id"]]
        questions = []
        for number, name in enumerate(names):
            try:
                values = {key: batch[key][number] for key in ("article", "question", "options")}
                questions.append(cloze_question_of(values, use_article))
            except (TypeError, ValueError) as error:
                raise ValueError(f"{name}: {error}") from None
        definitions = find_definitions(questions, option_reader)
        encoded = encode_questions(tokenizer, questions, definitions, max_length, names)
        return {
            "input_ids": [[option.input_ids.tolist() for option in options] for options in encoded],
            "token_type_ids": [[option.token_type_ids.tolist() for option in options] for options in encoded],
            "label": batch["label"],
            "length": [max(len(option.input_ids) for option in options) for options in encoded],
            "options": [len(options) for options in encoded],
            "with_definitions": [sum(map(bool, found)) for found in definitions],
            "definitions_cut": [sum(option.definitions_are_cut for option in options) for options in encoded],
            "articles_cut": [sum(option.article_is_cut for option in options) for options in encoded],
        }

    features = rows.map(
        tokenise,
        batched=True,
        remove_columns=rows.column_names,
        features=_FEATURES,
        # What a dictionary says is not part of the rows, so no earlier result can be known to be the same.
        load_from_cache_file=False,
        keep_in_memory=True,
        new_fingerprint=secrets.token_hex(8),
        desc="Tokenising",
    )
    report = ClozeReport(len(features), *(sum(features[name]) for name in _COUNTED))
    logger.info("%s", report)
    return features.remove_columns(list(_COUNTED)), report
