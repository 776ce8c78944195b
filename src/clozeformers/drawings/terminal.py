"""Draw results for a terminal: lines of text whose parts are marked by brackets or colours."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

_BAR = 20  # characters
_BRACKETS = {"cue": ("[", "]"), "scope": ("{", "}"), "answer": ("[", "]")}
STYLES = {"cue": "bold red", "scope": "underline green", "answer": "bold green", "bar": "blue"}  # as Rich names them
_CODES = {"bold": 1, "underline": 4, "red": 31, "green": 32, "blue": 34}


class Part(NamedTuple):
    """A part of a line; its kind is one of `STYLES`, or empty."""

    text: str
    kind: str = ""


Line = Sequence[Part]


def terminal_has_colour() -> bool:
    """Whether the standard output is a terminal with colours and NO_COLOR is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def to_text(lines: Iterable[Line], colour: bool) -> str:
    """Join lines, with parts marked by colours or else by brackets: ``[cue]``, ``{scope}``, ``[answer]``."""
    return "\n".join("".join(_marked(*part, colour) for part in line) for line in lines)


def _marked(text: str, kind: str, colour: bool) -> str:
    if colour and kind:
        codes = ";".join(str(_CODES[name]) for name in STYLES[kind].split())
        return f"\x1b[{codes}m{text}\x1b[0m"
    before, after = _BRACKETS.get(kind, ("", ""))
    return f"{before}{text}{after}"


def printable(text: str) -> str:
    """Replace line breaks, which would end a line, and other control characters, which could steer the terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


def bars(named: Sequence[tuple[str, float]]) -> list[Line]:
    """A line a name: its probability, a bar, and the name."""
    return [
        [Part(f"{score:5.2f} "), Part(bar := "█" * round(_BAR * score), "bar"), Part(f"{'':{_BAR - len(bar)}} {name}")]
        for name, score in named
    ]


def line(text: str, marks: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]) -> Line:
    """A text on one line, with the spans of each kind marked; later kinds replace earlier ones."""
    kinds = [""] * len(text)
    for kind, spans in marks:
        for span in spans:
            kinds[span["start"] : span["end"]] = [kind] * (span["end"] - span["start"])
    pairs = groupby(zip(kinds, printable(text), strict=True), key=itemgetter(0))
    return [Part("".join(character for _, character in group), kind) for kind, group in pairs]
