"""`pipeline("negation-scope")`: its results, and the cues of its inputs."""

import time

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, BertConfig, BertForTokenClassification, pipeline

from clozeformers.negation_scope.inputs import CueInSentence, cues_of_text, read_input
from clozeformers.pipelines.negation_scope import describe, scope_spans
from clozeformers.words import split_words
from tests.negation_rows import negation_rows

FRAGMENTS = [
    *("not", "n't", "no", "neither", "nor", "without", "impossible", "unhappy", "cannot", "isn't", "don’t", "never"),
    *("😀", "👩‍👩‍👧", "é", "ﬁ", "中文", "İ", "ß", "’", "…", ".", ",", "[CUE]"),
    *("\t", "  ", "\u00a0", "\u200b", "\n", "\r\n", "\x00"),
]
texts = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=6)), max_size=14).flatmap(
    lambda parts: st.sampled_from(["", " "]).map(lambda gap: gap.join(parts))
)
texts = texts.filter(lambda text: text.encode("utf-8", "ignore").decode() == text)


@pytest.fixture(scope="module")
def negation(tiny_model_folder):
    return pipeline("negation-scope", model=str(tiny_model_folder))


def read(text, scope, parts):
    words = split_words(text)
    cue = CueInSentence(text, tuple(words), tuple(parts))
    return describe(cue, [0.9 if word.text in scope else 0.2 for word in words])


def test_what_is_returned_explains_itself():
    found = read("I do not know the answer.", {"I", "do", "know", "the", "answer"}, [(5, 8)])
    assert found == {
        "cue": {"text": "not", "start": 5, "end": 8},
        "scope": [{"text": "I do", "start": 0, "end": 4}, {"text": "know the answer", "start": 9, "end": 24}],
        "score": pytest.approx(0.9),
    }


def test_affixes_and_parts():
    assert [span["text"] for span in read("It is impossible .", {"It", "is", "impossible"}, [(6, 8)])["scope"]] == [
        "It is",
        "possible",
    ]
    found = read("neither a saint nor a sinner", {"a", "saint", "sinner"}, [(0, 7), (16, 19)])
    assert [part["text"] for part in found["cue"]["parts"]] == ["neither", "nor"]
    assert (found["cue"]["start"], found["cue"]["end"]) == (0, 19)
    assert [span["text"] for span in found["scope"]] == ["a saint", "a sinner"]
    assert read("no", set(), [(0, 2)])["scope"] == []
    assert read("no", set(), [(0, 2)])["score"] == pytest.approx(0.8)


def test_the_cue_is_never_in_its_scope():
    cue = CueInSentence("carelessness", tuple(split_words("carelessness")), ((4, 8),))
    assert scope_spans(cue, [True]) == [(0, 4), (8, 12)]


@given(texts)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_spans_reproduce_any_text(negation, text):
    results = negation(text, return_words=True, batch_size=4)
    starts = []
    for found in results:
        spans = [found["cue"], *found["cue"].get("parts", []), *found["scope"], *found["words"]]
        assert all(text[span["start"] : span["end"]] == span["text"] != "" for span in spans)
        parts = found["cue"].get("parts", [found["cue"]])
        assert all(
            span["end"] <= part["start"] or part["end"] <= span["start"] for span in found["scope"] for part in parts
        )
        ends = [span["end"] for span in found["scope"]]
        assert all(end <= span["start"] for end, span in zip(ends, found["scope"][1:], strict=False))
        assert 0 <= found["score"] <= 1
        starts.append(found["cue"]["start"])
    assert starts == sorted(starts)


def test_corpus_rows_bring_their_cue(negation):
    rows = negation_rows(20, 0)
    for row, [found] in zip(rows, negation(rows), strict=True):
        tokens = [token for token, is_cue in zip(row["tokens"], row["cue"], strict=True) if is_cue]
        shown = [part["text"] for part in found["cue"].get("parts", [found["cue"]])]
        assert shown == tokens
    assert negation({"tokens": ["not"], "cue": [0], "scope": [0]}) == []


# ------------------------------------------------------------------------------------------------------------ the cues


def parts_of(given, **arguments):
    return [cue.parts for cue in cues_of_text(read_input(given), max_context=100, **arguments)]


