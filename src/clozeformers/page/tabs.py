"""What happens on each tab of the page, from the values of its boxes to what is shown; without Gradio."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple
from urllib.parse import urlencode

from ..abstract_cloze.drawing import article_attentions, draw_options
from ..drawings.html import Html, drawing, element
from ..errors import is_user_error
from ..negation_scope.cues import CORPUS_HAS_AFFIXES
from ..negation_scope.drawing import MOST_CUES, cue_attentions, cue_name, draw_negation
from ..question_answering.drawing import draw_answers, word_ends
from ..text import check_text

AUTOMATIC = "automatic"
ANSWERS = ("1", "3", "5", "10")
DEFAULTS = {"convention": AUTOMATIC, "answers": "3"}
_LONGEST_LINK = 8000  # characters; servers refuse much longer ones
_LONGEST_TEXT = 20_000
_LONGEST = {"text": 4000}  # each of its cues is read with its sentence


class Shown(NamedTuple):
    """What a tab shows below its boxes.

    Attributes:
        status: one line, which screen readers read out.
        drawing: HTML.
        result: the pipeline's result as JSON; empty after an error.
        link: HTML of the link that restores this state.
    """

    status: str
    drawing: Html
    result: str
    link: Html


@dataclass(frozen=True)
class Tab:
    """A task's tab.

    Attributes:
        name: in links, and of the command's option that names the model.
        title: on the tab.
        task: of the pipeline.
        run: from the pipeline and the values of the boxes to status, drawing and result.
        examples: label -> values of the boxes.
    """

    name: str
    title: str
    task: str
    run: Callable[..., tuple[str, Html, Any]]
    examples: Mapping[str, Mapping[str, str]]

    @property
    def boxes(self) -> tuple[str, ...]:
        """The names of the boxes, in links too."""
        return tuple(next(iter(self.examples.values())))

    def show(self, pipeline: Any, *values: str) -> Shown:
        """Run the pipeline on the values of the boxes; an error of the user's is shown in words."""
        link = self._link(values)
        try:
            for box, value in zip(self.boxes, values, strict=True):
                if len(value) > (most := _LONGEST.get(box, _LONGEST_TEXT)):
                    raise ValueError(f"the {box} has {len(value):,} characters; the page reads at most {most:,}")
            status, drawn, result = self.run(pipeline, *values)
        except Exception as error:
            if not is_user_error(error):
                raise
            message = str(error)
            return Shown(f"Error: {message}", drawing(element("p", message, class_="cf-error")), "", link)
        return Shown(status, drawn, json.dumps(result, ensure_ascii=False, indent=2), link)

    def state(self, pipeline: Any, parameters: Mapping[str, str]) -> list[str] | None:
        """The values of the boxes that a link holds, given its query parameters; None if it is of another tab."""
        if parameters.get("tab") != self.name:
            return None
        known = choices(pipeline)
        values = [parameters.get(box, "") for box in self.boxes]
        return [
            value if value in known.get(box, [value]) else DEFAULTS[box]
            for box, value in zip(self.boxes, values, strict=True)
        ]

    def _link(self, values: Sequence[str]) -> Html:
        query = urlencode({"tab": self.name, **dict(zip(self.boxes, values, strict=True))}, errors="replace")
        if len(query) > _LONGEST_LINK:
            return drawing(element("p", "The texts are too long for a link."))
        return drawing(element("p", element("a", "Link to this input", href=f"?{query}")))


def choices(pipeline: Any) -> dict[str, list[str]]:
    """The choices of the boxes that have some: the conventions that the model, or the lexicon, knows."""
    conventions = getattr(pipeline.model.config, "conventions", None) or CORPUS_HAS_AFFIXES
    return {"convention": [AUTOMATIC, *conventions], "answers": list(ANSWERS)}


