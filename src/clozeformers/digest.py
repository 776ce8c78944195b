"""Digests: whether files are those of an earlier command."""

from __future__ import annotations

import hashlib
from pathlib import Path

from .files import files_in

_BLOCK = 1 << 20


def digest(path: Path) -> str:
    """A digest of a file, or of all files of a folder; 16 hexadecimal digits."""
    files = [path] if path.is_file() else files_in(path, Path.is_file)
    digest = hashlib.sha256()
    for file in files:
        own = hashlib.sha256()
        with file.open("rb") as content:
            while block := content.read(_BLOCK):
                own.update(block)
        digest.update(own.digest())
    return digest.hexdigest()[:16]
