"""Negation corpora of every format as one kind of dataset."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

from datasets import Dataset

from .bioscope import read_bioscope
from .cd_sco import read_cd_sco
from .jsonl import read_negation_jsonl
from .schema import KINDS, NEGATION_FEATURES, Kind, NegationRow
from .sfu import read_sfu

NegationFormat = Literal["cd-sco", "bioscope", "sfu", "jsonl"]
NEGATION_FORMATS: tuple[NegationFormat, ...] = get_args(NegationFormat)


def load_corpus(
    path: str | Path, format: NegationFormat, kind: Kind = "negation", without_cues: bool = False
) -> Dataset:
    """Load a corpus of cues and their scopes.

    Args:
        path: the corpus as downloaded: for ``"cd-sco"`` and ``"jsonl"`` a file; for ``"bioscope"`` and ``"sfu"`` an
            ``.xml`` file, or a folder that holds some.
        format: ``"cd-sco"`` (:func:`~clozeformers.negation_scope.corpora.cd_sco.read_cd_sco`), ``"bioscope"``
            (:func:`~clozeformers.negation_scope.corpora.bioscope.read_bioscope`), ``"sfu"``
            (:func:`~clozeformers.negation_scope.corpora.sfu.read_sfu`) or ``"jsonl"``
            (:func:`~clozeformers.negation_scope.corpora.jsonl.read_negation_jsonl`).
        kind: ``"negation"`` or ``"speculation"``; CD-SCO has negation only.
        without_cues: also give the sentences without a cue of this kind.

    Returns:
        One row a cue: ``id``, ``corpus``, ``kind``, ``tokens``, ``cue`` (0 or 1 a token), ``cue_text`` and ``scope``
        (0 or 1 a token). It is held in memory; nothing is written to a cache, so a changed file is read anew.

    Raises:
        ValueError: an unknown format or kind, a kind that the format does not have, or a corpus without any cue of
            this kind.
        FileNotFoundError: no such path, or no ``.xml`` file in the folder.
        IsADirectoryError: a folder where the format is one file.
        CorpusError: a file is damaged; says where.
    """
    if format not in NEGATION_FORMATS:
        raise ValueError(f"format is {format!r}; it must be one of {', '.join(map(repr, NEGATION_FORMATS))}")
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it must be {' or '.join(map(repr, KINDS))}")
    rows = list(_read(Path(path), format, kind, without_cues))
    if not any(any(row["cue"]) for row in rows):
        raise ValueError(f"{path} holds no {kind} cue (read as format {format!r}); is it the right file, and kind?")
    return Dataset.from_list(rows, features=NEGATION_FEATURES)


def _read(path: Path, format: NegationFormat, kind: Kind, without_cues: bool) -> Iterator[NegationRow]:
    if format == "bioscope":
        return read_bioscope(path, kind, without_cues)
    if format == "sfu":
        return read_sfu(path, kind, without_cues)
    _check_is_file(path, format)
    if format == "cd-sco":
        return read_cd_sco(path, kind, without_cues)
    return (row for row in read_negation_jsonl(path) if row["kind"] == kind and (without_cues or any(row["cue"])))


def _check_is_file(path: Path, format: NegationFormat) -> None:
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; format {format!r} reads one file, give the path of that")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; format {format!r} reads one file, give the path of that")
