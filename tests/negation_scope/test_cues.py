from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clozeformers.negation_scope import load_corpus
from clozeformers.negation_scope.cue_labels import cues_of_labels
from clozeformers.negation_scope.cue_scores import (
    Negation,
    cue_of_parts,
    cue_of_row,
    found_scores,
    lexicon_scores,
    negation_of_row,
)
from clozeformers.negation_scope.cues import CUES_BEFORE, SINGLE_CUES, find_cues, mark_candidates
from clozeformers.negation_scope.encoding import label_sentences
from clozeformers.negation_scope.loading import sentence_ids, strata_of
from clozeformers.training.corpora import Corpora
from clozeformers.words import Word, sentence_ends, split_words, words_of_tokens

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
        ("They do nt eat, they ca nt; it is his wo nt, and 5 nt.", ["nt", "nt"]),
        ("It isn´t, wasn`t, won‘t, didn＇t and don′t.", ["n´t", "n`t", "n‘t", "n＇t", "n′t"]),
        ("No‐one came, a non‑smoker.", ["No‐one", "non"]),
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
        (
            "He denies pain, she denied fever; it was negative for blood and free of pus.",
            ["denies", "denied", "negative", "free"],
        ),
        ("Pneumonia was ruled out, w/o a scan.", ["ruled out", "w/o"]),
        ("He hardly ate, could scarcely sleep, and refused to talk.", ["hardly", "scarcely", "refused"]),
        ("The reflex is absent and he is unable to walk.", ["absent", "un"]),
        ("It cannot be denied, and it isn't ruled out.", ["not", "n't"]),
        ("NO ACUTE DISEASE. FINDINGS: NO MASS.", ["NO", "NO"]),
        ("There is NO way that we pay.", ["NO"]),
        ("Did you see the uninvited, unimportant and unidentified one?", ["un", "un", "un"]),
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
        "Dont you agree?",
        "Apartment No. 5 is wireless.",
        "I wonder whether he came or not.",
        "As was his wont, he undid the lock and unlocked the unit.",
        "In my absence he could fail.",
        "I asked whether or not he came; more often than not he does.",
        "The nonprofit sued Unilever over a unilateral, nonstop campaign.",
        "The ride is free of charge and all but absent from the guide.",
        "Nitric oxide (NO) relaxes vessels, and the NO that is formed kills bacteria.",
        "We measured NO synthase and the release of NO by cells, where NO is made.",
        "",
    ],
)
def test_false_cues(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("convention", "cues"),
    [
        (None, ["un", "hardly", "absent"]),
        ("cd-sco", ["un"]),
        ("bioscope", ["un", "absent"]),
        ("sfu", ["not", "not"]),
    ],
)
def test_conventions(convention: str | None, cues: list[str]) -> None:
    text = "Unable, he hardly saw what was absent, and not only asked whether or not it came."
    found = find_cues(split_words(text), convention=convention)
    assert [text[start:end].lower() for ((start, end),) in found] == cues


def test_phrases_of_one_corpus() -> None:
    text = "It cannot bind and can not only wait; it is no longer seen, not always clear, and neg for PE."
    cues = [text[start:end] for ((start, end),) in find_cues(split_words(text), convention="bioscope")]
    assert cues == ["cannot", "no longer", "neg"]
    assert found(text) == ["not", "no", "not", "neg"]


def test_an_unknown_convention_is_refused() -> None:
    with pytest.raises(ValueError, match="convention is 'CD-SCO'; it must be 'cd-sco', 'bioscope', 'sfu' or None"):
        find_cues([], convention="CD-SCO")


CONTRACTED = st.sampled_from(
    [*LEXICON, "Don't", "can't", "wouldn’t", "cannot", "w/o", "you", "it", "think", "why", ",", "?"]
)


@given(st.lists(CONTRACTED, max_size=12).map(" ".join))
@example("Don't you think so ?")
@example("It is nice , isn't it ?")
@example("non Don't")
def test_text_and_tokens_have_the_same_cues(text: str) -> None:
    assert find_cues(split_words(text)) == find_cues(by_space(text))


