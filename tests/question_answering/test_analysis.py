"""Records, tables and files of the error analysis of question answering."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from clozeformers.cli import main
from clozeformers.metrics.squad import squad_scores
from clozeformers.question_answering import analysis as error_analysis
from clozeformers.question_answering.analysis import LENGTHS, WORDS_BEFORE, analyze, analyze_files
from clozeformers.question_answering.squad import load_squad

RIVERS = (
    "The Rhine rises near St. Moritz in the U.S. of old maps, as J. Smith says. It flows to the North Sea. The North "
    "Sea is cold."
)


def question_row(number: int, question: str, *answers: str) -> dict[str, Any]:
    """A row whose answers stand where they first occur."""
    return {
        "id": f"q{number}",
        "title": "Rivers",
        "context": RIVERS,
        "question": question,
        "answers": {"text": list(answers), "answer_start": [RIVERS.index(answer) for answer in answers]},
    }


ROWS = [
    question_row(0, "What rises near St. Moritz?", "The Rhine", "Rhine"),
    question_row(1, "To where does it flow?", "the North Sea"),
    question_row(2, "Who says so?", "J. Smith"),
    question_row(3, "By whom was the sea warmed?"),
    question_row(4, "Which sea is cold?", "The North Sea"),
    question_row(5, "How long is it?"),
]
PREDICTIONS = {"q0": "rhine", "q1": "flows to the North Sea", "q2": "old maps", "q3": "", "q5": "J. Smith"}
FLOWS = RIVERS.index("flows")
NBEST = {
    "q1": {"answers": [{"text": "flows to the North Sea", "start": FLOWS, "end": FLOWS + 22, "score": -0.5}]},
    "q3": {"answers": [], "no_answer_score": -0.25},
}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The questions and the predictions as files."""
    questions = []
    for row in ROWS:
        pairs = zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True)
        answers = [{"text": text, "answer_start": start} for text, start in pairs]
        questions.append({"id": row["id"], "question": row["question"], "answers": answers})
    article = {"title": "Rivers", "paragraphs": [{"context": RIVERS, "qas": questions}]}
    data, predictions = tmp_path / "dev.json", tmp_path / "predictions.json"
    data.write_text(json.dumps({"version": "v2.0", "data": [article]}))
    predictions.write_text(json.dumps(PREDICTIONS))
    return data, predictions


def column(analysis, name):
    return [record.values[name] for record in analysis.records]


def test_one_record_a_question():
    analysis = analyze(ROWS, PREDICTIONS)
    assert column(analysis, "outcome") == ["right", "partly", "wrong", "right", "wrong", "wrong"]
    # "flows to north sea" against "north sea"
    assert (column(analysis, "exact_match")[1], column(analysis, "f1")[1]) == (0.0, pytest.approx(2 * 0.5 / 1.5))
    assert column(analysis, "question_word") == ["what", "where", "who", "who", "others", "how"]
    assert column(analysis, "form") == ["simple", "inverted", "simple", "inverted", "simple", "simple"]
    assert column(analysis, "answer_length") == [2, 3, 2, 0, 3, 0]
    first, later, none = "first sentence", "later sentences", "no answer"
    assert column(analysis, "position") == [first, later, first, none, later, none]
    assert column(analysis, "answer_given")[3:5] == ["unanswerable, not answered", "answerable, no prediction"]
    assert analysis.records[0].gold == [(0, 9), (4, 9)]


@pytest.mark.parametrize("predictions", [PREDICTIONS, PREDICTIONS | {"q4": ""}])
def test_scores_are_those_of_the_metric(predictions):
    analysis = analyze(ROWS, predictions)
    scores = squad_scores({"q4": ""} | predictions, {row["id"]: row["answers"]["text"] for row in ROWS})
    expected = {"questions": 6, "missing": 6 - len(predictions), "EM": scores["exact_match"], "F1": scores["f1"]}
    assert analysis.scores == pytest.approx(expected)
    assert ("1 of them have no prediction" in analysis.to_markdown()) == (len(predictions) == 5)


def test_the_script_of_1_1_scores_if_every_question_has_an_answer():
    # An answer and a prediction without any word: an F1 of 0 in 1.1, of 1 in 2.0.
    article = question_row(7, "What is it?", "The")
    assert column(analyze([article], {"q7": "!"}), "f1") == [0.0]
    assert column(analyze([article, ROWS[3]], {"q7": "!", "q3": ""}), "f1") == [1.0, 1.0]


