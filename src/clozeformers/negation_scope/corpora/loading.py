"""Load negation corpora of every format as one kind of dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Literal

from datasets import Dataset

from ...files import read_head
from ...rows import is_csv, is_parquet
from .bioscope import read_bioscope
from .cd_sco import read_cd_sco
from .jsonl import read_negation_jsonl
from .schema import KINDS, NEGATION_FEATURES, Kind, NegationRow
from .sfu import read_sfu
from .xml_corpus import xml_files

NegationFormat = Literal["cd-sco", "bioscope", "sfu", "jsonl"]


def load_corpus(
    path: str | Path, format: NegationFormat | None = None, kind: Kind = "negation", without_cues: bool = False
) -> Dataset:
    """Load a corpus of cues and their scopes.

    Args:
        path: the corpus as downloaded: for ``"cd-sco"`` and ``"jsonl"`` a file; for ``"bioscope"`` and ``"sfu"`` an
            ``.xml`` file, or a folder that holds some. Each file may be compressed with gzip. ``"jsonl"`` also reads
            CSV and Parquet.
        format: ``"cd-sco"``, ``"bioscope"``, ``"sfu"`` or ``"jsonl"`` (see the modules of `corpora`); None detects it.
        kind: ``"negation"`` or ``"speculation"``; CD-SCO has negation only.
        without_cues: also return the sentences without a cue of this kind, with cue and scope all 0.

    Returns:
        One row a cue, as in `NegationRow`; in memory, nothing is cached on disk.

    Raises:
        ValueError: an unknown format or kind, a format that cannot be detected, a kind that the format does not have,
            or a corpus without any cue of this kind.
        FileNotFoundError: no such path, or no ``.xml`` file in the folder.
        IsADirectoryError: a folder where the format is one file.
        CorpusError: a file is damaged; says where.
    """
    format = format or detect_format(path)
    readers: dict[str, Callable[[str | Path], Iterator[NegationRow]]] = {
        "cd-sco": read_cd_sco,
        "bioscope": partial(read_bioscope, kind=kind),
        "sfu": partial(read_sfu, kind=kind),
        "jsonl": read_negation_jsonl,
    }
    if format not in readers:
        raise ValueError(f"format is {format!r}; it must be one of {', '.join(map(repr, readers))}")
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it must be {' or '.join(map(repr, KINDS))}")
    if format == "cd-sco" and kind != "negation":
        raise ValueError(f"CD-SCO has no {kind}: it annotates negation only; use kind='negation'")
    rows = [row for row in readers[format](path) if row["kind"] == kind and (without_cues or any(row["cue"]))]
    if not any(any(row["cue"]) for row in rows):
        raise ValueError(f"{path} holds no {kind} cue (read as format {format!r}); is it the right file, and kind?")
    return Dataset.from_list(rows, features=NEGATION_FEATURES)


def detect_format(path: str | Path) -> NegationFormat:
    """Detect the format of a corpus, a file or a folder of XML files, from its first characters.

    Raises:
        FileNotFoundError: the path does not exist, or is a folder without ``.xml`` files.
        ValueError: no format matches.
    """
    place = Path(path)
    if not str(path) or not place.exists():
        raise FileNotFoundError(f"{str(path)!r} does not exist")
    first = xml_files(place)[0] if place.is_dir() else place
    if is_csv(first) or is_parquet(first):
        return "jsonl"
    head = read_head(first)
    if b"<Annotation" in head:
        return "bioscope"
    if b"<DOCUMENT" in head:
        return "sfu"
    if head.lstrip()[:1] in (b"{", b"["):
        return "jsonl"
    if head.split(b"\n", 1)[0].count(b"\t") >= 7:
        return "cd-sco"
    raise ValueError(
        f"{path} looks like none of the formats cd-sco, bioscope, sfu and jsonl; name it with format= (--corpus_format)"
    )
