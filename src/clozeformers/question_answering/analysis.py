"""Error analysis of extractive question answering: EM and F1 by type of question, answer length and position.

Sources: "You Just Want Attention" (QANet and BiDAF on SQuAD 2.0), Tables 6 and 7: question types, simple questions,
answer positions. Deng and Huang, "Bi-Directional Attention & Self Attention for SQUAD", section 8: distribution of
scores, answer lengths, question types; Figure 2: words before the answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analysis.report import DEFAULT_LIMIT, Analysis, Record, Span, check_question_ids, write_analysis
from ..analysis.tables import cut_ranges, distribution_table, group_table
from ..files import read_json_object
from ..metrics.squad import question_scores
from ..modeling.configuration_word_reader import QUESTION_WORDS
from .ensemble import read_predictions
from .simplification import is_inverted
from .squad import is_squad_file, load_squad

if TYPE_CHECKING:
    from pandas import DataFrame, Series

MEASURES = ("EM", "F1")
OUTCOMES = ("right", "partly", "wrong")
OTHERS = "others"
# The groups of the tables: "whom" and "whose" count as "who", and "which" is among the others.
QUESTION_TYPES = ("what", "how", "where", "why", "who", "when", OTHERS)
NO_ANSWER = "no answer"
POSITIONS = (NO_ANSWER, "first sentence", "later sentences")
FORMS = ("simple", "inverted")
LENGTHS = {0: NO_ANSWER, 1: "1", 2: "2", 3: "3", 4: "4", 5: "5", 10: "6–10", 15: "11–15", math.inf: "16 or more"}
WORDS_BEFORE = {49: "under 50", 99: "50–99", 199: "100–199", 299: "200–299", math.inf: "300 or more"}
SCORE_RANGES = ("0", "under 10", *(f"{low}–{low + 9}" for low in range(10, 100, 10)), "100")

_QUESTION_WORD = re.compile(rf"\b({'|'.join(sorted(QUESTION_WORDS - {'which'}))})\b", re.IGNORECASE)
# A full stop, the quotes and notes such as [2] that belong to it, and the first letter of the next sentence.
_STOP = re.compile(r"""[.!?]["'”’)\]]*(?:\[[^\]\n]*\])*(?=\s+["'“‘(\[]*(\w))|\n""")
_ABBREVIATIONS = (
    *("mr", "mrs", "ms", "dr", "prof", "st", "mt", "ft", "gen", "col", "maj", "capt", "lt", "sgt", "rev", "hon", "sen"),
    *("rep", "gov", "pres", "vs", "no", "vol", "fig", "al", "ca", "approx"),
)

is_data_file = is_squad_file


def analyze_files(
    data_path: str | Path, predictions_path: str | Path, output_dir: str | Path, limit: int | None = DEFAULT_LIMIT
) -> Analysis:
    """Analyze a predictions file, and write tables, charts and a report.

    Args:
        data_path: the questions, a file for `load_squad`.
        predictions_path: the predictions, a file for `read_predictions`. A file ``nbest_<its name>`` beside it gives
            the position and the probability of the answers.
        output_dir: the folder for what `write_analysis` writes.
        limit: the maximum number of questions in the report; None for all.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: a file is damaged, or the files do not belong together. Nothing is written.
    """
    predictions_path = Path(predictions_path)
    nbest_path = predictions_path.with_name(f"nbest_{predictions_path.name}")
    hint = "without this file, answers are searched in the context"
    nbest = read_json_object(nbest_path, hint) if nbest_path.is_file() else {}
    analysis = analyze(load_squad(data_path), read_predictions(predictions_path), nbest)
    write_analysis(analysis, output_dir, limit)
    return analysis


def analyze(
    rows: Iterable[Mapping[str, Any]],
    predictions: Mapping[str, str],
    nbest: Mapping[str, Mapping[str, Any]] | None = None,
) -> Analysis:
    """Score every question, and average the scores over groups of questions.

    EM and F1 are those of the official script: of SQuAD 2.0 if a question has no answers, else of 1.1. A question
    without a prediction counts as wrong.

    Args:
        rows: questions with the columns of the Hub's ``squad`` and ``squad_v2``.
        predictions: question id -> answer, ``""`` for none.
        nbest: question id -> `NBest`. Without it, a prediction stands where it overlaps most with a gold answer, or
            else where its text first occurs.

    Raises:
        ValueError: a prediction is for an unknown question, or an entry of ``nbest`` has another form.
    """
    questions: dict[str, Any] = {row["id"]: row for row in rows}
    check_question_ids(predictions, questions)
    references = {question: row["answers"]["text"] for question, row in questions.items()}
    scores = question_scores(predictions, references, version_2=not all(references.values()))
    records = [
        _record(row, predictions.get(question), (nbest or {}).get(question), scores.get(question, (0, 0)))
        for question, row in questions.items()
    ]
    frame = _frame(records)
    means = {measure: 100 * float(frame[measure].mean()) for measure in MEASURES}
    missing = len(questions.keys() - predictions.keys())
    summary = f"{len(records):,} questions: EM {means['EM']:.2f}, F1 {means['F1']:.2f} (percent)."
    summary += f" {missing:,} of them have no prediction and count as wrong." if missing else ""
    ranges = {measure: _score_ranges(frame[measure]) for measure in MEASURES}
    predicted_lengths = [len(text.split()) for text in predictions.values()]
    lengths = {"gold": frame["answer length in words"], "predicted": cut_ranges(predicted_lengths, LENGTHS)}
    words_before = {
        "gold": cut_ranges([record.values["words_before"] for record in records if record.gold], WORDS_BEFORE)
    }
    return Analysis(
        summary,
        {"questions": len(records), "missing": missing, **means},
        records,
        [
            *(group_table(frame, column, MEASURES) for column in frame.columns.drop(list(MEASURES))),
            distribution_table("distribution of scores", "score in percent", ranges),
            distribution_table("distribution of answer lengths", "words", lengths),
            distribution_table("distribution of words before the answer", "words", words_before),
        ],
        Path(__file__).with_name("question_report.html"),
        {"question_word": QUESTION_TYPES, "outcome": OUTCOMES},
    )


def question_type(question: str) -> str:
    """Return the first question word of a question, as one of `QUESTION_TYPES`."""
    found = _QUESTION_WORD.search(question)
    word = found[1].lower() if found else OTHERS
    return "who" if word in ("whom", "whose") else word


def first_sentence_end(context: str) -> int:
    """Return the character position at which the first sentence of a text ends.

    A sentence ends at a line break, and at a stop before a capital letter or a digit, unless the stop belongs to an
    initial or an abbreviation (*J. Smith*, *the U.S. Army*, *Mr. Smith*).
    """
    for stop in _STOP.finditer(context):
        if stop[0] == "\n":
            if context[: stop.start()].strip():
                return stop.start()
        elif not stop[1].islower() and not (stop[0] == "." and _is_abbreviated(context[: stop.start()])):
            return stop.end()
    return len(context)


def _is_abbreviated(before: str) -> bool:
    """Whether a full stop after this text belongs to its last word."""
    word = re.split(r"\W", before[-40:])[-1]
    return (len(word) == 1 and word.isalpha()) or word.lower() in _ABBREVIATIONS


def _record(
    row: Mapping[str, Any], prediction: str | None, nbest: Mapping[str, Any] | None, scores: tuple[float, float]
) -> Record:
    context, references = row["context"], row["answers"]["text"]
    gold = [(start, start + len(text)) for text, start in zip(references, row["answers"]["answer_start"], strict=True)]
    try:
        predicted, log_probability = _locate(context, gold, prediction, nbest)
    except (KeyError, TypeError) as error:
        form = '{"answers": [{"text", "start", "end", "score"}, ...], "no_answer_score": number}'
        raise ValueError(f"the n-best answers of {row['id']!r} must be {form} ({error!r})") from None
    exact_match, f1 = map(float, scores)
    given = "no prediction" if prediction is None else "answered" if prediction else "not answered"
    return Record(
        id=row["id"],
        question=row["question"],
        text=context,
        gold=gold,
        predicted=[predicted] if predicted else [],
        quality=(f1, exact_match),
        values={
            "outcome": "right" if exact_match else "partly" if f1 else "wrong",
            "question_word": question_type(row["question"]),
            "form": FORMS[is_inverted(row["question"])],
            "answer_length": len(references[0].split()) if gold else 0,
            "words_before": len(context[: gold[0][0]].split()) if gold else None,
            "position": POSITIONS[0 if not gold else 1 if gold[0][0] < first_sentence_end(context) else 2],
            "answer_given": f"{'answerable' if gold else 'unanswerable'}, {given}",
            "log_probability": log_probability,
            "exact_match": exact_match,
            "f1": f1,
        },
        details={
            "title": row["title"],
            "references": references,
            "prediction": prediction,
            "probability": None if log_probability is None else math.exp(min(0.0, log_probability)),
        },
    )


def _locate(
    context: str, gold: Sequence[Span], prediction: str | None, nbest: Mapping[str, Any] | None
) -> tuple[Span | None, float | None]:
    """Return the span and the log probability of a prediction, None where unknown."""
    if prediction is None:
        return None, None
    if not prediction:
        return None, None if nbest is None else _finite(nbest["no_answer_score"])
    for answer in [] if nbest is None else nbest["answers"]:
        start, end = answer["start"], answer["end"]
        if answer["text"] == prediction == context[start:end]:
            return (start, end), _finite(answer["score"])

    def closeness(span: Span) -> tuple[bool, int]:
        return span in gold, max([0, *(min(span[1], end) - max(span[0], start) for start, end in gold)])

    starts = (match.start() for match in re.finditer(f"(?={re.escape(prediction)})", context))
    return max(((start, start + len(prediction)) for start in starts), key=closeness, default=None), None


def _finite(score: float) -> float | None:
    return float(score) if math.isfinite(score) else None


def _frame(records: Sequence[Record]) -> DataFrame:
    """The columns that the tables group by, and the measures."""
    from pandas import Categorical, DataFrame

    values = DataFrame([record.values for record in records])
    both = [f"{word}, {form}" for word in QUESTION_TYPES for form in FORMS]
    return DataFrame(
        {
            "question word": Categorical(values["question_word"], QUESTION_TYPES),
            "question form": Categorical(values["form"], FORMS),
            "question word and form": Categorical(values["question_word"] + ", " + values["form"], both),
            "answer length in words": cut_ranges(values["answer_length"], LENGTHS),
            "answer position": Categorical(values["position"], POSITIONS),
            "answer given": values["answer_given"],
            "EM": values["exact_match"],
            "F1": values["f1"],
        }
    )


def _score_ranges(scores: Series) -> Series:
    from pandas import cut

    # Rounded, so that 0.5999..., computed for 0.6, does not count as less.
    bounds = [0, 1e-6, *range(10, 110, 10), math.inf]
    return cut((100 * scores).round(6), bounds, right=False, labels=list(SCORE_RANGES))
