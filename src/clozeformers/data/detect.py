"""Telling a negation corpus's format from the file itself."""

from __future__ import annotations

from pathlib import Path

from .negation_corpora import NegationFormat


def detect_format(path: str | Path) -> NegationFormat:
    """Name the format of a corpus, as `load_negation_corpus` takes it.

    Args:
        path: a file, or a folder of XML files.

    Returns:
        `"cd-sco"`, `"bioscope"`, `"sfu"` or `"jsonl"`.

    Raises:
        FileNotFoundError: if there is nothing.
        ValueError: if it looks like none of them.
    """
    place = Path(path)
    if not place.exists():
        raise FileNotFoundError(f"no such file or folder: {path}")
    first = next(iter(sorted(place.rglob("*.xml"))), None) if place.is_dir() else place
    if first is not None:
        with first.open("rb") as file:
            head = file.read(4096)
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
