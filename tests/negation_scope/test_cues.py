from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clozeformers.negation_scope.cues import CUES_BEFORE, SINGLE_CUES, find_cues
from clozeformers.words import Word, split_words

LEXICON = sorted(SINGLE_CUES | set(CUES_BEFORE) | {"unhappy", "careless", "isn't", "dont", "of", "by", "no means"})
SENTENCE = st.lists(st.sampled_from([*LEXICON, ",", ".", "doubt", "the", "than", "rather", "only"]), max_size=30)


def found(text: str) -> list[str]:
    """The cues of a text, the parts of one joined by a space."""
    return [" ".join(text[a:b] for a, b in cue.parts) for cue in find_cues(text, split_words(text))]


def by_space(text: str) -> list[Word]:
    words, start = [], 0
    for part in text.split(" "):
        if part:
            words.append(Word(part, start, start + len(part)))
        start += len(part) + 1
    return words


@pytest.mark.parametrize(
    ("text", "cues"),
    [
        ("I do not know.", ["not"]),
        ("It isn't here, it isn’t there.", ["n't", "n’t"]),
        ("I cannot and CAN'T go.", ["not", "N'T"]),
        ("They dont eat, they cant and wont.", ["nt", "nt", "nt"]),
        ("No one came; nobody saw it and nothing happened.", ["No", "nobody", "nothing"]),
        ("He is no longer here.", ["no"]),
        ("It is by no means clear.", ["by no means"]),
        ("She sang rather than spoke.", ["rather than"]),
        ("He is neither rich nor poor nor sad.", ["neither nor nor"]),
        ("Neither Mr. Brown nor Tom came.", ["Neither nor"]),
        ("Neither came. Nor did he.", ["Neither", "Nor"]),
        ("Neither of us came. Nor did he.", ["Neither", "Nor"]),
        ("She neither ate nor drank, nor did she sleep.", ["neither nor", "nor"]),
        ("In the absence of fever it failed to help for lack of time.", ["absence", "failed", "lack"]),
        ("An impossible, irregular and unhappy plan.", ["im", "ir", "un"]),
        ("He waited helplessly, with great carelessness.", ["less", "less"]),
        ("A non-smoker, afebrile and asymptomatic.", ["non", "a", "a"]),
        ("Why don't you know? She tried not to mention it.", ["n't", "not"]),
        ("I have no doubt.", ["no"]),
        ("There can be no doubt about it.", ["no"]),
    ],
)
def test_cues_are_found(text: str, cues: list[str]) -> None:
    assert found(text) == cues


@pytest.mark.parametrize(
    "text",
    [
        "My uncle is under an important image of union, unless we discuss interest until Monday.",
        "It was no doubt a nonsense, nonetheless a lesson.",
        "She is not only clever.",
        "We heard nothing but noise.",
        "You knew him, did you not?",
        "It is nice, isn't it?",
        "Don't you think it helps?",
        "Apartment No. 5 is wireless.",
        "I wonder whether he came or not.",
        "As was his wont, he undid the lock and unlocked the unit.",
        "In my absence he could fail.",
        "",
    ],
)
def test_what_only_looks_like_a_cue_is_left_alone(text: str) -> None:
    assert found(text) == []


def test_affixes_can_be_left_out() -> None:
    text = "He is not unhappy."
    spans = [cue.parts for cue in find_cues(text, split_words(text), affixes=False)]
    assert spans == [((6, 9),)]


def test_contractions_that_stand_as_one_word() -> None:
    text = "He isn't sure and cannot say"
    parts = [cue.parts for cue in find_cues(text, by_space(text))]
    assert parts == [((5, 8),), ((21, 24),)]


def check(text: str, words: list[Word]) -> None:
    cues = find_cues(text, words)
    characters = [place for cue in cues for span in cue.parts for place in range(*span)]
    assert len(characters) == len(set(characters))  # no character in two cues
    assert all(0 <= start < end <= len(text) for cue in cues for start, end in cue.parts)
    assert [cue.parts[0].start for cue in cues] == sorted(cue.parts[0].start for cue in cues)
    assert all(list(cue.parts) == sorted(cue.parts) for cue in cues)
    for cue in cues:
        for start, end in cue.parts:
            assert any(word.start <= start < word.end for word in words)
            assert any(word.start < end <= word.end for word in words)


@given(st.text())
def test_any_text_at_all(text: str) -> None:
    check(text, split_words(text))
    check(text, by_space(text))


@given(SENTENCE)
def test_any_order_of_cue_words(parts: list[str]) -> None:
    text = " ".join(parts)
    check(text, split_words(text))
    check(text, by_space(text))


@given(SENTENCE)
def test_letter_case_does_not_matter(parts: list[str]) -> None:
    text = " ".join(parts)
    assert find_cues(text, split_words(text)) == find_cues(text.upper(), split_words(text.upper()))


@pytest.mark.parametrize(
    "piece", ["neither a nor ", "neither ", "nor unhappy ", "not ", "un", "no doubt by no ", "less"]
)
def test_time_grows_with_length_only(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    words = by_space(text)
    begin = time.process_time()
    find_cues(text, words)
    assert time.process_time() - begin < 2


def test_the_module_needs_only_the_standard_library() -> None:
    import ast
    import sys

    import clozeformers.negation_scope.cues as module

    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def read_columns(path: Path) -> list[tuple[str, list[Word], list[list[tuple[int, int]]]]]:
    """Text, words and gold cue spans of every sentence of a CD-SCO file."""
    sentences = []
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines()]
        words, start = [], 0
        for row in rows:
            words.append(Word(row[3], start, start + len(row[3])))
            start += len(row[3]) + 1
        gold = []
        for column in range(7, len(rows[0]) - 2, 3):
            marked = [(word, row[column]) for word, row in zip(words, rows, strict=True) if row[column] != "_"]
            gold.append([(w.start + w.text.find(cue), w.start + w.text.find(cue) + len(cue)) for w, cue in marked])
        sentences.append((" ".join(row[3] for row in rows), words, [cue for cue in gold if cue]))
    return sentences


@pytest.mark.corpora
def test_f1_on_cd_sco_development() -> None:
    folder = os.environ.get("CLOZEFORMERS_CORPORA")
    if not folder:
        pytest.skip("CLOZEFORMERS_CORPORA names no folder of corpora")
    path = Path(folder) / "cd-sco" / "SEM-2012-SharedTask-CD-SCO-dev-09032012.txt"
    if not path.exists():
        pytest.skip(f"no file {path}")
    hits = answered = expected = 0
    for text, words, gold in read_columns(path):
        answers = set()
        for cue in find_cues(text, words):
            start, end = cue.parts[0][0], cue.parts[-1][1]
            # Gold gives the words of a phrase one by one.
            inside = [(w.start, w.end) for w in words if start <= w.start and w.end <= end]
            answers.add(tuple(inside) if len(cue.parts) == 1 and len(inside) > 1 else tuple(map(tuple, cue.parts)))
        hits += len(answers & {tuple(cue) for cue in gold})
        answered += len(answers)
        expected += len(gold)
    assert expected == 173
    assert 2 * hits / (answered + expected) > 0.93
