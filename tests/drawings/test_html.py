"""The drawings: pure functions from results to HTML."""

from __future__ import annotations

import re
from math import inf, nan
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import pytest

from clozeformers.abstract_cloze.drawing import draw_options
from clozeformers.drawings.html import STYLE, Html, Span, element, fraction, join, number
from clozeformers.negation_scope.drawing import CueAttention, draw_negation
from clozeformers.question_answering.drawing import WordEnds, draw_answers
from clozeformers.words import split_words

HOSTILE = "<script>alert(\"1\")</script> & 'it' is </p> not ${1 + 1} {{value}} `x`"
TEXTS = [HOSTILE, "I can’t 😀 go to 𝒜𝒷, not\nnow.", "e\u0301 is not \u202e bidi", "impossible"]


def parsed(html: str) -> Element:
    """Parse a drawing as XML, which fails where an element or a quote is not closed."""
    assert isinstance(html, Html)
    root = fromstring(html)
    assert not root.findall(".//script")
    assert not re.search(r"\b(nan|inf)\b", html, re.IGNORECASE)
    return root


def content(node: Element) -> str:
    """The text of an element, without the numbers of cues."""
    own = (
        "" if node.tag == "sup" else (node.text or "") + "".join(content(child) + (child.tail or "") for child in node)
    )
    return own


def with_class(root: Element, name: str) -> list[Element]:
    return [node for node in root.iter() if name in (node.get("class") or "").split()]


def span(text: str, part: str, after: int = 0) -> dict[str, Any]:
    start = text.index(part, after)
    return {"text": part, "start": start, "end": start + len(part)}


def cue(text: str, part: str, *scope: str, probability: float = 0.25) -> dict[str, Any]:
    words = [
        {"text": word.text, "start": word.start, "end": word.end, "probability": probability}
        for word in split_words(text)
    ]
    return {"cue": span(text, part), "scope": [span(text, each) for each in scope], "score": 0.9, "words": words}


def reading(text: str, *pieces: str) -> CueAttention:
    count = len(split_words(text))
    return CueAttention(list(pieces), [[1 / len(pieces)] * len(pieces)] * count, [float(n) for n in range(count)])


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_is_drawn_as_it_is(text: str) -> None:
    first = split_words(text)[0].text
    root = parsed(draw_negation(text, [cue(text, first, text)], [reading(text, first, "<b>")]))
    assert content(with_class(root, "cf-negation")[0]) == text
    for drawn in with_class(root, "cf-text")[1:]:
        assert content(drawn) == text.strip()
    words = [WordEnds(word.start, word.end, 0.5, 0.25) for word in split_words(text)]
    for start, end in ((0, 0), (1, 3), (0, len(text))):
        best = {"answer": text[start:end], "start": start, "end": end, "score": 0.5}
        root = parsed(draw_answers(text, [best], words))
        assert content(with_class(root, "cf-passage")[0]) == text
        assert [content(mark) for mark in root.iter("mark")] == [text[start:end]] * (start < end)
    options = [{"option": text, "index": 0, "score": 1.0, "definitions": [text]}]
    looked_at = [[Span(word.start, word.end, 0.5) for word in split_words(text)]]
    root = parsed(draw_options(text, f"{text} @placeholder {text}", options, looked_at))
    assert content(root[0]) == f"{text} {text} {text}"
    assert content(with_class(root, "cf-text")[1]) == text.strip()


