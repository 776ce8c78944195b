"""Files in the format of SQuAD."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset, Features, List, Value

from clozeformers.files import CorpusError
from clozeformers.question_answering import load_squad
from clozeformers.question_answering.squad import SQUAD_FEATURES, check_squad_columns

CONTEXT = "The Rhine — der Rhein — 🙂 runs past Bonn. The Rhine is long."
FILE: dict[str, Any] = {
    "version": "v2.0",
    "data": [
        {
            "title": "Rhine",
            "paragraphs": [
                {
                    "context": CONTEXT,
                    "qas": [
                        {
                            "id": "a1",
                            "question": " What runs past Bonn?",
                            "answers": [
                                {"text": "Rhine", "answer_start": 4},
                                {"text": "The Rhine", "answer_start": 42},
                                {"text": "Rhine", "answer_start": 4},
                            ],
                            "is_impossible": False,
                        },
                        {
                            "id": "a2",
                            "question": "What runs past Rome?",
                            "answers": [],
                            "plausible_answers": [{"text": "Rhine", "answer_start": 4}],
                            "is_impossible": True,
                        },
                    ],
                },
                {"context": "No question yet.", "qas": []},
            ],
        },
        {
            "title": "",
            "paragraphs": [
                {
                    "context": "Short.",
                    "qas": [
                        {"id": "b1", "question": "How?", "answers": [{"text": "Short.", "answer_start": 0}]},
                        {"id": "b2", "question": "Why?", "answers": []},
                    ],
                }
            ],
        },
    ],
}


def write(folder: Path, content: Any) -> Path:
    path = folder / "part.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def test_rows(tmp_path):
    rows = load_squad(write(tmp_path, FILE))
    assert rows.features == SQUAD_FEATURES
    assert rows.to_list() == [
        {
            "id": "a1",
            "title": "Rhine",
            "context": CONTEXT,
            "question": " What runs past Bonn?",
            "answers": {"text": ["Rhine", "The Rhine", "Rhine"], "answer_start": [4, 42, 4]},
        },
        {
            "id": "a2",
            "title": "Rhine",
            "context": CONTEXT,
            "question": "What runs past Rome?",
            "answers": {"text": [], "answer_start": []},
        },
        {
            "id": "b1",
            "title": "",
            "context": "Short.",
            "question": "How?",
            "answers": {"text": ["Short."], "answer_start": [0]},
        },
        {
            "id": "b2",
            "title": "",
            "context": "Short.",
            "question": "Why?",
            "answers": {"text": [], "answer_start": []},
        },
    ]


def test_a_byte_order_mark_and_other_fields_do_no_harm(tmp_path):
    content = copy.deepcopy(FILE)
    content["data"][0]["split"] = "dev"
    rows = load_squad(write(tmp_path, b"\xef\xbb\xbf" + json.dumps(content).encode()))
    assert rows["id"][:] == ["a1", "a2", "b1", "b2"]


def test_impossible_questions_have_no_answers_whatever_stands_there(tmp_path):
    content = copy.deepcopy(FILE)
    question = content["data"][0]["paragraphs"][0]["qas"][1]
    question["answers"] = question.pop("plausible_answers")
    assert load_squad(write(tmp_path, content))[1]["answers"] == {"text": [], "answer_start": []}
    del question["answers"]
    assert load_squad(write(tmp_path, content))[1]["answers"] == {"text": [], "answer_start": []}


QUESTION = ("data", 0, "paragraphs", 0, "qas", 0)
IN_QUESTION = r"data\[0\] \('Rhine'\), paragraphs\[0\], qas\[0\] \('a1'\)"
IN_ANSWER = IN_QUESTION + r", answers\[1\]"


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("data",), ..., "top level: the field 'data' is missing; there is version"),
        (("data",), {}, r"top level: data is \{\}; it must be a list"),
        (("data",), [], "top level: there is no question in the file"),
        (("data", 1), "x", r", data\[1\]: 'x' stands where an object must"),
        (("data", 0, "title"), ..., r", data\[0\]: the field 'title' is missing; there is paragraphs"),
        (("data", 0, "title"), 3, r"data\[0\] \(3\): title is 3; it must be a string"),
        (("data", 0, "paragraphs"), None, r"data\[0\] \('Rhine'\): paragraphs is None; it must be a list"),
        (("data", 0, "paragraphs", 1, "context"), "", r"paragraphs\[1\]: context is ''; it must not be blank"),
        ((*QUESTION, "id"), ..., r"paragraphs\[0\], qas\[0\]: the field 'id' is missing"),
        ((*QUESTION, "id"), "a2", r"qas\[1\] \('a2'\): the id stands at data\[0\] .* qas\[0\] \('a2'\) too"),
        ((*QUESTION, "question"), " \n", rf"{IN_QUESTION}: question is ' \\n'; it must not be blank"),
        ((*QUESTION, "question"), "\ud800?", rf"{IN_QUESTION}: question is '\\ud800\?', which holds half"),
        ((*QUESTION, "answers"), ..., rf"{IN_QUESTION}: the field 'answers' is missing"),
        ((*QUESTION, "answers"), [], rf"{IN_QUESTION}: is_impossible is false, and answers is empty"),
        ((*QUESTION, "is_impossible"), "no", rf"{IN_QUESTION}: is_impossible is 'no'; it must be true or false"),
        ((*QUESTION, "answers", 1), "Rhine", rf"{IN_ANSWER}: 'Rhine' stands where an object must"),
        ((*QUESTION, "answers", 1, "text"), "", rf"{IN_ANSWER}: text is ''; it must not be blank"),
        ((*QUESTION, "answers", 1, "answer_start"), "42", rf"{IN_ANSWER}: answer_start is '42'; .* a whole number"),
        ((*QUESTION, "answers", 1, "answer_start"), True, rf"{IN_ANSWER}: answer_start is True; .* a whole number"),
        (
            (*QUESTION, "answers", 1, "answer_start"),
            41,
            rf"{IN_ANSWER}: answer_start is 41, where the context has ' The Rhin'; the answer 'The Rhine' "
            "stands at 0, 42$",
        ),
        (
            (*QUESTION, "answers", 1, "answer_start"),
            -19,
            "answer_start is -19, outside the context of 60 characters; the answer 'The Rhine' stands at 0, 42$",
        ),
        (
            (*QUESTION, "answers", 1, "text"),
            "Main",
            "answer_start is 42, where the context has 'The '; the answer 'Main' does not occur in the context$",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path, place, value, message):
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"line 1: this is not JSON \(Expecting value, column 1\)"),
        (b'{\n "data": [}', r"line 2: this is not JSON \(Expecting value, column 11\)"),
        (b'["data"]', r"line 1: \['data'\] stands where an object with the field 'data' must"),
        ('{\n"data": "é"}'.encode("latin-1"), r"line 2: the bytes b'\\xe9' are not UTF-8; convert"),
        (b"[" * 200_000, "line 1: the JSON nests too deep"),
    ],
)
def test_files_that_cannot_be_parsed(tmp_path, content, message):
    with pytest.raises(CorpusError, match=message):
        load_squad(write(tmp_path, content))


def test_paths_that_are_no_file(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"give the path of the JSON file"):
        load_squad(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"absent\.json does not exist"):
        load_squad(tmp_path / "absent.json")


def test_columns_of_a_dataset(tmp_path):
    rows = load_squad(write(tmp_path, FILE))
    check_squad_columns(rows.add_column("more", [0] * len(rows)), "rows")
    with pytest.raises(ValueError, match=r"mine has no column title, answers; it has id, context, question\. .*rename"):
        check_squad_columns(rows.remove_columns(["title", "answers"]), "mine")
    features = Features({**SQUAD_FEATURES, "answers": List(Value("string"))})
    with pytest.raises(ValueError, match=r"the column answers of mine is .*; it must hold the lists text and"):
        check_squad_columns(Dataset.from_dict({name: [] for name in features}, features=features), "mine")


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
