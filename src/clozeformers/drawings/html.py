"""HTML that the drawings of all tasks share; text from outside becomes HTML here, and is escaped here."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

STYLE = Path(__file__).with_name("style.css")


class Html(str):
    """A string that is HTML; every other string is text, and escaped."""

    __slots__ = ()


class Span(NamedTuple):
    """A word of a text with a number, such as a probability or a weight: characters ``[start:end]``."""

    start: int
    end: int
    value: float


def join(parts: Iterable[str]) -> Html:
    """Concatenate HTML and text."""
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def element(name: str, *content: str, **attributes: str | float | None) -> Html:
    """An element; ``class_`` is `class`, ``aria_label`` is `aria-label`, and an attribute that is None is left out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{given}>{join(content)}</{name}>")


def drawing(*content: str) -> Html:
    """The outermost element, to which the style sheet applies."""
    return element("div", *content, class_="cf")


def note(text: str) -> Html:
    """A sentence about the result."""
    return element("p", text, class_="cf-note")


def number(value: float) -> str:
    """Two digits, or three below 0.1; a dash for what is no finite number."""
    if not math.isfinite(value):
        return "–"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.3f}"


def fraction(value: float, of: float = 1.0) -> str:
    """A length for the style sheet, from 0 to 1."""
    share = value / of if of > 0 else 0.0
    return f"{min(max(share, 0.0), 1.0):.3f}" if math.isfinite(share) else "0"


def bar(value: float) -> Html:
    """A bar for a probability, with the number beside it."""
    shape = element("span", class_="cf-bar", style=f"--v:{fraction(value)}", aria_hidden="true")
    return join([shape, element("span", number(value), class_="cf-number")])


def heat_map(text: str, words: Sequence[Span], label: str, most: float = 1.0) -> Html:
    """A text whose words are the darker the higher their numbers, which a hovering pointer shows.

    Args:
        text: the text.
        words: of the text, in its order.
        label: says what the numbers are.
        most: the number of the darkest colour.
    """
    parts: list[str] = []
    place = words[0].start if words else 0
    for start, end, value in words:
        parts.append(text[place:start])
        heat = f"--v:{fraction(value, most)}"
        parts.append(element("span", text[start:end], class_="cf-heat", style=heat, title=number(value)))
        place = end
    return element("figure", element("figcaption", label), element("p", *parts, class_="cf-text"))


def table(caption: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[float]]]) -> Html:
    """A table of words and their numbers, which scrolls by itself where it is wider than the page."""
    head = element("tr", *(element("th", column, scope="col") for column in columns))
    body = [
        element("tr", element("th", word, scope="row"), *(element("td", number(value)) for value in values))
        for word, values in rows
    ]
    grid = element("table", element("caption", caption), element("thead", head), element("tbody", *body))
    return element("div", grid, class_="cf-scroll", role="region", tabindex=0, aria_label=caption)


def details(summary: str, *content: str, is_open: bool = False) -> Html:
    """Content that a click or a key shows and hides."""
    return element("details", element("summary", summary), *content, open="" if is_open else None)


def cut(text: str, edges: Iterable[int]) -> list[tuple[int, int]]:
    """Cut a text at some characters; the pieces ``[start:end]``, none of them empty."""
    places = sorted({0, len(text), *(edge for edge in edges if 0 < edge < len(text))})
    return list(pairwise(places))


def covering(starts: Sequence[int], ends: Sequence[int], place: int) -> int | None:
    """The index of the word that covers a character, given the sorted starts of all words and their ends."""
    index = bisect_right(starts, place) - 1
    return index if index >= 0 and place < ends[index] else None
