"""SQuAD 1.1 and 2.0 files, and whatever has their JSON format, as rows of the Hub's ``squad`` and ``squad_v2``.

Sources: Rajpurkar et al. (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text"; Rajpurkar et al.
(2018), "Know What You Don't Know: Unanswerable Questions for SQuAD".
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from datasets import Dataset, Features, List, Value

from ..files import CorpusError
from ..text import truncate_repr

SQUAD_FEATURES = Features(
    {
        "id": Value("string"),
        "title": Value("string"),
        "context": Value("string"),
        "question": Value("string"),
        "answers": {"text": List(Value("string")), "answer_start": List(Value("int32"))},
    }
)
_KINDS = {str: "a string", list: "a list", int: "a whole number"}
# JSON can spell half a surrogate pair, which UTF-8 cannot hold.
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_MOST_PLACES = 5
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


class Answers(TypedDict):
    """Gold answers of a question, both lists empty where it has none.

    Attributes:
        text: the answers, each a span of the context; several where several people answered.
        answer_start: for each the character of the context that it begins with.
    """

    text: list[str]
    answer_start: list[int]


class QuestionRow(TypedDict):
    """One question about one paragraph.

    Attributes:
        id: the question's, unique in its file.
        title: the article's.
        context: the paragraph.
        question: the question as it stands in the file.
        answers: the gold answers.
    """

    id: str
    title: str
    context: str
    question: str
    answers: Answers


@dataclass(frozen=True)
class _Node:
    """A value of the file and where it stands, such as ``data[0] ('Normans'), paragraphs[3]``."""

    path: Path
    where: str
    value: Mapping[str, Any]

    def field(self, name: str, kind: type) -> Any:
        """Give a field that must be there and be of this kind."""
        if name not in self.value:
            there = ", ".join(self.value) or "nothing"
            raise CorpusError(self.path, self.where, f"the field {name!r} is missing; there is {there}")
        value = self.value[name]
        # JSON's true would pass for the number 1.
        if not isinstance(value, kind) or isinstance(value, bool):
            raise CorpusError(self.path, self.where, f"{name} is {truncate_repr(value)}; it must be {_KINDS[kind]}")
        if isinstance(value, str) and _HALF_CHARACTER.search(value):
            raise CorpusError(
                self.path, self.where, f"{name} is {truncate_repr(value)}, which holds half a surrogate pair"
            )
        return value

    def text(self, name: str) -> str:
        """Give a field that must be a string with something in it."""
        value: str = self.field(name, str)
        if not value.strip():
            raise CorpusError(self.path, self.where, f"{name} is {value!r}; it must not be blank")
        return value

    def nodes(self, name: str, label: str | None = None) -> Iterator[_Node]:
        """Yield the objects of a list, each named by its number and, if it has one, its ``label``."""
        for number, value in enumerate(self.field(name, list)):
            where = f"{self.where}, {name}[{number}]".removeprefix("top level, ")
            if not isinstance(value, dict):
                raise CorpusError(self.path, where, f"{truncate_repr(value)} stands where an object must")
            if label in value:
                where += f" ({truncate_repr(value[label])})"
            yield _Node(self.path, where, value)


def load_squad(path: str | Path) -> Dataset:
    """Load a file in the format of SQuAD 1.1 or 2.0.

    Args:
        path: the JSON file as downloaded. A question is unanswerable where ``is_impossible`` is true, or left out and
            ``answers`` is empty; plausible answers are no answers.

    Returns:
        One row a question, in the order of the file, with the columns ``id``, ``title``, ``context``, ``question`` and
        ``answers`` (``text`` and ``answer_start``, all references), as the Hub's ``squad`` and ``squad_v2`` have them.
        It is held in memory; nothing is written to a cache, so a changed file is read anew.

    Raises:
        FileNotFoundError, IsADirectoryError: no such file.
        CorpusError: a file that is not UTF-8 or not JSON; a field that is missing or wrong; a blank question; an answer
            that does not stand where ``answer_start`` says; a question that is possible and has no answers; an id that
            stands twice; no question at all. Says where.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the path of the JSON file, such as {path / 'dev-v1.1.json'}")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; give the path of a JSON file in the format of SQuAD")
    rows: list[QuestionRow] = []
    places: dict[str, str] = {}
    for where, row in _read(path):
        if row["id"] in places:
            raise CorpusError(path, where, f"the id stands at {places[row['id']]} too; ids must be unique")
        places[row["id"]] = where
        rows.append(row)
    if not rows:
        raise CorpusError(path, "top level", "there is no question in the file; is it the right one?")
    return Dataset.from_list(rows, features=SQUAD_FEATURES)


