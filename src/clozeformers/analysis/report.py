"""The HTML report: each question with its text, and what is right and what was predicted marked in it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..abstract_cloze.analysis import OUTCOMES as CLOZE_OUTCOMES
from ..abstract_cloze.analysis import PARTS_OF_SPEECH, ClozeAnalysis, ClozeRecord, word_pattern
from ..question_answering.analysis import OUTCOMES, QUESTION_WORDS, Analysis, QuestionRecord, Span

DEFAULT_LIMIT = 500
_FOLDER = Path(__file__).parent

AnyRecord = TypeVar("AnyRecord", QuestionRecord, ClozeRecord)


class Segment(NamedTuple):
    """A piece of a text, and whether it is part of what is right, of what was predicted, or of both."""

    text: str
    is_gold: bool
    is_predicted: bool


class Filter(NamedTuple):
    """A way to choose among the questions shown.

    Attributes:
        name: of the choice, in the page.
        label: of the choice, for the reader.
        values: to choose from.
        key: a record -> its value.
    """

    name: str
    label: str
    values: Sequence[str]
    key: Callable[[Any], str]


def render_report(analysis: Analysis | ClozeAnalysis, limit: int | None = DEFAULT_LIMIT) -> str:
    """Write the report as one HTML page that needs no other file, and no script to be read.

    Args:
        analysis: the questions and tables.
        limit: the largest number of questions to show; of more, a sample that depends on their ids only. None for all.

    Returns:
        The page. The worst questions come first.

    Raises:
        ValueError: the limit is below 1.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"the limit is {limit}; it must be 1 or more, or None for all questions")
    if isinstance(analysis, ClozeAnalysis):
        return _cloze_report(analysis, sample(analysis.records, limit))
    return _answers_report(analysis, sample(analysis.records, limit))


def sample(records: Sequence[AnyRecord], limit: int | None) -> list[AnyRecord]:
    """Choose at most `limit` questions, always the same ones for the same ids, in an order as if shuffled."""
    return sorted(records, key=lambda record: hashlib.sha256(record.id.encode()).digest())[:limit]


# -------------------------------------------------------------------------------------------------- question answering


def _answers_report(analysis: Analysis, records: Sequence[QuestionRecord]) -> str:
    filters = [
        Filter("word", "Question word", _used(QUESTION_WORDS, _question_word, records), _question_word),
        Filter("outcome", "Answer", OUTCOMES, _outcome),
    ]
    return _render(
        "report_question_answering.html",
        analysis=analysis,
        records=sorted(records, key=lambda record: (record.f1, record.exact_match)),
        filters=filters,
        segments=segments,
        probability=_probability,
    )


def segments(record: QuestionRecord) -> Iterator[Segment]:
    """Cut a question's context where an answer begins or ends. The pieces together are the context."""
    predicted = [record.predicted_span] if record.predicted_span else []
    return _segments(record.context, record.gold_spans, predicted)


def _probability(record: QuestionRecord) -> str:
    """The prediction's probability in percent, empty where it is not known."""
    value = record.log_probability
    return "" if value is None or math.isnan(value) else f"{100 * math.exp(min(0.0, value)):.1f} %"


def _question_word(record: QuestionRecord) -> str:
    return record.question_word


# ------------------------------------------------------------------------------------------------------ abstract cloze


def _cloze_report(analysis: ClozeAnalysis, records: Sequence[ClozeRecord]) -> str:
    parts = _used(PARTS_OF_SPEECH, _part_of_speech, records)
    # Without WordNet, no part of speech is known.
    filters = [Filter("part", "Part of speech", parts, _part_of_speech)] if parts else []
    filters.append(Filter("outcome", "Option", CLOZE_OUTCOMES, _outcome))
    return _render(
        "report_abstract_cloze.html",
        analysis=analysis,
        records=sorted(records, key=lambda record: (record.is_right, _belief_in_the_right_one(record))),
        filters=filters,
        segments=article_segments,
    )


def article_segments(record: ClozeRecord) -> Iterator[Segment]:
    """Cut an article where the right or the chosen option stands in it. The pieces together are the article."""

    def places(option: int | None) -> list[Span]:
        if option is None or not record.in_article[option]:
            return []
        return [Span(*found.span()) for found in word_pattern(record.options[option]).finditer(record.article)]

    return _segments(record.article, places(record.label), places(record.prediction))


def _belief_in_the_right_one(record: ClozeRecord) -> float:
    return 0.0 if record.probabilities is None else record.probabilities[record.label]


def _part_of_speech(record: ClozeRecord) -> str:
    return record.part_of_speech


# -------------------------------------------------------------------------------------------------------------- shared


def _outcome(record: QuestionRecord | ClozeRecord) -> str:
    return record.outcome


def _used(values: Sequence[str], key: Callable[[AnyRecord], str], records: Sequence[AnyRecord]) -> list[str]:
    """Those of the values that a record has."""
    used = set(map(key, records))
    return [value for value in values if value in used]


def _segments(text: str, gold: Sequence[Span], predicted: Sequence[Span]) -> Iterator[Segment]:
    ends = {place for span in (*gold, *predicted) for place in span}
    for start, end in pairwise(sorted({0, len(text), *ends})):
        yield Segment(text[start:end], _is_in(start, gold), _is_in(start, predicted))


def _is_in(place: int, spans: Sequence[Span]) -> bool:
    return any(span.start <= place < span.end for span in spans)


def _render(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
