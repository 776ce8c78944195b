"""Corpus rows to tokenised features."""

from __future__ import annotations

import logging
from typing import Any

from datasets import Dataset

from .collator import IGNORED_LABEL
from .windows import first_pieces, read_cues

logger = logging.getLogger(__name__)


def negation_features(
    rows: Dataset,
    tokenizer: Any,
    *,
    max_length: int,
    cue_token: str | None,
    max_cue_length: int = 16,
    overlapping: bool = False,
) -> Dataset:
    """Tokenise corpus rows.

    Args:
        rows: as `load_corpus` gives them.
        tokenizer: a fast tokenizer that knows the cue token.
        max_length: most pieces in an input. A longer sentence is cut to a window around its cue, and counted in the
            log.
        cue_token: the token put before each cue word ("augment"), or None ("normal").
        max_cue_length: most word pieces of a cue, as in the model's config.
        overlapping: read a longer sentence through several windows, for prediction.

    Returns:
        One row a window: `input_ids`, `cue_mask`, `word_ids`, `labels` (0 or 1 at the first piece of each word, -100
        elsewhere), `length`, `row` (the number of the corpus row), and `scope` (its gold scope, one a word).
    """
    windowed = 0

    def tokenise(batch: dict[str, list[Any]], indices: list[int]) -> dict[str, list[Any]]:
        nonlocal windowed
        features: dict[str, list[Any]] = {name: [] for name in FEATURE_COLUMNS}
        readings = read_cues(
            tokenizer,
            batch["tokens"],
            batch["cue"],
            max_length=max_length,
            cue_token=cue_token,
            max_cue_length=max_cue_length,
            overlapping=overlapping,
        )
        for reading in readings:
            labels = [IGNORED_LABEL] * len(reading.input_ids)
            for piece, word in first_pieces(reading.word_ids):
                labels[piece] = batch["scope"][reading.example][word]
            features["input_ids"].append(reading.input_ids)
            features["cue_mask"].append(reading.cue_mask)
            features["word_ids"].append(reading.word_ids)
            features["labels"].append(labels)
            features["length"].append(len(reading.input_ids))
            features["row"].append(indices[reading.example])
            features["scope"].append(batch["scope"][reading.example])
            windowed += not reading.is_whole
        return features

    features = rows.map(
        tokenise,
        batched=True,
        with_indices=True,
        remove_columns=rows.column_names,
        load_from_cache_file=False,
        keep_in_memory=True,
        desc="Tokenising",
    )
    if windowed:
        logger.warning(
            "%d of %d inputs hold a part of their sentence or cue only: it has more than %d word pieces (max_length), "
            "or its cue more than %d (max_cue_length)",
            windowed,
            len(features),
            max_length,
            max_cue_length,
        )
    return features


FEATURE_COLUMNS = ("input_ids", "cue_mask", "word_ids", "labels", "length", "row", "scope")
