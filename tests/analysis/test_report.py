"""The HTML report: complete, safe, and the same each time."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clozeformers.analysis.report import render_report, sample, segments
from clozeformers.question_answering.analysis import QuestionRecord, Span, analyse

from ..analysis_questions import NBEST, PREDICTIONS, RIVERS, ROWS, question_row


class Page(HTMLParser):
    """What a browser would make of the page: its elements, and the text of each question's parts."""

    EMPTY = ("meta", "input")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.items: list[str] = []
        self.marks: list[tuple[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in self.EMPTY:
            self.open.append(tag)
        if tag == "li" and ("data-word" in dict(attributes)):
            self.items.append("")
        if tag == "mark" and self.items:
            self.marks.append((dict(attributes)["class"] or "", ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, text: str) -> None:
        if self.items:
            self.items[-1] += text
        if self.open and self.open[-1] == "mark" and self.marks:
            self.marks[-1] = (self.marks[-1][0], self.marks[-1][1] + text)


def record(context: str, gold: tuple[Span, ...], predicted: Span | None) -> QuestionRecord:
    """A question of which only the spans matter."""
    return QuestionRecord(
        "q", "", "", context, (), gold, None, predicted, None, "what", False, 0, "no answer", exact_match=0, f1=0
    )


def test_every_question_is_there_worst_first():
    page = Page(render_report(analyse(ROWS, PREDICTIONS, NBEST)))
    assert not page.open
    assert len(page.items) == len(ROWS)
    outcomes = [value for name, value in page.attributes if name == "data-outcome"]
    assert outcomes == ["wrong"] * 3 + ["partly"] + ["right"] * 2
    partly = page.items[3]
    for shown in ("To where does it flow?", RIVERS, "flows to the North Sea", "Rivers", "EM 0", "F1 0.67", "60.7 %"):
        assert shown in partly
    assert any("By whom" in item and "no answer" in item and "77.9 %" in item for item in page.items)
    assert any("Which sea" in item and "no prediction" in item for item in page.items)


def test_marks():
    row = question_row(0, "Where does it flow?", "to the North Sea")
    page = Page(render_report(analyse([row], {"q0": "flows to the North"})))
    assert page.marks == [("predicted", "flows "), ("gold predicted", "to the North"), ("gold", " Sea")]


def test_a_prediction_that_is_not_in_the_context_is_told():
    assert "not in the context" in render_report(analyse(ROWS[:1], {"q0": "rhine"}))
    assert "not in the context" not in render_report(analyse(ROWS[:1], {"q0": "Rhine"}))


def test_hostile_texts_stay_texts():
    evil = "<script>alert(1)</script> & \"'></li><img src=x onerror=alert(2)> {{ 7 * 7 }}"
    row = question_row(0, f"What is {evil}?", "<script>", context=evil, title=evil) | {"id": f"q{evil}"}
    plain = Page(render_report(analyse([question_row(0, "What is it?", "Rhine")], {"q0": "Rhine"})))
    for prediction in ("<script>alert", f"</script>{evil}"):
        page = Page(render_report(analyse([row], {row["id"]: prediction})))
        assert (page.tags.count("script"), page.tags.count("img"), len(page.items)) == (1, 0, 1)
        assert not page.open
        assert page.items[0].count(evil) >= 4
        assert {name for name, _ in page.attributes} <= {name for name, _ in plain.attributes}


def test_the_page_needs_nothing_from_elsewhere():
    text = render_report(analyse(ROWS, PREDICTIONS))
    page = Page(text)
    assert not {"src", "href"} & {name for name, _ in page.attributes}
    assert not re.search(r"https?:|url\(|@import", text)
    assert "default-src 'none'" in text
    # Without JavaScript the filters stay hidden and everything else is there.
    assert '<form id="filters" hidden>' in text
    assert page.tags.count("details") == page.tags.count("summary") == len(ROWS) + 1


def test_a_sample_is_told_and_always_the_same():
    rows = [question_row(number, f"What is {number}?", "Rhine") for number in range(40)]
    predictions = {row["id"]: "Rhine" if number % 2 else "sea" for number, row in enumerate(rows)}
    analysis = analyse(rows, predictions)
    text = render_report(analysis, limit=10)
    assert text == render_report(analyse(rows, predictions), limit=10)
    page = Page(text)
    assert len(page.items) == 10
    assert "Shown: 10 of 40 questions" in text
    outcomes = [value for name, value in page.attributes if name == "data-outcome"]
    assert outcomes == sorted(outcomes, reverse=True)
    assert set(outcomes) == {"wrong", "right"}
    assert sample(analysis.records[::-1], 10) == sample(analysis.records, 10)
    assert len(Page(render_report(analysis, limit=None)).items) == 40
    assert "Shown: all questions" in render_report(analysis, limit=40)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_that_shows_nothing(limit):
    with pytest.raises(ValueError, match=f"limit is {limit}; it must be 1 or more"):
        render_report(analyse(ROWS, PREDICTIONS), limit=limit)


@given(st.text(min_size=1, max_size=30), st.data())
def test_segments_are_the_context_cut_in_pieces(context, data):
    places = st.integers(0, len(context))
    spans = st.tuples(places, places).map(lambda pair: Span(*sorted(pair)))
    gold, predicted = data.draw(st.lists(spans, max_size=4)), data.draw(st.none() | spans)
    pieces = list(segments(record(context, tuple(gold), predicted)))
    assert "".join(piece.text for piece in pieces) == context
    marked = [(piece.is_gold, piece.is_predicted) for piece in pieces for _ in piece.text]
    for place, pair in enumerate(marked):
        is_gold = any(place in range(*span) for span in gold)
        assert pair == (is_gold, predicted is not None and place in range(*predicted))
