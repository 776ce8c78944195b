"""Rows from files, folders, the standard input, or a data set on the Hub, one after the other."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..files import STDIN, decode_lines, files_in, open_data, parse_object, place_name, read_lines
from ..rows import count_parquet_rows, parquet_schema, read_whole_rows
from ..training.pretrained import loading

Row = dict[str, Any]


class Placed(NamedTuple):
    """A row, and where it stands, for errors: `"texts.csv, line 7"`."""

    place: str
    row: Row


STANDARD_INPUT = "-"
_HINT = "the standard input is text, or JSON lines, in UTF-8"
_ENDINGS = (".txt", ".jsonl", ".csv", ".parquet")


def source_files(source: str) -> list[Path] | None:
    """The files of a source, those of a folder in the order of their names; None if it is not a place on the disk.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a file or folder has nothing that could be read.
    """
    if not source:
        raise ValueError("the source is empty; give a file, a folder, - or the name of a data set on the Hub")
    path = Path(source)
    is_file_name = _ending(path) or ("/" not in source and path.suffix)  # names on the Hub are OWNER/NAME
    if source != STANDARD_INPUT and not path.exists() and is_file_name:
        raise FileNotFoundError(f"{source} does not exist; give a file, a folder, or the name of a data set on the Hub")
    if source == STANDARD_INPUT or not path.exists():
        return None
    if not path.is_dir() and not path.is_file():
        raise ValueError(f"{source} is a pipe or a device; give - as the source, and send it to the standard input")
    files = files_in(path, _ending) if path.is_dir() else [path]
    if not files or not all(map(_ending, files)):
        problem = "holds no file that ends" if path.is_dir() else "does not end"
        raise ValueError(f"{source} {problem} in {', '.join(_ENDINGS)}, perhaps with .gz")
    return files


def check_folder(source: str, folder: Path) -> None:
    """Raise a ValueError if predictions in this folder would be rows of the source."""
    path = Path(source)
    files = source_files(source) if path.is_dir() else None
    holders = {holder for file in files or () for holder in file.parents if holder.is_relative_to(path)}
    if not {holder.resolve() for holder in holders}.isdisjoint((folder.resolve(), *folder.resolve().parents)):
        raise ValueError(f"{folder} lies in {source}, whose rows its parts would become; give a folder elsewhere")


def read_source(source: str, split: str = "train") -> Iterator[Placed]:
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
            yield from (Placed(f"{file}, {place_name(where)}", row) for where, row in _read_file(file))
    elif source == STANDARD_INPUT:
        yield from _read_standard_input()
    else:
        from datasets import load_dataset

        with loading(source, kind="dataset"):
            rows = load_dataset(source, split=split, streaming=True)
        yield from (Placed(f"{source}, row {number}", row) for number, row in enumerate(rows))


def source_schema(source: str) -> Any:
    """The schema of a source that is all Parquet, else None; raises what `parquet_schema` does."""
    files = source_files(source) or []
    return parquet_schema(files) if files and all(_ending(file) == ".parquet" for file in files) else None


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


def _read_file(file: Path) -> Iterator[tuple[str | int, Row]]:
    ending = _ending(file)
    if ending == ".txt":
        yield from ((number, {"text": line}) for number, line in read_lines(file))
    else:
        yield from read_whole_rows(file)


def _read_standard_input() -> Iterator[Placed]:
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ValueError("several processes cannot share the standard input; write it to a file first")
    for number, line in decode_lines(STDIN, sys.stdin.buffer, _HINT):
        is_json = line.lstrip().startswith("{")
        yield Placed(f"{STDIN}, line {number}", parse_object(STDIN, number, line, _HINT) if is_json else {"text": line})
