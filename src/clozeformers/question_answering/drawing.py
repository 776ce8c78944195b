"""Draw the results of `pipeline("extractive-question-answering")`, for pages, notebooks and terminals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from ..drawings.html import Html, bar, details, drawing, element, fraction, join, number, table
from ..drawings.rendering import Rendering, call_parameters
from ..drawings.terminal import Line, bars, line, printable
from .inputs import pair_inputs, pair_positional, question_of_input

_NUM_ANSWERS = 3
_BATCH_SIZE = 8


class WordEnds(NamedTuple):
    """The probabilities of a word of the context, characters ``[start:end]``, to begin and to end the answer."""

    start: int
    end: int
    begins: float
    ends: float


def render(pipeline: Any, *inputs: Any, question: Any = None, context: Any = None, **given: Any) -> Rendering:
    """Draw the answers to a question into its context, three of them unless `top_k` says how many."""
    one, *others = pair_positional(*inputs) or (None,)
    if others:
        raise TypeError('pass one input: question="..." and context="...", two strings, or a mapping with both')
    asked = dict(zip(("question", "context"), question_of_input(pair_inputs(one, question, context)), strict=True))
    found = pipeline(asked, **{"top_k": _NUM_ANSWERS} | given)
    answers = [found] if isinstance(found, Mapping) else found
    words, windows = word_ends(pipeline, **asked, **given)
    context = asked["context"]
    return Rendering(draw_answers(context, answers, words, windows), answer_lines(context, answers), found)


def answer_lines(context: str, answers: Sequence[Mapping[str, Any]]) -> list[Line]:
    """Mark the best answer in its context, and list all answers with their scores.

    Args:
        context: of the question.
        answers: the results of `pipeline("extractive-question-answering")`, best first.
    """
    best = answers[0]
    named = [(printable(answer["answer"]) or "(no answer)", answer["score"]) for answer in answers]
    return [line(context, [("answer", [best] if best["answer"] else [])]), *bars(named)]


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


def word_ends(reader: Any, question: str, context: str, **given: Any) -> tuple[list[WordEnds], int]:
    """The probabilities of the context's words to begin and to end the answer.

    As in the score of an answer, they are among the words of a window and its no-answer slot; of several windows, the
    highest counts.

    Args:
        reader: the pipeline "extractive-question-answering".
        question: the question.
        context: the context.
        **given: parameters of the call.

    Returns:
        The words, and the number of windows.
    """
    parameters = call_parameters(reader, given)
    example = reader.preprocess({"question": question, "context": context}, **parameters)
    highest: dict[tuple[int, int], tuple[float, float]] = {}
    all_logits = reader._predict(example["features"], _BATCH_SIZE)
    for window, logits in zip(example["slots"], all_logits, strict=True):
        spans = [tuple(span) for span in window.offsets.tolist()]
        is_slot = torch.tensor([span[0] >= 0 for span in spans])
        is_slot[window.cls_position] = True
        chances = logits.masked_fill(~is_slot.unsqueeze(-1), -torch.inf).softmax(0)
        own: dict[tuple[int, int], list[float]] = {}
        for span, (begins, ends) in zip(spans, chances.tolist(), strict=True):
            if span[0] >= 0:  # the pieces of a word have the span of the word
                summed = own.setdefault(span, [0.0, 0.0])
                summed[:] = summed[0] + begins, summed[1] + ends
        for span, (begins, ends) in own.items():
            before = highest.get(span, (0.0, 0.0))
            highest[span] = max(begins, before[0]), max(ends, before[1])
    words = [WordEnds(*span, *highest[span]) for span in sorted(highest)]
    return words, len(example["slots"]) // example["forms"]