def test_cues_are_told_apart() -> None:
    text = "I do not know that nobody came, and no, never."
    cues = [
        cue(text, "not", "I do", "know that nobody came"),
        cue(text, "nobody", "came"),
        cue(text, "no,"),
        *(cue(text, "never") for _ in range(5)),
    ]
    root = parsed(draw_negation(text, cues))
    marked = with_class(root, "cf-negation")[0]
    assert content(marked) == text
    [nobody] = [node for node in with_class(marked, "cf-cue") if content(node) == "nobody"]
    assert [node.text for node in nobody.findall("sup")] == ["2"]
    levels = {node.get("class"): node.get("style") for node in with_class(marked, "cf-scope")}
    assert levels == {"cf-scope cf-cue-1": "--level:0", "cf-scope cf-cue-2": "--level:1"}
    items = root.findall("ol/li")
    assert [content(item)[:2] for item in items] == [f"{n} " for n in range(1, 9)], "numbers go on where colours end"
    assert items[6].get("class") == items[0].get("class") == "cf-cue-1"
    assert "negates I do … know that nobody came, score 0.90" in content(items[0])
    assert "negates no words" in content(items[2])
    know = next(node for node in marked.iter() if node.text == "know")
    # XML has a space for the line break in an attribute.
    assert know.get("title", "").startswith("in the scope of 1 (not): 0.25 in the scope of 2 (nobody): 0.25")


def test_an_affix_and_a_cue_of_two_parts() -> None:
    text = "neither poet nor impossible"
    parts = {**span(text, "neither poet nor"), "parts": [span(text, "neither"), span(text, "nor")]}
    two = cue(text, "neither", "poet") | {"cue": parts}
    affix = cue(text, "im", "possible")
    root = parsed(draw_negation(text, [two, affix], [reading(text, "neither", "nor"), reading(text, "im")]))
    drawn = with_class(root, "cf-negation")[0]
    assert content(drawn) == text
    assert [content(node) for node in with_class(drawn, "cf-cue")] == ["neither", "nor", "im"]
    first, second = root.findall("ol/li")
    assert content(first).startswith("1 neither … nor negates poet")
    assert "Weight of each word on the cue's piece nor" in content(first)
    assert "The cue is the one word piece im: each word's whole weight is on it." in content(second)
    heads = [[content(cell) for cell in table.iter("th") if cell.get("scope") == "col"] for table in root.iter("table")]
    assert heads[0] == ["Word", "in the scope", "reads", "weight on neither", "weight on nor"]
    rows = [[content(cell) for cell in row] for row in first.iter("tr")]
    assert rows[3] == ["nor", "0.25", "2.00", "0.50", "0.50"]


def test_without_cues_words_or_numbers() -> None:
    assert "No negation cue was found." in content(parsed(draw_negation("All is well.", [])))
    assert content(parsed(draw_negation("", []))) == "No negation cue was found."
    bare = {name: value for name, value in cue("not me", "not", "me").items() if name != "words"}
    assert not list(parsed(draw_negation("not me", [bare])).iter("details"))
    told = parsed(draw_negation("not me", [bare], "There is no attention."))
    assert content(told).endswith("There is no attention.")


@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_numbers_that_are_none(value: float) -> None:
    text = "not me"
    odd = cue(text, "not", "me", probability=value) | {"score": value}
    root = parsed(draw_negation(text, [odd], [CueAttention(["not"], [[value], [value]], [value, value])]))
    assert "score –" in content(root)
    answer = {"answer": "me", "start": 4, "end": 6, "score": value}
    parsed(draw_answers(text, [answer], [WordEnds(4, 6, value, value)]))
    option = {"option": "me", "index": 0, "score": value, "definitions": []}
    parsed(draw_options(text, "@placeholder", [option], [[Span(4, 6, value)]]))


def test_numbers() -> None:
    assert [number(value) for value in (0, 0.0123, 0.5, 1.0, 7.875)] == ["0.000", "0.012", "0.50", "1.00", "7.88"]
    assert [fraction(value, 2.0) for value in (-1, 1, 3)] == ["0.000", "0.500", "1.000"]
    assert fraction(1.0, 0.0) == "0.000"


