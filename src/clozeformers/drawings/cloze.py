"""Draw the results of `pipeline("abstract-cloze")` as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..abstract_cloze.questions import PLACEHOLDER
from .html import Html, Span, bar, details, drawing, element, heat_map, note, table


def draw_options(
    article: str, question: str, options: Sequence[Mapping[str, Any]], looked_at: Sequence[Sequence[Span]] | str = ""
) -> Html:
    """Draw the options as bars, with the definitions that were read, and the words of the article that each looked at.

    Args:
        article: to read.
        question: with the placeholder.
        options: the results of the pipeline, best first.
        looked_at: for each option, in the order of its `index`, the weights of the article's words that were read; or a
            sentence that says why these are not drawn.
    """
    before, _, after = question.partition(PLACEHOLDER)
    best = element("mark", options[0]["option"], class_="cf-mark")
    items = [element("li", *_option(option)) for option in options]
    parts: list[str] = [element("p", before, best, after, class_="cf-text"), element("ol", *items, class_="cf-bars")]
    parts.append(element("h3", "What each option looked at"))
    if isinstance(looked_at, str):
        parts.append(note(looked_at))
    else:
        parts += [
            _looked_at(article, option["option"], looked_at[option["index"]], is_best=place == 0)
            for place, option in enumerate(options)
        ]
    return drawing(*parts)


def _option(option: Mapping[str, Any]) -> list[Html]:
    found = option["definitions"]
    definitions = element("ul", *(element("li", one) for one in found)) if found else note("no definition was read")
    return [element("span", option["option"], class_="cf-name"), bar(option["score"]), definitions]


def _looked_at(article: str, option: str, words: Sequence[Span], is_best: bool) -> Html:
    most = max((word.value for word in words), default=0.0)
    read = heat_map(article, words, f"Attention of “{option}” to the words of the article that were read", most)
    rows = [(article[word.start : word.end], (word.value,)) for word in words]
    numbers = details("All numbers", table(f"Attention of “{option}”", ["Word", "weight"], rows))
    return details(option, read, numbers, is_open=is_best)
