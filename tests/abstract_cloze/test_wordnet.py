"""Definitions by word, part of speech and sentence."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clozeformers.abstract_cloze import definitions, load_recam
from clozeformers.abstract_cloze.wordnet import DefinitionLookup, Glosses, WordNet, find_wordnet
from clozeformers.files import CorpusError

from ..cloze_corpora import real_file
from ..wordnet_files import ENTRIES, write_wordnet

MURDER = tuple(ENTRIES["murder"]["verb"])
KILLING = tuple(ENTRIES["murder"]["noun"])


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory: pytest.TempPathFactory) -> WordNet:
    return WordNet(write_wordnet(tmp_path_factory.mktemp("data") / "wordnet"))


@pytest.mark.parametrize(
    ("word", "part_of_speech", "expected"),
    [
        ("murder", "verb", Glosses(MURDER, "verb")),
        ("murdered", "verb", Glosses(MURDER, "verb")),
        ("Murders", "noun", Glosses(KILLING, "noun")),
        ("murdered", "noun", Glosses(MURDER, "verb")),
        ("murder", "adverb", Glosses(KILLING, "noun")),
        ("secret", None, Glosses(("something kept hidden",), "noun")),
        ("secret", "adjective", Glosses(("not open or public",), "adjective")),
        ("hidden", "adjective", Glosses(("not accessible to view",), "adjective")),  # a satellite
        ("within", "adverb", Glosses(("on the inside",), "adverb")),
        # An inflected form that is an entry has both definitions; examples are left out.
        ("found", "verb", Glosses(("set up or found", "come upon, as if by accident"), "verb")),
        ("clozeformer", "noun", Glosses((), None)),
    ],
)
def test_the_part_of_speech_then_any_other(
    wordnet: WordNet, word: str, part_of_speech: str | None, expected: Glosses
) -> None:
    assert wordnet.look_up(word, part_of_speech) == expected


def test_an_entry_of_any_part_of_speech_comes_before_a_base_form(tmp_path: Path) -> None:
    entries = {"leave": {"noun": ["permission"], "verb": ["go away"]}, "leaves": {"verb": ["turn pages"]}}
    wordnet = WordNet(write_wordnet(tmp_path / "wordnet", entries))
    assert wordnet.look_up("leaves", "other").definitions == ("turn pages", "go away")


@pytest.mark.parametrize(
    ("entry", "part_of_speech", "words"),
    [
        ("white_house", "noun", ["White  House", "White-House"]),
        ("well-known", "adjective", ["well known", "well‑known"]),
        ("secret", "noun", ["se-cret", "Secret's", "‘secret’", "secrets'", "sécret", "ｓｅｃｒｅｔ", " secret."]),
        (None, "noun", ["wellknown", "", " ", "?!", "'s", "-", "😀", "<>"]),
    ],
)
def test_spellings(wordnet: WordNet, entry: str | None, part_of_speech: str, words: list[str]) -> None:
    expected = tuple(ENTRIES[entry][part_of_speech]) if entry else ()
    assert {word: wordnet.look_up(word, part_of_speech).definitions for word in words} == dict.fromkeys(words, expected)


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=30), st.sampled_from(["noun", "verb", "adjective", "adverb", "other", None]))
def test_any_string_can_be_looked_up(wordnet: WordNet, word: str, part_of_speech: str | None) -> None:
    found = wordnet.look_up(word, part_of_speech)
    assert bool(found.definitions) == (found.part_of_speech is not None)


def test_threads_and_processes(wordnet: WordNet) -> None:
    questions = [(word, part) for word in (*ENTRIES, "murdered", "nothing") for part in ("noun", "verb", "adjective")]
    expected = [wordnet.look_up(*question) for question in questions]
    fresh = WordNet(wordnet.place)
    with ThreadPoolExecutor(8) as pool:
        for answers in pool.map(lambda _: [fresh.look_up(*question) for question in questions], range(24)):
            assert answers == expected
    copy = pickle.loads(pickle.dumps(wordnet))
    assert [copy.look_up(*question) for question in questions] == expected


def test_the_word_is_tagged_in_its_sentence(wordnet: WordNet) -> None:
    lookup = DefinitionLookup(wordnet)
    sentence = "They murdered him , and the murder was no secret ."
    found = lookup.many(["murdered", "murder"], [sentence] * 2, [5, 28])
    assert found == [Glosses(MURDER, "verb"), Glosses(KILLING, "noun")]


def test_the_tag_at_the_words_place(wordnet: WordNet) -> None:
    tags = {"secret": "noun", "top-secret": "adjective", "murder": "verb"}
    lookup = DefinitionLookup(wordnet, lambda words: [tags.get(word, "other") for word in words])
    assert lookup.glosses("secret", "secret secret", 0).part_of_speech == "noun"
    # A part of a word has the tag of the whole; a phrase has the last tag that a dictionary knows.
    assert lookup.glosses("secret", "secret top-secret", 11).part_of_speech == "adjective"
    assert lookup.glosses("murder ,", "to murder , surely", 3).part_of_speech == "verb"


def test_definitions_of_a_word_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = write_wordnet(tmp_path / "corpora" / "wordnet")
    monkeypatch.setenv("CLOZEFORMERS_HOME", str(tmp_path))
    assert definitions("murdered", "Two men were murdered in London.") == list(MURDER)
    assert definitions("MURDER", "The murder was no secret.") == ENTRIES["murder"]["noun"]
    assert definitions("white house", "Inside the White House.") == ENTRIES["white_house"]["noun"]
    assert definitions("him", "They murdered him.") == []
    assert find_wordnet() is find_wordnet()
    assert find_wordnet().place == place


def test_definitions_of_what_is_not_in_the_sentence() -> None:
    with pytest.raises(ValueError, match=r"'murder' is not a word of 'Two men were murdered\.'; give a word as the"):
        definitions("murder", "Two men were murdered.")
    with pytest.raises(TypeError, match="word is int 3"):
        definitions(3, "Two men were murdered.")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["data.noun", "index.verb", "verb.exc", "lexnames"])
def test_a_truncated_file_is_named(tmp_path: Path, name: str) -> None:
    path = write_wordnet(tmp_path / "wordnet") / name
    for size in (path.stat().st_size - 1, path.stat().st_size // 2, 0):
        os.truncate(path, size)
        with pytest.raises(CorpusError, match=rf"{name}: the file is .*truncated.*clozeformers wordnet install"):
            WordNet(path.parent)


def test_a_file_without_its_last_lines_or_missing_is_named(tmp_path: Path) -> None:
    path = write_wordnet(tmp_path / "wordnet") / "data.adj"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) // 2]))
    with pytest.raises(CorpusError, match=r"data\.adj: the file is truncated: the index names an entry at byte \d+"):
        WordNet(path.parent)
    path.unlink()
    with pytest.raises(CorpusError, match=r"data\.adj: the file cannot be read"):
        WordNet(path.parent)


@pytest.mark.parametrize(
    ("name", "line"), [("index.noun", "secret n x 0 1 0 00000001\n"), ("lexnames", "45\n"), ("verb.exc", "\n")]
)
def test_a_damaged_line(tmp_path: Path, name: str, line: str) -> None:
    folder = write_wordnet(tmp_path / "wordnet")
    with (folder / name).open("a") as file:
        file.write(line)
    with pytest.raises(CorpusError, match=f"{folder}, .*damaged.*clozeformers wordnet install"):
        WordNet(folder)


@pytest.mark.filterwarnings("ignore:No WordNet synset found")
@pytest.mark.parametrize("change", [("00", "0x"), (" | ", " "), ("n 01 ", "n 09 ")])
def test_a_damaged_entry_is_named_when_it_is_looked_up(tmp_path: Path, change: tuple[str, str]) -> None:
    path = write_wordnet(tmp_path / "wordnet") / "data.noun"
    path.write_text("".join(line.replace(*change) if " secret " in line else line for line in path.open()))
    wordnet = WordNet(path.parent)
    assert wordnet.look_up("murder", "noun").definitions == KILLING
    with pytest.raises(CorpusError, match="the entry of 'secret' cannot be read: it is damaged"):
        wordnet.look_up("secret", "noun")


@pytest.mark.corpora
def test_options_of_recam_have_definitions() -> None:
    rows = load_recam(real_file("recam/Task_1_dev.jsonl"))
    try:
        lookup = DefinitionLookup()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    for row in rows:
        start = row["question"].index("@placeholder")
        for option in row["options"]:
            assert lookup.glosses(option, row["question"].replace("@placeholder", option), start).definitions, option
    assert lookup.wordnet.look_up("murdered", "verb").definitions == MURDER
