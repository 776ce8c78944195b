from __future__ import annotations

import random

import pytest

from clozeformers.negation_scope import demo_corpus
from clozeformers.negation_scope.corpora.schema import NegationRow
from clozeformers.negation_scope.demo_corpus import DEMO_SENTENCES, generate_demo_corpus

ROWS = generate_demo_corpus(1000, 1)


def labelled(row: NegationRow) -> str:
    """The sentence with its cue in brackets and its scope in braces."""
    words = [
        f"[{token}]" if cue and not scope else f"{{{token}}}" if scope else token
        for token, cue, scope in zip(row["tokens"], row["cue"], row["scope"], strict=True)
    ]
    return " ".join(words).replace("} {", " ")


def test_rows_are_valid_and_sentences_have_one_or_two() -> None:
    for row in ROWS:
        assert len(row["cue"]) == len(row["scope"]) == len(row["tokens"])
        assert row["cue_text"].split()[0] in " ".join(row["tokens"])
        assert not set("<>()[]{}«»/").intersection(" ".join(row["tokens"])), row["tokens"]
        assert 1 in row["cue"]
        assert 1 in row["scope"] or row["tokens"][:2] == ["No", ","]
        assert row["tokens"][0][0].isupper() or row["tokens"][0] in '“"'
        assert row["scope"][-1] == 0
        assert row["kind"] == "negation"
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    assert {row["id"].partition("#")[0] for row in ROWS} == {f"demo-1-{number}" for number in range(1000)}
    assert 1050 < len(ROWS) < 1250
    assert len({row["cue_text"].lower() for row in ROWS}) > 15


def test_the_seed_determines_the_corpus() -> None:
    assert generate_demo_corpus(50, 1) == [row for row in ROWS if int(row["id"][7:].partition("#")[0]) < 50]
    other = {tuple(row["tokens"]) for row in generate_demo_corpus(1000, 2)}
    assert sum(tuple(row["tokens"]) in other for row in ROWS) < 10
    assert not {tuple(row["tokens"]) for row in ROWS} & {tuple(sentence.split()) for sentence in DEMO_SENTENCES}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("<NEGATION>, but it works .", ["{I do} [not] {know} , but it works ."]),
        ("“<UN>!”", ["“ {It is unsafe here} ! ”"]),
        (
            "<NEGATION> and <PAIR>.",
            [
                "{I do} [not] {know} and he saw neither dogs nor cats .",
                "I do not know and {he saw} [neither] {dogs} [nor] {cats} .",
            ],
        ),
        ("<NT>?", ["{Why ca} [n't] {we} ?"]),
        ("<go:past> (or|or) <go:ing>, <NO>.", ["Went or going , [no] ."]),
    ],
)
def test_labels_come_from_the_marks(template: str, expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    grammar = {
        "sentence": [template],
        "NEGATION": ["{I do} [not] {know}"],
        "UN": ["{it is} [un]{safe here}"],
        "PAIR": ["{he saw} [neither] {dogs} [nor] {cats}"],
        "NT": ["{why ca}[n't] {we}"],
        "NO": ["[no]"],
        "go": ["go/goes/went/gone/going"],
    }
    monkeypatch.setattr(demo_corpus, "_grammar", lambda: grammar)
    rows = list(demo_corpus._rows(demo_corpus._expand("sentence", None, random.Random(0)), "s"))
    assert [labelled(row) for row in rows] == expected
    assert [row["id"] for row in rows] == [f"s#{number}" for number in range(len(expected))]


def test_the_cue_of_an_affix_is_the_affix() -> None:
    affixed = [row for row in ROWS if row["cue_text"] in ("un", "im", "less", "il")]
    assert affixed
    for row in affixed:
        [word] = [token for token, cue in zip(row["tokens"], row["cue"], strict=True) if cue]
        assert word != row["cue_text"]
        assert row["cue_text"] in word
        assert row["scope"][row["tokens"].index(word)] == 1
