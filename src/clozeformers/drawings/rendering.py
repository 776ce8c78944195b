"""`render` of the pipelines: run one on an input, and draw the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..abstract_cloze.questions import cloze_question_of
from ..files import write_text
from ..negation_scope.inputs import read_input
from ..question_answering.inputs import pair_inputs, pair_positional, question_of_input
from .cloze import draw_options
from .html import STYLE, Html, element
from .negation import draw_negation
from .question import draw_answers
from .readings import read_answers, read_article, read_cues
from .terminal import STYLES, Line, answer_lines, option_lines, scope_lines, to_text

MOST_CUES = 20  # whose words are drawn
_NUM_ANSWERS = 3


@dataclass(frozen=True)
class Rendering:
    """The drawing of a result.

    A notebook shows it as HTML; `print` marks text by brackets, `rich.print` by colours.

    Attributes:
        html: the drawing, without its style sheet.
        lines: what a terminal shows.
        result: what the pipeline has returned.
    """

    html: Html
    lines: Sequence[Line]
    result: Any

    def _repr_html_(self) -> str:
        return element("style", Html(STYLE.read_text(encoding="utf-8"))) + self.html

    def __str__(self) -> str:
        return to_text(self.lines, colour=False)

    def __rich_console__(self, console: Any, _: Any) -> Iterator[Any]:
        from rich.text import Text

        if console.color_system is None or console.no_color:
            yield Text(str(self))
        else:
            for line in self.lines:
                yield Text.assemble(*((part.text, STYLES.get(part.kind, "")) for part in line))

    def save(self, path: str | Path) -> None:
        """Write a page that loads no other file."""
        head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>clozeformers</title>'
        write_text(f'<!DOCTYPE html>\n<html lang="en">{head}{self._repr_html_()}</html>\n', Path(path))


def render(pipeline: Any, *inputs: Any, **parameters: Any) -> Rendering:
    """Run a pipeline on one input and draw the result.

    Args:
        pipeline: one of this library's.
        inputs: what a call takes, for one input.
        parameters: of a call.

    Raises:
        TypeError, ValueError: as for a call; or a pipeline of another task.
    """
    if pipeline.task not in _RENDER:
        raise ValueError(f"results of {pipeline.task!r} cannot be drawn; there are drawings of {', '.join(_RENDER)}")
    return _RENDER[pipeline.task](pipeline, *inputs, **parameters | {"on_error": "raise"})


def render_negation(pipeline: Any, text: Any, **parameters: Any) -> Rendering:
    """Draw cues and scopes of a text, and what its words read through the cues."""
    given = read_input(text)
    cues = pipeline(text, **parameters | {"return_words": True})
    # Tokens that are given may be other words than those of the text.
    is_text = isinstance(text, str) or "tokens" not in text
    readings = read_cues(pipeline, given.text, cues[:MOST_CUES], parameters.get("convention")) if is_text else ""
    drawn = draw_negation(given.text, cues, readings if cues else "")
    return Rendering(drawn, scope_lines(given.text, cues), cues)


def render_answers(pipeline: Any, *inputs: Any, question: Any = None, context: Any = None, **given: Any) -> Rendering:
    """Draw the answers to a question into its context, three of them unless `top_k` says how many."""
    one, *others = pair_positional(*inputs) or (None,)
    if others:
        raise TypeError('pass one input: question="..." and context="...", two strings, or a mapping with both')
    asked = dict(zip(("question", "context"), question_of_input(pair_inputs(one, question, context)), strict=True))
    found = pipeline(asked, **{"top_k": _NUM_ANSWERS} | given)
    answers = [found] if isinstance(found, Mapping) else found
    words, windows = read_answers(pipeline, **asked, **given)
    context = asked["context"]
    return Rendering(draw_answers(context, answers, words, windows), answer_lines(context, answers), found)


def render_options(pipeline: Any, input_: Any = None, **given: Any) -> Rendering:
    """Draw the options for a gap, and what they looked at in the article."""
    names = ("article", "question", "options")
    asked = {name: given.pop(name) for name in names if name in given}
    reads_article = given.get("use_article", getattr(pipeline.model.config, "use_article", True))
    one = cloze_question_of(asked or input_, reads_article)
    ranked = pipeline(one._asdict(), **given)
    looked_at = read_article(pipeline, one.article, one.question, one.options, **given)
    drawn = draw_options(one.article, one.question, ranked, looked_at)
    return Rendering(drawn, option_lines(one.question, ranked), ranked)


_RENDER: dict[str, Callable[..., Rendering]] = {
    "negation-scope": render_negation,
    "extractive-question-answering": render_answers,
    "abstract-cloze": render_options,
}
