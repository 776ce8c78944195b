"""Part-of-speech tags."""

from __future__ import annotations

import sys

import pytest

from clozeformers.abstract_cloze.part_of_speech import get_tagger, part_of_penn_tag
from clozeformers.negation_scope.corpora.cd_sco import read_sentences

from ..cloze_corpora import real_file


def test_a_sentence() -> None:
    words = ["He", "murdered", "his", "beautiful", "old", "friend", "quickly", "."]
    assert get_tagger()(words) == ["other", "verb", "other", "adjective", "adjective", "noun", "adverb", "other"]
    assert get_tagger()([]) == []
    assert len(get_tagger()(["and", "/", "or", "&slash;", "a/b", "\u200b", "😀", "\x00"])) == 8


@pytest.mark.parametrize(
    ("sentence", "word", "part"),
    [
        ("They run .", "run", "verb"),
        ("Their run was over .", "run", "noun"),
        ("That run was over .", "run", "verb"),
        ("He was accused of run .", "run", "noun"),
        ("She had a plan .", "plan", "noun"),
        ("They wanted to plan .", "plan", "verb"),
        ("She will not plan .", "plan", "verb"),
        ("They plan .", "plan", "verb"),
        ("A beaten man .", "beaten", "adjective"),
        ("He was beaten .", "beaten", "verb"),
        ("The beaten", "beaten", "verb"),
    ],
)
def test_context_corrects_the_most_frequent_tag(sentence: str, word: str, part: str) -> None:
    words = sentence.split()
    assert get_tagger()(words)[words.index(word)] == part


def test_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textblob.taggers", None)
    get_tagger.cache_clear()
    with pytest.raises(ImportError, match=r'textblob.* is not installed; run: pip install "clozeformers\[wordnet\]"'):
        get_tagger()


@pytest.mark.corpora
def test_accuracy_on_content_words() -> None:
    (path,) = real_file("cd-sco").glob("*-dev-*.txt")
    pairs = [
        (part_of_penn_tag(columns[5]), tag)
        for sentence in read_sentences(path)
        for columns, tag in zip(sentence.columns, get_tagger()(sentence.words), strict=True)
    ]
    hits = [gold == tag for gold, tag in pairs if gold != "other"]
    assert len(hits) == 6030
    assert sum(hits) / len(hits) > 0.93