def find_negations(pipeline: Any, text: str, convention: str) -> tuple[str, Html, Any]:
    """The tab for negation scope."""
    text = check_text(text, "the text")
    chosen = None if convention == AUTOMATIC else convention
    cues = pipeline(text, convention=chosen, return_words=True)
    drawn = draw_negation(text, cues, cue_attentions(pipeline, text, cues[:MOST_CUES], chosen) if cues else "")
    found = ", ".join(map(cue_name, cues))
    return f"{_count(len(cues), 'negation cue')}{': ' * bool(found)}{found}", drawn, cues


def find_answers(pipeline: Any, question: str, passage: str, answers: str) -> tuple[str, Html, Any]:
    """The tab for question answering."""
    # With this threshold, no answer is always among the results; the model's own then gives its place.
    options = {"handle_impossible_answer": True, "no_answer_threshold": float("-inf")}
    found = pipeline(question=question, context=passage, top_k=int(answers) + 1, **options)
    threshold = getattr(pipeline.model.config, "no_answer_threshold", None) or 0.0

    def log_score(answer: Mapping[str, Any]) -> float:
        own = log(answer["score"]) if answer["score"] else float("-inf")
        return own if answer["answer"] else own - threshold

    found = sorted(found, key=log_score, reverse=True)
    words, windows = word_ends(pipeline, question, passage)
    best = found[0]["answer"]
    return f"Answer: {best}" if best else "No answer", draw_answers(passage, found, words, windows), found


def rank_options(pipeline: Any, summary: str, options: str, article: str) -> tuple[str, Html, Any]:
    """The tab for abstract cloze."""
    given = [line.strip() for line in options.splitlines() if line.strip()]
    ranked = pipeline(article=article, question=summary, options=given)
    drawn = draw_options(article, summary, ranked, article_attentions(pipeline, article, summary, given))
    return f"Best option: {ranked[0]['option']}", drawn, ranked


def _count(count: int, noun: str) -> str:
    return f"{count or 'No'} {noun}{'s' * (count != 1)}"


TABS: tuple[Tab, ...] = (
    Tab(
        name="negation",
        title="Negation",
        task="negation-scope",
        run=find_negations,
        examples={
            label: {"text": text, "convention": AUTOMATIC}
            for label, text in {
                "Clinical note": "The patient denies smoking and has no history of asthma. The scan shows no fracture, "
                "but the pain did not improve.",
                "Two-part cue": "He is neither a poet nor a painter.",
                "Affixes": "The instructions were unclear, and it was impossible to reach anyone without a phone.",
                "Review": "This hotel isn't what the brochure promised, but the beach is lovely. Never again!",
            }.items()
        },
    ),
    Tab(
        name="question",
        title="Question",
        task="extractive-question-answering",
        run=find_answers,
        examples={
            label: {"question": question, "passage": passage, "answers": DEFAULTS["answers"]}
            for label, question, passage in (
                (
                    "Who wrote it?",
                    "Who wrote the letter?",
                    "The letter was written by Ada Lovelace in 1843. It was found a century later, between the pages "
                    "of an atlas in the library of the observatory.",
                ),
                (
                    "Not in the passage",
                    "How much did the atlas cost?",
                    "The letter was found a century later, between the pages of an atlas in the library.",
                ),
            )
        },
    ),
    Tab(
        name="cloze",
        title="Cloze",
        task="abstract-cloze",
        run=rank_options,
        examples={
            "A new contract": {
                "summary": "The defender has signed a new contract, @placeholder him to the club until 2019.",
                "options": "prompting\ncommitting\nenabling\nreminding",
                "article": "The defender is happy to stay. His new deal runs until 2019, and the manager says that the "
                "whole team is relieved. Two other clubs had asked for him in the summer.",
            },
            "A storm": {
                "summary": "Thousands of homes are without @placeholder after the storm.",
                "options": "power\nhope\nsnow\nnews",
                "article": "Engineers worked through the night to repair the lines that the wind had brought down. "
                "Schools stay closed, and hospitals run on their own generators.",
            },
        },
    ),
)
