"""What a model of extractive question answering gets right and wrong: EM and F1 by kinds of questions and answers.

The tables are those of Jain and Dutta, "You Just Want Attention" (Tables 6 and 7: question types, simple questions,
answer positions), and of Deng and Huang, "Bi-Directional Attention & Self Attention for SQUAD" (section 8:
distribution of scores, answer lengths, question types).
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ..analysis.tables import Grouping, Table, analysis_markdown, distribution_table, group_table
from ..metrics.squad import question_scores
from ..text import join_names
from .simplification import is_inverted

logger = logging.getLogger(__name__)

Outcome = Literal["right", "partly", "wrong"]

OUTCOMES: tuple[Outcome, ...] = ("right", "partly", "wrong")
COLUMNS = ("id", "title", "context", "question", "answers")
OTHERS = "others"
QUESTION_WORDS = ("what", "how", "where", "why", "who", "when", OTHERS)
NO_ANSWER = "no answer"
POSITIONS = (NO_ANSWER, "first sentence", "later sentences")
FORMS = ("simple", "inverted")
LENGTHS = (NO_ANSWER, "1", "2", "3", "4", "5", "6–10", "11–15", "16 or more")
SCORE_RANGES = ("0", "under 10", *(f"{low}–{low + 9}" for low in range(10, 100, 10)), "100")

_QUESTION_WORD = re.compile(r"\b(what|how|where|why|who|whom|whose|when)\b", re.IGNORECASE)
_FORMS_OF_WHO = ("whom", "whose")
# A stop, the quotes and notes such as [2] that belong to it, and the opening of what follows.
_STOP = re.compile(r"""[.!?]["'”’)\]]*(?:\[[^\]\n]*\])*(?=\s+["'“‘(\[]*(\w))|\n""")
_LAST_WORD = re.compile(r"\w*\Z")
_ABBREVIATIONS = (
    *("mr", "mrs", "ms", "dr", "prof", "st", "mt", "ft", "gen", "col", "maj", "capt", "lt", "sgt", "rev", "hon"),
    *("sen", "rep", "gov", "pres", "vs", "no", "vol", "fig", "al", "ca", "approx"),
)


class Span(NamedTuple):
    """Characters ``start`` up to ``end`` of a context."""

    start: int
    end: int


@dataclass(frozen=True)
class QuestionRecord:
    """One question, what was answered, and what the tables group it by.

    Attributes:
        id: the question's id.
        title: title of the article.
        question: the question.
        context: the text to find the answer in.
        references: texts of the gold answers, none for an unanswerable question.
        gold_spans: where they stand in the context.
        prediction: the predicted answer, ``""`` for no answer, None where there is no prediction.
        predicted_span: where it stands in the context; None for no answer, and for a text that is not in there.
        log_probability: the model's, of the prediction; None where it is not known.
        question_word: one of `QUESTION_WORDS`: the first of them in the question; *whom* and *whose* count as *who*.
        is_inverted: whether the question does not begin with its question word, or has none.
        answer_length: words (between white space) of the first gold answer, 0 for an unanswerable question.
        position: one of `POSITIONS`: where the first gold answer begins.
        exact_match: 0 or 1, the best over the gold answers.
        f1: between 0 and 1, the best over the gold answers.
    """

    id: str
    title: str
    question: str
    context: str
    references: tuple[str, ...]
    gold_spans: tuple[Span, ...]
    prediction: str | None
    predicted_span: Span | None
    log_probability: float | None
    question_word: str
    is_inverted: bool
    answer_length: int
    position: str
    exact_match: float
    f1: float

    @property
    def is_answerable(self) -> bool:
        """Whether there is a gold answer."""
        return bool(self.references)

    @property
    def form(self) -> str:
        """One of `FORMS`."""
        return FORMS[self.is_inverted]

    @property
    def outcome(self) -> Outcome:
        """``"right"`` for an exact match, ``"partly"`` for an F1 above 0, else ``"wrong"``."""
        if self.exact_match:
            return "right"
        return "partly" if self.f1 else "wrong"

    @property
    def answer_given(self) -> str:
        """Whether there is an answer, and whether one was given."""
        gold = "answerable" if self.is_answerable else "unanswerable"
        if self.prediction is None:
            return f"{gold}, no prediction"
        return f"{gold}, {'answered' if self.prediction else 'not answered'}"


MEASURES: dict[str, Callable[[QuestionRecord], float]] = {
    "EM": lambda record: record.exact_match,
    "F1": lambda record: record.f1,
}
GROUPINGS: tuple[Grouping[QuestionRecord], ...] = (
    Grouping("question word", lambda record: record.question_word, QUESTION_WORDS),
    Grouping("question form", lambda record: record.form, FORMS),
    Grouping(
        "question word and form",
        lambda record: f"{record.question_word}, {record.form}",
        tuple(f"{word}, {form}" for word in QUESTION_WORDS for form in FORMS),
    ),
    Grouping("answer length in words", lambda record: length_range(record.answer_length), LENGTHS),
    Grouping("answer position", lambda record: record.position, POSITIONS),
    Grouping("answer given", lambda record: record.answer_given),
)


@dataclass(frozen=True)
class Analysis:
    """The questions in the order of the rows, and the tables over them."""

    records: tuple[QuestionRecord, ...]
    tables: tuple[Table, ...]

    @property
    def missing(self) -> int:
        """Number of questions without a prediction; they count as wrong."""
        return sum(record.prediction is None for record in self.records)

    def mean(self, measure: str) -> float:
        """Mean of ``"EM"`` or ``"F1"`` over all questions, in percent."""
        return 100 * sum(map(MEASURES[measure], self.records)) / len(self.records)

    def to_markdown(self) -> str:
        """Overall scores and all tables, in Markdown."""
        missing = f" {self.missing:,} of them have no prediction and count as wrong." if self.missing else ""
        scores = f"EM {self.mean('EM'):.2f}, F1 {self.mean('F1'):.2f} (percent)"
        return analysis_markdown(f"{len(self.records):,} questions: {scores}.{missing}", self.tables)

    def to_json(self) -> str:
        """Overall scores, all tables, and one object a question (without the texts), as JSON."""
        values = {
            "questions": len(self.records),
            "missing": self.missing,
            "EM": self.mean("EM"),
            "F1": self.mean("F1"),
            "tables": [table.to_dict() for table in self.tables],
            "records": [_as_json(record) for record in self.records],
        }
        return json.dumps(values, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def analyse(
    rows: Iterable[Mapping[str, Any]],
    predictions: Mapping[str, str],
    nbest: Mapping[str, Mapping[str, Any]] | None = None,
    groupings: Sequence[Grouping[QuestionRecord]] = GROUPINGS,
) -> Analysis:
    """Score every question, and group the scores.

    EM and F1 are those of the official script: of SQuAD 2.0 where a question has no answers, else of 1.1. As in that
    of 1.1, a question without a prediction counts as wrong, with a warning; in 2.0 data too.

    Args:
        rows: questions with the columns of the Hub's ``squad`` and ``squad_v2``.
        predictions: question id -> answer, ``""`` for none.
        nbest: question id -> ``{"answers": [{"text", "start", "end", "score"}, ...], "no_answer_score"}``, as the
            training script writes it; it says where in the context a prediction stands and how probable it is. Without
            it, a prediction stands where it overlaps most with a gold answer, or else where its text first occurs.
        groupings: how to group the questions, one table each. Two distributions follow: scores, answer lengths.

    Raises:
        ValueError: there are no rows, a row lacks a column, an id stands twice, an answer is not at its place in the
            context; a prediction is for no question, or is not a string; an entry of ``nbest`` has another form.
    """
    by_id = _by_id(rows)
    _check_predictions(predictions, by_id)
    references = {question: row["answers"]["text"] for question, row in by_id.items()}
    scores = question_scores(predictions, references, version_2=not all(references.values()))
    missing = [question for question in by_id if question not in predictions]
    if missing:
        logger.warning("%s without a prediction, counted as wrong", join_names(missing))
    records = tuple(
        _record(row, predictions.get(question), (nbest or {}).get(question), scores.get(question, (0.0, 0.0)))
        for question, row in by_id.items()
    )
    tables = [group_table(records, grouping, MEASURES, counted="questions") for grouping in groupings]
    return Analysis(records, (*tables, *_distributions(records)))


def question_word(question: str) -> str:
    """The first question word of a question: one of `QUESTION_WORDS`."""
    found = _QUESTION_WORD.search(question)
    if found is None:
        return OTHERS
    word = found[1].lower()
    return "who" if word in _FORMS_OF_WHO else word


def first_sentence_end(context: str) -> int:
    """Where the first sentence of a text ends: the place after its stop, or the text's length.

    A line break ends it; so does a stop before a word that begins with a capital letter or a digit, unless the stop
    belongs to an initial or an abbreviation (*J. Smith*, *the U.S. Army*, *Mr. Smith*).
    """
    for stop in _STOP.finditer(context):
        if stop[0] == "\n":
            if context[: stop.start()].strip():
                return stop.start()
        elif not stop[1].islower() and not (stop[0] == "." and _is_abbreviated(context[: stop.start()])):
            return stop.end()
    return len(context)


def length_range(words: int) -> str:
    """The one of `LENGTHS` that a number of words belongs to."""
    if words <= 5:
        return LENGTHS[words]
    return LENGTHS[6 if words <= 10 else 7 if words <= 15 else 8]


def score_range(score: float) -> str:
    """The one of `SCORE_RANGES` (percent) that a score between 0 and 1 belongs to."""
    if score <= 0:
        return SCORE_RANGES[0]
    # Rounded, so that a score such as 0.6 that was computed as 0.5999... is not taken for less.
    return SCORE_RANGES[1 + int(round(10 * score, 9))]


# ------------------------------------------------------------------------------------------------------------- records


def _by_id(rows: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for number, row in enumerate(rows):
        for name in COLUMNS:
            if name not in row:
                raise ValueError(f"rows[{number}] has no {name!r}; a row has {', '.join(COLUMNS)}, as the Hub's squad")
        if row["id"] in found:
            raise ValueError(f"the question {row['id']!r} stands twice, again in rows[{number}]; ids must be unique")
        found[row["id"]] = row
    if not found:
        raise ValueError("there are no questions to analyse: rows is empty")
    return found


def _check_predictions(predictions: Mapping[str, str], questions: Mapping[str, Any]) -> None:
    unknown = [question for question in predictions if question not in questions]
    if unknown:
        raise ValueError(
            f"predictions for {join_names(unknown)} that the rows do not have; give the data they were made on"
        )
    for question, text in predictions.items():
        if not isinstance(text, str):
            raise ValueError(f"the prediction for {question!r} is {text!r}; it must be a string, '' for no answer")


def _record(
    row: Mapping[str, Any], prediction: str | None, nbest: Mapping[str, Any] | None, scores: tuple[float, float]
) -> QuestionRecord:
    context, texts = row["context"], tuple(row["answers"]["text"])
    spans = _gold_spans(row)
    predicted_span, log_probability = _locate(row["id"], context, prediction, spans, nbest)
    position = NO_ANSWER
    if spans:
        position = POSITIONS[1 if spans[0].start < first_sentence_end(context) else 2]
    return QuestionRecord(
        id=row["id"],
        title=row["title"],
        question=row["question"],
        context=context,
        references=texts,
        gold_spans=spans,
        prediction=prediction,
        predicted_span=predicted_span,
        log_probability=log_probability,
        question_word=question_word(row["question"]),
        is_inverted=is_inverted(row["question"]),
        answer_length=len(texts[0].split()) if texts else 0,
        position=position,
        exact_match=float(scores[0]),
        f1=float(scores[1]),
    )


def _gold_spans(row: Mapping[str, Any]) -> tuple[Span, ...]:
    texts, starts, context = row["answers"]["text"], row["answers"]["answer_start"], row["context"]
    if len(texts) != len(starts):
        raise ValueError(f"the question {row['id']!r} has {len(texts)} answers, and {len(starts)} places for them")
    for text, start in zip(texts, starts, strict=True):
        there = context[start : start + len(text)]
        if start < 0 or there != text:
            raise ValueError(f"the answer {text!r} of {row['id']!r} is not at {start}, where {there!r} stands")
    return tuple(Span(start, start + len(text)) for text, start in zip(texts, starts, strict=True))


def _locate(
    question: str,
    context: str,
    prediction: str | None,
    gold: Sequence[Span],
    nbest: Mapping[str, Any] | None,
) -> tuple[Span | None, float | None]:
    """Where a prediction stands in its context, and how probable it is, as far as that is known."""
    if prediction is None:
        return None, None
    try:
        if nbest is not None and not prediction:
            return None, float(nbest["no_answer_score"])
        for answer in nbest["answers"] if nbest is not None else ():
            if answer["text"] == prediction == context[answer["start"] : answer["end"]]:
                return Span(answer["start"], answer["end"]), float(answer["score"])
    except (KeyError, TypeError, ValueError) as error:
        form = '{"answers": [{"text", "start", "end", "score"}, ...], "no_answer_score": number}'
        raise ValueError(f"the n-best answers of {question!r} must be {form}: {error!r}") from None
    return _occurrence(context, prediction, gold), None


def _occurrence(context: str, text: str, gold: Sequence[Span]) -> Span | None:
    """The occurrence of a text that is a gold answer or overlaps most with one; the first of several, or None."""

    def closeness(span: Span) -> tuple[bool, int]:
        overlaps = [min(span.end, one.end) - max(span.start, one.start) for one in gold]
        return span in gold, max([0, *overlaps])

    if not text:
        return None
    found = [Span(match.start(), match.start() + len(text)) for match in re.finditer(f"(?={re.escape(text)})", context)]
    return max(found, key=closeness, default=None)


def _is_abbreviated(before: str) -> bool:
    """Whether a full stop after this text belongs to its last word."""
    found = _LAST_WORD.search(before, max(0, len(before) - 40))
    word = found[0] if found else ""
    return (len(word) == 1 and word.isalpha()) or word.lower() in _ABBREVIATIONS


# -------------------------------------------------------------------------------------------------------------- tables


def _distributions(records: Sequence[QuestionRecord]) -> tuple[Table, Table]:
    answered = [record.prediction for record in records if record.prediction is not None]
    scores = {label: [score_range(measure(record)) for record in records] for label, measure in MEASURES.items()}
    lengths = {
        "gold": [length_range(record.answer_length) for record in records],
        "predicted": [length_range(len(text.split())) for text in answered],
    }
    return (
        distribution_table("distribution of scores", "score in percent", scores, SCORE_RANGES),
        distribution_table("distribution of answer lengths", "words", lengths, LENGTHS),
    )


def _as_json(record: QuestionRecord) -> dict[str, Any]:
    probability = record.log_probability
    return {
        "id": record.id,
        "question_word": record.question_word,
        "is_inverted": record.is_inverted,
        "answer_length": record.answer_length,
        "position": record.position,
        "is_answerable": record.is_answerable,
        "answer_given": record.answer_given,
        "log_probability": probability if probability is not None and math.isfinite(probability) else None,
        "exact_match": record.exact_match,
        "f1": record.f1,
    }
