"""Definitions by word, part of speech and sentence."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clozeformers.abstract_cloze.part_of_speech import get_tagger
from clozeformers.abstract_cloze.wordnet import (
    NO_GLOSSES,
    Glosses,
    OptionReader,
    WordNet,
    definitions,
    find_wordnet,
    written_forms,
)
from clozeformers.abstract_cloze.wordnet_install import find_dictionary
from clozeformers.files import CorpusError

from ..wordnet_files import ENTRIES, write_wordnet

MURDER = ("kill intentionally and with premeditation", "alter so as to make unrecognizable")


class FixedTagger:
    """Gives every word one tag, but for those that are named."""

    def __init__(self, otherwise: str = "other", **tags: str) -> None:
        self.otherwise = otherwise
        self.tags = tags

    def tag(self, words):
        return [self.tags.get(word, self.otherwise) for word in words]


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory) -> WordNet:
    return WordNet(write_wordnet(tmp_path_factory.mktemp("data") / "wordnet"))


@pytest.mark.parametrize(
    ("word", "part_of_speech", "expected"),
    [
        ("murder", "verb", Glosses(MURDER, "verb", "tag")),
        ("murdered", "verb", Glosses(MURDER, "verb", "base form")),
        ("Murders", "noun", Glosses(tuple(ENTRIES["murder"]["noun"]), "noun", "base form")),
        ("murdered", "noun", Glosses(MURDER, "verb", "any part of speech")),
        ("murder", "adverb", Glosses(tuple(ENTRIES["murder"]["noun"]), "noun", "any part of speech")),
        ("secret", "other", Glosses(("something kept hidden",), "noun", "any part of speech")),
        ("secret", None, Glosses(("something kept hidden",), "noun", "any part of speech")),
        ("secret", "adjective", Glosses(("not open or public",), "adjective", "tag")),
        ("within", "adverb", Glosses(("on the inside",), "adverb", "tag")),
        ("clozeformer", "noun", NO_GLOSSES),
    ],
)
def test_the_tag_then_the_base_form_then_any_part_of_speech(wordnet, word, part_of_speech, expected):
    assert wordnet.look_up(word, part_of_speech) == expected


def test_joined_definitions_are_those_of_the_paper(wordnet):
    assert ";".join(wordnet.look_up("murdered", "verb").definitions) == (
        "kill intentionally and with premeditation;alter so as to make unrecognizable"
    )


def test_an_inflected_form_that_is_an_entry_has_both_definitions_and_no_examples(wordnet):
    found = wordnet.look_up("found", "verb")
    assert found == Glosses(("set up or found", "come upon, as if by accident"), "verb", "tag")


def test_an_entry_of_any_part_of_speech_comes_before_a_base_form(tmp_path):
    entries = {"leave": {"noun": ["permission"], "verb": ["go away"]}, "leaves": {"verb": ["turn pages"]}}
    wordnet = WordNet(write_wordnet(tmp_path / "wordnet", entries))
    assert wordnet.look_up("leaves", "other").definitions == ("turn pages", "go away")


def test_adjective_satellites_are_adjectives(wordnet):
    assert wordnet.look_up("hidden", "adjective") == Glosses(("not accessible to view",), "adjective", "tag")


@pytest.mark.parametrize(
    ("word", "part_of_speech", "entry"),
    [
        ("White House", "noun", "white_house"),
        ("white  house", "noun", "white_house"),
        ("White-House", "noun", "white_house"),
        ("well known", "adjective", "well-known"),
        ("well‑known", "adjective", "well-known"),
        ("wellknown", "adjective", None),
        ("se-cret", "noun", "secret"),
        ("Secret's", "noun", "secret"),
        ("secret’s", "noun", "secret"),
        ("‘secret’", "noun", "secret"),
        ("secrets'", "noun", "secret"),
        ("sécret", "noun", "secret"),
        ("ｓｅｃｒｅｔ", "noun", "secret"),
        (" secret.", "noun", "secret"),
    ],
)
def test_ways_of_writing_that_wordnet_has_not(wordnet, word, part_of_speech, entry):
    expected = tuple(ENTRIES[entry][part_of_speech]) if entry else ()
    assert wordnet.look_up(word, part_of_speech).definitions == expected


@pytest.mark.parametrize("word", ["", " ", "?!", "'s", "-", "\n", "😀", "<>"])
def test_what_is_no_word_has_no_definitions(wordnet, word):
    assert wordnet.look_up(word, "noun") == NO_GLOSSES


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=30), st.sampled_from(["noun", "verb", "adjective", "adverb", "other", None]))
def test_any_string_can_be_looked_up(wordnet, word, part_of_speech):
    found = wordnet.look_up(word, part_of_speech)
    assert bool(found.definitions) == (found.found_by != "none") == (found.part_of_speech is not None)
    assert len(set(written_forms(word))) == len(written_forms(word))


def test_what_cannot_be_looked_up(wordnet):
    with pytest.raises(ValueError, match="part_of_speech is 'NN'; it must be None or one of 'noun', 'verb'"):
        wordnet.look_up("secret", "NN")
    with pytest.raises(TypeError, match="word is 3; give a string"):
        wordnet.look_up(3, "noun")


def test_each_word_and_part_of_speech_is_looked_up_once(wordnet, monkeypatch):
    calls = Counter()
    fresh = WordNet(wordnet.place)
    look_up = fresh.reader.synsets

    def count(form, part):
        calls[form, part] += 1
        return look_up(form, part)

    monkeypatch.setattr(fresh.reader, "synsets", count)
    for _ in range(3):
        fresh.look_up("intent", "noun")
    assert calls == {("intent", "n"): 1}


def test_nltks_reader_is_there_for_all_else(tmp_path):
    entries = {name: {"noun": [f"a kind of {name}"]} for name in ("animal", "dog", "cat")}
    place = write_wordnet(tmp_path / "wordnet", entries, hypernyms={"dog": "animal", "cat": "animal"})
    dog, cat = (WordNet(place).reader.synset(f"{name}.n.01") for name in ("dog", "cat"))
    assert dog.hypernyms() == cat.hypernyms()
    assert dog.path_similarity(cat) == pytest.approx(1 / 3)


def test_several_threads_get_what_one_gets(wordnet):
    questions = [(word, part) for word in (*ENTRIES, "murdered", "nothing") for part in ("noun", "verb", "adjective")]
    expected = [wordnet.look_up(*question) for question in questions]
    fresh = WordNet(wordnet.place)
    with ThreadPoolExecutor(8) as pool:
        for answers in pool.map(lambda _: [fresh.look_up(*question) for question in questions], range(24)):
            assert answers == expected


def _look_up_there(wordnet: WordNet) -> Glosses:
    return wordnet.look_up("murder", "verb")


def test_another_process_opens_the_dictionary_itself(wordnet):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_look_up_there, (wordnet,)) == wordnet.look_up("murder", "verb")


# ---------------------------------------------------------------------------------------------------------- sentences


def test_the_word_is_tagged_in_its_sentence(wordnet):
    reader = OptionReader(wordnet, get_tagger())
    sentence = "They murdered him , and the murder was no secret ."
    assert reader.glosses("murdered", sentence, 5) == Glosses(MURDER, "verb", "base form")
    assert reader.glosses("murder", sentence, 28) == Glosses(tuple(ENTRIES["murder"]["noun"]), "noun", "tag")


def test_the_place_decides_which_of_two_equal_words_it_is(wordnet):
    class Places(FixedTagger):
        def tag(self, words):
            return ["noun" if number == 0 else "adjective" for number in range(len(words))]

    reader = OptionReader(wordnet, Places())
    sentence = "secret secret"
    found = reader.many(["secret", "secret"], [sentence, sentence], [0, 7])
    assert [each.part_of_speech for each in found] == ["noun", "adjective"]


def test_of_several_words_the_last_that_has_a_part_of_speech_counts(wordnet):
    reader = OptionReader(wordnet, FixedTagger("other", white="adjective", house="noun", murder="verb"))
    assert reader.glosses("white house", "the white house .", 4).found_by == "tag"
    assert reader.glosses("murder ,", "to murder , surely", 3) == Glosses(MURDER, "verb", "tag")


def test_a_part_of_a_word_has_the_part_of_speech_of_all_of_it(wordnet):
    reader = OptionReader(wordnet, FixedTagger("noun", **{"top-secret": "adjective"}))
    assert reader.glosses("secret", "a top-secret console", 6).part_of_speech == "adjective"


@pytest.mark.parametrize(("word", "start"), [("secret", 1), ("secret", -6), ("secret", 90), ("Secret", 2)])
def test_a_word_that_does_not_stand_there(wordnet, word, start):
    with pytest.raises(ValueError, match=rf"'{word}' does not stand at character {start} of 'a secret'"):
        OptionReader(wordnet, FixedTagger()).glosses(word, "a secret", start)


def test_lists_of_different_lengths(wordnet):
    with pytest.raises(ValueError, match="1 words, 2 sentences and 1 starts"):
        OptionReader(wordnet, FixedTagger()).many(["a"], ["a", "b"], [0])


def test_an_empty_word_has_no_definitions(wordnet):
    assert OptionReader(wordnet, FixedTagger()).glosses("", "a secret", 2) == NO_GLOSSES


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    write_wordnet(tmp_path / "corpora" / "wordnet")
    monkeypatch.setenv("CLOZEFORMERS_HOME", str(tmp_path))
    return tmp_path


def test_definitions_of_a_word_in_a_sentence(home):
    assert definitions("murdered", "Two men were murdered in London.") == list(MURDER)
    assert definitions("MURDER", "The murder was no secret.") == ENTRIES["murder"]["noun"]
    assert definitions("white house", "Inside the White House.") == ENTRIES["white_house"]["noun"]
    assert definitions("him", "They murdered him.") == []


@pytest.mark.parametrize("word", ["murder", "", " ", "men were murdered by"])
def test_definitions_of_a_word_that_is_not_in_the_sentence(home, word):
    with pytest.raises(ValueError, match=r"is no word of 'Two men were murdered\.'; give a word as it stands"):
        definitions(word, "Two men were murdered.")


def test_wordnet_is_opened_once(home):
    assert find_wordnet() is find_wordnet()
    assert find_wordnet().place == home / "corpora" / "wordnet"


def test_without_nltk_the_error_says_how_to_install_it(home, monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk.corpus.reader.wordnet", None)
    with pytest.raises(ImportError, match=r'read with NLTK; install it with: pip install "clozeformers\[wordnet\]"'):
        WordNet(home / "corpora" / "wordnet")


# ------------------------------------------------------------------------------------------------------------ damage


def _cut(text: str) -> str:
    return text[: len(text) // 2]


def _cut_lines(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(lines[: len(lines) // 2])


@pytest.mark.parametrize("name", ["data.noun", "index.verb", "verb.exc", "lexnames", "data.adj"])
@pytest.mark.parametrize("damage", [_cut, lambda text: "", lambda text: text[:-1]])
def test_a_file_that_is_cut_off_is_named(tmp_path, name, damage):
    folder = write_wordnet(tmp_path / "wordnet")
    path = folder / name
    path.write_text(damage(path.read_text()))
    with pytest.raises(CorpusError, match=rf"{name}, at its end: .*clozeformers wordnet install"):
        WordNet(folder)


@pytest.mark.parametrize("name", ["data.noun", "data.verb", "data.adj"])
def test_a_data_file_that_is_cut_off_after_a_line_is_named(tmp_path, name):
    folder = write_wordnet(tmp_path / "wordnet")
    path = folder / name
    path.write_text(_cut_lines(path.read_text()))
    with pytest.raises(CorpusError, match=rf"{name}, at its end: the index names an entry at byte \d+, but"):
        WordNet(folder)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("index.noun", "secret n\n"),
        ("index.noun", "secret n x 0 1 0 00000001\n"),
        ("index.noun", "\n"),
        ("index.noun", "secret n 1 0 1 0 0000000x\n"),
        ("lexnames", "45\n"),
        ("verb.exc", "\n"),
    ],
)
def test_a_line_that_cannot_be_read_is_told_with_its_file(tmp_path, name, line):
    folder = write_wordnet(tmp_path / "wordnet")
    with (folder / name).open("a") as file:
        file.write(line)
    with pytest.raises(CorpusError, match=f"{name}, in a line of it: it is damaged"):
        WordNet(folder)


@pytest.mark.filterwarnings("ignore:No WordNet synset found")
@pytest.mark.parametrize("change", [("00", "0x"), (" | ", " "), ("n 01 ", "n 09 ")])
def test_an_entry_that_cannot_be_read_is_told_when_it_is_asked_for(tmp_path, change):
    folder = write_wordnet(tmp_path / "wordnet")
    path = folder / "data.noun"
    path.write_text("".join(line.replace(*change) if " secret " in line else line for line in path.open()))
    wordnet = WordNet(folder)
    assert wordnet.look_up("murder", "noun").found_by == "tag"
    with pytest.raises(CorpusError, match=r"data\.noun, in a line of it: the entry of 'secret' cannot be read"):
        wordnet.look_up("secret", "noun")


# ---------------------------------------------------------------------------------------------------------- real data


@pytest.mark.corpora
def test_options_of_recam_have_definitions(capsys):
    folder = os.environ.get("CLOZEFORMERS_CORPORA")
    if folder is None:
        pytest.skip("CLOZEFORMERS_CORPORA does not name a folder that holds recam/")
    try:
        find_dictionary()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    reader = OptionReader(find_wordnet(), get_tagger())
    words, sentences, starts = [], [], []
    with Path(folder, "recam", "Task_1_dev.jsonl").open(encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            for option in (row[f"option_{number}"] for number in range(5)):
                words.append(option)
                starts.append(row["question"].index("@placeholder"))
                sentences.append(row["question"].replace("@placeholder", option))
    began = time.perf_counter()
    found = reader.many(words, sentences, starts)
    seconds = time.perf_counter() - began
    shares = {name: count / len(found) for name, count in Counter(each.found_by for each in found).items()}
    with capsys.disabled():
        print(f"\n{len(found)} options in {seconds:.1f} s: {shares}")
    assert len(found) == 837 * 5
    assert shares.get("none", 0) <= 0.05
    assert shares["tag"] + shares["base form"] > 0.95
    assert ";".join(find_wordnet().look_up("murdered", "verb").definitions) == ";".join(MURDER)
