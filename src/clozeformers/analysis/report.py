"""The HTML report: each question with its context, the gold answers and the predicted one marked in it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, StrictUndefined, Template

from .question_answering import OUTCOMES, QUESTION_WORDS, Analysis, QuestionRecord, Span

DEFAULT_LIMIT = 500
_TEMPLATE = Path(__file__).with_name("report_template.html")


class Segment(NamedTuple):
    """A piece of a context, and whether it is part of a gold answer, of the predicted one, or of both."""

    text: str
    is_gold: bool
    is_predicted: bool


def render_report(analysis: Analysis, limit: int | None = DEFAULT_LIMIT) -> str:
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
    records = sample(analysis.records, limit)
    used = {record.question_word for record in records}
    return _template().render(
        analysis=analysis,
        records=sorted(records, key=lambda record: (record.f1, record.exact_match)),
        question_words=[word for word in QUESTION_WORDS if word in used],
        outcomes=OUTCOMES,
        segments=segments,
        probability=_probability,
    )


def sample(records: Sequence[QuestionRecord], limit: int | None) -> list[QuestionRecord]:
    """Choose at most `limit` questions, always the same ones for the same ids, in an order as if shuffled."""
    return sorted(records, key=lambda record: hashlib.sha256(record.id.encode()).digest())[:limit]


def segments(record: QuestionRecord) -> Iterator[Segment]:
    """Cut a question's context where an answer begins or ends. The pieces together are the context."""
    predicted = [record.predicted_span] if record.predicted_span else []
    ends = {place for span in (*record.gold_spans, *predicted) for place in span}
    places = sorted({0, len(record.context), *ends})
    for start, end in pairwise(places):
        yield Segment(record.context[start:end], _is_in(start, record.gold_spans), _is_in(start, predicted))


def _is_in(place: int, spans: Sequence[Span]) -> bool:
    return any(span.start <= place < span.end for span in spans)


def _probability(record: QuestionRecord) -> str:
    """The prediction's probability in percent, empty where it is not known."""
    value = record.log_probability
    return "" if value is None or math.isnan(value) else f"{100 * math.exp(min(0.0, value)):.1f} %"


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