def test_tables():
    tables = {table.name: table.frame for table in analyze(ROWS, PREDICTIONS).tables}
    assert list(tables) == [
        *("question word", "question form", "question word and form", "answer length in words", "answer position"),
        *("answer given", "distribution of scores", "distribution of answer lengths"),
        "distribution of words before the answer",
    ]
    words = tables["question word"]
    assert words["questions"].to_dict() == {"what": 1, "how": 1, "where": 1, "who": 2, "others": 1, "all": 6}
    assert list(words["EM"]) == [100, 0, 0, 50, 0, pytest.approx(100 / 3)]
    assert tables["question form"].loc["inverted", "questions"] == 2
    assert list(tables["answer position"]["questions"]) == [2, 2, 2, 6]
    lengths = tables["distribution of answer lengths"]
    assert lengths["gold"].to_dict() == {**dict.fromkeys(LENGTHS.values(), 0), "no answer": 2, "2": 2, "3": 2}
    # A question without a prediction has no predicted length.
    assert lengths["predicted"].sum() == len(PREDICTIONS)
    before = tables["distribution of words before the answer"]["gold"]
    assert before.to_dict() == {**dict.fromkeys(WORDS_BEFORE.values(), 0), "under 50": 4}
    # F1: four times 0, 2 / 3, and twice 1
    scores = tables["distribution of scores"]["F1"]
    assert scores[scores > 0].to_dict() == {"0": 3, "60–69": 1, "100": 2}


@pytest.mark.parametrize(
    ("answer", "prediction", "start"),
    [
        ("The North Sea", "North", RIVERS.rindex("North")),  # the occurrence that overlaps with the gold answer
        ("The North Sea", "near", RIVERS.index("near")),
        ("The North Sea", "river", None),
        # An occurrence that is a gold answer is preferred to one inside another.
        ("to the North Sea.", "Sea", RIVERS.rindex("Sea")),
    ],
)
def test_where_a_prediction_stands(answer, prediction, start):
    row = question_row(0, "What is cold?", answer)
    if prediction == "Sea":
        row["answers"] = {"text": ["Sea", answer], "answer_start": [start, RIVERS.index(answer)]}
    (record,) = analyze([row], {"q0": prediction}).records
    assert record.predicted == ([] if start is None else [(start, start + len(prediction))])


def test_nbest_answers_give_position_and_probability():
    assert column(analyze(ROWS, PREDICTIONS, NBEST), "log_probability") == [None, -0.5, None, -0.25, None, None]
    first = RIVERS.index("North Sea")
    answers = [
        {"text": "North", "start": 0, "end": 5, "score": -9.0},
        {"text": "North", "start": first, "end": first + 5, "score": float("-inf")},
    ]
    row = question_row(0, "What is cold?", "The North Sea")
    analysis = analyze([row], {"q0": "North"}, {"q0": {"answers": answers, "no_answer_score": -1.0}})
    assert analysis.records[0].predicted == [(first, first + 5)]
    assert column(analysis, "log_probability") == [None]


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("By WHOM?", "who"),
        ("Who's there?", "who"),
        ("The man whose horse left in which year and when?", "who"),
        ("Which one?", "others"),
        ("Whatever happened, somewhat?", "others"),
    ],
)
def test_question_types(question, word):
    assert error_analysis.question_type(question) == word


@pytest.mark.parametrize(
    ("first", "rest"),
    [
        ("The U.S. Army met J. R. Smith of St. Louis.", " Then it left."),
        ('He said "no."', " She left."),
        ("It grew 3.5 percent e.g. in May!", " 1999 was better."),
        ("It grew.[2][note 1]", " “Yes,” he said."),
        ("A heading without a stop", "\nText. More."),
        ("\nText.", " More."),
        ("Is it?", " Élan says so."),
        ("all small. letters. here", ""),
        ("", ""),
    ],
)
def test_the_first_sentence(first, rest):
    assert error_analysis.first_sentence_end(first + rest) == len(first)


