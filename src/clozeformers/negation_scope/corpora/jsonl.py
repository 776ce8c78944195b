"""Custom negation corpora as JSON lines: one object a line, one cue an object; or as CSV or Parquet, one cue a row.

A line has the fields of a row (see `NegationRow`)::

    {"tokens": ["I", "do", "not", "know", "."], "cue": [0, 0, 1, 0, 0], "scope": [1, 1, 0, 1, 0]}

``tokens``, ``cue`` and ``scope`` are required. The defaults of the others: ``id`` is
``"<file without its ending>/<line number>#0"`` (``#-`` where no word is a cue), ``corpus`` the file's name without its
ending, ``kind`` ``"negation"``, and ``cue_text`` the cue's words joined by a space. CSV has these fields as columns,
the lists as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from ...files import CorpusError, data_name, place_name, write_text
from ...rows import read_rows
from ...text import check_text, truncate_repr
from .schema import KINDS, NegationRow

FIELDS = tuple(NegationRow.__annotations__)
HINT = (
    'example of a line: {"tokens": ["I", "do", "not", "know", "."], "cue": [0, 0, 1, 0, 0], "scope": [1, 1, 0, 1, 0]}'
)


def read_negation_jsonl(path: str | Path) -> Iterator[NegationRow]:
    """Read rows from a file of JSON lines, CSV or Parquet, see `read_rows`.

    Args:
        path: the file, UTF-8. Blank lines are skipped.

    Yields:
        The rows of every kind, in the order of the lines; a sentence without a cue has cue and scope all 0.

    Raises:
        FileNotFoundError, IsADirectoryError: the path is not a file.
        CorpusError: a line is not UTF-8, not a JSON object, or has a field that is missing, unknown or wrong; an id
            is not unique.
    """
    return _checked_rows(Path(path), read_rows(path, HINT, json_columns=("tokens", "cue", "scope")))


def write_negation_jsonl(rows: Iterable[Mapping[str, Any]], path: str | Path) -> None:
    """Write rows to a JSON-lines file that `read_negation_jsonl` reads back as the same rows.

    Args:
        rows: such as a reader or `load_corpus` gives them; fields that are left
            out get the defaults.
        path: the file to write.

    Raises:
        CorpusError: the reader would refuse a row; names its line. Nothing is written then.
    """
    checked = _checked_rows(Path(path), enumerate(rows, start=1))
    write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in checked), path)


def _checked_rows(path: Path, numbered: Iterable[tuple[int | str, Mapping[str, Any]]]) -> Iterator[NegationRow]:
    places: dict[str, int | str] = {}
    for place, values in numbered:
        try:
            row = _row(values, data_name(path), place)
        except (TypeError, ValueError) as error:
            raise CorpusError(path, place, f"{error}; {HINT}") from None
        first = places.setdefault(row["id"], place)
        if first != place:
            raise CorpusError(path, place, f"the id {row['id']!r} is also in {place_name(first)}; ids must be unique")
        yield row


def _row(values: Mapping[str, Any], corpus: str, place: int | str) -> NegationRow:
    """Check the fields, add the defaults, and put them in the order of a row."""
    for field in values:
        if field not in FIELDS:
            raise ValueError(f"unknown field {field!r}; the fields are {', '.join(FIELDS)}")
    tokens, cue, scope = (_list(values, field) for field in ("tokens", "cue", "scope"))
    for token in tokens:
        check_text(token, "a token")
    for field, marks in (("cue", cue), ("scope", scope)):
        # JSON's true is an int to Python, but is not written back as 1.
        if len(marks) != len(tokens) or not all(type(mark) is int and mark in (0, 1) for mark in marks):
            raise ValueError(f"{field} is {truncate_repr(marks)}; it must have 0 or 1 for each of {len(tokens)} tokens")
    if any(scope) and not any(cue):
        raise ValueError("scope has a 1 but cue has none; a sentence without a cue has no scope")
    row = {
        "id": f"{corpus}/{place}#{'0' if any(cue) else '-'}",
        "corpus": corpus,
        "kind": "negation",
        "cue_text": " ".join(token for token, is_cue in zip(tokens, cue, strict=True) if is_cue),
        **values,
    }
    for field in ("id", "corpus", "cue_text"):
        check_text(row[field], field, allow_blank=True)
    if "#" not in row["id"]:
        raise ValueError(f"id is {truncate_repr(row['id'])}; it must be '<sentence>#<number>', or be left out")
    if row["kind"] not in KINDS:
        kinds = " or ".join(map(repr, KINDS))
        raise ValueError(f"kind is {truncate_repr(row['kind'])}; it must be {kinds}, or be left out")
    return cast(NegationRow, {field: row[field] for field in FIELDS})


def _list(values: Mapping[str, Any], field: str) -> list[Any]:
    value = values.get(field)
    if not isinstance(value, list) or not value:
        raise ValueError(f"{field} is {truncate_repr(value)}; it must be a list with at least one entry")
    return value
