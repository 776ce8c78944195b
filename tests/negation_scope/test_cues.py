from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clozeformers.negation_scope.corpora.cd_sco import read_sentences
from clozeformers.negation_scope.cues import CUES_BEFORE, SINGLE_CUES, find_cues
from clozeformers.words import Word, sentence_ends, split_words

LEXICON = sorted(SINGLE_CUES | set(CUES_BEFORE) | {"unhappy", "careless", "isn't", "dont", "of", "by", "no means"})
SENTENCE = st.lists(st.sampled_from([*LEXICON, ",", ".", "doubt", "the", "than", "rather", "only"]), max_size=20)


def found(text: str) -> list[str]:
    """The cues of a text, the parts of one joined by a space."""
    return [" ".join(text[a:b] for a, b in cue) for cue in find_cues(split_words(text))]


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
        "She got it for nothing.",
        "Don't you think it helps?",
        "Apartment No. 5 is wireless.",
        "I wonder whether he came or not.",
        "As was his wont, he undid the lock and unlocked the unit.",
        "In my absence he could fail.",
        "",
    ],
)
def test_false_cues(text: str) -> None:
    assert found(text) == []


def test_sentence_ends() -> None:
    text = 'She said "Go." Mr. Fox (of the U.S. Navy) left at 3.30 p.m. already. Then? I do!\n\nyes'
    words = split_words(text)
    starts = [0, *sentence_ends(text, words)]
    assert [text[words[start].start :][:4] for start in starts[:-1]] == ["She ", "Mr. ", "Then", "I do", "yes"]
    assert starts[-1] == len(words)


def test_without_affixes_and_unsplit_contractions() -> None:
    text = "He isn't unhappy and cannot say"
    assert find_cues(by_space(text), affixes=False) == [((5, 8),), ((24, 27),)]


@given(st.one_of(st.text(), SENTENCE.map(" ".join)))
def test_any_text(text: str) -> None:
    for words in (split_words(text), by_space(text)):
        cues = find_cues(words)
        spans = [span for cue in cues for span in cue]
        characters = [place for span in spans for place in range(*span)]
        assert len(characters) == len(set(characters)), "cues overlap"
        assert all(0 <= start < end <= len(text) for start, end in spans)
        assert cues == sorted(cues)
        assert all(list(cue) == sorted(cue) for cue in cues)
        for start, end in spans:
            assert any(word.start <= start < word.end for word in words)
            assert any(word.start < end <= word.end for word in words)


@given(SENTENCE.map(" ".join))
@settings(max_examples=50)
def test_letter_case_does_not_matter(text: str) -> None:
    assert find_cues(split_words(text)) == find_cues(split_words(text.upper()))


@pytest.mark.parametrize("piece", ["neither a nor ", "neither ", "un", "no doubt by no "])
def test_linear_time(piece: str) -> None:
    text = piece * (50_000 // len(piece))
    words = by_space(text)
    begin = time.process_time()
    find_cues(words)
    assert time.process_time() - begin < 2


@pytest.mark.corpora
@pytest.mark.skipif("CLOZEFORMERS_CORPORA" not in os.environ, reason="CLOZEFORMERS_CORPORA is not set")
def test_f1_on_cd_sco_development() -> None:
    path = Path(os.environ["CLOZEFORMERS_CORPORA"]) / "cd-sco" / "SEM-2012-SharedTask-CD-SCO-dev-09032012.txt"
    hits = answered = expected = 0
    for sentence in read_sentences(path):
        words, gold, answers = by_space(" ".join(sentence.words)), set(), set()
        for negation in sentence.negations:
            marked = [(word, cue) for word, cue in zip(words, negation.cue, strict=True) if cue != "_"]
            starts = [(word.start + word.text.find(cue), len(cue)) for word, cue in marked]
            gold.add(tuple((start, start + length) for start, length in starts))
        for cue in find_cues(words):
            start, end = cue[0][0], cue[-1][1]
            # Gold gives the words of a phrase one by one.
            inside = [(w.start, w.end) for w in words if start <= w.start and w.end <= end]
            answers.add(tuple(inside) if len(cue) == 1 and len(inside) > 1 else cue)
        hits += len(answers & gold)
        answered += len(answers)
        expected += len(gold)
    assert expected == 173
    assert 2 * hits / (answered + expected) > 0.93