def test_sentence_ends() -> None:
    text = 'She said "Go." Mr. Fox (of the U.S. Navy) left at 3.30 p.m. already. Then? I do!\n\nyes'
    words = split_words(text)
    starts = [0, *sentence_ends(text, words)]
    assert [text[words[start].start :][:4] for start in starts[:-1]] == ["She ", "Mr. ", "Then", "I do", "yes"]
    assert starts[-1] == len(words)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("Does he smoke? No. He has a cough.", [4, 6, 11]),
        ("See No. 5 for details.", [7]),
        ("It ended… They left.", [3, 6]),
        ("She has no hepatitis C. Vomiting began.", [6, 9]),
        ("It is by J. Smith.", [7]),
        ("No rash\nNeck: supple\n- no JVD\n2. CVA", [2, 5, 8, 10, 11]),
        ("No sign of\nAIDS was seen", [6]),
    ],
)
def test_where_sentences_end(text: str, ends: list[int]) -> None:
    assert sentence_ends(text, split_words(text)) == ends


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


def test_candidates_are_the_words_of_cues() -> None:
    words = split_words("It isn't impossible, and he is neither tall nor, not only here, unable.")
    marked = [word.text for word, mark in zip(words, mark_candidates(words), strict=True) if mark]
    assert marked == ["n't", "impossible", "neither", "nor", "unable"]
    many = by_space("no one is not here " * 20_000)
    begin = time.process_time()
    assert sum(mark_candidates(many)) > 20_000
    assert time.process_time() - begin < 4


needs_corpora = pytest.mark.skipif("CLOZEFORMERS_CORPORA" not in os.environ, reason="CLOZEFORMERS_CORPORA is not set")


def scores_of_lexicon(name: str, **options: Any) -> dict[str, float]:
    pairs = []
    rows = load_corpus(Path(os.environ["CLOZEFORMERS_CORPORA"]) / name, without_cues=True)
    for sentence in label_sentences(rows):
        words = words_of_tokens(sentence.tokens)
        found = [Negation(cue_of_parts(words, parts), frozenset()) for parts in find_cues(words, **options)]
        pairs.append(([negation_of_row(rows[number]) for number in sentence.rows], found))
    return found_scores(pairs)


@pytest.mark.corpora
@needs_corpora
@pytest.mark.parametrize(("convention", "least"), [("cd-sco", 95.1), (None, 93.5)])
def test_f1_on_cd_sco_development(convention: str | None, least: float) -> None:
    name = "cd-sco/SEM-2012-SharedTask-CD-SCO-dev-09032012.txt"
    assert scores_of_lexicon(name, convention=convention)["cue_f1"] >= least


@pytest.mark.corpora
@needs_corpora
@pytest.mark.parametrize(("name", "f1"), [("cd-sco", 97.30), ("bioscope", 95.36), ("sfu", 69.79)])
def test_f1_on_the_training_documents_of_the_packaged_model(name: str, f1: float) -> None:
    """By which RESULTS.md says where its cues are the lexicon's."""
    corpora = Path(os.environ["CLOZEFORMERS_CORPORA"])
    if name == "cd-sco":
        rows = load_corpus(corpora / name / "SEM-2012-SharedTask-CD-SCO-training-09032012.txt", without_cues=True)
    else:
        rows = load_corpus(corpora / name, without_cues=True)
        rows = Corpora(rows, None, {}).fold(1, 10, 0, sentence_ids(rows), strata_of(rows)).train
    sentences = label_sentences(rows)
    gold = [[negation_of_row(rows[number]) for number in each.rows] for each in sentences]
    assert lexicon_scores(sentences, gold, [[] for _ in gold])["lexicon_cue_f1"] == pytest.approx(f1, abs=0.005)


@pytest.mark.corpora
@needs_corpora
@pytest.mark.parametrize(("name", "least"), [("bioscope", 95.1), ("sfu", 85.9)])
def test_f1_by_overlap(name: str, least: float) -> None:
    assert scores_of_lexicon(name, affixes=False, convention=name)["cue_overlap_f1"] >= least


@pytest.mark.corpora
@needs_corpora
@pytest.mark.parametrize(
    ("name", "lost"),
    [("cd-sco/SEM-2012-SharedTask-CD-SCO-training-09032012.txt", 1), ("bioscope", 0), ("sfu", 1)],
)
def test_labels_keep_the_cues_of_corpora(name: str, lost: int) -> None:
    rows = load_corpus(Path(os.environ["CLOZEFORMERS_CORPORA"]) / name, without_cues=True)
    missing = 0
    for sentence in label_sentences(rows):
        words = words_of_tokens(sentence.tokens)
        found = {cue_of_parts(words, parts) for parts in cues_of_labels(words, sentence.labels)}
        missing += len({cue_of_row(rows[number]) for number in sentence.rows} - found)
    assert missing == lost
