"""Drawings for terminals, and `render` of the pipelines."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from clozeformers.abstract_cloze.drawing import option_lines
from clozeformers.drawings.terminal import terminal_has_colour, to_text
from clozeformers.negation_scope.drawing import scope_lines
from clozeformers.question_answering.drawing import answer_lines

from ..cloze_models import ARTICLE, OPTIONS, QUESTION
from ..hub_models import SENTENCE, tiny_pipeline
from ..page.pipelines import INPUTS, tiny_pipelines


def span(text: str, part: str) -> dict[str, object]:
    start = text.index(part)
    return {"text": part, "start": start, "end": start + len(part)}


@pytest.mark.parametrize(
    ("text", "cue", "scope", "colour", "expected"),
    [
        (SENTENCE, "not", ["I do", "know the answer"], False, "{I do} [not] {know the answer}."),
        ("impossible", "im", ["possible"], True, "\x1b[1;31mim\x1b[0m\x1b[4;32mpossible\x1b[0m"),
        ("I do not know", "not", ["do not know", "not know"], False, "I {do }[not]{ know}"),
    ],
)
def test_cue_and_scope_are_marked(text: str, cue: str, scope: list[str], colour: bool, expected: str) -> None:
    result = {"cue": span(text, cue), "scope": [span(text, part) for part in scope]}
    assert to_text(scope_lines(text, [result]), colour) == expected


def test_one_line_a_cue_and_parts_are_drawn_apart() -> None:
    text = "neither here nor there,\nnot at all"
    parts = {**span(text, "neither here nor"), "parts": [span(text, "neither"), span(text, "nor")]}
    results = [
        {"cue": parts, "scope": [span(text, "here"), span(text, "there")]},
        {"cue": span(text, "not"), "scope": []},
    ]
    assert to_text(scope_lines(text, results), colour=False).split("\n") == [
        "[neither] {here} [nor] {there}, not at all",
        "neither here nor there, [not] at all",
    ]


def test_a_line_has_the_sentences_of_its_cue() -> None:
    text = "He is well. No rash.\nNeck: no pain was found. Good."
    results = [
        {"cue": span(text, "No"), "scope": [span(text, "rash")]},
        {"cue": span(text, "no "), "scope": [span(text, "pain was found")]},
        {"cue": span(text, "rash"), "scope": [span(text, "Neck")]},
    ]
    assert to_text(scope_lines(text, results), colour=False).split("\n") == [
        "[No] {rash}.",
        "Neck: [no ]{pain was found}.",
        "No [rash]. {Neck}: no pain was found.",
    ]


def test_a_text_without_cues_is_shown_as_it_is_and_steers_no_terminal() -> None:
    assert to_text(scope_lines("Ça va.\x1b[2J", []), colour=True) == "Ça va. [2J"
    assert to_text(scope_lines("", []), colour=False) == ""


@pytest.mark.parametrize(
    ("no_color", "term", "is_terminal", "expected"),
    [("", "xterm", True, True), ("", "xterm", False, False), ("1", "xterm", True, False), ("", "dumb", True, False)],
)
def test_colour_is_for_terminals_that_want_it(
    no_color: str, term: str, is_terminal: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: is_terminal))
    assert terminal_has_colour() is expected


def test_answers_and_options_are_listed() -> None:
    context = "Ada wrote it\nin 1843."
    answers = [
        {"answer": "1843", "start": 16, "end": 20, "score": 0.5},
        {"answer": "", "start": 0, "end": 0, "score": 0.1},
    ]
    shown = to_text(answer_lines(context, answers), colour=False).split("\n")
    assert shown == [
        "Ada wrote it in [1843].",
        f" 0.50 {'█' * 10}{' ' * 10} 1843",
        f" 0.10 {'█' * 2}{' ' * 18} (no answer)",
    ]
    assert to_text(answer_lines(context, answers[1:]), colour=False).startswith("Ada wrote it in 1843.\n")
    options = [{"option": "rain", "score": 1.0, "definitions": ["falls\x1b from clouds"]}]
    assert to_text(option_lines("The @placeholder came.", options), colour=False).split("\n") == [
        "The [rain] came.",
        f" 1.00 {'█' * 20} rain",
        "    falls  from clouds",
    ]
    assert "\x1b[34m█" in to_text(option_lines("The @placeholder came.", options), colour=True)


# ------------------------------------------------------------------------------------------------------------- render


@pytest.fixture(scope="module")
def pipelines() -> dict[str, Any]:
    return tiny_pipelines()


ASKED = {
    "negation": ((SENTENCE,), {}),
    "question": ((), dict(zip(("question", "context"), INPUTS["question"], strict=False))),
    "cloze": ((), {"article": ARTICLE, "question": QUESTION, "options": OPTIONS}),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_result_is_drawn(name: str, pipelines: dict[str, Any], tmp_path: Path) -> None:
    inputs, named = ASKED[name]
    drawn = pipelines[name].render(*inputs, **named)
    parameters = {"negation": {"return_words": True}, "question": {"top_k": 3}, "cloze": {}}[name]
    assert drawn.result == pipelines[name](*inputs, **named, **parameters)
    assert drawn._repr_html_().startswith("<style>")
    assert '<div class="cf">' in drawn._repr_html_()
    drawn.save(tmp_path / "drawn.html")
    page = (tmp_path / "drawn.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert drawn.html in page
    console = Console(file=StringIO(), force_terminal=True, color_system="standard", width=200)
    console.print(drawn)
    said = console.file.getvalue()
    assert "\x1b[" in said
    plain = Console(file=StringIO(), width=200)
    plain.print(drawn)
    assert plain.file.getvalue() == f"{drawn}\n"
    assert str(drawn).count("\n") == len(drawn.lines) - 1


def test_all_kinds_of_inputs_are_drawn(pipelines: dict[str, Any]) -> None:
    negation, reader, cloze = pipelines.values()
    tokens = negation.render({"tokens": ["I", "do", "not", "know"], "cues": [2]}, convention="sfu")
    assert "I do not know" in str(tokens).translate(str.maketrans("", "", "[]{}"))
    assert "reads through the cue" not in tokens.html
    assert negation.render({"text": "not me", "cues": ["not"]}).result[0]["cue"]["text"] == "not"
    assert "No negation cue was found" in negation.render("All is well.").html
    assert isinstance(reader.render("Who came?", "Ada came.", top_k=1).result, dict)
    both = reader.render("Who came?", "Ada came.", handle_impossible_answer=True, no_answer_threshold=float("-inf"))
    assert both.result[0]["answer"] == ""
    assert "No answer" in both.html
    assert cloze.render({"article": ARTICLE, "question": QUESTION, "options": OPTIONS}).result[0]["option"] in OPTIONS


def test_parameters_of_the_call_hold_for_the_drawing(pipelines: dict[str, Any]) -> None:
    _, reader, cloze = pipelines.values()
    passage = "Ada came on Monday. " * 8
    assert "windows" not in reader.render("Who came?", passage).html
    assert "windows" in reader.render("Who came?", passage, max_seq_len=24).html
    without = cloze.render(question=QUESTION, options=OPTIONS, use_article=False)
    assert "without the article" in without.html
    with pytest.raises(TypeError, match="pass one input"):
        reader.render("Who?", "Ada came.", "x")


@pytest.mark.parametrize("given", [["a not", "b not"], 5])
def test_one_input_is_drawn(given: Any, pipelines: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match="an input is a string"):
        pipelines["negation"].render(given, on_error="skip")


def test_code_of_a_checkpoint_needs_the_package_to_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clozeformers.tasks", None)
    with pytest.raises(ImportError, match="pip install clozeformers"):
        tiny_pipeline("bert").render(SENTENCE)