@pytest.mark.parametrize(
    ("predictions", "nbest", "message"),
    [
        ({"x0": ""}, None, r"for 1 question \('x0'\), which the data does not have"),
        ({"q0": "Rhine"}, {"q0": {"answers": [{"text": "Rhine"}]}}, "n-best answers of 'q0' must be .*'start'"),
        ({"q0": "Rhine"}, {"q0": []}, "n-best answers of 'q0'"),
        ({"q0": ""}, {"q0": {"answers": []}}, "n-best answers of 'q0' .*no_answer_score"),
    ],
)
def test_files_that_do_not_belong_together(predictions, nbest, message):
    with pytest.raises(ValueError, match=message):
        analyze(ROWS, predictions, nbest)


def test_the_report():
    text = analyze(ROWS, PREDICTIONS, NBEST).to_html()
    items = text.split("<li class=")[1:]
    partly = items[3]
    for shown in ("To where does it flow?", "flows to the North Sea", "Rivers", "EM 0", "F1 0.67", "60.7 %"):
        assert shown in partly
    assert "Question word <select" in text
    assert any("By whom" in item and "no answer" in item and "77.9 %" in item for item in items)
    assert any("Which sea" in item and "no prediction" in item for item in items)
    assert "not in the text" in analyze(ROWS[:1], {"q0": "rhine"}).to_html()
    assert "not in the text" not in analyze(ROWS[:1], {"q0": "Rhine"}).to_html()


def test_the_command_writes_files(files, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert main(["analyze", *map(str, files), str(tmp_path / "out")]) == 0
    assert "6 questions: EM 33.33, F1 44.44 (percent)." in capsys.readouterr().out
    assert len(list((tmp_path / "out").glob("*.png"))) == 9
    values = json.loads((tmp_path / "out" / "analysis.json").read_text())
    assert [record["id"] for record in values["records"]] == [row["id"] for row in ROWS]


def test_nbest_answers_beside_the_predictions_are_read(files, tmp_path, monkeypatch):
    monkeypatch.setattr("clozeformers.question_answering.analysis.write_analysis", lambda *_: None)
    nbest = tmp_path / "nbest_predictions.json"
    nbest.write_text(json.dumps(NBEST))
    assert column(analyze_files(*files, tmp_path / "out"), "log_probability")[3] == -0.25
    nbest.write_text("[]")
    with pytest.raises(ValueError, match=r"nbest_predictions.json, line 1: \[\] is not a JSON object; without this"):
        analyze_files(*files, tmp_path / "out")


def test_data_files_are_recognized(files, tmp_path, capsys):
    assert [error_analysis.is_data_file(path) for path in files] == [True, False]
    packed, latin = tmp_path / "data.json.gz", tmp_path / "data.jsonl"
    packed.write_bytes(gzip.compress(files[0].read_bytes())[:-9])
    latin.write_bytes('{"title": "é"}'.encode("latin-1"))
    for path, message in (
        (files[1], " is in none of the formats"),
        ("x", " does not exist"),
        (packed, ", gzip: the compressed file is truncated"),
        (latin, ", line 1: the bytes b'\\xe9' are not UTF-8"),
    ):
        assert main(["analyze", str(path), "predictions.json", "out"]) == 2
        assert f"{path}{message}" in capsys.readouterr().err


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("part", "questions", "unanswerable"), [("dev-v1.1-part", 5702, 0), ("dev-v2.0-part", 3250, 1639)]
)
def test_gold_answers_as_predictions(part, questions, unanswerable):
    folder = os.environ.get("CLOZEFORMERS_CORPORA")
    if folder is None:
        pytest.skip("CLOZEFORMERS_CORPORA does not name a folder that holds squad/")
    path = Path(folder, "squad", f"{part}.json")
    rows = load_squad(path)
    analysis = analyze(rows, {row["id"]: (row["answers"]["text"] or [""])[0] for row in rows})
    assert error_analysis.is_data_file(path)
    assert (len(analysis.records), analysis.scores["EM"], analysis.scores["F1"]) == (questions, 100, 100)
    assert all(set(record.predicted) <= set(record.gold) for record in analysis.records)
    assert column(analysis, "position").count("no answer") == unanswerable
    lengths, before = (table.frame for table in analysis.tables[-2:])
    assert before["gold"].sum() == questions - unanswerable
    assert list(lengths["gold"]) == list(lengths["predicted"])
