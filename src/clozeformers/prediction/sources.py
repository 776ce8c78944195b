"""Rows from files, folders, the standard input, or a data set on the Hub, one after the other."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..files import CorpusError, count_parquet_rows, open_data, read_lines, read_parquet, read_rows
from ..text import truncate_repr
from ..training.pretrained import loading

Row = dict[str, Any]

STANDARD_INPUT = "-"
_ENDINGS = (".txt", ".jsonl", ".csv", ".parquet")


def source_files(source: str) -> list[Path] | None:
    """The files of a source, those of a folder in the order of their names; None if it is not a place on the disk.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a file or folder has nothing that could be read.
    """
    path = Path(source)
    is_file_name = _ending(path) or ("/" not in source and path.suffix)  # names on the Hub are OWNER/NAME
    if source != STANDARD_INPUT and not path.exists() and is_file_name:
        raise FileNotFoundError(f"{source} does not exist; give a file, a folder, or the name of a data set on the Hub")
    if source == STANDARD_INPUT or not path.exists():
        return None
    files = sorted(file for file in path.rglob("*") if _ending(file)) if path.is_dir() else [path]
    if not files or not all(map(_ending, files)):
        problem = "holds no file that ends" if path.is_dir() else "does not end"
        raise ValueError(f"{source} {problem} in {', '.join(_ENDINGS)}, perhaps with .gz")
    return files


def read_source(source: str, split: str = "train") -> Iterator[Row]:
    """Read rows, as far as they are asked for.

    Args:
        source: a file of text (a row a line that is not blank, in the column `text`), JSON lines, CSV or Parquet,
            perhaps compressed with gzip; a folder of these; `"-"`, JSON lines or text on the standard input; or the
            name of a data set on the Hub.
        split: of a data set on the Hub.

    Raises:
        OSError, ValueError: it cannot be found or read; says where.
    """
    files = source_files(source)
    if files is not None:
        for file in files:
            yield from _read_file(file)
    elif source == STANDARD_INPUT:
        yield from _read_standard_input()
    else:
        from datasets import load_dataset

        with loading(source, kind="dataset"):
            rows = load_dataset(source, split=split, streaming=True)
        yield from rows


def count_rows(source: str) -> int | None:
    """How many rows there are, if that is known without parsing them."""
    files = source_files(source)
    if files is None:
        return None
    return sum(map(_count, files))


def _count(file: Path) -> int:
    if _ending(file) == ".parquet":
        return count_parquet_rows(file)
    with open_data(file) as lines:
        return sum(1 for line in lines if line.strip()) - (_ending(file) == ".csv")


def _ending(file: Path) -> str | None:
    return next((ending for ending in _ENDINGS if file.name.lower().removesuffix(".gz").endswith(ending)), None)


def _read_file(file: Path) -> Iterator[Row]:
    ending = _ending(file)
    if ending == ".txt":
        yield from ({"text": line} for _, line in read_lines(file))
    elif ending == ".parquet":
        yield from read_parquet(file)
    else:
        yield from (row for _, row in read_rows(file))


def _read_standard_input() -> Iterator[Row]:
    for number, line in enumerate(sys.stdin, start=1):
        if not line.lstrip().startswith("{"):
            yield from [{"text": line.rstrip("\r\n")}] if line.strip() else []
            continue
        try:
            yield json.loads(line)
        except ValueError as error:
            raise CorpusError("the standard input", number, f"{truncate_repr(line)} is not JSON ({error})") from None
