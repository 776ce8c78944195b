"""Telling a negation corpus's format from the file itself."""

from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path

from .loading import NegationFormat


def detect_format(path: str | Path) -> NegationFormat:
    """Name the format of a corpus, as `load_corpus` takes it.

    Args:
        path: a file, or a folder of XML files.

    Returns:
        `"cd-sco"`, `"bioscope"`, `"sfu"` or `"jsonl"`.

    Raises:
        FileNotFoundError: if there is nothing.
        ValueError: if it looks like none of them.
    """
    place = Path(path)
    if not str(path) or not place.exists():
        raise FileNotFoundError(f"no such file or folder: {path!r}")
    first = next((file for file in sorted(place.rglob("*.xml")) if file.is_file()), None) if place.is_dir() else place
    if first is not None:
        with first.open("rb") as file:
            head = file.read(4096).removeprefix(BOM_UTF8)
        if b"<Annotation" in head:
            return "bioscope"
        if b"<DOCUMENT" in head:
            return "sfu"
        if head.lstrip()[:1] == b"{":
            return "jsonl"
        if head.split(b"\n", 1)[0].count(b"\t") >= 7:
            return "cd-sco"
    raise ValueError(
        f"{path} looks like none of the corpus formats; name it: --corpus_format cd-sco, bioscope, sfu or jsonl"
    )
