"""Checks of text, and values and names as error messages show them. Needs no other library."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

_MAX_CHARACTERS = 80
_MAX_NAMES = 5


def truncate_repr(value: Any) -> str:
    """A value's `repr`, truncated to 80 characters."""
    text = repr(value)
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 3]}..."


def join_names(names: Sequence[str], noun: str = "question") -> str:
    """Count names and list the first five: ``"7 questions ('a', 'b', 'c', 'd', 'e', ...)"``."""
    shown = ", ".join(map(repr, names[:_MAX_NAMES]))
    more = ", ..." if len(names) > _MAX_NAMES else ""
    return f"{len(names)} {noun}{'s' * (len(names) != 1)} ({shown}{more})"


def did_you_mean(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Suggest names that look like a misspelt one: ``"; did you mean X?"``, or ``""``; `prefix` goes before each."""
    names = {each.lower(): each for each in known}
    similar = [prefix + names[match] for match in get_close_matches(name.lower(), names, n=2)]
    return f"; did you mean {' or '.join(similar)}?" if similar else ""


def check_text(value: Any, name: str, allow_blank: bool = False) -> str:
    """Return a string that can be read.

    Args:
        value: what was given.
        name: what to call it in errors.
        allow_blank: whether white space alone is accepted.

    Raises:
        TypeError: it is not a string.
        ValueError: it is blank, or holds half a surrogate pair, which no encoding has.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} is {type(value).__name__} {truncate_repr(value)}; it must be a string")
    if not allow_blank and not value.strip():
        raise ValueError(f"{name} is {truncate_repr(value)}; it must hold at least one word")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name}: character {error.start}, {value[error.start]!r}, is half of a surrogate pair; repair it with "
            '.encode("utf-16", "surrogatepass").decode("utf-16", "replace")'
        ) from None
    return value
