"""ReCAM: articles, one-sentence summaries with a gap, and words for it. JSON lines, one question a line.

A line has ``article``, ``question``, ``option_0``, ``option_1`` and so on and, where it is known, ``label``, the number
of the right option. Source: Zheng et al. (2021), "SemEval-2021 Task 4: Reading Comprehension of Abstract Meaning".
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import ascii_uppercase
from typing import Any, TypedDict

from datasets import Dataset, Features, List, Value

from ..files import CorpusError
from .questions import PLACEHOLDER, ClozeQuestion, check_text, cloze_question_of

logger = logging.getLogger(__name__)

UNKNOWN_LABEL = -1
CLOZE_FEATURES = Features(
    {
        "id": Value("string"),
        "article": Value("string"),
        "question": Value("string"),
        "options": List(Value("string")),
        "label": Value("int32"),
    }
)
_NEITHER_LETTER_NOR_DIGIT = re.compile("[^a-z0-9]+")


class ClozeRow(TypedDict):
    """One question.

    Attributes:
        id: unique in its corpus.
        article: the text that the question sums up.
        question: one sentence, with ``@placeholder`` where an option is to stand.
        options: two or more, all different.
        label: the number of the right one; -1 where it is not known.
    """

    id: str
    article: str
    question: str
    options: list[str]
    label: int


def load_recam(path: str | Path) -> Dataset:
    """Load a file in the format of ReCAM.

    Args:
        path: the JSON-lines file as downloaded. Blank lines are skipped. ``options``, a list, may stand in place of
            ``option_0`` and so on.

    Returns:
        One row a question, in the order of the file (see :class:`ClozeRow`). Where the file gives no ``id``, it is
        ``"<file without its ending>/<line number>"``. It is held in memory; nothing is written to a cache, so a changed
        file is read anew.

    Raises:
        FileNotFoundError, IsADirectoryError: no such file.
        CorpusError: a line that is not UTF-8 or no JSON object; a field that is missing, blank or wrong; a question
            without a placeholder or with two; numbers of options with a gap, or options that are the same; a label that
            is not the number of an option; an id that stands twice; no question at all. Says in which line.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the path of a file, such as {path / 'Task_1_dev.jsonl'}")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; give the path of a JSON-lines file in the format of ReCAM")
    rows: list[ClozeRow] = []
    lines: dict[str, int] = {}
    for number, values in _lines(path):
        try:
            row = _row(values, f"{path.stem}/{number}")
        except (TypeError, ValueError) as error:
            raise CorpusError(path, number, str(error)) from None
        if row["id"] in lines:
            problem = f"the id {row['id']!r} stands in line {lines[row['id']]} too; ids must be unique"
            raise CorpusError(path, number, problem)
        lines[row["id"]] = number
        rows.append(row)
    if not rows:
        raise CorpusError(path, 1, "there is no question in the file; is it the right one?")
    return Dataset.from_list(rows, features=CLOZE_FEATURES)


def check_multiple_choice_columns(dataset: Dataset, name: str) -> None:
    """Check that a dataset, such as one of the Hub, has columns that `from_multiple_choice` reads.

    Args:
        dataset: the dataset; further columns do no harm.
        name: what to call it in the error.

    Raises:
        ValueError: columns are missing.
    """
    columns = dataset.column_names
    missing = [column for column in ("article", "question") if column not in columns]
    if "options" not in columns and not {"option_0", "option_1"} <= set(columns):
        missing.append("options")
    if missing:
        raise ValueError(
            f"{name} has no column {', '.join(missing)}; it has {', '.join(columns)}. Abstract cloze needs article, "
            f"question (with one {PLACEHOLDER}), options (or option_0, option_1 ...) and, to learn from, label (a "
            "number from 0) or answer (a letter from A, as in RACE); dataset.rename_column renames one. Columns in "
            "which the options are whole sentences or continuations (SWAG's ending0 ..., or choices) cannot be read: "
            "there, no option fills a gap of the question"
        )


