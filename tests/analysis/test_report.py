"""The report of any task: complete, safe, and reproducible; and the files of an analysis."""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pandas import DataFrame

from clozeformers.analysis.report import Analysis, Record, check_question_ids, write_analysis
from clozeformers.analysis.tables import group_table


class Page(HTMLParser):
    """What a browser would make of the page: its elements, and the text of each question."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.items: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in ("meta", "input"):
            self.open.append(tag)
        if tag == "li":
            self.items.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, text: str) -> None:
        if self.items:
            self.items[-1] += text

    @property
    def outcomes(self) -> list[str | None]:
        return [value for name, value in self.attributes if name == "data-outcome"]


def record(number, outcome="right", text="The Rhine flows.", gold=(), predicted=()):
    quality = {"right": 1.0, "partly": 0.5, "wrong": 0.0}[outcome]
    values = {"outcome": outcome, "score": quality}
    return Record(f"q{number}", f"Question {number}?", text, gold, predicted, (quality,), values, {"answer": text})


@pytest.fixture(scope="module")
def analyze(tmp_path_factory):
    template = tmp_path_factory.mktemp("templates") / "toy.html"
    template.write_text('{% extends "report.html" %}{% block answers %}{{ record.details.answer }}{% endblock %}')

    def analyze(*records):
        table = group_table(DataFrame([record.values for record in records]), "outcome", ["score"])
        filters = {"outcome": ("right", "partly", "wrong")}
        return Analysis("A summary.", {"questions": len(records)}, records, [table], template, filters)

    return analyze


def test_every_question_is_there_worst_first(analyze):
    page = Page(analyze(record(0), record(1, "wrong"), record(2, "partly")).to_html())
    assert not page.open
    assert page.outcomes == ["wrong", "partly", "right"]
    assert all(text in page.items[0] for text in ("wrong", "Question 1?", "The Rhine flows.", "id q1"))
    text = analyze(record(0, gold=[(4, 9)], predicted=[(0, 9)])).to_html()
    assert '<mark class="predicted">The </mark><mark class="gold predicted">Rhine</mark> flows.' in text


def test_percentages_have_bars_but_not_their_total(analyze):
    text = analyze(record(0), record(1, "wrong")).to_html()
    rows = re.findall(r"<tr.*</tr>", text)
    shown = [re.findall(r'<td class="bar" style="--v: ([\d.]+)%">([\d.]+)</td>', row) for row in rows]
    found = {
        re.search(r'"row">(\w+)', row)[1]: bars for row, bars in zip(rows, shown, strict=True) if 'scope="row' in row
    }
    assert {name: len(bars) for name, bars in found.items()} == {"right": 1, "wrong": 1, "all": 0}
    assert all(value == width for bars in found.values() for width, value in bars)


@given(st.text(min_size=1, max_size=30), st.data())
def test_segments_are_the_text_in_pieces(text, data):
    positions = st.integers(0, len(text))
    spans = st.lists(st.tuples(positions, positions).map(lambda pair: tuple(sorted(pair))), max_size=4)
    gold, predicted = data.draw(spans), data.draw(spans)
    segments = record(0, text=text, gold=gold, predicted=predicted).segments
    assert "".join(piece for piece, _ in segments) == text
    marked = [classes.split() for piece, classes in segments for _ in piece]
    for position, classes in enumerate(marked):
        for name, own in (("gold", gold), ("predicted", predicted)):
            assert (name in classes) == any(start <= position < end for start, end in own)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["<script>alert(1)</script>", "</li><img src=x onerror=a>", "& \"'", "{{ 7 * 7 }}", "</mark>"]))
def test_hostile_texts_stay_texts(analyze, evil):
    page = Page(
        analyze(
            Record(evil, evil, evil, [(1, 3)], [], (0,), {"outcome": evil, "score": 0.0}, {"answer": evil})
        ).to_html()
    )
    assert (page.tags.count("script"), page.tags.count("img"), len(page.items)) == (1, 0, 1)
    assert not page.open
    assert page.items[0].count(evil) == 5  # outcome, question, text, answer, id


def test_the_page_needs_nothing_from_elsewhere(analyze):
    text = analyze(record(0), record(1)).to_html()
    page = Page(text)
    assert not {"src", "href"} & {name for name, _ in page.attributes}
    assert not re.search(r"https?:|url\(|@import", text)
    assert "default-src 'none'" in text
    # Without JavaScript the filters stay hidden and everything else is there.
    assert '<form id="filters" hidden>' in text
    assert page.tags.count("details") == page.tags.count("summary") == 2 + 1


def test_a_sample_is_always_the_same(analyze):
    records = [record(number, "right" if number % 2 else "wrong") for number in range(40)]
    text = analyze(*records).to_html(limit=10)
    page = Page(text)
    assert "random sample of 10 of 40 questions" in text
    assert sorted(page.outcomes, reverse=True) == page.outcomes
    assert set(page.outcomes) == {"wrong", "right"}
    reverse = Page(analyze(*records[::-1]).to_html(limit=10))
    assert sorted(reverse.items) == sorted(page.items)
    assert len(Page(analyze(*records).to_html(limit=None)).items) == 40


def test_a_wrong_limit_writes_nothing(analyze, tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match="limit is 0; it must be at least 1"):
        write_analysis(analyze(record(0)), tmp_path / "out", limit=0)
    assert not (tmp_path / "out").exists()


def test_files(analyze, tmp_path):
    pytest.importorskip("matplotlib")
    analysis = analyze(record(0), record(1, "wrong", "half \ud83d"))
    write_analysis(analysis, tmp_path / "new" / "out")
    files = {path.name: path.read_bytes() for path in (tmp_path / "new" / "out").iterdir()}
    assert files.keys() == {"analysis.md", "analysis.json", "report.html", "outcome.png"}
    assert files["outcome.png"].startswith(b"\x89PNG\r\n\x1a\n")
    assert files["analysis.md"].decode() == analysis.to_markdown()
    assert "A summary.\n\n## Outcome\n\n| outcome |" in analysis.to_markdown()
    values = json.loads(files["analysis.json"])
    assert (values["questions"], values["tables"][0]["name"]) == (2, "outcome")
    assert values["records"][1] == {"id": "q1", "outcome": "wrong", "score": 0.0}
    assert "half ?" in files["report.html"].decode()


def test_without_matplotlib_nothing_is_written(analyze, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        write_analysis(analyze(record(0)), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_predictions_for_unknown_questions():
    check_question_ids(["q0"], ["q0", "q1"])
    with pytest.raises(ValueError, match=r"for 7 questions \('x0', .*'x4', \.\.\.\), which the data does not have"):
        check_question_ids([f"x{number}" for number in range(7)], ["q0"])
