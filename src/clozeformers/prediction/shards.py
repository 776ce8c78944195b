"""Predictions on the disk: whole shards with a manifest, which an interrupted command goes on from."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ..files import read_json_object, remove_unfinished, write_bytes, write_json
from .formats import FORMATS, RESULTS, Columns
from .predictor import ERROR, PREDICTION
from .sources import Placed, Row

MANIFEST = "manifest.json"


Predicted = dict[str, list[str]]


class Shard(NamedTuple):
    """Consecutive rows of a source.

    Attributes:
        number: among the shards.
        rows: with their places.
        columns: the same by column.
        known: of a shard that is there already, the errors of its rows.
    """

    number: int
    rows: list[Placed]
    columns: Columns
    known: Predicted | None = None


class Shards:
    """A folder of shards: ``part-0000000.jsonl``, ``part-0000001.jsonl``, ...

    A file is there when it is complete, so that a killed command loses the shards in work only, and another one that
    is given the same settings writes the same bytes.

    Args:
        folder: is created.
        settings: what decides the predictions; kept in ``manifest.json``.
        format: of the files, one of `FORMATS`.
        rows_per_shard: all but the last have as many.
        schema: of the source, for Parquet; by default that of the first shard.
    """

    def __init__(
        self, folder: Path, settings: dict[str, Any], format: str, rows_per_shard: int, schema: Any = None
    ) -> None:
        self.folder, self.format, self.rows_per_shard = folder, format, rows_per_shard
        self.settings = settings | {"format": format, "rows_per_shard": rows_per_shard}
        self._format = FORMATS[format]
        self._layout = schema
        self._written: list[Path] = []

    def begin(self) -> None:
        """Check the folder, and remove what a killed command has left unfinished.

        Raises:
            ValueError: the folder holds predictions of other settings.
        """
        manifest = self.folder / MANIFEST
        if any(self.folder.glob("part-*")):
            known = read_json_object(manifest, "give another folder").get("settings")
            if not isinstance(known, dict):
                raise ValueError(f"{manifest} is damaged: it has no settings; give another folder")
            changed = sorted(name for name in known | self.settings if known.get(name) != self.settings.get(name))
            if changed:
                raise ValueError(
                    f"{self.folder} holds predictions of another command, whose {', '.join(changed)} differed; give "
                    "another folder, or the same settings to go on"
                )
        self.folder.mkdir(parents=True, exist_ok=True)
        remove_unfinished(self.folder)
        write_json({"settings": self.settings, "finished": False}, manifest)

    def waiting(self, rows: Iterable[Placed], turn: int = 0, workers: int = 1) -> Iterator[Shard]:
        """Cut rows into shards; of several workers, each has its turn. Those that are there have their errors.

        Raises:
            ValueError: a shard that is there holds other rows, as the source has changed; then what this command has
                written is removed. A table has a row with a column that its first shard lacks.
        """
        iterator, number, names = iter(rows), 0, dict[str, None]()
        while own := list(islice(iterator, self.rows_per_shard)):
            own_names = dict.fromkeys(name for _, row in own for name in row)
            names = names or own_names
            shard = Shard(number, own, {name: [row.get(name) for _, row in own] for name in names | own_names})
            self._layout = self._format.layout(shard.columns) if self._layout is None else self._layout
            if self._layout is not None and own_names.keys() - names.keys():
                raise self._new_column(shard, names)
            if number % workers == turn:
                yield shard._replace(known=self._read(shard)) if self.path(number).exists() else shard
            number += 1
        for path in self.folder.glob("part-*"):
            if path.name >= self.path(number).name:
                raise self._changed(path)

    def _read(self, shard: Shard) -> Predicted:
        """The errors in the file of a shard, which must hold its rows."""
        path = self.path(shard.number)
        known = self._format.decode(path)
        rows = [{name: value for name, value in row.items() if name not in RESULTS} for row in known]
        if not rows or not shard.columns.keys().isdisjoint(RESULTS) or not all(ERROR in row for row in known):
            raise self._changed(path)
        if self._encode(rows) != self._encode([row for _, row in shard.rows]):
            raise self._changed(path)
        return {ERROR: [row[ERROR] or "" for row in known]}

    def _changed(self, path: Path) -> ValueError:
        for written in self._written:
            written.unlink(missing_ok=True)
        return ValueError(f"{path} holds other rows than the source has now; give another folder")

    def _new_column(self, shard: Shard, names: Iterable[str]) -> ValueError:
        place, name = next((place, name) for place, row in shard.rows for name in row if name not in names)
        return ValueError(
            f"{place}: none of the first {self.rows_per_shard} rows has the column {name!r}, and all parts of a table "
            "have the same columns; give --format jsonl"
        )

    def _encode(self, rows: list[Row]) -> bytes:
        try:
            return self._format.encode(rows, self._layout)
        except RecursionError:
            raise ValueError("a row is nested too deeply") from None

    def path(self, number: int) -> Path:
        """The file of a shard; in the order of the names, there may be ten million."""
        return self.folder / f"part-{number:07d}.{self.format}"

    def write(self, shard: Shard, predicted: Predicted) -> None:
        """Write a shard with its predictions."""
        pairs = zip(shard.rows, predicted[PREDICTION], predicted[ERROR], strict=True)
        rows = [row | {PREDICTION: prediction, ERROR: error} for (_, row), prediction, error in pairs]
        content = self._encode(rows)
        # Without a time, so that the same rows are the same bytes.
        content = gzip.compress(content, mtime=0) if self.format.endswith(".gz") else content
        write_bytes(content, self.path(shard.number))
        self._written.append(self.path(shard.number))

    def finish(self) -> None:
        """Say in the manifest that nothing is missing."""
        parts = sorted(path.name for path in self.folder.glob("part-*"))
        write_json({"settings": self.settings, "finished": True, "files": parts}, self.folder / MANIFEST)
