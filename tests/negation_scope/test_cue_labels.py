"""Cues as labels of words, and their scores."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clozeformers.metrics import SemStarScope
from clozeformers.negation_scope.corpora.cd_sco import write_found_cd_sco
from clozeformers.negation_scope.cue_labels import AFFIX, CUE, NO_CUE, PART, cues_of_labels, cues_of_windows
from clozeformers.negation_scope.cue_scores import Negation, cue_of_parts, cue_of_row, found_scores, lexicon_scores
from clozeformers.negation_scope.cues import affix_span
from clozeformers.negation_scope.encoding import LabelledSentence, label_sentences
from clozeformers.words import words_of_tokens


def row(text: str, cue: str, number: str = "0", cue_text: str | None = None) -> dict[str, Any]:
    """A row: `cue` has a 1 for each cue word, 0 for the others."""
    marks = [int(mark) for mark in cue]
    words = [token for token, mark in zip(text.split(), marks, strict=True) if mark]
    texts = " ".join(words) if cue_text is None else cue_text
    return {
        "id": f"s/{text}#{number}",
        "corpus": "x",
        "kind": "negation",
        "tokens": text.split(),
        "cue": marks,
        "cue_text": texts,
    }


def found(text: str, labels: list[int]) -> list[list[str]]:
    parts = cues_of_labels(words_of_tokens(text.split()), labels)
    return [[text[start:end] for start, end in cue] for cue in parts]


@pytest.mark.parametrize(
    ("rows", "labels", "cues"),
    [
        ([row("it is fine", "000", "-")], [NO_CUE] * 3, []),
        ([row("it is not fine", "0010")], [NO_CUE, NO_CUE, CUE, NO_CUE], [["not"]]),
        ([row("an impossible task", "010", cue_text="im")], [NO_CUE, AFFIX, NO_CUE], [["im"]]),
        ([row("I do n't care", "0110")], [NO_CUE, PART, PART, NO_CUE], [["do n't"]]),
        ([row("neither he nor she", "1010")], [PART, NO_CUE, PART, NO_CUE], [["neither", "nor"]]),
        (
            [
                row("not careless by no means", "10000"),
                row("not careless by no means", "01000", "1", "less"),
                row("not careless by no means", "00111", "2"),
            ],
            [CUE, AFFIX, PART, PART, PART],
            [["not"], ["less"], ["by no means"]],
        ),
    ],
)
def test_labels_of_cues(rows: list[dict[str, Any]], labels: list[int], cues: list[list[str]]) -> None:
    [sentence] = label_sentences(rows)
    assert sentence.labels == labels
    assert sentence.rows == [number for number, each in enumerate(rows) if any(each["cue"])]
    assert found(" ".join(sentence.tokens), labels) == cues
    words = words_of_tokens(sentence.tokens)
    assert [cue_of_parts(words, parts) for parts in cues_of_labels(words, labels)] == [
        cue_of_row(each) for each in rows if any(each["cue"])
    ]


def test_cues_of_overlapping_windows() -> None:
    words = words_of_tokens(["it", "is", "n't", "impossible"])
    left, right = np.eye(4)[[NO_CUE, NO_CUE, CUE]], np.eye(4)[[NO_CUE, CUE, AFFIX, NO_CUE, PART]]
    left[2], right[1] = (0, 0.6, 0, 0.4), (0, 0.3, 0, 0.7)  # n't is a part, by the mean of both windows
    windows = [(1, [0, 1, 2], left), (0, [0], np.eye(4)[[CUE]]), (1, [-1, 2, 3, -1], right)]
    not_, im = (words[2].start, words[2].end), (words[3].start, words[3].start + 2)
    assert cues_of_windows([words[:1], words], windows, [True, True]) == [[((0, 2),)], [(not_,), (im,)]]
    assert cues_of_windows([words[:1], words], windows, [True, False]) == [[((0, 2),)], [(not_,)]]


def test_sentences_are_in_the_order_of_the_corpus() -> None:
    rows = [row("b not", "01"), row("a", "0", "-"), row("b not", "10", "1")]
    rows += [row("a", "1") | {"id": rows[0]["id"]}, row("b not", "01") | {"corpus": "y"}]  # ids used twice
    assert [(each.tokens, each.rows) for each in label_sentences(rows)] == [
        (["b", "not"], [0, 2]),
        (["a"], []),
        (["a"], [3]),
        (["b", "not"], [4]),
    ]


@pytest.mark.parametrize(
    ("text", "labels", "cues"),
    [
        ("he did n't and she did n't", [0, 3, 3, 0, 0, 3, 3], [["did n't"], ["did n't"]]),
        ("neither he nor she nor it", [3, 0, 3, 0, 3, 0], [["neither", "nor", "nor"]]),
        ("she is here nor there", [0, 0, 0, 3, 0], [["nor"]]),
        ("no he nor she , no it", [3, 0, 3, 0, 0, 3, 0], [["no", "nor"], ["no"]]),
        ("an odd word", [0, 2, 0], [["odd"]]),  # no affix in sight
    ],
)
def test_cues_of_any_labels(text: str, labels: list[int], cues: list[list[str]]) -> None:
    assert found(text, labels) == cues


@pytest.mark.parametrize(
    ("word", "affix"),
    [
        *[("impossible", "im"), ("careless", "less"), ("carelessness", "less"), ("unhappy", "un"), ("don't", "n't")],
        *[("cannot", "not"), ("dont", "nt"), ("inhumane", "in"), ("relentless", "less")],  # not all in the lexicon
        *[("a", None), ("table", None), ("in", None)],
    ],
)
def test_affixes_are_cut_from_any_word(word: str, affix: str | None) -> None:
    # Behind another word, so that places in the text count.
    last = words_of_tokens(["xy", word])[-1]
    span = affix_span(last)
    assert (span and f"xy {word}"[slice(*span)]) == affix


NOT, IM, NOR = (
    Negation(frozenset(cue), frozenset({2, 4})) for cue in ([(1, "not")], [(3, "im")], [(5, "a"), (7, "b")])
)


def test_scores_of_found_negations() -> None:
    assert set(found_scores([([NOT], [NOT]), ([IM, NOR], [IM, NOR]), ([], [])]).values()) == {100.0}
    # Of four gold cues two are found exactly, one with a part only; one of the found ones is wrong.
    part, wrong = NOR._replace(cue=frozenset({(5, "a")}), scope=frozenset({4, 9})), IM._replace(scope=frozenset({1}))
    scores = found_scores([([NOT, IM], [NOT, IM]), ([NOR, NOT], [part, wrong])])
    assert scores["cue_precision"] == pytest.approx(100 * 2 / 3)
    assert scores["cue_recall"] == 50
    assert scores["cue_f1"] == pytest.approx(2 * 200 / 3 * 50 / (200 / 3 + 50))
    assert scores["cue_overlap_f1"] == 75
    # Words of scopes: 8 gold ones, 7 found ones, of which 5 are right.
    assert scores["found_f1"] == pytest.approx(100 * 2 * 5 / 15)
    assert set(found_scores([([NOT], [])]).values()) == {0.0}


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_scores_are_those_of_the_official_script(data: st.DataObject) -> None:
    """Up to rounding: the script computes F1 from rounded numbers."""
    words = [f"w{number}" for number in range(5)]
    cue = st.dictionaries(st.integers(0, 4), st.just("w"), min_size=1, max_size=2)
    negation = st.builds(
        lambda parts, scope: Negation(frozenset(parts.items()), frozenset(scope - parts.keys())),
        cue,
        st.sets(st.integers(0, 4)),
    )
    sentences = data.draw(st.lists(st.tuples(*[st.lists(negation, max_size=2)] * 2), min_size=1, max_size=4))
    with TemporaryDirectory() as folder:
        gold, system = Path(folder) / "gold.txt", Path(folder) / "system.txt"
        template = "".join(
            "".join(f"c\t{number}\t{place}\t{word}\t_\tNN\t_\t***\n" for place, word in enumerate(words)) + "\n"
            for number in range(len(sentences))
        )
        words_only = Path(folder) / "words.txt"
        words_only.write_text(template)
        for side, path in enumerate((gold, system)):
            columns = {
                f"c/{number}": [
                    ([dict(each.cue).get(place, "_") for place in range(5)], [int(k in each.scope) for k in range(5)])
                    for each in pair[side]
                ]
                for number, pair in enumerate(sentences)
            }
            write_found_cd_sco(words_only, columns, path)
        official = SemStarScope().compute(predictions=[str(system)], references=[str(gold)])
    ours = found_scores(sentences)
    for name in ("precision", "recall", "f1"):
        assert ours[f"cue_{name}"] == pytest.approx(official[f"cues_{name}"], abs=0.011)
    assert ours["found_f1"] == pytest.approx(official["scope_tokens_f1"], abs=0.011)


def test_the_lexicon_beside_a_model() -> None:
    def sentence(corpus: str, text: str, *cues: tuple[int, str]) -> tuple[LabelledSentence, list[Negation]]:
        tokens = text.split()
        gold = [Negation(frozenset({cue}), frozenset()) for cue in cues]
        return LabelledSentence("s", corpus, "negation", tokens, [0] * len(tokens), []), gold

    sentences, gold = zip(
        sentence("cd-sco", "it is impossible , and not good", (2, "im"), (5, "not")),
        sentence("sfu", "it is impossible , not only good", (4, "not")),  # no affixes; "not only" is a cue
        sentence("mine", "he abhors it", (1, "abhors")),
        strict=True,
    )
    found = [gold[0][:1], [], gold[2]]
    perfect = found_scores(zip(gold, gold, strict=True))["cue_f1"]
    scores = lexicon_scores(sentences, gold, found)
    assert scores == {"lexicon_cue_f1": pytest.approx(100 * 6 / 7), "both_cue_f1": perfect}
    wrong = [[Negation(frozenset({(2, "impossible")}), frozenset())], *found[1:]]
    assert lexicon_scores(sentences, gold, wrong)["both_cue_f1"] < perfect, "the model's cue stays"