def test_answers() -> None:
    text = "Ada wrote it."
    words = [WordEnds(0, 3, 0.75, 0.5), WordEnds(4, 9, 0.0, 0.25), WordEnds(10, 12, 0.0, 0.0)]
    answers = [
        {"answer": "Ada", "start": 0, "end": 3, "score": 0.375},
        {"answer": "", "start": 0, "end": 0, "score": 0.05},
    ]
    root = parsed(draw_answers(text, answers, words, windows=2))
    assert content(root[0]) == "Answer: Ada, score 0.38"
    first = with_class(root, "cf-ends")[0]
    assert (first.get("style"), first.get("title")) == ("--b:0.750;--e:0.500", "begins the answer: 0.75 ends it: 0.50")
    assert "read in 2 windows" in content(root)
    assert [content(item) for item in root.findall("ol/li")] == ["Ada 0.38", "no answer 0.050"]
    none = parsed(draw_answers(text, answers[::-1]))
    assert content(none[0]).startswith("No answer is in the passage")
    assert not list(none.iter("mark"))
    assert not list(none.iter("table"))


def test_options() -> None:
    options = [
        {"option": "new", "index": 1, "score": 0.75, "definitions": ["not old", "fresh"]},
        {"option": "old", "index": 0, "score": 0.25, "definitions": []},
    ]
    looked_at = [[Span(0, 3, 0.5)], [Span(4, 7, 0.25)]]
    root = parsed(draw_options("The car is new.", "It is @placeholder.", options, looked_at))
    assert content(root[0]) == "It is new."
    first, second = root.findall("ol/li")
    assert [content(item) for item in first.iter("li")][1:] == ["not old", "fresh"]
    assert "no definition was read" in content(second)
    new, old = root.findall("details")
    assert (new.get("open"), old.get("open")) == ("", None)
    [heat] = with_class(new, "cf-heat")
    assert (content(heat), heat.get("title"), heat.get("style")) == ("car", "0.25", "--v:1.000")
    told = draw_options("The car is new.", "It is @placeholder.", options, "This model has no co-attention.")
    assert content(parsed(told)).endswith("This model has no co-attention.")
    undefined = parsed(draw_options("", "It is @placeholder.", [one | {"definitions": []} for one in options], ""))
    assert content(undefined).count("definition") == 1


def test_elements() -> None:
    made = element("a", "<", join(["&", Html("<b/>")]), href='"', aria_label="x", class_="y", title=None)
    assert made == '<a href="&quot;" aria-label="x" class="y">&lt;&amp;<b/></a>'


def colours() -> dict[str, tuple[str, str]]:
    """Name of each colour of the style sheet -> in light and in dark."""
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", STYLE.read_text(encoding="utf-8"))
    return {f"{name}{number}": (light, dark) for number, (name, light, dark) in enumerate(pairs)}


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("mode", [0, 1])
def test_contrast_is_sufficient(mode: int) -> None:
    own = {name.rstrip("0123456789"): [] for name in colours()}
    for name, pair in colours().items():
        own[name.rstrip("0123456789")].append(luminance(pair[mode]))

    def contrast(first: float, second: float) -> float:
        return (max(first, second) + 0.05) / (min(first, second) + 0.05)

    [back], [text] = own.pop("cf-back"), own["cf-text"]
    assert len(own["cue"]) == 6
    for ground in ("cf-heat", "cf-mark"):
        assert contrast(text, own.pop(ground)[0]) >= 4.5, ground
    for name, values in own.items():
        assert all(contrast(value, back) >= (3 if name == "cf-rule" else 4.5) for value in values), name


def test_every_class_has_a_style() -> None:
    text = "I do not know"
    answers = [{"answer": "I", "start": 0, "end": 1, "score": 0.5}, {"answer": "", "start": 0, "end": 0, "score": 0.1}]
    options = [{"option": "x", "index": 0, "score": 1.0, "definitions": []}]
    drawn = [
        draw_negation(text, [cue(text, "not", "know")], [reading(text, "not")]),
        draw_answers(text, answers, [WordEnds(0, 1, 0.5, 0.5)]),
        draw_options(text, "@placeholder", options, [[Span(0, 1, 0.5)]]),
    ]
    used = {name for html in drawn for names in re.findall(r'class="([^"]+)"', html) for name in names.split()}
    assert used <= set(re.findall(r"\.([\w-]+)", STYLE.read_text(encoding="utf-8")))
