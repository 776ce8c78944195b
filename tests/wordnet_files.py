"""A small dictionary in WordNet's own file format, wndb(5WN)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from clozeformers.abstract_cloze.wordnet_install import lexnames

SATELLITE = "adjective satellite"
PARTS = {"noun": ("noun", "n"), "verb": ("verb", "v"), "adjective": ("adj", "a"), "adverb": ("adv", "r")}
ENTRIES = {
    "murder": {
        "noun": ["unlawful premeditated killing of a human being"],
        "verb": ["kill intentionally and with premeditation", "alter so as to make unrecognizable"],
    },
    "find": {"verb": ["come upon, as if by accident"]},
    "found": {"verb": ['set up or found; "She founded a school"']},
    "secret": {"noun": ["something kept hidden"], "adjective": ["not open or public"]},
    "hidden": {SATELLITE: ["not accessible to view"]},
    "white_house": {"noun": ["the executive department of the United States"]},
    "well-known": {"adjective": ["widely or fully known"]},
    "within": {"adverb": ["on the inside"]},
    "intent": {"noun": ["an anticipated outcome"]},
}
IRREGULAR = {"verb": {"found": "find", "hid": "hide"}}
_LICENCE = "  1 WordNet 3.0 Copyright 2006  \n"


def write_wordnet(
    folder: str | Path,
    entries: Mapping[str, Mapping[str, Sequence[str]]] = ENTRIES,
    irregular: Mapping[str, Mapping[str, str]] = IRREGULAR,
    hypernyms: Mapping[str, str] | None = None,
) -> Path:
    """Write a dictionary that NLTK's reader can read.

    Args:
        folder: is made; ``<home>/corpora/wordnet`` is found where ``CLOZEFORMERS_HOME`` is ``<home>``.
        entries: for each word, in lower case and with ``_`` for a space, the glosses by part of speech; a satellite
            belongs to the first adjective. Examples may follow a definition.
        irregular: by part of speech, inflected forms and their base forms.
        hypernyms: for nouns, the more general noun, both by their first sense.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for part, (ending, letter) in PARTS.items():
        senses = [Sense(word, letter, gloss) for word, parts in entries.items() for gloss in parts.get(part, ())]
        if part == "adjective":
            senses += [Sense(word, "s", gloss) for word, parts in entries.items() for gloss in parts.get(SATELLITE, ())]
        more_general = hypernyms if part == "noun" and hypernyms else {}
        # Offsets always take eight digits, so the lines are as long with the right ones as with any.
        lengths = [len(line) for line in _data_lines(senses, [0] * len(senses), more_general)]
        offsets = [len(_LICENCE) + sum(lengths[:number]) for number in range(len(senses))]
        forms = sorted(f"{form} {base}\n" for form, base in irregular.get(part, {}).items())
        files = {
            f"data.{ending}": [_LICENCE, *_data_lines(senses, offsets, more_general)],
            f"index.{ending}": [_LICENCE, *_index_lines(senses, offsets, letter)],
            f"{ending}.exc": forms or ["unused used\n"],
        }
        for name, lines in files.items():
            (folder / name).write_text("".join(lines), encoding="ascii", newline="\n")
    (folder / "lexnames").write_text(lexnames(), encoding="ascii", newline="\n")
    return folder


class Sense(NamedTuple):
    word: str
    type: str  # "s" for an adjective satellite
    gloss: str


def _data_lines(senses: Sequence[Sense], offsets: Sequence[int], hypernyms: Mapping[str, str]) -> list[str]:
    first = {sense.word: offset for sense, offset in reversed(list(zip(senses, offsets, strict=True)))}
    lines = []
    for sense, offset in zip(senses, offsets, strict=True):
        pointers = "000"
        if sense.type == "s":
            pointers = f"001 & {offsets[0]:08} a 0000"
        elif sense.word in hypernyms:
            pointers = f"001 @ {first[hypernyms[sense.word]]:08} n 0000"
        frames = " 00" if sense.type == "v" else ""
        lines.append(f"{offset:08} 03 {sense.type} 01 {sense.word} 0 {pointers}{frames} | {sense.gloss}  \n")
    return lines


def _index_lines(senses: Sequence[Sense], offsets: Sequence[int], letter: str) -> list[str]:
    found: dict[str, list[str]] = {}
    for sense, offset in zip(senses, offsets, strict=True):
        found.setdefault(sense.word, []).append(f"{offset:08}")
    return [f"{word} {letter} {len(own)} 0 {len(own)} 0 {' '.join(own)}  \n" for word, own in sorted(found.items())]
