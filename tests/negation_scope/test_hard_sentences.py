"""What the lexicon and the packaged model make of hard sentences."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from clozeformers.negation_scope import load_corpus
from clozeformers.negation_scope.corpora.jsonl import write_negation_jsonl
from clozeformers.negation_scope.cue_scores import Negation, cue_of_parts, found_scores, negation_of_row
from clozeformers.negation_scope.cues import find_cues
from clozeformers.negation_scope.encoding import label_sentences
from clozeformers.pipelines.checkpoints import PACKAGED_MODELS
from clozeformers.tasks import task_named
from clozeformers.words import split_words

from ..tiny_tasks import QUIET
from .hard_sentences import hard_rows, hard_sentences, parse


def test_the_file_is_what_it_says() -> None:
    sentences = list(hard_sentences())
    assert len(sentences) == len({sentence.text for sentence in sentences}) >= 200
    domains = Counter(sentence.domain for sentence in sentences)
    assert set(domains) == {"clinical", "review", "fiction", "paper"}
    assert min(domains.values()) >= 30
    assert sum(not sentence.negations for sentence in sentences) >= 40, "many look like negations and are none"
    for sentence in sentences:
        for cue, scope in sentence.negations:
            # A word is in both only if it has an affix cue or is a contraction.
            assert all(part != sentence.words[place].text for place, part in cue if place in scope), sentence.text
        assert len({cue for cue, _ in sentence.negations}) == len(sentence.negations)


@pytest.mark.parametrize("marked", ["{a [b]}", "[a} b", "a {b}", "[a] {b", "[a] c"])
def test_wrong_marks_are_refused(marked: str) -> None:
    with pytest.raises(ValueError, match=r"mark|partner|cue"):
        parse(marked, "a b", split_words("a b"))


def test_cues_of_the_lexicon() -> None:
    pairs = []
    for sentence in hard_sentences():
        found = [Negation(cue_of_parts(sentence.words, parts), frozenset()) for parts in find_cues(sentence.words)]
        pairs.append((sentence.negations, found))
    scores = found_scores(pairs)
    assert scores["cue_f1"] >= 97.3
    assert scores["cue_recall"] >= 98.5


def test_they_are_corpus_rows(tmp_path: Path) -> None:
    write_negation_jsonl(hard_rows(), tmp_path / "hard.jsonl")
    rows = load_corpus(tmp_path / "hard.jsonl", without_cues=True)
    labelled = label_sentences(rows)
    assert [sentence.tokens for sentence in labelled] == [[w.text for w in each.words] for each in hard_sentences()]
    gold = [[negation_of_row(rows[number]) for number in each.rows] for each in labelled]
    assert gold == [each.negations for each in hard_sentences()]


def test_the_packaged_model(tmp_path: Path) -> None:
    write_negation_jsonl(hard_rows(), tmp_path / "hard.jsonl")
    words = [
        "--model_name_or_path",
        str(PACKAGED_MODELS / "negation-scope"),
        "--test_file",
        str(tmp_path / "hard.jsonl"),
    ]
    record = task_named("negation-scope").main([*words, *QUIET, "--output_dir", str(tmp_path / "run")])
    scores = {measure: values["mean"] for measure, values in record["scores"]["hard"].items()}
    assert scores["cue_f1"] >= 96
    assert scores["f1"] >= 95
    assert scores["found_f1"] >= 91