def check_squad_columns(dataset: Dataset, name: str) -> None:
    """Check that a dataset, such as one of the Hub, has the columns of ``squad`` and ``squad_v2``.

    Args:
        dataset: the dataset; further columns do no harm.
        name: what to call it in the error.

    Raises:
        ValueError: columns are missing, or ``answers`` does not hold ``text`` and ``answer_start``.
    """
    features = dataset.features
    missing = [column for column in SQUAD_FEATURES if column not in features]
    if missing:
        raise ValueError(
            f"{name} has no column {', '.join(missing)}; it has {', '.join(features)}. Question answering needs "
            f"{', '.join(SQUAD_FEATURES)}, as the Hub's squad and squad_v2 have them; dataset.rename_column renames one"
        )
    answers = features["answers"]
    if not isinstance(answers, Mapping) or not {"text", "answer_start"} <= set(answers):
        raise ValueError(f"the column answers of {name} is {answers}; it must hold the lists text and answer_start")


def normalize_answer(text: str) -> str:
    """Lower an answer, take out ASCII punctuation, then the words *a*, *an* and *the*, and make white space single."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split())


def _read(path: Path) -> Iterator[tuple[str, QuestionRow]]:
    """Yield each question of a file, after where it stands."""
    for article in _Node(path, "top level", _parse(path)).nodes("data", "title"):
        title = article.field("title", str)
        for paragraph in article.nodes("paragraphs"):
            context = paragraph.text("context")
            for question in paragraph.nodes("qas", "id"):
                yield (
                    question.where,
                    QuestionRow(
                        id=question.text("id"),
                        title=title,
                        context=context,
                        question=question.text("question"),
                        answers=_answers(question, context),
                    ),
                )


def _parse(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        bad = error.object[error.start : error.end]
        line = error.object.count(b"\n", 0, error.start) + 1
        raise CorpusError(path, line, f"the bytes {bad!r} are not UTF-8; convert the file to UTF-8") from None
    except json.JSONDecodeError as error:
        raise CorpusError(path, error.lineno, f"this is not JSON ({error.msg}, column {error.colno})") from None
    except RecursionError:
        raise CorpusError(path, 1, "the JSON nests too deep for a file in the format of SQuAD") from None
    if not isinstance(values, dict):
        raise CorpusError(path, 1, f"{truncate_repr(values)} stands where an object with the field 'data' must")
    return values


def _answers(question: _Node, context: str) -> Answers:
    """Read and check the answers of one question."""
    impossible = question.value.get("is_impossible")
    if impossible not in (None, True, False):
        problem = f"is_impossible is {truncate_repr(impossible)}; it must be true or false, or be left out"
        raise CorpusError(question.path, question.where, problem)
    answers = Answers(text=[], answer_start=[])
    if impossible:
        return answers
    for answer in question.nodes("answers"):
        text, start = answer.text("text"), answer.field("answer_start", int)
        if start < 0 or not context.startswith(text, start):
            raise CorpusError(answer.path, answer.where, _misplaced(text, start, context))
        answers["text"].append(text)
        answers["answer_start"].append(start)
    if impossible is False and not answers["text"]:
        problem = "is_impossible is false, and answers is empty; give an answer, or say true"
        raise CorpusError(question.path, question.where, problem)
    return answers


def _misplaced(text: str, start: int, context: str) -> str:
    """Say of an answer what stands in its place, and where the answer itself does."""
    if 0 <= start < len(context):
        problem = f"answer_start is {start}, where the context has {truncate_repr(context[start : start + len(text)])}"
    else:
        problem = f"answer_start is {start}, outside the context of {len(context)} characters"
    places: list[str] = []
    place = context.find(text)
    while place >= 0 and len(places) < _MOST_PLACES:
        places.append(str(place))
        place = context.find(text, place + 1)
    found = f"stands at {', '.join(places)}" if places else "does not occur in the context"
    return f"{problem}; the answer {truncate_repr(text)} {found}"
