"""Draw the results of `pipeline("negation-scope")` as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .html import Html, Span, covering, cut, details, drawing, element, heat_map, note, number, table

_STYLES = 6  # colours and lines of the style sheet; numbers tell further cues apart
Cue = Mapping[str, Any]


class CueReading(NamedTuple):
    """What the words of a sentence read through a cue.

    Attributes:
        pieces: the word pieces of the cue.
        weights: for each word, its attention to each piece, the mean over heads and blocks.
        lengths: for each word, the length of the vector that the attention adds to it, the mean over blocks.
    """

    pieces: list[str]
    weights: list[list[float]]
    lengths: list[float]


def draw_negation(text: str, cues: Sequence[Cue], readings: Sequence[CueReading] | str = "") -> Html:
    """Draw cues and scopes into a text, and list them.

    Args:
        text: the input of the pipeline.
        cues: its results, best with ``return_words=True``: the words' probabilities are drawn too.
        readings: for each of the first cues, what the words read through it; or a sentence that says why this is not
            drawn.
    """
    if not cues:
        return drawing(element("p", text, class_="cf-text"), note("No negation cue was found."))
    reasons: list[str] = [note(readings)] if isinstance(readings, str) and readings else []
    given: Sequence[CueReading | None] = [None] * len(cues) if isinstance(readings, str) else readings
    items = [
        element(
            "li", _summary(n, cue), *(_words(text, n, cue, reading) for reading in given[n - 1 : n]), class_=_style(n)
        )
        for n, cue in enumerate(cues, 1)
    ]
    if len(given) < len(cues):
        reasons.append(note(f"The words are shown for the first {len(given)} cues."))
    return drawing(_marked(text, cues), element("ol", *items, class_="cf-cues"), *reasons)


def _parts(cue: Cue) -> Sequence[Mapping[str, Any]]:
    parts: Sequence[Mapping[str, Any]] = cue["cue"].get("parts", [cue["cue"]])
    return parts


def cue_name(cue: Cue) -> str:
    """The text of a cue, that of its parts if there are several."""
    return " … ".join(part["text"] for part in _parts(cue))


def _style(n: int) -> str:
    return f"cf-cue-{(n - 1) % _STYLES + 1}"


def _summary(n: int, cue: Cue) -> Html:
    """One line on a cue: its number, words, scope and score."""
    scope = " … ".join(span["text"] for span in cue["scope"])
    words = element("q", scope) if scope else "no words"
    mark = element("mark", cue_name(cue), class_="cf-mark")
    score = element("span", "score ", number(cue["score"]), class_="cf-number")
    return element("p", element("b", f"{n} "), mark, " negates ", words, ", ", score)


def _marked(text: str, cues: Sequence[Cue]) -> Html:
    """The text with every cue marked, and a line below each scope: lines of scopes that overlap are at two heights."""
    levels = _levels(cues)
    marks = [
        (span["start"], span["end"], n, kind)
        for n, cue in enumerate(cues, 1)
        for kind, spans in (("scope", cue["scope"]), ("cue", _parts(cue)))
        for span in spans
    ]
    titles = _titles(cues)
    starts, ends = [start for start, _ in titles], [end for _, end in titles]
    hovers = list(titles.values())
    edges = [edge for start, end, *_ in marks for edge in (start, end)]
    pieces = []
    for start, end in cut(text, [*edges, *starts, *ends]):
        word = covering(starts, ends, start)
        piece = element("span", text[start:end], title=None if word is None else hovers[word])
        for first, last, n, kind in marks:
            if first <= start < last:
                label = [element("sup", str(n), aria_hidden="true")] if first == start else []
                style = f"--level:{levels[n - 1]}"
                piece = element("span", *label, piece, class_=f"cf-{kind} {_style(n)}", style=style)
        pieces.append(piece)
    return element("p", *pieces, class_="cf-text cf-negation", style=f"--levels:{max(levels) + 1}")


def _levels(cues: Sequence[Cue]) -> list[int]:
    """The height of each cue's lines: the first at which it meets no other."""
    last_ends: list[int] = []
    levels = []
    for cue in cues:
        spans = [*cue["scope"], *_parts(cue)]
        start, end = min(span["start"] for span in spans), max(span["end"] for span in spans)
        level = next((level for level, last in enumerate(last_ends) if last <= start), len(last_ends))
        last_ends[level : level + 1] = [end]
        levels.append(level)
    return levels


def _titles(cues: Sequence[Cue]) -> dict[tuple[int, int], str]:
    """For each word, in the order of the text, its probabilities to be in the scopes of the cues of its sentence."""
    lines: dict[tuple[int, int], list[str]] = {}
    for n, cue in enumerate(cues, 1):
        for word in cue.get("words", ()):
            line = f"in the scope of {n} ({cue_name(cue)}): {number(word['probability'])}"
            lines.setdefault((word["start"], word["end"]), []).append(line)
    return {span: "\n".join(lines[span]) for span in sorted(lines)}


def _words(text: str, n: int, cue: Cue, reading: CueReading | None) -> Html:
    """The numbers of a cue's words: maps and a table, which are open for the first cue."""
    words = cue.get("words", ())
    if not words:
        return Html("")
    places = [(word["start"], word["end"]) for word in words]
    probabilities = [word["probability"] for word in words]
    spans = [Span(*place, value) for place, value in zip(places, probabilities, strict=True)]
    maps: list[str] = [heat_map(text, spans, "Probability of each word to be in the scope")]
    columns, values = ["Word", "in the scope"], [[value] for value in probabilities]
    if reading is not None:
        maps += _reading_maps(text, places, reading)
        columns += ["reads", *(f"weight on {piece}" for piece in reading.pieces)]
        own = zip(values, reading.lengths, reading.weights, strict=True)
        values = [[*row, length, *weights] for row, length, weights in own]
    rows = [(word["text"], row) for word, row in zip(words, values, strict=True)]
    numbers = details("All numbers", table(f"Words of cue {n}", columns, rows))
    return details(f"Words of cue {n}", *maps, numbers, is_open=n == 1)


def _reading_maps(text: str, places: Sequence[tuple[int, int]], reading: CueReading) -> list[Html]:
    spans = [Span(*place, value) for place, value in zip(places, reading.lengths, strict=True)]
    label = "What each word reads through the cue: the length of the vector that the attention adds to it"
    maps = [heat_map(text, spans, label, max(reading.lengths, default=0.0))]
    if len(reading.pieces) == 1:
        return [*maps, note(f"The cue is the one word piece {reading.pieces[0]}: each word's whole weight is on it.")]
    for index, piece in enumerate(reading.pieces):
        own = [Span(*place, weights[index]) for place, weights in zip(places, reading.weights, strict=True)]
        maps.append(heat_map(text, own, f"Weight of each word on the cue's piece {piece}"))
    return maps
