"""The error of every reader of files."""

from __future__ import annotations

from pathlib import Path


class CorpusError(ValueError):
    """A corpus file that cannot be read: says which file, where in it, what is wrong, and what would be right."""

    def __init__(self, path: str | Path, where: str | int, problem: str) -> None:
        """Args: ``where`` is a line number (from 1) or, for XML, the element with its line."""
        place = f"line {where}" if isinstance(where, int) else where
        super().__init__(f"{path}, {place}: {problem}")
        self.path = Path(path)
        self.where = where
