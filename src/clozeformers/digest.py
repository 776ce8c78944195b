"""Digests: whether files are those of an earlier command."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from .files import files_in

_BLOCK = 1 << 20


def digest(path: Path) -> str:
    """A digest of a file, or of all files of a folder; 16 hexadecimal digits."""
    return _digest([path] if path.is_file() else files_in(path, Path.is_file))


def model_digest(folder: Path) -> str:
    """As `digest`, of the files of a model, which lie in its folder; what was trained or predicted below it is none."""
    return _digest(sorted(file for file in folder.iterdir() if file.is_file() and file.name != "README.md"))


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        own = hashlib.sha256()
        with file.open("rb") as content:
            while block := content.read(_BLOCK):
                own.update(block)
        digest.update(own.digest())
    return digest.hexdigest()[:16]
