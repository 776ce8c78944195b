"""Read files in the format of SQuAD 1.1 and 2.0, and tables, as rows of the Hub's ``squad`` and ``squad_v2``.

Sources: Rajpurkar et al. (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text"; Rajpurkar et al.
(2018), "Know What You Don't Know: Unanswerable Questions for SQuAD".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets import Dataset, Features, List, Value

from ..files import CorpusError, place_name, read_head, read_json_object
from ..rows import is_csv, is_parquet, read_rows
from ..text import check_text, truncate_repr

SQUAD_FEATURES = Features(
    {
        "id": Value("string"),
        "title": Value("string"),
        "context": Value("string"),
        "question": Value("string"),
        "answers": {"text": List(Value("string")), "answer_start": List(Value("int32"))},
    }
)
_TYPE_NAMES = {str: "a string", list: "a list", int: "a whole number", dict: "an object"}
_HINT = "give JSON in the format of SQuAD, or a table (JSON lines, CSV or Parquet) with the columns of the Hub's squad"
# Of the fields that tell both apart, the first one: "data" comes first in a nested file, and in no row.
_FIRST_FIELD = re.compile(rb'"(data|context|answers)"\s*:')


@dataclass(frozen=True)
class _Node:
    """A JSON object of the file and its place, such as ``data[0] ('Normans'), paragraphs[3]``."""

    path: Path
    where: str
    value: Mapping[str, Any]

    def error(self, problem: str) -> CorpusError:
        return CorpusError(self.path, self.where, problem)

    def field(self, name: str, kind: type) -> Any:
        if name not in self.value:
            raise self.error(f"the field {name!r} is missing; the fields are {', '.join(self.value) or 'none'}")
        value = self.value[name]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.error(f"{name} is {truncate_repr(value)}; it must be {_TYPE_NAMES[kind]}")
        return value

    def text(self, name: str, allow_blank: bool = False) -> str:
        value = self.field(name, str)
        try:
            return check_text(value, name, allow_blank)
        except ValueError as error:
            raise self.error(str(error)) from None

    def nodes(self, name: str, label: str | None = None) -> Iterator[_Node]:
        """Yield the objects of a list; the field `label` of an object, if present, becomes part of its place."""
        for number, value in enumerate(self.field(name, list)):
            where = f"{self.where}, {name}[{number}]".removeprefix("top level, ")
            if not isinstance(value, dict):
                raise CorpusError(self.path, where, f"{truncate_repr(value)} is not a JSON object")
            if label in value:
                where += f" ({truncate_repr(value[label])})"
            yield _Node(self.path, where, value)


def load_squad(path: str | Path) -> Dataset:
    """Load a file in the format of SQuAD 1.1 or 2.0, or a table of its questions.

    Args:
        path: the JSON file, or rows as `read_rows` reads them, with the columns that are returned (``title`` may be
            missing; in CSV, ``answers`` is JSON). A question is unanswerable if ``is_impossible`` is true, or missing
            while ``answers`` is empty; plausible answers are ignored.

    Returns:
        One row per question, in the order of the file, with the columns ``id``, ``title``, ``context``, ``question``
        and ``answers`` (``text`` and ``answer_start``, all references), as in the Hub's ``squad`` and ``squad_v2``.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file.
        CorpusError: the file is damaged, or a field is missing or wrong; names the place.
    """
    path = Path(path)
    rows: list[dict[str, Any]] = []
    places: dict[str, str] = {}
    for question, title, context in _nested_questions(path) if _is_nested(path) else _flat_questions(path):
        row_id = question.text("id")
        if row_id in places:
            raise question.error(f"the id is a duplicate of {places[row_id]}; ids must be unique")
        places[row_id] = question.where
        row = {"id": row_id, "title": title, "context": context, "question": question.text("question")}
        rows.append(row | {"answers": _answers(question, context)})
    if not rows:
        raise CorpusError(path, "top level", "the file contains no question")
    return Dataset.from_list(rows, features=SQUAD_FEATURES)


def is_squad_file(path: str | Path) -> bool:
    """Whether a file is one for `load_squad`, by its beginning."""
    try:
        if _is_nested(path):
            return _FIRST_FIELD.search(read_head(path)) is not None
        _, values = next(read_rows(path), (0, {}))
    except ValueError:
        return False
    return {"context", "answers"} <= values.keys()


def _is_nested(path: str | Path) -> bool:
    """Whether a file is JSON as SQuAD publishes it, rather than a table."""
    if is_parquet(path, _HINT) or is_csv(path):
        return False
    head = read_head(path, _HINT)
    first = _FIRST_FIELD.search(head)
    return not head.lstrip().startswith(b"[") and (first is None or first[1] == b"data")


def _nested_questions(path: Path) -> Iterator[tuple[_Node, str, str]]:
    """Yield each question with its title and its context."""
    for article in _Node(path, "top level", read_json_object(path, _HINT)).nodes("data", "title"):
        title = article.text("title", allow_blank=True)
        for paragraph in article.nodes("paragraphs"):
            context = paragraph.text("context")
            for question in paragraph.nodes("qas", "id"):
                yield question, title, context


def _flat_questions(path: Path) -> Iterator[tuple[_Node, str, str]]:
    """As `_nested_questions`, with answers as in the nested file."""
    for place, values in read_rows(path, _HINT, json_columns=("answers", "is_impossible")):
        row = _Node(path, place_name(place), {"title": "", **values})
        answers = _Node(path, f"{row.where}, answers", row.field("answers", dict))
        texts, starts = answers.field("text", list), answers.field("answer_start", list)
        if len(texts) != len(starts):
            raise answers.error(f"there are {len(texts)} texts and {len(starts)} answer_start; give one for each text")
        listed = [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]
        nested = _Node(path, row.where, {**row.value, "answers": listed})
        yield nested, row.text("title", allow_blank=True), row.text("context")


def check_squad_columns(dataset: Dataset, name: str) -> Dataset:
    """Return a dataset, or raise a ValueError unless it has the columns of the Hub's ``squad`` and ``squad_v2``."""
    answers = dataset.features.get("answers")
    is_complete = isinstance(answers, Mapping) and {"text", "answer_start"} <= answers.keys()
    if not is_complete or not SQUAD_FEATURES.keys() <= dataset.features.keys():
        needed = f"question answering needs {', '.join(SQUAD_FEATURES)}, as in the Hub's squad and squad_v2"
        raise ValueError(f"the columns of {name} are {dataset.features}; {needed}")
    return dataset


def _answers(question: _Node, context: str) -> dict[str, list[Any]]:
    impossible = question.value.get("is_impossible")
    if impossible not in (None, True, False):
        raise question.error(f"is_impossible is {truncate_repr(impossible)}; it must be true, false or left out")
    answers: dict[str, list[Any]] = {"text": [], "answer_start": []}
    if impossible:
        return answers
    for answer in question.nodes("answers"):
        text, start = answer.text("text"), answer.field("answer_start", int)
        if start < 0 or not context.startswith(text, start):
            place = context.find(text)
            found = f"it is at {place}" if place >= 0 else "it is not in the context"
            raise answer.error(f"the answer {truncate_repr(text)} is not at answer_start, {start}; {found}")
        answers["text"].append(text)
        answers["answer_start"].append(start)
    if impossible is False and not answers["text"]:
        raise question.error("is_impossible is false, but answers is empty; add an answer or set is_impossible to true")
    return answers
