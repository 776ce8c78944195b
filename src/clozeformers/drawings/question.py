"""Draw the results of `pipeline("extractive-question-answering")` as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .html import Html, bar, details, drawing, element, fraction, join, number, table


class WordEnds(NamedTuple):
    """The probabilities of a word of the context, characters ``[start:end]``, to begin and to end the answer."""

    start: int
    end: int
    begins: float
    ends: float


def draw_answers(
    context: str, answers: Sequence[Mapping[str, Any]], words: Sequence[WordEnds] = (), windows: int = 1
) -> Html:
    """Draw the best answer into the context, the probabilities under its words, and all answers as bars.

    Args:
        context: of the question.
        answers: the results of the pipeline, best first; the answer ``""`` is that there is none.
        words: of the context, in its order; none to draw no probabilities.
        windows: the number of windows in which the model has read the context.
    """
    best = answers[0]
    parts: list[str] = [_heading(best), _marked(context, best, words)]
    if words:
        parts.append(_legend(windows))
    items = [element("li", _answer(answer), " ", bar(answer["score"])) for answer in answers]
    parts += [element("h3", "Answers"), element("ol", *items, class_="cf-bars")]
    if words:
        rows = [(context[word.start : word.end], (word.begins, word.ends)) for word in words]
        grid = table("Probabilities of the words of the passage", ["Word", "begins the answer", "ends it"], rows)
        parts.append(details("All numbers", grid))
    return drawing(*parts)


def _answer(answer: Mapping[str, Any]) -> Html:
    text = answer["answer"]
    return element("span", text or "no answer", class_="cf-name" if text else "cf-name cf-none")


def _heading(best: Mapping[str, Any]) -> Html:
    score = join([", score ", number(best["score"])])
    if not best["answer"]:
        return element("p", element("b", "No answer"), " is in the passage", score)
    return element("p", "Answer: ", element("b", best["answer"]), score)


def _marked(context: str, best: Mapping[str, Any], words: Sequence[WordEnds]) -> Html:
    start, end = best["start"], best["end"]
    before, after = _text(context, 0, start, words), _text(context, end, len(context), words)
    answer = [element("mark", _text(context, start, end, words), class_="cf-mark")] if start < end else []
    return element("p", before, *answer, after, class_="cf-text cf-passage" if words else "cf-text")


def _text(context: str, start: int, end: int, words: Sequence[WordEnds]) -> Html:
    """A part of the context; a word at its edge is cut there."""
    parts: list[str] = []
    place = start
    for word in words:
        first, last = max(word.start, place), min(word.end, end)
        if first < last:
            title = f"begins the answer: {number(word.begins)}\nends it: {number(word.ends)}"
            style = f"--b:{fraction(word.begins)};--e:{fraction(word.ends)}"
            parts += [
                context[place:first],
                element("span", context[first:last], class_="cf-ends", style=style, title=title),
            ]
            place = last
    return join([*parts, context[place:end]])


def _legend(windows: int) -> Html:
    begins = element("span", class_="cf-key cf-begins", aria_hidden="true")
    ends = element("span", class_="cf-key cf-finishes", aria_hidden="true")
    several = f" The passage was read in {windows} windows; each bar is the highest of them." if windows > 1 else ""
    meaning = [begins, " the answer begins here (left bar); ", ends, " it ends here (right, striped)."]
    return element("p", *meaning, several, class_="cf-note")
