"""Values and questions as error messages show them.

Needs no other library, so that it can travel beside a checkpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_MOST_CHARACTERS = 80
_MOST_QUESTIONS = 5


def short(value: Any) -> str:
    """A value's `repr`, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 3]}..."


def named(questions: Sequence[str]) -> str:
    """Say how many questions, and name the first."""
    names = ", ".join(map(repr, questions[:_MOST_QUESTIONS]))
    more = ", ..." if len(questions) > _MOST_QUESTIONS else ""
    return f"{len(questions)} question{'s' * (len(questions) != 1)} ({names}{more})"
