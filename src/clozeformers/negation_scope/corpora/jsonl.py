"""Negation corpora of one's own, as JSON lines: one object a line, one cue an object.

A line has the fields of a row (see :class:`~clozeformers.negation_scope.corpora.schema.NegationRow`)::

    {"tokens": ["I", "do", "not", "know", "."], "cue": [0, 0, 1, 0, 0], "scope": [1, 1, 0, 1, 0]}

``tokens``, ``cue`` and ``scope`` must be there. Left out, ``id`` is ``"<file without its ending>/<line number>#0"``
(``#-`` where no word is a cue), ``corpus`` the file's name without its ending, ``kind`` ``"negation"``, and
``cue_text`` the cue's words joined by a space.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ...files import CorpusError
from ...text import truncate_repr
from .schema import KINDS, NegationRow

FIELDS = tuple(NegationRow.__annotations__)
RIGHT_LINE = '{"tokens": ["I", "do", "not", "know", "."], "cue": [0, 0, 1, 0, 0], "scope": [1, 1, 0, 1, 0]}'


def read_negation_jsonl(path: str | Path) -> Iterator[NegationRow]:
    """Read rows from a JSON-lines file.

    Args:
        path: the file, UTF-8. Blank lines are skipped.

    Yields:
        The rows of every kind, in the order of the lines; a sentence without a cue has cue and scope all 0.

    Raises:
        CorpusError: a line is not UTF-8, not a JSON object, or has a field that is missing, unknown or wrong; an id
            stands twice.
    """
    path = Path(path)
    lines: dict[str, int] = {}
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if raw.strip():
                row = _checked(path, number, _with_defaults(path, number, _parse(path, number, raw)))
                _check_new_id(path, number, row["id"], lines)
                yield row


def write_negation_jsonl(rows: Iterable[Mapping[str, Any]], path: str | Path) -> None:
    """Write rows to a JSON-lines file that :func:`read_negation_jsonl` reads back as the same rows.

    Args:
        rows: rows with all fields, such as a reader or :func:`~clozeformers.negation_scope.load_corpus` gives them.
        path: the file to write.

    Raises:
        CorpusError: a row that the reader would refuse, named by the line it would stand in. Nothing is written then.
    """
    path = Path(path)
    ids: dict[str, int] = {}
    lines: list[str] = []
    for number, values in enumerate(rows, start=1):
        row = _checked(path, number, dict(values))
        _check_new_id(path, number, row["id"], ids)
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    path.write_bytes("".join(lines).encode("utf-8"))


def _parse(path: Path, number: int, raw: bytes) -> dict[str, Any]:
    try:
        values = json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError as error:
        bad = raw[error.start : error.end]
        raise CorpusError(path, number, f"the bytes {bad!r} are not UTF-8; convert the file to UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise _wrong(path, number, f"{truncate_repr(raw.decode('utf-8').strip())} is not JSON ({error})") from None
    if not isinstance(values, dict):
        raise _wrong(path, number, f"{truncate_repr(values)} is not a JSON object")
    return values


def _with_defaults(path: Path, number: int, values: dict[str, Any]) -> dict[str, Any]:
    for name in ("tokens", "cue", "scope"):
        if name not in values:
            raise _wrong(path, number, f"the field {name!r} is missing")
    tokens, cue = values["tokens"], values["cue"]
    _check_tokens(path, number, tokens)
    _check_marks(path, number, "cue", cue, len(tokens))
    defaults = {
        "id": f"{path.stem}/{number}#{'0' if any(cue) else '-'}",
        "corpus": path.stem,
        "kind": "negation",
        "cue_text": " ".join(token for token, inside in zip(tokens, cue, strict=True) if inside),
    }
    return defaults | values


def _checked(path: Path, number: int, values: dict[str, Any]) -> NegationRow:
    """Check all fields, and give them the order of a row."""
    for name in FIELDS:
        if name not in values:
            raise _wrong(path, number, f"the field {name!r} is missing")
    for name in values:
        if name not in FIELDS:
            raise _wrong(path, number, f"unknown field {name!r}; the fields are {', '.join(FIELDS)}")
    _check_tokens(path, number, values["tokens"])
    for name in ("cue", "scope"):
        _check_marks(path, number, name, values[name], len(values["tokens"]))
    if any(values["scope"]) and not any(values["cue"]):
        raise _wrong(path, number, "scope has a 1 but cue has none; a sentence without a cue has no scope")
    for name in ("id", "corpus", "cue_text"):
        if not _is_text(values[name]):
            raise _wrong(path, number, f"{name} is {truncate_repr(values[name])}; it must be a string")
    if "#" not in values["id"]:
        raise _wrong(
            path, number, f"id is {truncate_repr(values['id'])}; it must be '<sentence>#<number>', or be left out"
        )
    if values["kind"] not in KINDS:
        kinds = " or ".join(map(repr, KINDS))
        raise _wrong(path, number, f"kind is {truncate_repr(values['kind'])}; it must be {kinds}, or be left out")
    return NegationRow(
        id=values["id"],
        corpus=values["corpus"],
        kind=values["kind"],
        tokens=values["tokens"],
        cue=values["cue"],
        cue_text=values["cue_text"],
        scope=values["scope"],
    )


def _check_tokens(path: Path, number: int, tokens: Any) -> None:
    if not isinstance(tokens, list) or not tokens:
        raise _wrong(path, number, f"tokens is {truncate_repr(tokens)}; it must be a list of one or more words")
    for token in tokens:
        if not _is_text(token) or not token.strip():
            raise _wrong(path, number, f"tokens holds {truncate_repr(token)}; each must be a string that is not blank")


def _check_marks(path: Path, number: int, name: str, marks: Any, length: int) -> None:
    if not isinstance(marks, list) or len(marks) != length:
        raise _wrong(
            path, number, f"{name} is {truncate_repr(marks)}; it must be a list of {length} numbers, one a token"
        )
    for mark in marks:
        # JSON's true would pass for 1, but would not come back as 1.
        if type(mark) is not int or mark not in (0, 1):
            raise _wrong(path, number, f"{name} holds {truncate_repr(mark)}; each must be 0 or 1")


def _check_new_id(path: Path, number: int, row_id: str, lines: dict[str, int]) -> None:
    if row_id in lines:
        raise CorpusError(path, number, f"the id {row_id!r} stands in line {lines[row_id]} too; ids must be unique")
    lines[row_id] = number


def _is_text(value: Any) -> bool:
    """Whether this is a string that UTF-8 can hold; JSON can spell half a surrogate pair, which it cannot."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def _wrong(path: Path, number: int, problem: str) -> CorpusError:
    return CorpusError(path, number, f"{problem}. A right line: {RIGHT_LINE}")
