"""The formats of shards: rows to the bytes of a file, and back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..files import finite_or_none, open_data, read_json_lines
from ..rows import read_parquet
from .predictor import ERROR, PREDICTION
from .sources import Row

Columns = dict[str, list[Any]]
RESULTS = (PREDICTION, ERROR)
_NUMBERS_AND_NESTED = (bool, int, float, list, dict)


class Format(NamedTuple):
    """How rows are written.

    Attributes:
        layout: from the columns of the first shard to what all shards have in common: names of columns, or a schema;
            empty where rows may differ.
        encode: from rows and the layout to the bytes of a file; raises a ValueError for rows that the format does not
            have.
        decode: from a file to rows.
    """

    layout: Callable[[Columns], Any]
    encode: Callable[[Sequence[Row], Any], bytes]
    decode: Callable[[Path], list[Row]]


def _results(rows: Sequence[Row]) -> list[str]:
    """The columns of results that rows have, which follow the source's."""
    return [name for name in RESULTS if name in rows[0]]


def _to_json_lines(rows: Sequence[Row], layout: Any) -> bytes:
    shown = (row | {PREDICTION: json.loads(row[PREDICTION] or "null")} if PREDICTION in row else row for row in rows)
    lines = (json.dumps(finite_or_none(row), ensure_ascii=False, default=str) for row in shown)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _from_json_lines(path: Path) -> list[Row]:
    return [row for _, row in read_json_lines(path)]


def _to_csv(rows: Sequence[Row], layout: list[str]) -> bytes:
    names = [*layout, *_results(rows)]
    lines = [_line(names), *(_line([_cell(row.get(name)) for name in names]) for row in rows)]
    return "".join(lines).encode("utf-8", "replace")


def _line(cells: Sequence[str]) -> str:
    written = io.StringIO()
    csv.writer(written).writerow(cells)  # which quotes what its own end of a line, \r\n, has
    return f"{written.getvalue()[:-2]}\n"


def _cell(value: Any) -> str:
    """A value in CSV: numbers, lists and mappings are JSON, as `read_rows` takes them, and all others text."""
    if isinstance(value, _NUMBERS_AND_NESTED):
        return json.dumps(finite_or_none(value), ensure_ascii=False, default=str)
    return "" if value is None else str(value)


def _from_csv(path: Path) -> list[Row]:
    csv.field_size_limit(2**31 - 1)
    with open_data(path) as data:
        return list(csv.DictReader(io.TextIOWrapper(data, "utf-8", newline="")))


def _schema(first: Columns) -> Any:
    import pyarrow as pa

    with _parquet_errors():
        schema = pa.table(_encodable(first)).schema
    return pa.schema([field.with_type(_filled(pa, field.type)) for field in schema])


def _filled(pa: Any, kind: Any) -> Any:
    """A type with strings where there are no values so far: there may be some further on."""
    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_filled(pa, kind.value_type))
    return pa.struct([field.with_type(_filled(pa, field.type)) for field in kind]) if pa.types.is_struct(kind) else kind


def _to_parquet(rows: Sequence[Row], layout: Any) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    written = io.BytesIO()
    with _parquet_errors():
        columns = {field.name: _encodable([row.get(field.name) for row in rows]) for field in layout}
        for field in layout:
            for value in columns[field.name]:
                _check_nested(pa, field.name, field.type, value)
        arrays = [pa.array(columns[field.name], field.type) for field in layout]
        results = {name: pa.array([row[name] for row in rows], pa.string()) for name in _results(rows)}
        pq.write_table(pa.table([*arrays, *results.values()], names=[*layout.names, *results]), written)
    return written.getvalue()


def _check_nested(pa: Any, name: str, kind: Any, value: Any) -> None:
    """Raise a ValueError for a nested value that has more than its type, which pyarrow would leave out."""
    if pa.types.is_struct(kind) and isinstance(value, dict):
        if more := value.keys() - {field.name for field in kind}:
            raise ValueError(f"{name} has {', '.join(sorted(more))} in some rows only; give --format jsonl")
        for field in kind:
            _check_nested(pa, name, field.type, value.get(field.name))
    elif pa.types.is_list(kind) and isinstance(value, list):
        for one in value:
            _check_nested(pa, name, kind.value_type, one)


@contextmanager
def _parquet_errors() -> Iterator[None]:
    """Tell what Parquet cannot hold, and what can."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OverflowError) as error:
        raise ValueError(f"a column has values of several types ({error}); give --format jsonl") from None


def _encodable(value: Any) -> Any:
    """Copy a value with ``?`` for each half of a surrogate pair, which JSON can spell and Parquet cannot."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(one) for key, one in value.items()}
    return [_encodable(one) for one in value] if isinstance(value, list) else value


def _from_parquet(path: Path) -> list[Row]:
    return list(read_parquet(path))


_JSON_LINES = Format(lambda first: None, _to_json_lines, _from_json_lines)
_CSV = Format(list, _to_csv, _from_csv)
FORMATS = {
    "jsonl": _JSON_LINES,
    "jsonl.gz": _JSON_LINES,
    "csv": _CSV,
    "csv.gz": _CSV,
    "parquet": Format(_schema, _to_parquet, _from_parquet),
}
