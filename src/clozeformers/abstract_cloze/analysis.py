"""What a model of abstract cloze gets right and wrong: accuracy by kinds of questions, options and articles.

The groups follow the error analysis of Jiang et al., "XRJL-HKUST at SemEval-2021 Task 4" (section 4.2): candidates of
similar meaning, and too much trust in the words of the article.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..analysis.tables import Grouping, Table, analysis_markdown, distribution_table, group_table
from ..text import join_names
from .questions import ClozeQuestion
from .wordnet_steps import WordNetSteps

if TYPE_CHECKING:
    from .wordnet import OptionReader

logger = logging.getLogger(__name__)

Outcome = Literal["right", "wrong"]

OUTCOMES: tuple[Outcome, ...] = ("right", "wrong")
COLUMNS = ("id", "article", "question", "options", "label")
NOT_IN_WORDNET = "not in WordNet"
PARTS_OF_SPEECH = ("noun", "verb", "adjective", "adverb", NOT_IN_WORDNET)
NOT_CONNECTED = "not connected"
STEP_RANGES = ("0 (synonyms)", "1", "2", "3–4", "5–8", "9 or more", NOT_CONNECTED)
IN_ARTICLE = ("the right one only", "right and wrong ones", "wrong ones only", "none")
ARTICLE_LENGTHS = ("up to 100", "101–200", "201–300", "301–500", "more than 500")
WITHOUT_WORDNET = (
    "The tables by part of speech and by closeness in WordNet are left out, for WordNet could not be read: "
)

_LENGTH_LIMITS = (100, 200, 300, 500)
_STEP_LIMITS = (0, 1, 2, 4, 8)


class OptionNotes(NamedTuple):
    """What WordNet says of a question's options.

    Attributes:
        part_of_speech: of the right option in its sentence, one of `PARTS_OF_SPEECH`.
        steps: for each option, how far it is from the right one (`WordNetSteps`), None where they are not connected.
    """

    part_of_speech: str
    steps: tuple[int | None, ...]


@dataclass(frozen=True)
class ClozeRecord:
    """One question, which option was chosen, and what the tables group it by.

    Attributes:
        id: the question's id.
        article: the text.
        question: with its placeholder.
        options: two or more.
        label: number of the right option.
        prediction: number of the chosen one; None where there is no prediction.
        probabilities: the model's, one an option; None where they are not known.
        in_article: for each option, whether it stands in the article as a whole word, in any case.
        notes: None without WordNet.
    """

    id: str
    article: str
    question: str
    options: tuple[str, ...]
    label: int
    prediction: int | None
    probabilities: tuple[float, ...] | None
    in_article: tuple[bool, ...]
    notes: OptionNotes | None

    @property
    def is_right(self) -> bool:
        """Whether the right option was chosen."""
        return self.prediction == self.label

    @property
    def outcome(self) -> Outcome:
        """One of `OUTCOMES`."""
        return "right" if self.is_right else "wrong"

    @property
    def part_of_speech(self) -> str:
        """Of the right option; empty without WordNet."""
        return self.notes.part_of_speech if self.notes else ""

    @property
    def article_length(self) -> int:
        """Words between white space."""
        return len(self.article.split())

    @property
    def options_in_article(self) -> str:
        """One of `IN_ARTICLE`."""
        right = self.in_article[self.label]
        wrong = any(there for number, there in enumerate(self.in_article) if number != self.label)
        if right:
            return IN_ARTICLE[1 if wrong else 0]
        return IN_ARTICLE[2 if wrong else 3]

    @property
    def closest(self) -> str:
        """The one of `STEP_RANGES` that the wrong option closest to the right one belongs to."""
        steps = self.notes.steps if self.notes else ()
        known = [count for number, count in enumerate(steps) if number != self.label and count is not None]
        return step_range(min(known, default=None))


MEASURES: dict[str, Callable[[ClozeRecord], float]] = {"accuracy": lambda record: float(record.is_right)}
GROUPINGS: tuple[Grouping[ClozeRecord], ...] = (
    Grouping("options in the article", lambda record: record.options_in_article, IN_ARTICLE),
    Grouping("article length in words", lambda record: length_range(record.article_length), ARTICLE_LENGTHS),
)
WORDNET_GROUPINGS: tuple[Grouping[ClozeRecord], ...] = (
    Grouping("part of speech", lambda record: record.part_of_speech, PARTS_OF_SPEECH),
    Grouping("WordNet steps to the closest wrong option", lambda record: record.closest, STEP_RANGES),
)


@dataclass(frozen=True)
class ClozeAnalysis:
    """The labelled questions in the order of the rows, and the tables over them.

    Attributes:
        records: one a labelled question.
        tables: over the records.
        unlabelled: number of questions without a label, which are left out.
        remarks: sentences on what is not there.
    """

    records: tuple[ClozeRecord, ...]
    tables: tuple[Table, ...]
    unlabelled: int = 0
    remarks: tuple[str, ...] = ()

    @property
    def missing(self) -> int:
        """Number of questions without a prediction; they count as wrong."""
        return sum(record.prediction is None for record in self.records)

    @property
    def accuracy(self) -> float:
        """Over all records, in percent."""
        return 100 * sum(record.is_right for record in self.records) / len(self.records)

    @property
    def baselines(self) -> dict[str, float]:
        """Accuracy, in percent, of what reads nothing: any option, and the longest word; of several, each in part."""
        chance, longest = 0.0, 0.0
        for record in self.records:
            lengths = [len(option) for option in record.options]
            chance += 1 / len(lengths)
            longest += (lengths[record.label] == max(lengths)) / lengths.count(max(lengths))
        return {"any option": 100 * chance / len(self.records), "longest option": 100 * longest / len(self.records)}

    @property
    def sentences(self) -> list[str]:
        """What the tables do not say."""
        said = [f"{len(self.records):,} questions: accuracy {self.accuracy:.2f} (percent)."]
        without_reading = "; ".join(f"{name}: {value:.2f}" for name, value in self.baselines.items())
        said.append(f"Without reading: {without_reading}.")
        if self.missing:
            said.append(f"{self.missing:,} of them have no prediction and count as wrong.")
        if self.unlabelled:
            said.append(f"{self.unlabelled:,} more questions have no label and are left out.")
        return [*said, *self.remarks]

    def to_markdown(self) -> str:
        """Accuracy and all tables, in Markdown."""
        return analysis_markdown(" ".join(self.sentences), self.tables)

    def to_json(self) -> str:
        """Accuracy, all tables, and one object a question (without the texts), as JSON."""
        values = {
            "questions": len(self.records),
            "missing": self.missing,
            "unlabelled": self.unlabelled,
            "accuracy": self.accuracy,
            "baselines": self.baselines,
            "remarks": self.remarks,
            "tables": [table.to_dict() for table in self.tables],
            "records": [_as_json(record) for record in self.records],
        }
        return json.dumps(values, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def analyse_cloze(
    rows: Iterable[Mapping[str, Any]],
    predictions: Mapping[str, int],
    probabilities: Mapping[str, Sequence[float]] | None = None,
    option_reader: OptionReader | None = None,
    remarks: Sequence[str] = (),
) -> ClozeAnalysis:
    """Score every labelled question, and group the scores.

    Args:
        rows: questions with the columns that `load_recam` gives.
        predictions: question id -> number of the chosen option. A question without one counts as wrong, with a warning.
        probabilities: question id -> one number an option, as the training script writes them; for the report.
        option_reader: looks the options up in WordNet; without, its tables are left out.
        remarks: sentences to show with the accuracy.

    Raises:
        ValueError: there are no labelled rows, a row lacks a column, an id stands twice; a prediction is for no
            question, or is no option's number; probabilities are not as many as the options.
    """
    every = _by_id(rows)
    _check_predictions(predictions, probabilities or {}, every)
    labelled = {question: row for question, row in every.items() if row["label"] >= 0}
    if not labelled:
        raise ValueError("there are no labelled questions to analyse; give rows whose label is 0 or more")
    missing = [question for question in labelled if question not in predictions]
    if missing:
        logger.warning("%s without a prediction, counted as wrong", join_names(missing))
    notes = _notes(labelled.values(), option_reader) if option_reader is not None else [None] * len(labelled)
    records = tuple(
        _record(row, predictions.get(question), (probabilities or {}).get(question), note)
        for (question, row), note in zip(labelled.items(), notes, strict=True)
    )
    groupings = (*GROUPINGS, *(WORDNET_GROUPINGS if option_reader is not None else ()))
    tables = [group_table(records, grouping, MEASURES, counted="questions") for grouping in groupings]
    if option_reader is not None:
        tables.append(_distribution_of_steps(records))
    return ClozeAnalysis(records, tuple(tables), len(every) - len(labelled), tuple(remarks))


def length_range(words: int) -> str:
    """The one of `ARTICLE_LENGTHS` that a number of words belongs to."""
    return ARTICLE_LENGTHS[sum(words > limit for limit in _LENGTH_LIMITS)]


def step_range(steps: int | None) -> str:
    """The one of `STEP_RANGES` that a number of steps belongs to."""
    return NOT_CONNECTED if steps is None else STEP_RANGES[sum(steps > limit for limit in _STEP_LIMITS)]


# ------------------------------------------------------------------------------------------------------------- records


def _by_id(rows: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for number, row in enumerate(rows):
        for name in COLUMNS:
            if name not in row:
                raise ValueError(f"rows[{number}] has no {name!r}; a row has {', '.join(COLUMNS)}, as load_recam gives")
        if row["id"] in found:
            raise ValueError(f"the question {row['id']!r} stands twice, again in rows[{number}]; ids must be unique")
        found[row["id"]] = row
    return found


def _check_predictions(
    predictions: Mapping[str, int],
    probabilities: Mapping[str, Sequence[float]],
    questions: Mapping[str, Mapping[str, Any]],
) -> None:
    unknown = [question for question in predictions if question not in questions]
    if unknown:
        raise ValueError(
            f"predictions for {join_names(unknown)} that the rows do not have; give the data they were made on"
        )
    for question, option in predictions.items():
        count = len(questions[question]["options"])
        if isinstance(option, bool) or not isinstance(option, int) or not 0 <= option < count:
            raise ValueError(
                f"the prediction for {question!r} is {option!r}; it must be an option's number, 0 to {count - 1}"
            )
    for question, values in probabilities.items():
        if question not in questions:
            continue
        count = len(questions[question]["options"])
        is_list = isinstance(values, Sequence) and not isinstance(values, str) and len(values) == count
        if not is_list or not all(isinstance(value, (int, float)) and math.isfinite(value) for value in values):
            raise ValueError(
                f"the probabilities of {question!r} are {values!r:.80}; they must be {count} finite numbers, "
                "one an option"
            )


def _record(
    row: Mapping[str, Any], prediction: int | None, probabilities: Sequence[float] | None, notes: OptionNotes | None
) -> ClozeRecord:
    options = tuple(option.strip() for option in row["options"])
    return ClozeRecord(
        id=row["id"],
        article=row["article"],
        question=row["question"],
        options=options,
        label=row["label"],
        prediction=prediction,
        probabilities=None if probabilities is None else tuple(probabilities),
        in_article=tuple(word_pattern(option).search(row["article"]) is not None for option in options),
        notes=notes,
    )


def word_pattern(option: str) -> re.Pattern[str]:
    """Finds an option in a text as a whole word, in any case."""
    return re.compile(rf"(?<!\w){re.escape(option)}(?!\w)", re.IGNORECASE)


def _notes(rows: Iterable[Mapping[str, Any]], option_reader: OptionReader) -> list[OptionNotes | None]:
    steps = WordNetSteps(option_reader.wordnet)
    notes: list[OptionNotes | None] = []
    for row in rows:
        asked = ClozeQuestion(row["article"], row["question"], tuple(row["options"]))
        right = asked.words[row["label"]]
        glosses = option_reader.glosses(right, asked.sentences[row["label"]], asked.start)
        distances = tuple(steps.between(right, option) for option in asked.words)
        notes.append(OptionNotes(glosses.part_of_speech or NOT_IN_WORDNET, distances))
    return notes


def _distribution_of_steps(records: Sequence[ClozeRecord]) -> Table:
    """How close to the right option the wrong ones are, and those of them that were chosen."""
    every, chosen = [], []
    for record in records:
        for number, count in enumerate(record.notes.steps if record.notes else ()):
            if number != record.label:
                every.append(step_range(count))
                if number == record.prediction:
                    chosen.append(every[-1])
    series = {"wrong options": every, "chosen wrong options": chosen}
    return distribution_table("distribution of WordNet steps from the right option", "steps", series, STEP_RANGES)


def _as_json(record: ClozeRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "label": record.label,
        "prediction": record.prediction,
        "probabilities": record.probabilities,
        "is_right": record.is_right,
        "options_in_article": record.options_in_article,
        "article_length": record.article_length,
        "part_of_speech": record.part_of_speech or None,
        "steps": record.notes.steps if record.notes else None,
    }
