"""Draw cues and scopes in a text."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

_COLOURS = {"cue": ("\x1b[1;31m", "\x1b[0m"), "scope": ("\x1b[4;32m", "\x1b[0m")}
_BRACKETS = {"cue": ("[", "]"), "scope": ("{", "}")}


def terminal_has_colour() -> bool:
    """Whether the standard output is a terminal with colours and NO_COLOR is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def show_scopes(text: str, results: Sequence[Mapping[str, Any]], colour: bool) -> str:
    """Mark cue and scope in a text.

    Args:
        text: the input of `pipeline("negation-scope")`.
        results: its results.
        colour: show the cue in bold red and the scope in green, underlined; else ``[cue]`` and ``{scope}``.

    Returns:
        One line a cue, or the text on one line if it has none.
    """
    # A line break would end the cue's line, and other control characters could steer the terminal.
    text = "".join(character if character.isprintable() else " " for character in text)
    marks = _COLOURS if colour else _BRACKETS
    return "\n".join(_mark(text, result, marks) for result in results) if results else text


def _mark(text: str, result: Mapping[str, Any], marks: Mapping[str, tuple[str, str]]) -> str:
    kinds = [""] * len(text)
    # The cue last: it replaces the scope where they overlap.
    for kind, spans in (("scope", result["scope"]), ("cue", result["cue"].get("parts", [result["cue"]]))):
        for span in spans:
            kinds[span["start"] : span["end"]] = [kind] * (span["end"] - span["start"])
    marked = []
    for kind, pairs in groupby(zip(kinds, text, strict=True), key=itemgetter(0)):
        before, after = marks.get(kind, ("", ""))
        marked.append(before + "".join(character for _, character in pairs) + after)
    return "".join(marked)
