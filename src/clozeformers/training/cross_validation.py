"""Splits of a corpus that never part the rows of one sentence."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from datasets import Dataset

from ..negation_scope.corpora.schema import sentence_id


class Split(NamedTuple):
    """Row numbers of the three parts of a fold."""

    train: list[int]
    validation: list[int]
    test: list[int]


def folds(row_ids: Sequence[str], num_folds: int, seed: int) -> Iterator[Split]:
    """Cross-validation as in the paper (section 4).

    One fold tests; as many sentences again, drawn from the other folds, validate.

    Args:
        row_ids: ids of the corpus rows; rows of one sentence stay together.
        num_folds: at least 3.
        seed: of the shuffle; the same seed gives the same folds.

    Yields:
        One split a fold; the test parts together are the corpus.

    Raises:
        ValueError: if there are fewer sentences than folds, or fewer than three folds.
    """
    sentences = list(dict.fromkeys(map(sentence_id, row_ids)))
    if not 3 <= num_folds <= len(sentences):
        raise ValueError(
            f"--num_folds is {num_folds}; it must be at least 3 and at most the number of sentences, {len(sentences)}"
        )
    random.Random(seed).shuffle(sentences)
    parts = [sentences[start::num_folds] for start in range(num_folds)]
    for number, test in enumerate(parts):
        others = [sentence for part in parts[:number] + parts[number + 1 :] for sentence in part]
        validation = random.Random(f"{seed}-{number}").sample(others, min(len(test), len(others) - 1))
        yield Split(*_rows_of(row_ids, [set(others) - set(validation), set(validation), set(test)]))


def hold_out(row_ids: Sequence[str], fraction: float, seed: int) -> tuple[list[int], list[int]]:
    """Row numbers of the larger and the held-out part; `fraction` of the sentences, at least one, is held out."""
    sentences = list(dict.fromkeys(map(sentence_id, row_ids)))
    if not 0 < fraction < 1 or len(sentences) < 2:
        raise ValueError(
            f"cannot hold out a fraction of {fraction} of {len(sentences)} sentences; it must lie between 0 and 1"
        )
    count = min(max(1, round(fraction * len(sentences))), len(sentences) - 1)
    held_out = set(random.Random(seed).sample(sentences, count))
    kept, out = _rows_of(row_ids, [set(sentences) - held_out, held_out])
    return kept, out


def _rows_of(row_ids: Sequence[str], parts: Sequence[set[str]]) -> list[list[int]]:
    numbers: list[list[int]] = [[] for _ in parts]
    for number, row_id in enumerate(row_ids):
        for part, rows in zip(parts, numbers, strict=True):
            if sentence_id(row_id) in part:
                rows.append(number)
    return numbers


def first_rows(rows: Dataset, limit: int | None) -> Dataset:
    """At most the first `limit` rows; a limit below 1 is a ValueError."""
    if limit is not None and limit < 1:
        raise ValueError(f"--max_..._samples is {limit}; a number of samples must be at least 1")
    return rows if limit is None else rows.select(range(min(limit, len(rows))))
