"""Predictions on the disk: whole shards with a manifest, which an interrupted command goes on from."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ..files import finite_or_none, read_json_object, remove_unfinished, write_bytes, write_json
from .predictor import ERROR, PREDICTION
from .sources import Row

FORMATS = ("jsonl", "jsonl.gz", "csv", "csv.gz", "parquet")
MANIFEST = "manifest.json"


class Shard(NamedTuple):
    """Consecutive rows of a source, and their number among the shards."""

    number: int
    rows: list[Row]


class Shards:
    """A folder of shards: ``part-00000.jsonl``, ``part-00001.jsonl``, ...

    A file is there when it is complete, so that a killed command loses the shards in work only, and another one that
    is given the same settings writes the same bytes.

    Args:
        folder: is created.
        settings: what decides the predictions; kept in ``manifest.json``.
        format: of the files, one of `FORMATS`.
        rows_per_shard: all but the last have as many.

    Raises:
        ValueError: the folder holds predictions of other settings.
    """

    def __init__(self, folder: Path, settings: dict[str, Any], format: str, rows_per_shard: int) -> None:
        self.folder, self.format, self.rows_per_shard = folder, format, rows_per_shard
        self.settings = settings | {"format": format, "rows_per_shard": rows_per_shard}

    def begin(self) -> None:
        """Check the folder, and remove what a killed command has left unfinished."""
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

    def waiting(self, rows: Iterable[Row], turn: int = 0, workers: int = 1) -> Iterator[Shard]:
        """Cut rows into the shards that are not there yet; of several workers, each has its turn."""
        iterator, number = iter(rows), 0
        while own := list(islice(iterator, self.rows_per_shard)):
            if number % workers == turn and not self.path(number).exists():
                yield Shard(number, own)
            number += 1

    def path(self, number: int) -> Path:
        """The file of a shard."""
        return self.folder / f"part-{number:05d}.{self.format}"

    def write(self, shard: Shard, predicted: dict[str, list[str]]) -> int:
        """Write a shard with its predictions; return the number of rows with an error."""
        pairs = zip(shard.rows, predicted[PREDICTION], predicted[ERROR], strict=True)
        rows = [row | {PREDICTION: prediction, ERROR: error} for row, prediction, error in pairs]
        content = _ENCODERS[self.format.removesuffix(".gz")](rows)
        # Without a time, so that the same rows are the same bytes.
        content = gzip.compress(content, mtime=0) if self.format.endswith(".gz") else content
        write_bytes(content, self.path(shard.number))
        return sum(map(bool, predicted[ERROR]))

    def finish(self) -> None:
        """Say in the manifest that nothing is missing."""
        parts = sorted(path.name for path in self.folder.glob("part-*"))
        write_json({"settings": self.settings, "finished": True, "files": parts}, self.folder / MANIFEST)


def columns_of(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Rows as columns; None where a row has no value."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _json_lines(rows: Sequence[Row]) -> bytes:
    shown = (row | {PREDICTION: json.loads(row[PREDICTION]) if row[PREDICTION] else None} for row in rows)
    lines = (json.dumps(finite_or_none(row), ensure_ascii=False, default=str) for row in shown)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _csv(rows: Sequence[Row]) -> bytes:
    written = io.StringIO()
    writer = csv.DictWriter(written, list(columns_of(rows)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return written.getvalue().encode("utf-8", "replace")


def _parquet(rows: Sequence[Row]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    written = io.BytesIO()
    try:
        pq.write_table(pa.table(columns_of(rows)), written)
    except pa.ArrowException as error:
        raise ValueError(f"a column has values of several types ({error}); give --format jsonl") from None
    return written.getvalue()


_ENCODERS: dict[str, Callable[[Sequence[Row]], bytes]] = {"jsonl": _json_lines, "csv": _csv, "parquet": _parquet}
