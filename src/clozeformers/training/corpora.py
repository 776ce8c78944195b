"""The corpora of a run, from what the command line names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from datasets import Dataset, load_dataset

from ..negation_scope.arguments import NegationDataArguments, NegationTrainingArguments
from ..negation_scope.corpora.detect import detect_format
from ..negation_scope.corpora.loading import load_corpus
from ..negation_scope.corpora.schema import NEGATION_FEATURES, sentence_id
from .cross_validation import first_rows, hold_out

HELD_OUT = "held-out fold"
RESERVED_NAMES = (HELD_OUT, "train", "validation")


class Corpora(NamedTuple):
    """Rows to train on, to stop early by (or None), and to score, by name; and the files of the latter."""

    train: Dataset | None
    validation: Dataset | None
    test: dict[str, Dataset]
    files: dict[str, Path]


def load_corpora(data_args: NegationDataArguments, args: NegationTrainingArguments) -> Corpora:
    """Read every corpus that the arguments name.

    Raises:
        ValueError: if there is nothing to train on and nothing to score, if early stopping lacks a validation set or
            has two, or if a test file is named twice.
    """
    train, validation, test = splits_from_hub(data_args, _checked)
    files = name_test_files(data_args.test_file or [], taken=test)
    if data_args.train_file is not None:
        train = _read(data_args.train_file, data_args)
    if data_args.validation_file is not None:
        validation = _read(data_args.validation_file, data_args)
    if train is None and not test and not files:
        raise ValueError("nothing to do: give --train_file, --test_file or --dataset_name")
    if train is not None:
        train = first_rows(train, data_args.max_train_samples)
        if data_args.validation_fraction is not None:
            if validation is not None or args.num_folds:
                raise ValueError(
                    "--validation_fraction goes with neither a validation file nor --num_folds; leave one out"
                )
            kept, held_out = hold_out(train["id"], data_args.validation_fraction, args.seed)
            train, validation = train.select(kept), train.select(held_out)
    if validation is not None:
        validation = first_rows(validation, data_args.max_eval_samples)
    elif args.early_stopping_patience is not None and train is not None and not args.num_folds:
        raise ValueError(
            "early stopping needs a validation set: give --validation_file, --validation_fraction 0.1 or --num_folds"
        )
    test |= {name: _read(str(path), data_args) for name, path in files.items()}
    test = {name: first_rows(rows, data_args.max_predict_samples) for name, rows in test.items()}
    return Corpora(train, validation, test, files)


def splits_from_hub(
    data_args: Any, checked: Callable[[Dataset, str], Dataset]
) -> tuple[Dataset | None, Dataset | None, dict[str, Dataset]]:
    """Load the dataset that `dataset_name` and `dataset_config_name` name, if one is named.

    Args:
        data_args: data arguments of any task.
        checked: given a split and its name for errors, returns it with the task's columns, or raises a ValueError.

    Returns:
        The splits to train on, to validate with, and to score.
    """
    if data_args.dataset_name is None:
        return None, None, {}
    splits = {
        name: checked(split, f"{data_args.dataset_name}, split {name}")
        for name, split in load_dataset(data_args.dataset_name, data_args.dataset_config_name).items()
    }
    return splits.get("train"), splits.get("validation"), {"test": splits["test"]} if "test" in splits else {}


def _checked(rows: Dataset, name: str) -> Dataset:
    missing = sorted(set(NEGATION_FEATURES) - set(rows.column_names))
    if missing:
        raise ValueError(f"{name}: no columns {', '.join(missing)}; a corpus has {', '.join(NEGATION_FEATURES)}")
    return rows


def _read(path: str, data_args: NegationDataArguments) -> Dataset:
    return load_corpus(path, format=data_args.corpus_format or detect_format(path), kind=data_args.kind)


def name_test_files(paths: list[str], taken: dict[str, Dataset]) -> dict[str, Path]:
    """Name each test set by its file or folder, with as many of the folders above as make the name unique."""
    named: dict[str, Path] = {}
    for path in paths:
        place = Path(path)
        if any(other.resolve() == place.resolve() for other in named.values()):
            raise ValueError(f"--test_file names {path} twice")
        parts = [*place.parent.parts, place.stem if place.is_file() else place.name]
        names = ["/".join(parts[-count:]) for count in range(1, len(parts) + 1)]
        labels = {file_label(name) for name in (*named, *taken, *RESERVED_NAMES)}
        named[next((name for name in names if file_label(name) not in labels), f"{path} {len(named)}")] = place
    return named


def file_label(name: str) -> str:
    """A test set's name as a part of a file's name."""
    return "".join(character if character.isalnum() or character in "-." else "_" for character in name)


def corpus_statistics(corpora: Corpora) -> dict[str, dict[str, int]]:
    """Sentences, cues and non-empty scopes of each corpus."""
    named = {"train": corpora.train, "validation": corpora.validation, **corpora.test}
    return {
        name: {
            "sentences": len(set(map(sentence_id, rows["id"]))),
            "cues": len(rows),
            "scopes": sum(any(scope) for scope in rows["scope"]),
        }
        for name, rows in named.items()
        if rows is not None
    }
