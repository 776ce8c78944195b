"""Files: reading, with errors that say what a file is and where it is wrong, and atomic writing."""

from __future__ import annotations

import codecs
import gzip
import json
import math
import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any
from uuid import uuid4

from .text import truncate_repr

STDIN = "the standard input"
_UNFINISHED = ".unfinished"
_HEAD = 4096
_GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
_UTF_16 = "UTF-16 text; convert it to UTF-8, as `iconv -f UTF-16 -t UTF-8 FILE` does"
# First bytes of a file that is no UTF-8 text -> what it is.
_KINDS = {
    codecs.BOM_UTF16_LE: _UTF_16,
    codecs.BOM_UTF16_BE: _UTF_16,
    PARQUET: "Parquet",
    b"PK\x03\x04": "a zip archive; unpack it",
    _GZIP: "compressed with gzip; unpack it",  # twice, or on the standard input
    b"BZh": "compressed with bzip2; unpack it, or compress it with gzip",
    b"\xfd7zXZ": "compressed with xz; unpack it, or compress it with gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it, or compress it with gzip",
}


class CorpusError(ValueError):
    """A file that cannot be read: says which file, where in it, what is wrong, and what would be right.

    Args:
        path: the file.
        where: a line number, counted from 1, or a description such as ``"data[0], paragraphs[3]"``.
        problem: what is wrong there, and what would be right.
    """

    def __init__(self, path: str | Path, where: str | int, problem: str) -> None:
        super().__init__(f"{path}, {place_name(where)}: {problem}")
        self.path = Path(path)
        self.where = where


def place_name(where: str | int) -> str:
    """A place in a file, as `CorpusError` takes it, in words."""
    return f"line {where}" if isinstance(where, int) else where


def read_json(path: str | Path, hint: str = "") -> Any:
    """Read a JSON file in UTF-8, with or without a byte order mark.

    Args:
        path: the file, plain or compressed with gzip.
        hint: what to do about a damaged file, appended to the error.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file.
        CorpusError: the file is not UTF-8 or not JSON.
    """
    return _parse(path, 1, read_text(path, hint), hint)


def read_json_object(path: str | Path, hint: str = "") -> dict[str, Any]:
    """As `read_json`, for a file that must hold a JSON object."""
    values = read_json(path, hint)
    if not isinstance(values, dict):
        raise CorpusError(path, 1, with_hint(f"{truncate_repr(values)} is not a JSON object", hint))
    return values


def read_text(path: str | Path, hint: str = "") -> str:
    """Read a text file in UTF-8, with or without a byte order mark, plain or compressed with gzip.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file.
        CorpusError: the file is empty or not UTF-8; says what it is.
    """
    read_head(path, hint)
    with open_data(path, hint) as file:
        return decode(path, 1, file.read())


def read_lines(path: str | Path, hint: str = "") -> Iterator[tuple[int, str]]:
    """Read the lines of a text file in UTF-8 that are not blank, plain or compressed with gzip.

    Yields:
        Line number, counted from 1, and the line without its end.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file.
        CorpusError: the file is no UTF-8 text; says what it is, or in which line.
    """
    with open_data(path, hint) as lines:
        yield from decode_lines(path, lines, hint)


def decode_text(path: str | Path, content: bytes, hint: str = "") -> str:
    """As `read_text`, for what was read from a file; `path` is its name in errors."""
    _check_kind(path, content[:_HEAD], hint)
    return decode(path, 1, content)


def decode_lines(path: str | Path, lines: IO[bytes], hint: str = "") -> Iterator[tuple[int, str]]:
    """As `read_lines`, for an open file; `path` is its name in errors."""
    for number, line in enumerate(lines, start=1):
        if number == 1:
            _check_kind(path, line[:_HEAD], hint)
        text = decode(path, number, line.rstrip(b"\r\n"))
        if text.strip():
            yield number, text


