"""ReCAM: articles, one-sentence summaries with a gap, and options for it, as JSON lines, CSV or Parquet.

A line has ``article``, ``question``, ``option_0``, ``option_1`` and so on and, if it is known, ``label``, the number of
the correct option. Source: Zheng et al. (2021), "SemEval-2021 Task 4: Reading Comprehension of Abstract Meaning".
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from datasets import Dataset, Features, List, Value

from ..files import CorpusError, data_name
from ..rows import read_rows
from ..text import check_text, truncate_repr
from .questions import cloze_question_of

logger = logging.getLogger(__name__)

UNKNOWN_LABEL = -1
_STRING = Value("string")
CLOZE_FEATURES = Features(
    {"id": _STRING, "article": _STRING, "question": _STRING, "options": List(_STRING), "label": Value("int32")}
)


def load_recam(path: str | Path) -> Dataset:
    """Load a file in ReCAM's format.

    Args:
        path: the file, see `read_rows`. Blank lines are skipped. A list ``options`` may replace ``option_0`` and so on.

    Returns:
        One row per question, in the order of the file, held in memory, with these columns.

        * ``id``: the file's ``id``, or ``"<file name without suffix>/<line number>"``;
        * ``article``: the text that the question summarizes;
        * ``question``: one sentence with ``@placeholder`` in place of an option;
        * ``options``: two or more different strings;
        * ``label``: number of the correct option, -1 if it is unknown.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file.
        CorpusError: a line is not a question as `cloze_question_of` checks it, its label is not the number of an
            option or its id is not unique; or there is no question. Names the line.
    """
    path = Path(path)
    hint = "ReCAM has one question per line, such as Task_1_dev.jsonl"
    rows = read_rows(path, hint, json_columns=("options", "label"))
    return _check_rows(path, ((place, f"{data_name(path)}/{place}", values) for place, values in rows))


def from_multiple_choice(dataset: Dataset, name: str) -> Dataset:
    """Convert a multiple-choice dataset whose questions have a placeholder, such as ReCAM on the Hub.

    Args:
        dataset: has columns as the lines of ReCAM's files have fields.
        name: what to call it in errors, and in ids if it has none.

    Returns:
        Rows as `load_recam` returns them.

    Raises:
        CorpusError: there is no row, or one that `load_recam` would reject. Names it.
    """
    # Where rows have different numbers of options, a table fills up with None.
    rows = ({key: value for key, value in row.items() if value is not None} for row in dataset.with_format(None))
    return _check_rows(name, ((f"row {number}", f"{name}/{number}", row) for number, row in enumerate(rows)))


def without_articles_of(rows: Dataset, others: Dataset) -> Dataset:
    """Remove the rows whose article also occurs in another corpus, and log how many.

    ReCAM's files share articles, some of them with damaged characters. So articles are compared by their ASCII letters
    and digits only, unless these are less than half of one.
    """
    theirs = set(map(_comparable, others["article"]))
    kept = [number for number, article in enumerate(rows["article"]) if _comparable(article) not in theirs]
    logger.info("Removed %d of %d rows whose article is in the other corpus too", len(rows) - len(kept), len(rows))
    return rows.select(kept)


def _comparable(article: str) -> str:
    letters = re.sub("[^a-z0-9]+", "", article.lower())
    return letters if 2 * len(letters) >= len(article) else " ".join(article.split())


def _check_rows(source: str | Path, questions: Iterable[tuple[int | str, str, Mapping[str, Any]]]) -> Dataset:
    """Check questions, each given as its place in the source, the id if it has none, and its fields."""
    rows: dict[str, dict[str, Any]] = {}
    for where, default_id, values in questions:
        try:
            row = _check_row(values, default_id)
        except (TypeError, ValueError) as error:
            raise CorpusError(source, where, str(error)) from None
        if row["id"] in rows:
            raise CorpusError(source, where, f"the id {row['id']!r} is that of an earlier question; make ids unique")
        rows[row["id"]] = row
    if not rows:
        raise CorpusError(source, "at its end", "there is no question")
    return Dataset.from_list(list(rows.values()), features=CLOZE_FEATURES)


def _check_row(values: Mapping[str, Any], default_id: str) -> dict[str, Any]:
    question = cloze_question_of(values)
    row_id, label = values.get("id"), values.get("label")
    row_id = default_id if row_id is None else str(row_id) if isinstance(row_id, int) else check_text(row_id, "id")
    last = len(question.options) - 1
    if label is None:
        label = UNKNOWN_LABEL
    elif not isinstance(label, int) or isinstance(label, bool) or not UNKNOWN_LABEL <= label <= last:
        problem = f"label is {truncate_repr(label)}"
        raise ValueError(f"{problem}; it must be the number of an option, 0 to {last}, or be left out if unknown")
    return {"id": row_id, **question._asdict(), "label": label}
