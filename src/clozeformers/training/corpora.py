"""The data of a command, from what its arguments name."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from datasets import Dataset, concatenate_datasets, load_dataset

from ..files import data_name
from .arguments import DataArguments, split_test_file
from .pretrained import loading
from .splits import folds, hold_out

HELD_OUT = "held-out fold"
EXTRA = "training data of every fold"
_RESERVED_NAMES = (HELD_OUT, EXTRA, "train", "validation")
_SAME_CORPUS = 0.9


@dataclass(frozen=True, eq=False)
class Corpora:
    """Rows to train on, to choose the best model on, and to score.

    Attributes:
        train: None if nothing is trained.
        validation: None if there is none.
        test: test sets by name.
        files: the files of each test set that was read from some.
        excluded: number of training rows that the task has left out.
        extra: rows that each fold trains on, outside the folds; None if there are none.
    """

    train: Dataset | None
    validation: Dataset | None
    test: dict[str, Dataset]
    files: dict[str, list[Path]] = field(default_factory=dict)
    excluded: int = 0
    extra: Dataset | None = None

    def by_name(self) -> dict[str, Dataset]:
        """All parts that there are."""
        parts = {"train": self.train, EXTRA: self.extra, "validation": self.validation, **self.test}
        return {name: rows for name, rows in parts.items() if rows is not None}

    def fold(
        self, number: int, num_folds: int, seed: int, groups: Sequence[str], strata: Sequence[tuple[str, str]] = ()
    ) -> Corpora:
        """The data of a fold.

        Args:
            number: of the fold, counted from 1.
            num_folds: of all folds.
            seed: of the folds.
            groups: of the training rows, each kept together.
            strata: of the training rows, the corpus that each belongs to and a name within it; by default, all are
                one. Each stratum has the folds that it would have alone, and each corpus is scored by itself.
        """
        assert self.train is not None
        chosen: dict[str, list[int]] = {}
        strata = strata or [("", "")] * len(groups)
        for stratum in dict.fromkeys(strata):
            own = [row for row, name in enumerate(strata) if name == stratum]
            split = list(folds([groups[row] for row in own], num_folds, seed))[number - 1]
            held_out = f"{HELD_OUT}, {stratum[0]}"
            for part, places in zip(("train", "validation", held_out), split, strict=True):
                chosen.setdefault(part, []).extend(own[place] for place in places)
        scored = {part: self.train.select(sorted(rows)) for part, rows in chosen.items()}
        train, validation = scored.pop("train"), scored.pop("validation")
        train = train if self.extra is None else concatenate_datasets([train, self.extra])
        scored = scored if len(scored) > 1 else {HELD_OUT: next(iter(scored.values()))}
        return replace(self, train=train, extra=None, validation=validation, test={**scored, **self.test})


def load_corpora(
    data_args: DataArguments,
    seed: int,
    *,
    read: Callable[[str], Dataset],
    from_hub: Callable[[Dataset, str], Dataset],
    group_of: Callable[[Dataset], Sequence[str]],
    exclude: Callable[[Dataset], Dataset] | None = None,
) -> Corpora:
    """Read all data that the arguments name.

    Args:
        data_args: of any task.
        seed: of the validation part, if it is drawn from the training rows.
        read: reads a file of the task.
        from_hub: given a split of a dataset on the Hub and its name, returns it with the task's columns, or raises a
            ValueError.
        group_of: for each row, the group that must not be split between training and validation.
        exclude: leaves rows out of the training data.

    Raises:
        ValueError: there is nothing to train on and nothing to score, a file is named twice, an argument has no effect
            or a limit is below 1.
    """
    _check(data_args)
    train = validation = None
    test: dict[str, Dataset] = {}
    if data_args.dataset_name is not None:
        with loading(data_args.dataset_name, kind="dataset"):
            loaded = load_dataset(data_args.dataset_name, data_args.dataset_config_name)
        splits = {name: from_hub(split, f"{data_args.dataset_name}, split {name}") for name, split in loaded.items()}
        train, validation = splits.get("train"), splits.get("validation")
        test = {"test": splits["test"]} if "test" in splits else {}
    if data_args.train_file:
        train = _concatenate([read(path) for path in data_args.train_file])
    if data_args.validation_file is not None:
        validation = read(data_args.validation_file)
    files = name_test_files(data_args.test_file or [], taken=list(test))
    for name, paths in files.items():
        test[name] = _concatenate([read(str(path)) for path in paths])
        if len(paths) > 1 and len(set(test[name]["id"])) < len(test[name]):
            raise ValueError(f"--test_file {name}: its files have rows with the same id; score them one by one")
    extra = _concatenate([read(path) for path in data_args.extra_train_file]) if data_args.extra_train_file else None
    excluded = 0
    if train is not None:
        complete = len(train)
        train = exclude(train) if exclude else train
        excluded = complete - len(train)
        train = first_rows(train, data_args.max_train_samples)
        if data_args.validation_fraction is not None:
            kept, held_out = hold_out(group_of(train), data_args.validation_fraction, seed)
            train, validation = train.select(kept), train.select(held_out)
    if extra is not None and train is not None:
        complete = len(extra)
        extra = exclude(extra) if exclude else extra
        excluded += complete - len(extra)
        extra = first_rows(extra, data_args.max_train_samples)
    if validation is not None:
        validation = first_rows(validation, data_args.max_eval_samples)
    test = {name: first_rows(rows, data_args.max_predict_samples) for name, rows in test.items()}
    return Corpora(train, validation, test, files, excluded, extra)


def _concatenate(parts: Sequence[Dataset]) -> Dataset:
    return parts[0] if len(parts) == 1 else concatenate_datasets(parts)


def _check(data_args: DataArguments) -> None:
    if not (data_args.trains or data_args.test_file):
        raise ValueError("nothing to do: give --train_file, --test_file or --dataset_name")
    if data_args.dataset_config_name is not None and data_args.dataset_name is None:
        raise ValueError("--dataset_config_name is the configuration of a dataset; give --dataset_name as well")
    if data_args.validation_fraction is not None and data_args.validation_file is not None:
        raise ValueError("--validation_fraction replaces a validation file; leave one out")
    if data_args.validation_fraction is not None and not data_args.trains:
        raise ValueError("--validation_fraction is a part of the training data; give --train_file as well")
    if data_args.extra_train_file and not data_args.trains:
        raise ValueError("--extra_train_file adds to the folds of the training data; give --train_file as well")
    test_files = [path for given in data_args.test_file or [] for path in split_test_file(given)[1]]
    train_files = [*(data_args.train_file or []), *(data_args.extra_train_file or [])]
    for option, paths in (("--train_file", train_files), ("--test_file", test_files)):
        places = [Path(path).resolve() for path in paths]
        twice = next((path for path, place in zip(paths, places, strict=True) if places.count(place) > 1), None)
        if twice is not None:
            raise ValueError(f"{option} names {twice} twice; name each file once")


def name_test_files(given: Sequence[str], taken: Sequence[str]) -> dict[str, list[Path]]:
    """Name each test set: as given, or by its file or folder and as many of the folders above as make the name unique.

    Raises:
        ValueError: a given name is taken.
    """
    named: dict[str, list[Path]] = {}
    for name, paths in map(split_test_file, given):
        place = Path(paths[0])
        parts = [*place.parent.parts, data_name(place) if place.is_file() else place.name]
        names = [name] if name else ["/".join(parts[-count:]) for count in range(1, len(parts) + 1)]
        labels = {file_label(other) for other in (*named, *taken, *_RESERVED_NAMES)}
        free = next((each for each in names if file_label(each) not in labels), f"{place} {len(named)}")
        if name and free != name:
            raise ValueError(f"--test_file {name}=...: there is another part of the data with this name; give another")
        named[free] = [Path(path) for path in paths]
    return named


def holds_corpus(rows: Dataset, corpus: Dataset) -> bool:
    """Whether rows are a corpus, hold it, or are a part of it, whatever their ids and the file.

    Two corpora may share some short sentences, so it takes nearly all rows of one.
    """
    columns = [name for name in rows.column_names if name in corpus.column_names and name not in ("id", "corpus")]
    ours, theirs = (_digests(each.select_columns(columns)) for each in (rows, corpus))
    shared = ours.keys() & theirs.keys()
    parts = (sum(own[digest] for digest in shared) / own.total() for own in (ours, theirs))
    return max(parts) >= _SAME_CORPUS


def _digests(rows: Dataset) -> Counter[bytes]:
    """Digests of the rows' contents, with their counts."""
    contents = (json.dumps(row, sort_keys=True, default=str).encode() for row in rows)
    return Counter(hashlib.sha256(content).digest() for content in contents)


def file_label(name: str) -> str:
    """A test set's name as a part of a file name."""
    return "".join(character if character.isalnum() or character in "-." else "_" for character in name)


def first_rows(rows: Dataset, limit: int | None) -> Dataset:
    """At most the first `limit` rows."""
    if limit is not None and limit < 1:
        raise ValueError(f"--max_..._samples is {limit}; a number of samples must be at least 1")
    return rows if limit is None else rows.select(range(min(limit, len(rows))))
