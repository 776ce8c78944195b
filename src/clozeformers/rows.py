"""Tables: the rows of JSON lines, CSV and Parquet, with errors that say where a file is wrong."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .files import PARQUET, CorpusError, decode, open_data, read_head, read_json_lines, with_hint
from .text import truncate_repr


def read_rows(
    path: str | Path, hint: str = "", json_columns: Collection[str] = ()
) -> Iterator[tuple[int | str, dict[str, Any]]]:
    """Read the rows of a table: JSON lines, CSV (``.csv``, with a header) or Parquet, plain or compressed with gzip.

    Args:
        path: the file.
        hint: an example of a right row, appended to the error.
        json_columns: columns that are no strings, whose cells in CSV are JSON, such as ``[0, 1]``.

    Yields:
        The place, as `CorpusError` takes it (a line, or ``"row 5"``, counted from 0, of Parquet), and the values;
        those that are missing, such as empty cells of CSV, are left out.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file.
        CorpusError: the file or a row is damaged; says where.
    """
    rows = read_whole_rows(path, hint, json_columns)
    if is_csv(path) or is_parquet(path):
        return ((where, {name: value for name, value in row.items() if value is not None}) for where, row in rows)
    return rows


def read_whole_rows(
    path: str | Path, hint: str = "", json_columns: Collection[str] = ()
) -> Iterator[tuple[int | str, dict[str, Any]]]:
    """As `read_rows`, but a row of CSV or Parquet has all columns, and None where a value is missing."""
    if is_parquet(path, hint):
        return ((f"row {number}", row) for number, row in enumerate(read_parquet(path, hint)))
    return _read_csv(path, hint, json_columns) if is_csv(path) else read_json_lines(path, hint)


def is_csv(path: str | Path) -> bool:
    """Whether a file is CSV, by its name."""
    return Path(path).name.lower().removesuffix(".gz").endswith(".csv")


def is_parquet(path: str | Path, hint: str = "") -> bool:
    """Whether a file is Parquet, by its first bytes."""
    with open_data(path, hint) as file:
        return file.read(len(PARQUET)) == PARQUET


def read_parquet(path: str | Path, hint: str = "") -> Iterator[dict[str, Any]]:
    """Read the rows of a Parquet file, a batch of them at a time; what is missing is None.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file.
        CorpusError: the file is damaged.
    """
    with _open_parquet(path, hint) as table:
        for batch in table.iter_batches():
            yield from batch.to_pylist()


def count_parquet_rows(path: str | Path) -> int:
    """The number of rows of a Parquet file, without reading them; raises what `read_parquet` does."""
    with _open_parquet(path, "") as table:
        return int(table.metadata.num_rows)


def parquet_schema(paths: Sequence[Path]) -> Any:
    """The schema of Parquet files; raises what `read_parquet` does, or a CorpusError for files that differ."""
    import pyarrow as pa

    found: Any = None
    for path in paths:
        with _open_parquet(path, "") as table:
            own = table.schema_arrow.remove_metadata()
        try:
            found = own if found is None else pa.unify_schemas([found, own])
        except pa.ArrowException as error:
            raise CorpusError(path, "Parquet", f"its columns are not those of {paths[0]}: {error}") from None
    return found


@contextmanager
def _open_parquet(path: str | Path, hint: str) -> Iterator[Any]:
    import pyarrow.parquet as pq

    with open_data(path, hint) as data:
        try:
            # Rows are found from the end of the file, which a packed one does not tell.
            table = pq.ParquetFile(io.BytesIO(data.read()) if isinstance(data, gzip.GzipFile) else data)
            _check_columns(path, "Parquet", table.schema_arrow.names)
            yield table
        except CorpusError:
            raise
        except (ArithmeticError, KeyError, OSError, ValueError) as error:  # dates and time zones that Python lacks, too
            raise CorpusError(path, "Parquet", with_hint(f"cannot be read: {error}", hint)) from None


def _check_columns(path: str | Path, where: str | int, names: Sequence[str]) -> None:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise CorpusError(path, where, f"the column {', '.join(map(repr, twice))} occurs twice; rename one")


def _read_csv(path: str | Path, hint: str, json_columns: Collection[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    read_head(path, hint)
    csv.field_size_limit(2**31 - 1)
    with open_data(path, hint) as data:
        # Decoded line by line, so that an error can name the line.
        lines = (decode(path, number, line) for number, line in enumerate(data, start=1))
        rows = csv.reader(lines, strict=True)
        try:
            header = next(rows)
            _check_columns(path, 1, header)
            number = rows.line_num + 1
            for cells in rows:
                if cells:
                    yield number, _csv_row(path, number, header, cells, json_columns)
                number = rows.line_num + 1
        except csv.Error as error:
            raise CorpusError(path, rows.line_num, with_hint(f"cannot be read as CSV: {error}", hint)) from None


def _csv_row(
    path: str | Path, number: int, header: Sequence[str], cells: Sequence[str], json_columns: Collection[str]
) -> dict[str, Any]:
    if len(cells) != len(header):
        raise CorpusError(path, number, f"{len(cells)} cells; the header names {len(header)}: {', '.join(header)}")
    row: dict[str, Any] = {name: cell or None for name, cell in zip(header, cells, strict=True)}
    for name in row.keys() & set(json_columns):
        try:
            row[name] = row[name] and json.loads(row[name])
        except (ValueError, RecursionError):
            problem = f"{name} is {truncate_repr(row[name])}; in CSV, this column is JSON, as json.dumps writes it"
            raise CorpusError(path, number, problem) from None
    return row
