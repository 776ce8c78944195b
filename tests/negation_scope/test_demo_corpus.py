from __future__ import annotations

import pytest

from clozeformers.negation_scope.corpora.schema import NegationRow, sentence_id
from clozeformers.negation_scope.cues import find_cues
from clozeformers.negation_scope.demo_corpus import (
    DEMO_SENTENCES,
    generate_demo_corpus,
    generate_demo_texts,
)
from clozeformers.negation_scope.demo_phrases import inflect
from clozeformers.words import split_words

SIZE = 3000
TEXTS = generate_demo_texts(SIZE, 1)
ROWS = generate_demo_corpus(SIZE, 1)


def by_sentence() -> dict[int, list[NegationRow]]:
    groups: dict[int, list[NegationRow]] = {}
    for row in ROWS:
        groups.setdefault(int(sentence_id(row["id"]).rpartition("-")[2]), []).append(row)
    return groups


def bracketed(row: NegationRow) -> str:
    """The sentence with its scope in braces and its cue in angle brackets."""
    words = []
    for token, cue, scope in zip(row["tokens"], row["cue"], row["scope"], strict=True):
        word = f"<{token}>" if cue else token
        words.append(f"{{{word}}}" if scope else word)
    return " ".join(words).replace("} {", " ")


def test_same_arguments_same_corpus() -> None:
    assert generate_demo_corpus(200, 5) == generate_demo_corpus(200, 5)
    assert generate_demo_corpus(200, 5) != generate_demo_corpus(200, 6)
    assert generate_demo_corpus(50, 5) == [
        r for r in generate_demo_corpus(200, 5) if int(r["id"][7:].split("#")[0]) < 50
    ]


def test_sizes() -> None:
    assert generate_demo_corpus(0, 1) == []
    assert len(by_sentence()) == SIZE
    assert all(len(rows) in (1, 2) for rows in by_sentence().values())
    assert 0.1 < (len(ROWS) - SIZE) / SIZE < 0.3
    with pytest.raises(ValueError, match="-1"):
        generate_demo_corpus(-1, 1)


def test_tokens_are_the_words_of_the_text() -> None:
    for number, rows in by_sentence().items():
        for place, row in enumerate(rows):
            assert row["tokens"] == [word.text for word in split_words(TEXTS[number])]
            assert row["id"] == f"demo-1-{number}#{place}"
            assert (row["corpus"], row["kind"]) == ("demo", "negation")


def test_rows_hold_a_cue_and_labels_for_every_word() -> None:
    for row in ROWS:
        assert len(row["cue"]) == len(row["scope"]) == len(row["tokens"])
        assert any(row["cue"])
        assert set(row["cue"]) | set(row["scope"]) <= {0, 1}
        assert all(row["tokens"])


def test_scope_leaves_out_whole_cue_words_and_final_signs() -> None:
    for row in ROWS:
        pieces = row["cue_text"].split()
        cued = [(t, s) for t, c, s in zip(row["tokens"], row["cue"], row["scope"], strict=True) if c]
        assert len(cued) == len(pieces)
        for (token, scope), piece in zip(cued, pieces, strict=True):
            assert piece in token
            assert scope == (piece != token), bracketed(row)  # the rest of an affixed word is in scope
        for token, scope in zip(row["tokens"], row["scope"], strict=True):
            assert not (scope and token in {",", ";", "!", "?", ":", '"', "“", "”"}), bracketed(row)
        assert row["scope"][-1] == 0, bracketed(row)


def test_empty_scope_only_after_an_answering_no() -> None:
    empty = [row for row in ROWS if not any(row["scope"])]
    assert {row["tokens"][0] for row in empty} == {"No"}
    assert {row["tokens"][1] for row in empty} == {","}
    assert len(empty) < 0.03 * len(ROWS)


def test_a_second_row_has_a_cue_of_its_own() -> None:
    for rows in by_sentence().values():
        if len(rows) == 2:
            assert not any(a and b for a, b in zip(rows[0]["cue"], rows[1]["cue"], strict=True))


def test_cue_finder_agrees_with_the_gold_cues() -> None:
    agreeing = 0
    for number, rows in by_sentence().items():
        text = TEXTS[number]
        words = split_words(text)
        answers = [
            tuple(int(any(a < w.end and w.start < b for a, b in cue.parts)) for w in words)
            for cue in find_cues(text, words)
        ]
        agreeing += sorted(answers) == sorted(tuple(row["cue"]) for row in rows)
    assert agreeing > 0.998 * SIZE


def test_seeds_share_next_to_no_sentences() -> None:
    training = set(generate_demo_texts(20_000, 100))
    held_out = generate_demo_texts(2_000, 101)
    assert sum(text in training for text in held_out) < 0.01 * len(held_out)


def test_vocabulary_and_cues_are_varied() -> None:
    vocabulary = {token.lower() for row in ROWS for token in row["tokens"]}
    assert 700 < len(vocabulary) < 2500
    cues = {row["cue_text"].lower() for row in ROWS}
    wanted = {"not", "n't", "n’t", "nt", "no", "never", "nothing", "nobody", "none", "without", "neither nor", "nor"}
    assert wanted | {"un", "im", "in", "ir", "dis", "less", "by no means", "nowhere", "failed", "lacked"} <= cues


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("stop", "stop stops stopped stopped stopping"),
        ("see", "see sees saw seen seeing"),
        ("justify", "justify justifies justified justified justifying"),
        ("enjoy", "enjoy enjoys enjoyed enjoyed enjoying"),
        ("watch", "watch watches watched watched watching"),
        ("write", "write writes wrote written writing"),
        ("have", "have has had had having"),
    ],
)
def test_inflection(verb: str, forms: str) -> None:
    kinds = ("base", "third", "past", "participle", "ing")
    assert [inflect(verb, kind) for kind in kinds] == forms.split()


def test_demo_sentences_are_not_generated() -> None:
    assert "I do not know the answer." in DEMO_SENTENCES
    assert len(DEMO_SENTENCES) >= 12
    assert not set(DEMO_SENTENCES[1:]) & set(TEXTS)
    assert all(find_cues(text, split_words(text)) for text in DEMO_SENTENCES)
