"""Rows from files, folders, the standard input, or a data set on the Hub, one after the other."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..files import open_data, read_json_lines, read_rows
from ..training.pretrained import loading

Row = dict[str, Any]

STANDARD_INPUT = "-"
_ENDINGS = (".txt", ".jsonl", ".csv", ".parquet")


def source_files(source: str) -> list[Path] | None:
    """The files of a source, those of a folder in the order of their names; None if it is not a place on the disk.

    Raises:
        ValueError: a file or folder has nothing that could be read.
    """
    path = Path(source)
    if source == STANDARD_INPUT or not path.exists():
        return None
    files = sorted(file for file in path.rglob("*") if _ending(file)) if path.is_dir() else [path]
    if not files or not all(map(_ending, files)):
        raise ValueError(f"{source} has no file that ends in {', '.join(_ENDINGS)}, perhaps with .gz")
    return files


def read_source(source: str, split: str = "train") -> Iterator[Row]:
    """Read rows, as far as they are asked for.

    Args:
        source: a file of text (a row a line, in the column `text`), JSON lines, CSV or Parquet, perhaps compressed with
            gzip; a folder of these; `"-"`, JSON lines or text on the standard input; or the name of a data set on the
            Hub.
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
        import pyarrow.parquet as pq

        return int(pq.ParquetFile(file).metadata.num_rows)
    with open_data(file) as lines:
        return sum(1 for line in lines if line.strip()) - (_ending(file) == ".csv")


def _ending(file: Path) -> str | None:
    return next((ending for ending in _ENDINGS if file.name.lower().removesuffix(".gz").endswith(ending)), None)


def _read_file(file: Path) -> Iterator[Row]:
    ending = _ending(file)
    if ending == ".txt":
        with open_data(file) as lines:
            for line in lines:
                if line.strip():
                    yield {"text": line.decode("utf-8").rstrip("\r\n")}
    elif ending == ".parquet":
        import pyarrow.parquet as pq

        for batch in pq.ParquetFile(file).iter_batches():
            yield from batch.to_pylist()
    elif ending == ".csv":
        yield from (row for _, row in read_rows(file))
    else:
        yield from (row for _, row in read_json_lines(file))


def _read_standard_input() -> Iterator[Row]:
    import json

    for line in sys.stdin:
        if line.strip():
            yield json.loads(line) if line.lstrip().startswith("{") else {"text": line.rstrip("\r\n")}
