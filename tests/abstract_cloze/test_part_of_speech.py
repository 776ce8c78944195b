"""Parts of speech: the adapter, and the default tagger."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clozeformers.abstract_cloze.part_of_speech import PennTagger, get_tagger, import_optional, part_of_penn_tag
from clozeformers.negation_scope.corpora.cd_sco import read_sentences
from clozeformers.words import split_words

PARTS = {"noun", "verb", "adjective", "adverb", "other"}


@pytest.mark.parametrize(
    ("tag", "part"),
    [
        ("NN", "noun"),
        ("NNPS", "noun"),
        ("VBD", "verb"),
        ("JJR", "adjective"),
        ("RB", "adverb"),
        ("RP", "other"),
        ("MD", "other"),
        ("WRB", "other"),
        ("IN", "other"),
        (".", "other"),
        ("", "other"),
    ],
)
def test_what_penn_tags_stand_for(tag, part):
    assert part_of_penn_tag(tag) == part


def test_any_function_can_be_a_tagger():
    given_words = []

    def tag_words(words):
        given_words.append(words)
        return ((word.upper(), "NNS" if word.endswith("s") else "VBP") for word in words)

    assert PennTagger(tag_words).tag(("dogs", "bark")) == ["noun", "verb"]
    assert given_words == [["dogs", "bark"]]


def test_no_words_are_not_given_to_the_function():
    assert PennTagger(lambda words: [(words[0], "NN")]).tag([]) == []


@pytest.mark.parametrize("tags", [[], [("a", "DT"), ("b", "NN"), ("c", "NN")]])
def test_a_function_that_splits_or_drops_words_is_refused(tags):
    with pytest.raises(ValueError, match=rf"{len(tags)} tags for the 2 words 'a b'"):
        PennTagger(lambda words: tags).tag(["a", "b"])


def test_one_string_is_no_list_of_words():
    with pytest.raises(TypeError, match="'dogs bark'; give a list of words"):
        get_tagger().tag("dogs bark")


def test_the_default_tagger_reads_the_context():
    words = ["He", "murdered", "his", "beautiful", "old", "friend", "quickly", "."]
    assert get_tagger().tag(words) == ["other", "verb", "other", "adjective", "adjective", "noun", "adverb", "other"]
    assert get_tagger() is get_tagger()


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
        ("They do n't plan .", "plan", "verb"),
        ("To the plan .", "plan", "noun"),
        ("A beaten man .", "beaten", "adjective"),
        ("He was beaten .", "beaten", "verb"),
        ("The beaten", "beaten", "verb"),
        ("plan", "plan", "noun"),
    ],
)
def test_the_words_around_it_correct_the_most_frequent_tag(sentence, word, part):
    words = sentence.split(" ")
    assert get_tagger().tag(words)[words.index(word)] == part


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=60))
def test_the_default_tagger_gives_one_tag_a_word_whatever_the_text(text):
    words = [word.text for word in split_words(text)]
    tags = get_tagger().tag(words)
    assert len(tags) == len(words)
    assert set(tags) <= PARTS
    assert get_tagger().tag(words) == tags


def test_a_slash_and_its_escape_are_words_like_any_other():
    assert len(get_tagger().tag(["and", "/", "or", "&slash;", "a/b"])) == 5


def test_a_missing_library_is_told_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "textblob.taggers", None)
    with pytest.raises(ImportError, match=r'with TextBlob; install it with: pip install "clozeformers\[wordnet\]"'):
        import_optional("textblob.taggers", "words are tagged with TextBlob")
    get_tagger.cache_clear()
    with pytest.raises(ImportError, match="TextBlob"):
        get_tagger()


@pytest.mark.corpora
def test_nine_of_ten_content_words_get_the_tag_of_the_corpus():
    folder = os.environ.get("CLOZEFORMERS_CORPORA")
    if folder is None:
        pytest.skip("CLOZEFORMERS_CORPORA does not name a folder that holds cd-sco/")
    (path,) = Path(folder, "cd-sco").glob("*-dev-*.txt")
    right = total = 0
    for sentence in read_sentences(path):
        gold = [part_of_penn_tag(columns[5]) for columns in sentence.columns]
        for expected, tag in zip(gold, get_tagger().tag(sentence.words), strict=True):
            if expected != "other":
                total += 1
                right += tag == expected
    assert total == 6030
    assert right / total > 0.93
