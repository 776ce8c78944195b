"""Splits of a corpus that keep groups of rows, such as those of one sentence or article, together."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple


class Split(NamedTuple):
    """Row numbers of the three parts of a fold."""

    train: list[int]
    validation: list[int]
    test: list[int]


def folds(groups: Sequence[str], num_folds: int, seed: int) -> Iterator[Split]:
    """Cross-validation as in Khandelwal & Attar, section 4.

    One fold is the test part; a validation part of the same size is drawn from the others, or of two folds, a quarter
    of the other.

    Args:
        groups: group of each row.
        num_folds: at least 2.
        seed: of the shuffle; the same seed gives the same folds.

    Yields:
        One split a fold; the test parts together are the corpus.

    Raises:
        ValueError: there are fewer than two folds, fewer groups than folds, or two folds of fewer than four groups.
    """
    distinct = list(dict.fromkeys(groups))
    least = 4 if num_folds == 2 else num_folds  # the other fold gives training and validation groups
    if num_folds < 2 or len(distinct) < least:
        raise ValueError(
            f"--num_folds is {num_folds}; it must be at least 2 and at most the number of groups of rows "
            f"(sentences or articles), {len(distinct)}; two folds take at least 4 groups"
        )
    random.Random(seed).shuffle(distinct)
    parts = [distinct[start::num_folds] for start in range(num_folds)]
    for number, test in enumerate(parts):
        others = [group for part in parts[:number] + parts[number + 1 :] for group in part]
        size = min(len(test), len(others) - 1) if num_folds > 2 else max(len(others) // 4, 1)
        validation = random.Random(f"{seed}-{number}").sample(others, size)
        train = set(others) - set(validation)
        yield Split(*(_rows_in(groups, part) for part in (train, set(validation), set(test))))


def hold_out(groups: Sequence[str], fraction: float, seed: int) -> tuple[list[int], list[int]]:
    """Row numbers of the kept and the held-out part; `fraction` of the groups, at least one, is held out."""
    distinct = list(dict.fromkeys(groups))
    if not 0 < fraction < 1 or len(distinct) < 2:
        raise ValueError(
            f"cannot hold out a fraction of {fraction} of {len(distinct)} groups of rows; it must lie between 0 and 1"
        )
    count = min(max(1, round(fraction * len(distinct))), len(distinct) - 1)
    held_out = set(random.Random(seed).sample(distinct, count))
    return _rows_in(groups, set(distinct) - held_out), _rows_in(groups, held_out)


def _rows_in(groups: Sequence[str], part: Collection[str]) -> list[int]:
    return [number for number, group in enumerate(groups) if group in part]