def test_cues_can_be_given():
    text = "No one said no, unhappily."
    assert parts_of({"text": text, "cues": ["no"]}) == [((0, 2),), ((12, 14),)]
    assert parts_of({"text": text, "cues": ["no  ONE"]}) == [((0, 6),)]
    assert parts_of({"text": text, "cues": ["un"]}) == [((16, 18),)]
    assert parts_of({"text": "It isn’t here.", "cues": ["n't"]}) == [((5, 8),)]
    assert parts_of({"text": text, "cues": [(0, 2), {"start": 16, "end": 18}, [[0, 2], [12, 14]]]}) == [
        ((0, 2),),
        ((16, 18),),
        ((0, 2), (12, 14)),
    ]
    tokens = ["It", "is", "not", "", "so"]
    assert parts_of({"tokens": tokens, "cues": [2, [4, 0], "so"]}) == [((6, 9),), ((0, 2), (11, 13)), ((11, 13),)]
    assert parts_of({"text": text, "cues": []}) == []


def test_numbers_of_other_libraries():
    assert parts_of({"text": "It is not", "cues": np.array([[6, 9]])}) == [((6, 9),)]
    assert parts_of({"text": "It is not", "cues": [(np.int64(6), np.int32(9))]}) == [((6, 9),)]
    assert parts_of({"tokens": np.array(["It", "is"]), "cues": [np.int64(1), torch.tensor([0, 1])]}) == [
        ((3, 5),),
        ((0, 2), (3, 5)),
    ]


def test_cues_are_found_and_affixes_can_be_left_out():
    assert parts_of("It is impossible, not so.") == [((6, 8),), ((18, 21),)]
    assert parts_of("It is impossible, not so.", affixes=False) == [((18, 21),)]
    assert parts_of({"tokens": ["is", "n't", "it", "?", "No"]})


def test_the_convention_is_that_of_the_model_or_of_the_caller(negation, monkeypatch):
    text = "He hardly left."
    assert [found["cue"]["text"] for found in negation(text)] == ["hardly"]
    assert negation(text, convention="cd-sco") == []
    monkeypatch.setattr(negation.model.config, "conventions", ["cd-sco"])
    assert negation(text) == []
    monkeypatch.setattr(negation.model.config, "conventions", ["bioscope", "cd-sco"])
    assert len(negation(text)) == 1
    with pytest.raises(ValueError, match="convention is 'sco'; it must be 'cd-sco', 'bioscope', 'sfu' or None"):
        negation(text, convention="sco")


def test_the_whole_lexicon_under_any_convention(negation):
    def cues(**parameters):
        return [found["cue"]["text"] for found in negation("She denies pain, with no fever.", **parameters)]

    assert cues(convention="bioscope") == ["no"]
    assert cues(convention="bioscope", cue_detector="lexicon") == ["denies", "no"]
    with pytest.raises(ValueError, match="cue_detector is 'lexicn'; it must be 'lexicon' or a function"):
        cues(cue_detector="lexicn")


def test_a_cue_detector_takes_the_place_of_the_lexicon(negation):
    def detector(text):
        place = text.find("hardly")
        return [] if place < 0 else [{"start": place, "end": place + 6, "entity_group": "CUE"}]

    [found] = negation("He hardly knows no cat.", cue_detector=detector)
    assert found["cue"] == {"text": "hardly", "start": 3, "end": 9}
    assert negation("  ", cue_detector=detector) == []


@pytest.mark.parametrize("rubbish", [None, 5, "not", [{}], [5], [{"start": 0, "end": "x"}]])
def test_what_a_detector_returns_is_checked(negation, rubbish):
    with pytest.raises(TypeError, match="cue detector returned"):
        negation("It is not so.", cue_detector=lambda text: rubbish)
    results = negation(["It is not so.", " "], cue_detector=lambda text: rubbish, on_error="skip")
    assert ["error" in result for result in results] == [True, False]


def test_each_cue_is_read_with_its_own_sentence():
    text = 'Mr. Smith did not come. "No!" he said. All is well.'
    sentences = [" ".join(word.text for word in cue.words) for cue in cues_of_text(read_input(text), max_context=100)]
    assert sentences == ["Mr . Smith did not come .", '" No ! " he said .']
    [across] = cues_of_text(read_input({"text": text, "cues": [[[14, 17], [25, 27]]]}), max_context=100)
    assert " ".join(word.text for word in across.words) == " ".join(sentences)
    assert [sum(cue.cue_words) for cue in cues_of_text(read_input(text), max_context=100)] == [1, 1]


def test_no_more_words_are_kept_than_a_model_can_read():
    [cue] = cues_of_text(read_input("so " * 500 + "not " + "so " * 500), max_context=20)
    assert [word.text for word in cue.words] == ["so"] * 20 + ["not"] + ["so"] * 20