def from_multiple_choice(dataset: Dataset, name: str) -> Dataset:
    """Take over a dataset of multiple choice whose questions hold a placeholder, such as ReCAM on the Hub.

    Args:
        dataset: with `article`, `question`, and `options` or `option_0`, `option_1` and so on; perhaps with `label` (a
            number from 0, -1 or None where it is not known) or else `answer` (a letter from A, as in RACE), and `id`.
        name: what to call it in errors, and in ids where it has none.

    Returns:
        The rows that :func:`load_recam` would give.

    Raises:
        ValueError: columns are missing, or a row cannot be read, such as a question without ``@placeholder``. Says
            which.
    """
    check_multiple_choice_columns(dataset, name)
    rows: list[ClozeRow] = []
    places: dict[str, int] = {}
    for number, values in enumerate(dataset.with_format(None)):
        # Where rows have different numbers of options, a table fills up with None.
        given = {key: value for key, value in values.items() if value is not None}
        try:
            row = _row(given, f"{name}/{number}")
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name}, row {number}: {error}") from None
        if places.setdefault(row["id"], number) != number:
            raise ValueError(f"{name}, row {number}: the id {row['id']!r} is that of row {places[row['id']]} too")
        rows.append(row)
    if not rows:
        raise ValueError(f"{name} has no rows")
    return Dataset.from_list(rows, features=CLOZE_FEATURES)


def without_articles_of(rows: Dataset, others: Dataset) -> Dataset:
    """Leave out the rows whose article stands in another corpus too; how many is told in the log.

    ReCAM's files share articles, and some of them damaged characters. So articles are compared by their ASCII letters
    and digits alone, unless these are less than half of one.

    Args:
        rows: the corpus to learn from.
        others: the corpus to be scored on.

    Returns:
        The other rows, in their order.
    """
    theirs = {_compared(article) for article in others["article"]}
    kept = [number for number, article in enumerate(rows["article"]) if _compared(article) not in theirs]
    logger.info(
        "%d of %d rows are left out: their article stands in the other corpus too", len(rows) - len(kept), len(rows)
    )
    return rows.select(kept)


def _compared(article: str) -> str:
    compared = _NEITHER_LETTER_NOR_DIGIT.sub("", article.lower())
    return compared if 2 * len(compared) >= len(article) else " ".join(article.split())


def _lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the number and the object of each line that is not blank."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if raw.strip():
                yield number, _parse(path, number, raw)


def _parse(path: Path, number: int, raw: bytes) -> Mapping[str, Any]:
    try:
        # Some editors put a byte order mark before the first line.
        values = json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip())
    except UnicodeDecodeError as error:
        bad = raw[error.start : error.end]
        raise CorpusError(path, number, f"the bytes {bad!r} are not UTF-8; convert the file to UTF-8") from None
    except json.JSONDecodeError as error:
        problem = f"this is not JSON ({error.msg}, column {error.colno}); there must be one object a line"
        raise CorpusError(path, number, problem) from None
    except RecursionError:
        raise CorpusError(path, number, "the JSON nests too deep for a file in the format of ReCAM") from None
    if not isinstance(values, dict):
        raise CorpusError(
            path, number, f"{values!r:.80} stands where an object must, with article, question and options"
        )
    return values


def _row(values: Mapping[str, Any], default_id: str) -> ClozeRow:
    """Check one question.

    Raises:
        TypeError, ValueError: for one that is wrong.
    """
    asked = cloze_question_of(values)
    row_id = values.get("id")
    if row_id is None:
        row_id = default_id
    elif isinstance(row_id, int) and not isinstance(row_id, bool):
        row_id = str(row_id)
    check_text("the id", row_id)
    return ClozeRow(
        id=row_id,
        article=asked.article,
        question=asked.question,
        options=list(asked.options),
        label=_label(values, asked),
    )


def _label(values: Mapping[str, Any], asked: ClozeQuestion) -> int:
    last = len(asked.options) - 1
    label, answer = values.get("label"), values.get("answer")
    if label is None and answer is not None:
        letters = ascii_uppercase[: last + 1]
        if not isinstance(answer, str) or answer not in list(letters):
            raise ValueError(f"answer is {answer!r:.80}; it must be a letter from A to {letters[-1]}")
        return letters.index(answer)
    if label is None:
        return UNKNOWN_LABEL
    if not isinstance(label, int) or isinstance(label, bool) or not UNKNOWN_LABEL <= label <= last:
        raise ValueError(
            f"label is {label!r:.80}; it must be the number of an option, 0 to {last}, or be left out where it is "
            "unknown"
        )
    return label