def read_json_lines(path: str | Path, hint: str = "") -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a file with one JSON object a line; blank lines are skipped.

    Args:
        path: the file, plain or compressed with gzip.
        hint: an example of a right line, appended to the error.

    Yields:
        Line number, counted from 1, and the object.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file.
        CorpusError: the file is a JSON array, or a line is not UTF-8, not JSON, or not an object.
    """
    if read_head(path, hint).lstrip().startswith(b"["):
        problem = "the file is a JSON array, not JSON lines; write one object a line, as `jq -c '.[]' FILE` does"
        raise CorpusError(path, 1, with_hint(problem, hint))
    for number, line in read_lines(path, hint):
        yield number, parse_object(path, number, line, hint)


def parse_object(path: str | Path, number: int, line: str, hint: str = "") -> dict[str, Any]:
    """Parse a line of JSON lines; raises a CorpusError that names it if it is no JSON object."""
    values = _parse(path, number, line, hint)
    if not isinstance(values, dict):
        raise CorpusError(path, number, with_hint(f"{truncate_repr(values)} is not a JSON object", hint))
    return values


def data_name(path: str | Path) -> str:
    """The name of a file without its endings: ``"dev"`` for ``dev.jsonl.gz``."""
    return Path(Path(path).name.removesuffix(".gz")).stem


def read_head(path: str | Path, hint: str = "") -> bytes:
    """Return the first 4,096 bytes of a text file, unpacked and without a byte order mark.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file.
        CorpusError: the file is empty or no UTF-8 text; says what it is.
    """
    with open_data(path, hint) as file:
        head = file.read(_HEAD)
    if not head.strip():
        raise CorpusError(path, 1, with_hint("the file is empty", hint))
    _check_kind(path, head, hint)
    return head.removeprefix(codecs.BOM_UTF8)


def _check_kind(path: str | Path, head: bytes, hint: str) -> None:
    """Raise a CorpusError that says what a file is whose first bytes are no UTF-8 text."""
    kind = next((kind for magic, kind in _KINDS.items() if head.startswith(magic)), None)
    if kind is None and b"\0" in head:
        kind = "binary, or text in another encoding than UTF-8"
    if kind is not None:
        raise CorpusError(path, 1, with_hint(f"the file is {kind}", hint))


@contextmanager
def open_data(path: str | Path, hint: str = "") -> Iterator[IO[bytes]]:
    """Open a file for reading, and unpack it if it is compressed with gzip, whatever its name.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file.
        CorpusError: while it is read, the compressed file is damaged.
    """
    path = require_file(path, hint)
    with path.open("rb") as packed:
        is_compressed = packed.read(len(_GZIP)) == _GZIP
    opener: Any = gzip.open if is_compressed else Path.open
    try:
        with opener(path, "rb") as data:
            yield data
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorpusError(path, "gzip", f"the compressed file is truncated or damaged ({error})") from None


def write_json(value: Any, path: str | Path) -> None:
    """Write a JSON file atomically; NaN and infinity, which JSON does not have, become null."""
    write_text(json.dumps(finite_or_none(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n", path)


def finite_or_none(value: Any) -> Any:
    """Copy a value of JSON, with None in place of each number that is NaN or infinite."""
    if isinstance(value, Mapping):
        return {key: finite_or_none(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite_or_none(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_text(text: str, path: str | Path) -> None:
    """Write a UTF-8 file atomically: a killed process leaves the old file or the new one. Folders are created.

    Half a surrogate pair, which JSON can spell and UTF-8 cannot, is written as ``?``.
    """
    write_bytes(text.encode("utf-8", "replace"), path)


def write_bytes(content: bytes, path: str | Path) -> None:
    """Write a file atomically, as `write_text` does."""
    with atomic_file(path) as unfinished:
        unfinished.write_bytes(content)


@contextmanager
def atomic_file(path: str | Path) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces `path` when the block ends without an error.

    A killed process, and one without space on the disk, leave the old file. Folders are created. What is no file, such
    as ``/dev/stdout``, stays what it is, and is written to.
    """
    if _is_stream(Path(path)):
        with TemporaryDirectory() as folder:
            written = Path(folder) / "content"
            yield written
            with Path(path).open("ab") as stream:
                stream.write(written.read_bytes())
        return
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

    Raises:
        NotADirectoryError: it is a file.
    """
    folder = Path(os.path.realpath(folder))
    if folder.is_file():
        raise NotADirectoryError(f"{folder} is a file; name a folder")
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


def _is_stream(path: Path) -> bool:
    """Whether a path is a pipe or a device, or one of this process's open files, which the shell may have opened."""
    is_open_file = str(path.absolute()).startswith(("/dev/std", "/dev/fd/", "/proc/"))
    return is_open_file or (path.exists() and not path.is_file() and not path.is_dir())


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
        raise IsADirectoryError(with_hint(f"{path} is a folder; give the path of a file", hint))
    if not path.exists():
        raise FileNotFoundError(with_hint(f"{path} does not exist", hint))
    if not path.is_file():
        raise ValueError(f"{path} is a pipe or a device, which can be read only once; write its text to a file first")
    return path


def files_in(folder: Path, is_wanted: Callable[[Path], Any]) -> list[Path]:
    """The files in a folder, its subfolders and those that links lead to, in the order of their names.

    Raises:
        OSError: a folder cannot be read, or is a link into one that holds it.
    """
    found: list[Path] = []

    def refuse(error: OSError) -> None:
        raise error

    for name, subfolders, files in os.walk(folder, onerror=refuse, followlinks=True):
        place = Path(name)
        for subfolder in subfolders:
            is_link, target = (place / subfolder).is_symlink(), (place / subfolder).resolve()
            if is_link and any(holder.resolve() == target for holder in (place, *place.parents)):
                raise OSError(f"{place / subfolder} is a link to a folder that holds it; remove it")
        found += [path for file in files if is_wanted(path := place / file)]
    return sorted(found)


def decode(path: str | Path, first_line: int, content: bytes) -> str:
    """Decode what a file holds from a line on; raises a CorpusError that names the line that is not UTF-8."""
    try:
        return content.decode("utf-8-sig" if first_line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        line = first_line + content.count(b"\n", 0, error.start)
        bad = content[error.start : error.end]
        raise CorpusError(path, line, f"the bytes {bad!r} are not UTF-8; convert the file to UTF-8") from None


def _parse(path: str | Path, first_line: int, text: str, hint: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        shown = truncate_repr(text.strip())
        problem = f"{shown} is not JSON ({error.msg}, column {error.colno})"
        raise CorpusError(path, first_line + error.lineno - 1, with_hint(problem, hint)) from None
    except RecursionError:
        raise CorpusError(path, first_line, with_hint("the JSON is nested too deeply", hint)) from None
    except ValueError as error:  # an integer of thousands of digits
        raise CorpusError(path, first_line, with_hint(f"{truncate_repr(text.strip())}: {error}", hint)) from None


def with_hint(problem: str, hint: str) -> str:
    """A problem, and what to do about it if that is known."""
    return f"{problem}; {hint}" if hint else problem