def test_long_sentences_are_read_in_windows_around_the_cue(negation):
    limit = negation.max_length
    text = "man " * limit + "not " + "cat " * limit
    [found] = negation(text, return_words=True)
    read_ = [word["start"] for word in found["words"] if word["probability"] > 0]
    cue = text.index("not")
    # A window holds the cue token and two special tokens besides the words.
    assert len([start for start in read_ if start < cue]) == limit - 4
    assert len([start for start in read_ if start > cue]) == limit - 4


# -------------------------------------------------------------------------------------------------------- hostile input


@pytest.mark.parametrize("text", ["", " ", "\n\t \u2003", "\u200b", "No cue stands here: all is well."[3:]])
def test_nothing_to_find(negation, text):
    assert negation(text) == []


def test_a_hundred_thousand_characters(negation):
    start = time.monotonic()
    text = "a" * 50_000 + " not " + "b" * 50_000
    [found] = negation(text)
    assert found["cue"] == {"text": "not", "start": 50_001, "end": 50_004}
    story = ("He does not say what it is. " * 720)[:20_000]
    results = negation(story, batch_size=64)
    assert len(results) == story.count("not")
    assert story[results[-1]["cue"]["start"] :].startswith("not")
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (None, TypeError, "got NoneType None"),
        (b"not", TypeError, "got bytes b'not'"),
        ({}, TypeError, "got dict {}"),
        ({"text": "a", "tokens": ["a"]}, TypeError, "got dict {'text': 'a', 'tokens'"),
        ({"text": 3}, TypeError, "the text is int 3; it must be a string"),
        ({"tokens": "not me"}, TypeError, "\"tokens\" is str 'not me'; it must be a list of strings"),
        ({"tokens": ["not", 3]}, TypeError, "token 1 is int 3; it must be a string"),
        ({"text": "not", "cues": "not"}, TypeError, "\"cues\" is str 'not'; it must be a list"),
        ({"text": "He is in", "cues": ["never"]}, ValueError, "the cue 'never' is not in the text 'He is in'"),
        ({"text": "not", "cues": [" "]}, ValueError, "the cue ' ' is not in the text"),
        ({"text": "not", "cues": [(0, 9)]}, ValueError, r"\(0, 9\) does not lie in the text, which has 3 characters"),
        ({"text": "not", "cues": [(-1, 2)]}, ValueError, "does not lie"),
        ({"text": "not", "cues": [(2, 2)]}, ValueError, "does not lie"),
        ({"text": "not so", "cues": [(3, 4)]}, ValueError, "holds no word, only ' '"),
        ({"text": "not so", "cues": [(0, 1.5)]}, TypeError, "a character span is two integers"),
        ({"text": "not so", "cues": [{"start": 0, "end": "3"}]}, TypeError, "a cue is a word, a character span"),
        ({"text": "not so no", "cues": [[[0, 3], [2, 6]]]}, ValueError, r"the parts \[\(0, 3\), \(2, 6\)\] .* overlap"),
        ({"text": "not", "cues": [5]}, TypeError, "a cue is a word, a character span"),
        ({"tokens": ["a", "b"], "cues": [2]}, ValueError, "no token 2; the 2 tokens are numbered from 0"),
        ({"tokens": ["a", "b"], "cues": [[]]}, TypeError, "a token index"),
        ({"tokens": ["a", "b"], "cues": [{"start": 0, "end": 1}]}, TypeError, "a token index"),
        ({"tokens": ["a", "b"], "cues": [True]}, TypeError, "a token index"),
        ({"tokens": ["a", ""], "cues": [1]}, ValueError, "token 1 is ''; a cue must be a word"),
        (
            {"tokens": ["a", "b"], "cue": [1]},
            ValueError,
            r'"cue" is \[1\]; it must have 0 or 1 for each of the 2 tokens',
        ),
        ("not \ud83d", ValueError, "the text: character 4"),
        ({"tokens": ["not", "\udc00"]}, ValueError, "token 1: character 0"),
    ],
)
def test_invalid_inputs(given, error, message):
    with pytest.raises(error, match=message):
        cues_of_text(read_input(given), max_context=9)


def test_other_models_are_refused(tiny_model_folder):
    tokenizer = AutoTokenizer.from_pretrained(tiny_model_folder)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    plain = BertForTokenClassification(BertConfig(vocab_size=len(tokenizer), **sizes))
    with pytest.raises(ValueError, match="BertForTokenClassification is not a negation scope model"):
        pipeline("negation-scope", model=plain, tokenizer=tokenizer)


def test_of_a_very_long_cue_the_first_pieces_are_read(negation):
    text = " ".join("abcdefghijklmnopqrstuvwxyz")
    [found] = negation({"text": text, "cues": [(0, len(text))]})
    assert found["cue"]["text"] == text
    assert found["scope"] == []
