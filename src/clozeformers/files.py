"""Reading of JSON and JSON lines, with errors that say where a file is wrong, and atomic writing of every file."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from .text import truncate_repr

_UNFINISHED = ".unfinished"


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
    with atomic_file(path) as unfinished:
        unfinished.write_bytes(text.encode("utf-8", "replace"))


@contextmanager
def atomic_file(path: str | Path) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces `path` when the block ends without an error.

    A killed process, and one without space on the disk, leave the old file. Folders are created.
    """
    path = Path(os.path.realpath(path))  # a link stays one
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = _unfinished(path.parent)
    try:
        yield unfinished
        _synchronize(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def atomic_folder(folder: str | Path) -> Iterator[Path]:
    """Yield a temporary folder, whose files are moved into `folder` when the block ends without an error.

    A new folder appears with all of its files. In one that exists, whole files replace those of the same names; of a
    model, `config.json`, without which it does not load, comes last.
    """
    folder = Path(os.path.realpath(folder))
    place = folder if folder.is_dir() else folder.parent
    place.mkdir(parents=True, exist_ok=True)
    unfinished = _unfinished(place)
    unfinished.mkdir()
    try:
        yield unfinished
        files = sorted(path for path in unfinished.rglob("*") if path.is_file())
        for file in files:
            _synchronize(file)
        if not folder.is_dir():
            unfinished.rename(folder)
            return
        for file in sorted(files, key=lambda file: file.name == "config.json"):
            target = folder / file.relative_to(unfinished)
            target.parent.mkdir(parents=True, exist_ok=True)
            file.replace(target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def remove_unfinished(folder: Path) -> None:
    """Remove what killed processes have left in a folder: files and folders that were never finished."""
    for path in folder.glob(f".*{_UNFINISHED}"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _unfinished(folder: Path) -> Path:
    return folder / f".{uuid4().hex}{_UNFINISHED}"


def _synchronize(path: Path) -> None:
    """Wait until a file is on the disk; else a new name could outlive a power failure, and its contents not."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


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
