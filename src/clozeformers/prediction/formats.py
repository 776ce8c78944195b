"""The formats of shards: rows to the bytes of a file, and back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..files import finite_or_none, open_data, read_json_lines, read_parquet
from .predictor import ERROR, PREDICTION
from .sources import Row

Columns = dict[str, list[Any]]
RESULTS = (PREDICTION, ERROR)


class Format(NamedTuple):
    """How rows are written.

    Attributes:
        encode: from rows and the columns of the source's first rows, which tell those of a table and their types, to
            the bytes of a file; raises a ValueError for rows that the format does not have.
        decode: from a file to rows.
        is_table: whether all rows have the same columns.
    """

    encode: Callable[[Sequence[Row], Columns], bytes]
    decode: Callable[[Path], list[Row]]
    is_table: bool


def _names(rows: Sequence[Row], first: Columns) -> list[str]:
    return [*first, *(name for name in RESULTS if name in rows[0])]


def _to_json_lines(rows: Sequence[Row], first: Columns) -> bytes:
    shown = (row | {PREDICTION: json.loads(row[PREDICTION] or "null")} if PREDICTION in row else row for row in rows)
    lines = (json.dumps(finite_or_none(row), ensure_ascii=False, default=str) for row in shown)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _from_json_lines(path: Path) -> list[Row]:
    return [row for _, row in read_json_lines(path)]


def _to_csv(rows: Sequence[Row], first: Columns) -> bytes:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    names = _names(rows, first)
    writer.writerow(names)
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return written.getvalue().encode("utf-8", "replace")


def _cell(value: Any) -> str:
    """A value in CSV: what is no string is JSON, as `read_rows` takes it."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(finite_or_none(value), ensure_ascii=False, default=str)


def _from_csv(path: Path) -> list[Row]:
    csv.field_size_limit(2**31 - 1)
    with open_data(path) as data:
        return list(csv.DictReader(io.TextIOWrapper(data, "utf-8", newline="")))


def _to_parquet(rows: Sequence[Row], first: Columns) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    written = io.BytesIO()
    try:
        schema = pa.table(_encodable(first)).schema
        table = pa.table(_encodable({name: [row.get(name) for row in rows] for name in _names(rows, first)}))
        fields = [_common_field(pa, schema.field(name), table.field(name)) for name in first]
        results = [pa.field(name, pa.string()) for name in table.column_names[len(first) :]]
        pq.write_table(table.cast(pa.schema(fields + results)), written)
    except (pa.ArrowException, OverflowError) as error:
        raise ValueError(f"a column has values of several types ({error}); give --format jsonl") from None
    return written.getvalue()


def _common_field(pa: Any, first: Any, own: Any) -> Any:
    """The field of all shards: that of the first, or of strings if it has no values."""
    field = first.with_type(pa.string()) if pa.types.is_null(first.type) else first
    # A cast would drop what a nested type lacks.
    if pa.unify_schemas([pa.schema([field]), pa.schema([own])], promote_options="permissive").field(0) != field:
        raise pa.ArrowTypeError(f"{field.name} is first {field.type}, then {own.type}")
    return field


def _encodable(value: Any) -> Any:
    """Copy a value with ``?`` for each half of a surrogate pair, which JSON can spell and Parquet cannot."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(one) for key, one in value.items()}
    return [_encodable(one) for one in value] if isinstance(value, list) else value


def _from_parquet(path: Path) -> list[Row]:
    return list(read_parquet(path))


_JSON_LINES = Format(_to_json_lines, _from_json_lines, is_table=False)
_CSV = Format(_to_csv, _from_csv, is_table=True)
FORMATS = {
    "jsonl": _JSON_LINES,
    "jsonl.gz": _JSON_LINES,
    "csv": _CSV,
    "csv.gz": _CSV,
    "parquet": Format(_to_parquet, _from_parquet, is_table=True),
}
