"""Records and tables of extractive question answering."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clozeformers.analysis.tables import Grouping
from clozeformers.metrics.squad import squad_scores
from clozeformers.question_answering.analysis import (
    LENGTHS,
    SCORE_RANGES,
    Span,
    analyse,
    first_sentence_end,
    length_range,
    question_word,
    score_range,
)
from clozeformers.question_answering.squad import load_squad

from ..analysis_questions import NBEST, PREDICTIONS, RIVERS, ROWS, question_row

QUIET = PREDICTIONS | {"q4": ""}


def test_one_record_a_question():
    right, partly, wrong, silent, missing, answered = analyse(ROWS, PREDICTIONS).records
    assert [record.outcome for record in (right, partly, wrong, silent, missing, answered)] == [
        "right",
        "partly",
        "wrong",
        "right",
        "wrong",
        "wrong",
    ]
    # "flows to north sea" against "north sea"
    assert (partly.exact_match, partly.f1) == (0.0, pytest.approx(2 * 0.5 / 1.5))
    assert [r.question_word for r in (right, partly, wrong, silent, missing, answered)] == [
        "what",
        "where",
        "who",
        "who",
        "others",
        "how",
    ]
    assert [r.form for r in (right, partly, silent, missing)] == ["simple", "inverted", "inverted", "simple"]
    assert [r.answer_length for r in (right, partly, silent)] == [2, 3, 0]
    assert [r.position for r in (right, partly, silent)] == ["first sentence", "later sentences", "no answer"]
    assert right.gold_spans == (Span(0, 9), Span(4, 9))
    assert silent.answer_given == "unanswerable, not answered"
    assert missing.answer_given == "answerable, no prediction"
    assert (missing.prediction, missing.predicted_span) == (None, None)


def test_scores_are_those_of_the_metric():
    analysis = analyse(ROWS, QUIET)
    scores = squad_scores(QUIET, {row["id"]: row["answers"]["text"] for row in ROWS})
    assert (analysis.mean("EM"), analysis.mean("F1")) == (pytest.approx(scores["exact_match"]), scores["f1"])


def test_the_script_of_1_1_scores_where_every_question_has_an_answer():
    # An answer and a prediction without any word: an F1 of 0 in 1.1, of 1 in 2.0.
    article = question_row(7, "What is it?", "The")
    (record,) = analyse([article], {"q7": "!"}).records
    assert (record.exact_match, record.f1) == (1.0, 0.0)
    record, _ = analyse([article, ROWS[3]], {"q7": "!", "q3": ""}).records
    assert (record.exact_match, record.f1) == (1.0, 1.0)


def test_tables():
    analysis = analyse(ROWS, PREDICTIONS)
    tables = {table.name: table for table in analysis.tables}
    assert list(tables) == [
        "question word",
        "question form",
        "question word and form",
        "answer length in words",
        "answer position",
        "answer given",
        "distribution of scores",
        "distribution of answer lengths",
    ]
    assert tables["question word"].column("question word") == ["what", "how", "where", "who", "others"]
    assert tables["question word"].column("questions") == [1, 1, 1, 2, 1]
    assert tables["question word"].column("EM") == [100, 0, 0, 50, 0]
    assert tables["question form"].rows[1][:2] == ("inverted", 2)
    assert tables["answer position"].column("questions") == [2, 2, 2]
    assert dict(zip(LENGTHS, tables["distribution of answer lengths"].column("gold"), strict=True)) == {
        **dict.fromkeys(LENGTHS, 0),
        "no answer": 2,
        "2": 2,
        "3": 2,
    }
    # A question without a prediction has no predicted length.
    assert sum(tables["distribution of answer lengths"].column("predicted")) == len(PREDICTIONS)
    assert tables["distribution of scores"].column("F1")[0] == 3


def test_a_grouping_of_ones_own():
    analysis = analyse(ROWS, QUIET, groupings=[Grouping("title", lambda record: record.title)])
    assert analysis.tables[0].rows[0][:2] == ("Rivers", 6)


def test_missing_predictions_are_told(caplog):
    with caplog.at_level(logging.WARNING, logger="clozeformers"):
        analysis = analyse(ROWS, PREDICTIONS)
    assert caplog.messages == ["1 question ('q4') without a prediction, counted as wrong"]
    assert analysis.missing == 1
    assert "1 of them have no prediction" in analysis.to_markdown()
    caplog.clear()
    assert analyse(ROWS, QUIET).missing == 0
    assert not caplog.messages


def test_where_a_prediction_stands():
    rows = [question_row(0, "What is cold?", "The North Sea")]
    first, last = RIVERS.index("North Sea"), RIVERS.rindex("North Sea")
    (record,) = analyse(rows, {"q0": "North"}).records
    assert record.predicted_span == Span(last, last + 5)
    (record,) = analyse(rows, {"q0": "near"}).records
    assert record.predicted_span == Span(RIVERS.index("near"), RIVERS.index("near") + 4)
    row = question_row(0, "What is cold?", "The North Sea")
    row["answers"] = {"text": ["Sea", "to the North Sea."], "answer_start": [RIVERS.rindex("Sea"), RIVERS.index("to ")]}
    (record,) = analyse([row], {"q0": "Sea"}).records
    assert record.predicted_span == record.gold_spans[0]
    (record,) = analyse(rows, {"q0": "river"}).records
    assert record.predicted_span is None
    answers = [
        {"text": "North", "start": 0, "end": 5, "score": -9.0},
        {"text": "North", "start": first, "end": first + 5, "score": -2.0},
    ]
    (record,) = analyse(rows, {"q0": "North"}, {"q0": {"answers": answers, "no_answer_score": -1.0}}).records
    assert (record.predicted_span, record.log_probability) == (Span(first, first + 5), -2.0)


def test_probabilities_are_known_where_nbest_answers_are():
    records = analyse(ROWS, PREDICTIONS, NBEST).records
    assert [record.log_probability for record in records] == [None, -0.5, None, -0.25, None, None]


def test_json():
    analysis = analyse(ROWS, QUIET, {"q3": {"answers": [], "no_answer_score": float("-inf")}})
    values = json.loads(analysis.to_json())
    assert (values["questions"], values["missing"], values["EM"]) == (6, 0, analysis.mean("EM"))
    assert [record["id"] for record in values["records"]] == [row["id"] for row in ROWS]
    assert values["records"][3]["log_probability"] is None
    assert values["tables"][0]["rows"][0] == ["what", 1, pytest.approx(100 / 6), 100, 100]


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("What is it?", "what"),
        ("By WHOM?", "who"),
        ("Whose is it?", "who"),
        ("Who's there?", "who"),
        ("The man who knew when left in which year?", "who"),
        ("Which one?", "others"),
        ("Whatever happened, somewhat?", "others"),
        ("", "others"),
    ],
)
def test_question_words(question, word):
    assert question_word(question) == word


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
    assert first_sentence_end(first + rest) == len(first)


@given(st.text("ab A.!?\n\"'[]1 "))
def test_the_first_sentence_is_part_of_the_text(text):
    end = first_sentence_end(text)
    assert 0 <= end <= len(text)
    assert end or not text


def test_ranges():
    assert [length_range(words) for words in (0, 1, 5, 6, 10, 11, 15, 16, 99)] == [
        *("no answer", "1", "5", "6–10", "6–10", "11–15", "11–15", "16 or more", "16 or more")
    ]
    assert {length_range(words) for words in range(30)} == set(LENGTHS)
    scores = (0, 0.01, 0.0999, 0.1, 0.3, 0.6 - 1e-16, 0.999, 1)
    assert [score_range(score) for score in scores] == [
        *("0", "under 10", "under 10", "10–19", "30–39", "60–69", "90–99", "100")
    ]
    assert {score_range(number / 100) for number in range(101)} == set(SCORE_RANGES)


@pytest.mark.parametrize(
    ("rows", "predictions", "nbest", "message"),
    [
        ([], {}, None, "there are no questions"),
        ([{"id": "q0", "title": ""}], {}, None, r"rows\[0\] has no 'context'; a row has id, title"),
        ([ROWS[0], ROWS[0]], {}, None, r"'q0' stands twice, again in rows\[1\]"),
        (ROWS, {f"x{n}": "" for n in range(7)}, None, r"for 7 questions \('x0', .*'x4', \.\.\.\) that the rows do not"),
        (ROWS, {"q0": None}, None, "prediction for 'q0' is None; it must be a string"),
        (
            [ROWS[0] | {"answers": {"text": ["Rhine"], "answer_start": [3]}}],
            {},
            None,
            "answer 'Rhine' of 'q0' is not at 3, where ' Rhin' stands",
        ),
        (
            [ROWS[0] | {"answers": {"text": ["Rhine"], "answer_start": []}}],
            {},
            None,
            "'q0' has 1 answers, and 0",
        ),
        ([ROWS[0] | {"answers": {"text": ["."], "answer_start": [-1]}}], {}, None, "'q0' is not at -1"),
        (ROWS, {"q0": "Rhine"}, {"q0": {"answers": [{"text": "Rhine"}]}}, "n-best answers of 'q0' must be .*'start'"),
        (ROWS, {"q0": "Rhine"}, {"q0": []}, "n-best answers of 'q0'"),
        (ROWS, {"q0": ""}, {"q0": {"answers": []}}, "n-best answers of 'q0' .*no_answer_score"),
    ],
)
def test_what_cannot_be_analysed(rows, predictions, nbest, message):
    with pytest.raises(ValueError, match=message):
        analyse(rows, predictions, nbest)


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("part", "questions", "unanswerable"), [("dev-v1.1-part", 5702, 0), ("dev-v2.0-part", 3250, 1639)]
)
def test_gold_answers_as_predictions(part, questions, unanswerable):
    folder = os.environ.get("CLOZEFORMERS_CORPORA")
    if folder is None:
        pytest.skip("CLOZEFORMERS_CORPORA does not name a folder that holds squad/")
    rows = load_squad(Path(folder, "squad", f"{part}.json"))
    analysis = analyse(rows, {row["id"]: (row["answers"]["text"] or [""])[0] for row in rows})
    assert (len(analysis.records), analysis.mean("EM"), analysis.mean("F1")) == (questions, 100, 100)
    for record in analysis.records:
        assert record.predicted_span in (record.gold_spans or [None])
    tables = {table.name: table for table in analysis.tables}
    assert sum(row[1] for row in tables["answer position"].rows if row[0] == "no answer") == unanswerable
    lengths = tables["distribution of answer lengths"]
    assert lengths.column("gold") == lengths.column("predicted")
