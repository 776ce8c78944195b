"""Reading and writing of JSON, JSON lines and text, with errors that say where a file is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .text import truncate_repr


class CorpusError(ValueError):
    """A file that cannot be read: says which file, where in it, what is wrong, and what would be right.

    Args:
        path: the file.
        where: a line number, counted from 1, or a description such as ``"data[0], paragraphs[3]"``.
        problem: what is wrong there, and what would be right.
    """

    def __init__(self, path: str | Path, where: str | int, problem: str) -> None:
        place = f"line {where}" if isinstance(where, int) else where
        super().__init__(f"{path}, {place}: {problem}")
        self.path = Path(path)
        self.where = where


def read_json(path: str | Path, hint: str = "") -> Any:
    """Read a JSON file in UTF-8, with or without a byte order mark.

    Args:
        path: the file.
        hint: what to do about a damaged file, appended to the error.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file.
        CorpusError: the file is not UTF-8 or not JSON.
    """
    path = require_file(path, hint)
    return _parse(path, 1, path.read_bytes(), hint)


def read_json_object(path: str | Path, hint: str = "") -> dict[str, Any]:
    """As `read_json`, for a file that must hold a JSON object."""
    values = read_json(path, hint)
    if not isinstance(values, dict):
        raise CorpusError(path, 1, _with_hint(f"{truncate_repr(values)} is not a JSON object", hint))
    return values


def read_json_lines(path: str | Path, hint: str = "") -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a file with one JSON object a line; blank lines are skipped.

    Args:
        path: the file.
        hint: an example of a right line, appended to the error.

    Yields:
        Line number, counted from 1, and the object.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file.
        CorpusError: a line is not UTF-8, not JSON, or not an object.
    """
    path = require_file(path, hint)
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                values = _parse(path, number, line.rstrip(), hint)
                if not isinstance(values, dict):
                    raise CorpusError(path, number, _with_hint(f"{truncate_repr(values)} is not a JSON object", hint))
                yield number, values


def write_json(value: Any, path: str | Path) -> None:
    """Write a JSON file atomically."""
    write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", path)


def write_text(text: str, path: str | Path) -> None:
    """Write a UTF-8 file atomically: a killed process leaves the old file or the new one. Folders are created.

    Half a surrogate pair, which JSON can spell and UTF-8 cannot, is written as ``?``.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_bytes(text.encode("utf-8", "replace"))
    unfinished.replace(path)


def require_file(path: str | Path, hint: str = "") -> Path:
    """Return the path, or raise a FileNotFoundError or IsADirectoryError if it is not a file."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(_with_hint(f"{path} is a folder; give the path of a file", hint))
    if not path.exists():
        raise FileNotFoundError(_with_hint(f"{path} does not exist", hint))
    return path


def _parse(path: Path, first_line: int, content: bytes, hint: str) -> Any:
    try:
        text = content.decode("utf-8-sig" if first_line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        line = first_line + content.count(b"\n", 0, error.start)
        bad = content[error.start : error.end]
        raise CorpusError(path, line, f"the bytes {bad!r} are not UTF-8; convert the file to UTF-8") from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        shown = truncate_repr(text.strip())
        problem = f"{shown} is not JSON ({error.msg}, column {error.colno})"
        raise CorpusError(path, first_line + error.lineno - 1, _with_hint(problem, hint)) from None
    except RecursionError:
        raise CorpusError(path, first_line, _with_hint("the JSON is nested too deeply", hint)) from None


def _with_hint(problem: str, hint: str) -> str:
    return f"{problem}; {hint}" if hint else problem
