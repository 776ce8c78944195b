"""Articles, filled-in questions and definitions to model inputs: layout, what is cut, and what is counted."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import Dataset
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from clozeformers.abstract_cloze import load_recam
from clozeformers.abstract_cloze.encoding import EncodedOption, cut_lengths, encode_questions, pair_layout
from clozeformers.abstract_cloze.features import ClozeReport, cloze_features
from clozeformers.abstract_cloze.questions import ClozeQuestion
from tests.cloze_models import (
    ARTICLE,
    OPTIONS,
    QUESTION,
    TOKENIZERS,
    FakeReader,
    bert_tokenizer,
    cloze_rows,
    roberta_tokenizer,
    xlnet_tokenizer,
)
from tests.qa_models import byte_tokenizer

LAYOUTS = {
    "bert": ("[CLS] A [SEP] B [SEP]", "000 11"),
    "albert": ("[CLS] A [SEP] B [SEP]", "000 11"),
    "deberta": ("[CLS] A [SEP] B [SEP]", "000 11"),
    "modernbert": ("<s> A </s> B </s>", "000 11"),
    "roberta": ("<s> A </s> </s> B </s>", "0000 11"),
    "xlnet": ("A <sep> B <sep> <cls>", "00 112"),
}
FRAGMENTS = [
    *(" the ", "cat", "happy ", "1990", " cat's", "[SEP]", "<sep>", "</s>", " ", "\n", "\u00a0", "\u3000"),
    *("é", "ß", "İ", "ﬁ", "中文", "😀", "👩‍👩‍👧", "…", "\u200b", "\x00", "\ufffd"),
]
texts = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=30).map("".join)


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return TOKENIZERS[request.param]()


def encoded(
    tokenizer: Any,
    article: str = ARTICLE,
    question: str = QUESTION,
    options: list[str] = OPTIONS,
    definitions: list[tuple[str, ...]] | None = None,
    max_length: int = 1000,
) -> list[EncodedOption]:
    asked = ClozeQuestion(article, question, tuple(options))
    found = [()] * len(options) if definitions is None else definitions
    return encode_questions(tokenizer, [asked], [found], max_length, ["the question"])[0]


def alone(tokenizer: Any, text: str) -> list[int]:
    return tokenizer(text, add_special_tokens=False)["input_ids"]


# ------------------------------------------------------------------------------------------------------------- lengths


def cut_one_by_one(article: int, option: int, definitions: int, room: int) -> tuple[int, int]:
    while article + option + definitions > room:
        if definitions > option:
            definitions -= 1
        elif article > 2 * definitions:
            article -= 1
        else:
            assert definitions > 0
            definitions -= 1
    return article, definitions


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 60), st.integers(0, 400)), min_size=1, max_size=20),
    st.integers(60, 200),
)
@example([(300, 40, 50), (100, 55, 50), (0, 60, 61), (9, 50, 50), (20, 30, 10)], 60)
@settings(max_examples=300, deadline=None)
def test_cuts_are_those_made_one_by_one(lengths: list[tuple[int, int, int]], room: int) -> None:
    article, option, definitions = np.array(lengths).T
    kept_article, kept_definitions = cut_lengths(article, option, definitions, room)
    expected = [cut_one_by_one(*row, room) for row in lengths]
    assert list(zip(kept_article.tolist(), kept_definitions.tolist(), strict=True)) == expected
    assert (kept_article + option + kept_definitions <= room).all()


def test_lengths_by_hand() -> None:
    def cut(article: int, option: int, definitions: int) -> list[int]:
        return [int(kept[0]) for kept in cut_lengths(*(np.array([n]) for n in (article, option, definitions)), 147)]

    assert cut(90, 30, 27) == [90, 27]  # all fits
    assert cut(300, 30, 20) == [97, 20]  # only the article is long
    assert cut(80, 30, 60) == [80, 37]  # only the definitions are longer than the option
    assert cut(300, 30, 60) == [87, 30]  # first they, then the article
    assert cut(300, 60, 60) == [58, 29]  # then both, two to one
    assert cut(10, 100, 90) == [10, 37]  # a short article stays
    assert cut(300, 147, 60) == [0, 0]


@given(st.integers(0, 300), st.integers(1, 147), st.integers(0, 300))
@settings(deadline=None)
def test_pieces_beyond_the_room_change_nothing(article: int, option: int, definitions: int) -> None:
    """So no more of a text than fills the room needs to be tokenised."""
    rows = [
        np.array([article, min(article, 148)]),
        np.array([option] * 2),
        np.array([definitions, min(definitions, 148)]),
    ]
    for kept in cut_lengths(*rows, 147):
        assert kept[0] == kept[1]


# -------------------------------------------------------------------------------------------------------------- layout


@pytest.mark.parametrize("kind", LAYOUTS)
def test_the_layout_is_the_tokenizers_own(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]()
    parts, types = LAYOUTS[kind]
    sentence = "The cat is very new to the club ."
    segments = {"A": alone(tokenizer, ARTICLE), "B": alone(tokenizer, sentence)}
    expected: list[int] = []
    expected_types: list[int] = []
    for part, type_ in zip(parts.split(), types.replace(" ", ""), strict=True):
        ids = segments.get(part) or [tokenizer.convert_tokens_to_ids(part)]
        expected += ids
        expected_types += [int(type_)] * len(ids)
    option = encoded(tokenizer)[2]
    assert option.input_ids.tolist() == expected == tokenizer(ARTICLE, sentence)["input_ids"]
    assert option.token_type_ids.tolist() == expected_types
    assert pair_layout(tokenizer).class_token_is_last == (kind == "xlnet")
    if kind == "bert":
        assert option.token_type_ids.tolist() == tokenizer(ARTICLE, sentence)["token_type_ids"]


def test_definitions_stand_behind_the_question(tokenizer: Any) -> None:
    found = [("one; two", "three"), (), ("four",)]
    options = encoded(tokenizer, definitions=found)
    for option, word, joined in zip(options, OPTIONS, [" one; two;three", "", " four"], strict=True):
        sentence = f"The cat is {word} to the club .{joined}"
        assert option.input_ids.tolist() == tokenizer(ARTICLE, sentence)["input_ids"]
    assert [option.definitions for option in options] == found


@given(article=texts, before=texts, option=texts, glosses=st.lists(texts, max_size=2), max_length=st.integers(8, 80))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_read_as_a_whole(
    tokenizer: Any, article: str, before: str, option: str, glosses: list[str], max_length: int
) -> None:
    options = [f"a{option}", "cat"]
    sentence = f"{before} {options[0].strip()} of the cat".strip()
    question = f"{before} @placeholder of the cat"
    layout = pair_layout(tokenizer)
    room = max_length - layout.size
    first, second = alone(tokenizer, article.strip()), alone(tokenizer, sentence)
    if len(second) > room:
        with pytest.raises(ValueError, match=rf"{len(second)} pieces, and {room} fit beside"):
            encoded(tokenizer, article, question, options, max_length=max_length)
        return
    read = encoded(tokenizer, article, question, options, [tuple(glosses), ()], max_length)[0]
    joined = ";".join(glosses)
    with_definitions = alone(tokenizer, f"{sentence} {joined}" if joined else sentence)
    start = len(second)
    assert with_definitions[:start] == second
    kept_article, kept = cut_one_by_one(len(first), start, len(with_definitions) - start, room)
    assert read.input_ids.tolist() == [
        *layout.before, *first[:kept_article], *layout.between, *with_definitions[: start + kept], *layout.after
    ]  # fmt: skip
    assert len(read.input_ids) == len(read.token_type_ids) <= max_length
    assert read.article_is_cut == (kept_article < len(first))
    assert read.definitions_are_cut == (kept < len(with_definitions) - start)
    assert joined.startswith(";".join(read.definitions))


def test_definitions_are_listed_as_far_as_they_are_read() -> None:
    tokenizer = bert_tokenizer()
    glosses = ("the act of doing; new", "a very happy dog")
    [whole, _] = encoded(tokenizer, "cat", "@placeholder", ["x", "y"], [glosses, ()])
    assert whole.definitions == glosses
    length = len(whole.input_ids)
    for cut, expected in (
        (1, ("the act of doing; new", "a very happy")),
        (3, ("the act of doing; new", "a")),
        (4, ("the act of doing; new",)),
        (5, ("the act of doing; new",)),
        (6, ("the act of doing;",)),
    ):
        [read, _] = encoded(tokenizer, "cat", "@placeholder", ["x", "y"], [glosses, ()], length - cut)
        assert read.definitions == expected
        assert read.definitions_are_cut
        assert len(read.input_ids) == length - cut


def test_special_tokens_that_are_spelled_change_no_type(tokenizer: Any) -> None:
    separators = f"{tokenizer.sep_token} a {tokenizer.cls_token}"
    [read, _] = encoded(tokenizer, f"cat {separators}", f"dog {separators} @placeholder", ["x", "y"])
    layout = pair_layout(tokenizer)
    articles = len(layout.before) + len(alone(tokenizer, f"cat {separators}")) + len(layout.between)
    assert read.token_type_ids[:articles].tolist() == [0] * articles
    assert read.token_type_ids[articles:].tolist()[-len(layout.after) :] == layout.after_types


def test_words_that_a_tokenizer_drops_do_not_shorten_what_is_read() -> None:
    tokenizer = bert_tokenizer()
    dropped = "\x00 " * 500
    [read, _] = encoded(tokenizer, f"{dropped} a cat {dropped} sat on", "@placeholder", ["x", "y"], max_length=9)
    assert tokenizer.decode(read.input_ids) == "[CLS] a cat sat on [SEP] x [SEP]"
    definitions = [(f"a {dropped}", "very happy dog"), ()]
    [read, _] = encoded(tokenizer, "cat", "the act of @placeholder", ["x", "y"], definitions, 15)
    assert tokenizer.decode(read.input_ids) == "[CLS] cat [SEP] the act of x a ; very happy dog [SEP]"


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_no_more_is_tokenised_than_can_be_read(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = TOKENIZERS[kind]()
    lengths: list[int] = []
    call = type(tokenizer).__call__

    def counting(self: Any, text: Any, *arguments: Any, **keywords: Any) -> Any:
        lengths.extend(len(each) for each in text)
        return call(self, text, *arguments, **keywords)

    article, gloss = "the happy dog " * 50_000, "act of doing " * 50_000
    monkeypatch.setattr(type(tokenizer), "__call__", counting)
    options = encoded(tokenizer, article, definitions=[(gloss, gloss), (), ()], max_length=150)
    assert max(lengths) < 2000
    monkeypatch.undo()
    room = 150 - pair_layout(tokenizer).size
    kept_article, _ = cut_one_by_one(10**4, len(alone(tokenizer, "The cat is happy to the club .")), 10**4, room)
    start = len(pair_layout(tokenizer).before)
    assert (
        options[0].input_ids[start : start + kept_article].tolist() == alone(tokenizer, article[:5000])[:kept_article]
    )


def test_an_option_that_does_not_fit_is_named() -> None:
    tokenizer = bert_tokenizer()
    message = (
        r"the question: with option 2, 'very new', the question has 9 pieces, and 8 fit beside the special tokens; it "
        r"is never cut, so raise the longest input"
    )
    with pytest.raises(ValueError, match=message):
        encoded(tokenizer, max_length=11)
    [first, *_, last] = encoded(tokenizer, max_length=12)
    assert tokenizer.decode(last.input_ids) == "[CLS] [SEP] the cat is very new to the club. [SEP]"
    assert tokenizer.decode(first.input_ids) == "[CLS] the [SEP] the cat is happy to the club. [SEP]"
    with pytest.raises(ValueError, match=r"option 1, '\\x00', the question has no word piece at all"):
        encoded(tokenizer, question="@placeholder", options=["a", "\x00"])
    for length, error in ((3, ValueError), (0, ValueError), (12.0, TypeError), (True, TypeError)):
        with pytest.raises(error, match="the longest input is"):
            encoded(tokenizer, max_length=length)  # type: ignore[arg-type]


def test_tokenizers_that_do_not_mark_the_ends() -> None:
    bare = byte_tokenizer()
    bare.backend_tokenizer.post_processor = None
    with pytest.raises(ValueError, match="TokenizersBackend encodes the pair of texts 'a' and 'a' as 'a a'; abstract"):
        pair_layout(bare)

    class Slow:
        is_fast = False

    with pytest.raises(ValueError, match="load a fast tokenizer"):
        pair_layout(Slow())


# ------------------------------------------------------------------------------------------------------------ features


def test_features_of_a_corpus(caplog: pytest.LogCaptureFixture) -> None:
    rows = cloze_rows({}, {"options": ["cat", "dog"], "label": -1}, {"article": ARTICLE * 9, "label": 2})
    reader = FakeReader(happy=9, doing=0)
    with caplog.at_level(logging.INFO, "clozeformers"):
        features, report = cloze_features(rows, bert_tokenizer(), max_length=60, option_reader=reader)
    assert report == ClozeReport(questions=3, options=8, with_definitions=6, definitions_cut=2, articles_cut=3)
    assert str(report) in caplog.text
    assert str(report) == ("3 questions with 8 options; 6 options with definitions, of 2 cut; the article cut with 3")
    assert reader.asked[2] == ("very new", "The cat is very new to the club .")
    assert len(reader.asked) == 8
    assert features["label"][:] == [0, -1, 2]
    assert features["length"][:] == [60, features[1]["length"], 60]
    types = {name: str(kind) for name, kind in features.features.items()}
    assert types == {
        "input_ids": "List(List(Value('int32')))",
        "token_type_ids": "List(List(Value('int8')))",
        "label": "Value('int32')",
        "length": "Value('int32')",
    }
    for number, row in enumerate(rows):
        definitions = [reader.definitions(option) for option in row["options"]]
        expected = encoded(bert_tokenizer(), row["article"], row["question"], row["options"], definitions, 60)
        assert features[number]["input_ids"] == [option.input_ids.tolist() for option in expected]
        assert features[number]["token_type_ids"] == [option.token_type_ids.tolist() for option in expected]
        assert features[number]["length"] == max(len(option.input_ids) for option in expected)


@pytest.mark.parametrize("kind", ["bert", "roberta", "xlnet"])
def test_without_article_or_definitions(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]()
    features, report = cloze_features(cloze_rows({"article": " "}), tokenizer, option_reader=None, use_article=False)
    assert features[0]["input_ids"][0] == tokenizer("", "The cat is happy to the club .")["input_ids"]
    assert report.with_definitions == report.articles_cut == 0


def test_only_the_marker_is_replaced() -> None:
    rows = cloze_rows({"question": "  a top - @placeholder's cat , ", "options": ["dog", " @placeholder "]})
    features, _ = cloze_features(rows, bert_tokenizer(), option_reader=None, use_article=False)
    shown = [bert_tokenizer().decode(ids) for ids in features[0]["input_ids"]]
    assert shown[0].replace(" ", "") == "[CLS][SEP]atop-dog'scat,[SEP]"
    assert "@placeholder's" in shown[1].replace(" ", "")


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    tokenizer = bert_tokenizer()
    with pytest.raises(ValueError, match=r"the rows have no column options; .*load_recam\(path\)"):
        cloze_features(cloze_rows({}).remove_columns("options"), tokenizer, option_reader=None)
    with pytest.raises(ValueError, match="there are no rows"):
        cloze_features(cloze_rows({}).select([]), tokenizer, option_reader=None)
    with pytest.raises(ValueError, match="the longest input is 3 pieces; 3 of them are special"):
        cloze_features(cloze_rows({}), tokenizer, max_length=3, option_reader=None)
    with pytest.raises(ValueError, match="row 'q1': there must be two options"):
        cloze_features(cloze_rows({}, {"options": ["a"]}), tokenizer, option_reader=None)
    with pytest.raises(ValueError, match=r"row 'q1': with option 0, 'happy', the question has 154 pieces, and 147 fit"):
        cloze_features(cloze_rows({}, {"question": "cat " * 153 + "@placeholder"}), tokenizer, option_reader=None)


def test_other_definitions_are_not_taken_from_a_cache(tmp_path: Path) -> None:
    cloze_rows({}).save_to_disk(tmp_path)
    rows = Dataset.load_from_disk(str(tmp_path))
    first, _ = cloze_features(rows, bert_tokenizer(), option_reader=FakeReader())
    second, _ = cloze_features(rows, bert_tokenizer(), option_reader=FakeReader(happy=2))
    assert first[0]["input_ids"][0] != second[0]["input_ids"][0]
    assert first[0]["input_ids"][1:] == second[0]["input_ids"][1:]


def test_a_tokenizer_that_was_saved_with_truncation_reads_all() -> None:
    tokenizer = roberta_tokenizer()
    tokenizer.backend_tokenizer.enable_truncation(5)
    tokenizer.backend_tokenizer.enable_padding(length=9)
    assert encoded(tokenizer)[0].input_ids.tolist() == encoded(roberta_tokenizer())[0].input_ids.tolist()
    assert len(encoded(xlnet_tokenizer())) == len(OPTIONS)


# ----------------------------------------------------------------------------------------------------------- real files


@pytest.mark.corpora
@pytest.mark.parametrize("name", ["albert-xxlarge-v2", "xlnet-base-cased"])
def test_real_files_in_real_pieces(name: str) -> None:
    folder = os.environ.get("CLOZEFORMERS_CORPORA")
    if folder is None:
        pytest.skip("CLOZEFORMERS_CORPORA does not name a folder that holds recam/ and tokenizers/")
    rows = load_recam(Path(folder, "recam", "Task_1_dev.jsonl"))
    tokenizer = AutoTokenizer.from_pretrained(str(Path(folder, "tokenizers", name)))
    start = time.monotonic()
    features, report = cloze_features(rows, tokenizer, option_reader=FakeReader())
    assert time.monotonic() - start < 60
    assert (report.questions, report.options, report.with_definitions) == (837, 4185, 4185)
    assert max(features["length"]) == 150
    for row, feature in zip(rows.select(range(50)), features, strict=False):
        sentence = row["question"].replace("@placeholder", row["options"][0])
        ids = np.array(feature["input_ids"][0])[np.array(feature["token_type_ids"][0]) == 1]
        expected = tokenizer(sentence, add_special_tokens=False)["input_ids"]
        assert ids[: len(expected)].tolist() == expected
