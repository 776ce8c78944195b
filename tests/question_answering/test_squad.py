"""Files in the format of SQuAD."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest

from clozeformers.files import CorpusError
from clozeformers.question_answering import load_squad
from clozeformers.question_answering.squad import SQUAD_FEATURES, check_squad_columns

CONTEXT = "The Rhine — der Rhein — 🙂 runs past Bonn. The Rhine is long."


def question(row_id: str, text: str, *answers: tuple[str, int], **others: Any) -> dict[str, Any]:
    listed = [{"text": answer, "answer_start": start} for answer, start in answers]
    return {"id": row_id, "question": text, "answers": listed, **others}


RHINE = [
    question("a1", " What runs past Bonn?", ("Rhine", 4), ("The Rhine", 42), ("Rhine", 4), is_impossible=False),
    question(
        "a2", "What runs past Rome?", is_impossible=True, plausible_answers=[{"text": "Rhine", "answer_start": 4}]
    ),
]
SHORT = [question("b1", "How?", ("Short.", 0)), question("b2", "Why?")]
PARAGRAPHS = [{"context": CONTEXT, "qas": RHINE}, {"context": "No question yet.", "qas": []}]
FILE: dict[str, Any] = {
    "version": "v2.0",
    "data": [
        {"title": "Rhine", "paragraphs": PARAGRAPHS},
        {"title": "", "paragraphs": [{"context": "Short.", "qas": SHORT}]},
    ],
}


def write(folder: Path, content: Any) -> Path:
    path = folder / "part.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def test_rows(tmp_path):
    rows = load_squad(write(tmp_path, FILE))
    assert rows.features == SQUAD_FEATURES
    none = {"text": [], "answer_start": []}
    answers = {"text": ["Rhine", "The Rhine", "Rhine"], "answer_start": [4, 42, 4]}
    rhine = {"title": "Rhine", "context": CONTEXT}
    short = {"title": "", "context": "Short."}
    assert rows.to_list() == [
        rhine | {"id": "a1", "question": " What runs past Bonn?", "answers": answers},
        rhine | {"id": "a2", "question": "What runs past Rome?", "answers": none},
        short | {"id": "b1", "question": "How?", "answers": {"text": ["Short."], "answer_start": [0]}},
        short | {"id": "b2", "question": "Why?", "answers": none},
    ]


@pytest.mark.parametrize("change", ["answers", "none"])
def test_what_is_ignored(tmp_path, change):
    """A byte order mark, other fields, and the answers of impossible questions."""
    content = copy.deepcopy(FILE)
    content["data"][0]["split"] = "dev"
    impossible = content["data"][0]["paragraphs"][0]["qas"][1]
    impossible["answers"] = impossible.pop("plausible_answers")
    if change == "none":
        del impossible["answers"]
    rows = load_squad(write(tmp_path, b"\xef\xbb\xbf" + json.dumps(content).encode()))
    assert rows.to_list() == load_squad(write(tmp_path, FILE)).to_list()


QUESTION = ("data", 0, "paragraphs", 0, "qas", 0)
START = (*QUESTION, "answers", 1, "answer_start")
IN_QUESTION = r"data\[0\] \('Rhine'\), paragraphs\[0\], qas\[0\] \('a1'\)"
IN_ANSWER = IN_QUESTION + r", answers\[1\]"


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("data",), ..., "top level: the field 'data' is missing; the fields are version"),
        (("data",), {}, r"top level: data is \{\}; it must be a list"),
        (("data",), [], "top level: the file contains no question"),
        (("data", 1), "x", r", data\[1\]: 'x' is not a JSON object"),
        (("data", 0, "title"), 3, r"data\[0\] \(3\): title is 3; it must be a string"),
        (("data", 0, "paragraphs", 1, "context"), "", r"paragraphs\[1\]: context is ''; it must hold at least"),
        ((*QUESTION, "id"), ..., r"paragraphs\[0\], qas\[0\]: the field 'id' is missing"),
        ((*QUESTION, "id"), "a2", r"qas\[1\] \('a2'\): the id is a duplicate of data\[0\] .* qas\[0\] \('a2'\); ids"),
        ((*QUESTION, "question"), "\ud800?", rf"{IN_QUESTION}: question: character 0, '\\ud800', is half"),
        ((*QUESTION, "answers"), [], rf"{IN_QUESTION}: is_impossible is false, but answers is empty"),
        ((*QUESTION, "is_impossible"), "no", rf"{IN_QUESTION}: is_impossible is 'no'; it must be true, false or"),
        ((*QUESTION, "answers", 1), "Rhine", rf"{IN_ANSWER}: 'Rhine' is not a JSON object"),
        ((*QUESTION, "answers", 1, "text"), " \n", rf"{IN_ANSWER}: text is ' \\n'; it must hold"),
        (START, "42", rf"{IN_ANSWER}: answer_start is '42'; it must be a whole number"),
        (START, True, rf"{IN_ANSWER}: answer_start is True; it must be a whole number"),
        (START, 41, rf"{IN_ANSWER}: the answer 'The Rhine' is not at answer_start, 41; it is at 0"),
        (START, -19, "the answer 'The Rhine' is not at answer_start, -19; it is at 0"),
        ((*QUESTION, "answers", 1, "text"), "Main", "'Main' is not at answer_start, 42; it is not in the context"),
    ],
)
def test_errors_name_the_place(tmp_path, place, value, message):
    content = copy.deepcopy(FILE)
    holder: Any = content
    for step in place[:-1]:
        holder = holder[step]
    if value is ...:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    path = write(tmp_path, content)
    with pytest.raises(CorpusError, match=message) as caught:
        load_squad(path)
    assert str(caught.value).startswith(f"{path}, ")


def test_damaged_file(tmp_path):
    with pytest.raises(CorpusError, match=r"line 2: .*column 11.*give JSON in the format of SQuAD"):
        load_squad(write(tmp_path, b'{\n "data": [}'))


def test_columns_of_a_dataset(tmp_path):
    rows = load_squad(write(tmp_path, FILE))
    more = rows.add_column("more", [0] * len(rows))
    assert check_squad_columns(more, "rows") is more
    texts = rows.remove_columns("answers").add_column("answers", rows["id"])
    for wrong in (rows.remove_columns(["title", "answers"]), rows.remove_columns("title"), texts):
        with pytest.raises(ValueError, match=r"the columns of mine are \{.*; question answering needs id, title, "):
            check_squad_columns(wrong, "mine")


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("name", "articles", "questions", "unanswerable"),
    [
        ("train-v1.1-part.json", 45, 18_945, 0),
        ("dev-v1.1-part.json", 24, 5_702, 0),
        ("dev-v2.0-part.json", 8, 3_250, 1_639),
        ("new-wiki-v1.0.json", 48, 7_938, 0),
    ],
)
def test_real_files_have_their_counts(name, articles, questions, unanswerable):
    folder = os.environ.get("CLOZEFORMERS_CORPORA")
    if folder is None:
        pytest.skip("CLOZEFORMERS_CORPORA does not name a folder that holds squad/")
    rows = load_squad(Path(folder, "squad", name))
    assert (len(rows), len(set(rows["id"])), len(set(rows["title"]))) == (questions, questions, articles)
    assert sum(not answers["text"] for answers in rows["answers"]) == unanswerable
