"""`pipeline("abstract-cloze")`: its ranking, definitions and inputs."""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    RobertaForMultipleChoice,
)

from clozeformers import BertWithWNDuma
from clozeformers.abstract_cloze.collator import ClozeCollator
from clozeformers.abstract_cloze.features import encode_dataset
from clozeformers.abstract_cloze.questions import cloze_question_of
from clozeformers.modeling.modeling_wn_duma import WN_DUMA_MODELS
from clozeformers.pipelines.abstract_cloze import AbstractClozePipeline
from tests.cloze_models import (
    ARTICLE,
    MODELS,
    OPTIONS,
    QUESTION,
    FakeReader,
    bert_tokenizer,
    cloze_rows,
    roberta_tokenizer,
    tiny_cloze,
    tiny_wn_duma,
)

from .results import same

PIPELINES = {kind: tiny_cloze(kind) for kind in MODELS}
ASKED = {"article": ARTICLE, "question": QUESTION, "options": OPTIONS}
MANY: list[dict[str, Any]] = [
    ASKED,
    ASKED | {"options": ["not", "very happy", "a", "new", "doing something and"]},
    ASKED | {"article": ARTICLE * 20},
    {"article": "cat", "question": "@placeholder", "options": ["İﬁ", "😀 é"]},
    ASKED | {"question": "the dog sat on the mat , in the @placeholder of the cat ", "article": "A dog."},
    ASKED | {"options": ["dog", "cat"]},
]


@pytest.fixture(params=MODELS)
def cloze(request: pytest.FixtureRequest) -> AbstractClozePipeline:
    return PIPELINES[request.param]


# --------------------------------------------------------------------------------------------------------- the ranking


def test_options_are_ranked(cloze: AbstractClozePipeline) -> None:
    found = cloze(ASKED)
    assert [set(option) for option in found] == [{"option", "index", "score", "definitions"}] * 3
    assert sorted(option["index"] for option in found) == [0, 1, 2]
    assert all(OPTIONS[option["index"]] == option["option"] for option in found)
    scores = [option["score"] for option in found]
    assert scores == sorted(scores, reverse=True)
    assert sum(scores) == pytest.approx(1)
    assert scores[0] - scores[-1] > 0.01  # or else no test of order would mean anything
    assert [option["definitions"] for option in found] == [[]] * 3


def test_a_question_may_be_given_by_keywords(cloze: AbstractClozePipeline) -> None:
    assert cloze(**ASKED) == cloze(ASKED)
    alone = {name: text for name, text in ASKED.items() if name != "article"}
    assert cloze(**alone, use_article=False) == cloze(alone, use_article=False)
    with pytest.raises(TypeError, match="'article' is missing"):
        cloze(**alone)


def test_scores_are_the_models_probabilities(cloze: AbstractClozePipeline) -> None:
    tokenizer, model = cloze.tokenizer, cloze.model
    takes_types = not isinstance(model, RobertaForMultipleChoice)
    sentences = [QUESTION.replace("@placeholder", option) for option in OPTIONS]
    encoded = tokenizer([ARTICLE] * 3, sentences, padding=True, return_tensors="pt", return_token_type_ids=takes_types)
    with torch.no_grad():
        logits = model(**{name: values.unsqueeze(0) for name, values in encoded.items()}).logits
    expected = logits.softmax(-1)[0].tolist()
    for option in cloze(ASKED):
        assert option["score"] == pytest.approx(expected[option["index"]], abs=1e-5)


def test_the_pipeline_reads_what_training_reads(cloze: AbstractClozePipeline) -> None:
    reader = FakeReader(happy=3)
    rows = cloze_rows(*({name: row[name] for name in ASKED} for row in MANY))
    features = encode_dataset(rows, cloze.tokenizer, max_length=60, option_reader=reader)[0]
    for row, feature in zip(rows, features, strict=True):
        batch = ClozeCollator(cloze.tokenizer)([feature])
        if isinstance(cloze.model, RobertaForMultipleChoice):
            del batch["token_type_ids"]
        with torch.no_grad():
            expected = cloze.model(**{name: values for name, values in batch.items() if name != "labels"}).logits
        found = cloze(row, option_reader=reader, max_option_length=60)
        scores = [option["score"] for option in sorted(found, key=lambda option: option["index"])]
        assert scores == [pytest.approx(value, abs=1e-5) for value in expected.softmax(-1)[0].tolist()]


@pytest.mark.parametrize("model_class", WN_DUMA_MODELS)
@pytest.mark.parametrize(
    "fields",
    [
        {"option_features": "span", "article_sentences": "similar"},
        {"option_features": "gap", "num_co_attention_layers": 0, "mask_token_id": 4, "use_article": False},
    ],
    ids=["span", "gap"],
)
def test_the_pipeline_encodes_as_the_config_says(model_class: Any, fields: dict[str, Any]) -> None:
    given = {"use_definitions": False, "use_article": True, "max_option_length": 40, **fields}
    cloze = tiny_wn_duma(model_class, **given)
    rows = cloze_rows(*({name: row[name] for name in ASKED} for row in MANY if len(row["article"]) > 10))
    features, _ = encode_dataset(
        rows,
        cloze.tokenizer,
        max_length=40,
        option_reader=None,
        use_article=given["use_article"],
        article_sentences=given.get("article_sentences", "first"),
        with_option_mask=True,
    )
    for row, feature in zip(rows, features, strict=True):
        batch = ClozeCollator(cloze.tokenizer)([feature])
        with torch.no_grad():
            expected = cloze.model(**{name: values for name, values in batch.items() if name != "labels"}).logits
        scores = [option["score"] for option in sorted(cloze(row), key=lambda option: option["index"])]
        assert scores == [pytest.approx(value, abs=1e-5) for value in expected.softmax(-1)[0].tolist()]


def test_definitions_that_were_read_are_shown() -> None:
    cloze, reader = PIPELINES["bert"], FakeReader(happy=9, doing=0)
    found = {option["option"]: option for option in cloze(ASKED, option_reader=reader, max_option_length=60)}
    assert reader.asked == [(option, f"The cat is {option} to the club .") for option in OPTIONS]
    assert found["doing"]["definitions"] == []
    assert found["very new"]["definitions"] == list(reader.definitions("very new"))
    read = found["happy"]["definitions"]
    assert 0 < len(read) < 9
    assert ";".join(reader.definitions("happy")).startswith(";".join(read))
    assert [option["definitions"] for option in cloze(ASKED, use_definitions=False, option_reader=reader)] == [[]] * 3
    assert found["happy"]["score"] != {one["option"]: one for one in cloze(ASKED)}["happy"]["score"]


def test_the_reader_may_belong_to_the_pipeline() -> None:
    cloze = tiny_cloze("bert", option_reader=FakeReader())
    assert all(option["definitions"] for option in cloze(ASKED))
    assert all(not option["definitions"] for option in cloze(ASKED, use_definitions=False))


def test_the_question_alone() -> None:
    cloze = PIPELINES["bert"]
    alone = cloze({"question": QUESTION, "options": OPTIONS}, use_article=False)
    assert cloze(ASKED, use_article=False) == alone
    assert cloze(ASKED | {"article": " "}, use_article=False) == alone
    assert not same(alone, cloze(ASKED))


def test_what_the_config_says_is_the_default() -> None:
    cloze = tiny_cloze("bert")
    with_reader = cloze(ASKED, option_reader=FakeReader(), max_option_length=30, use_article=False)
    fields = {"use_definitions": True, "use_article": False, "max_option_length": 30}
    cloze.model.config.update(fields)
    cloze._wordnet_reader = FakeReader()
    assert cloze(ASKED) == with_reader
    assert not same(cloze(ASKED, use_article=True), with_reader)
    cloze.model.config.max_option_length = 500  # more than there are positions
    assert len(cloze(ASKED | {"article": ARTICLE * 20}, use_article=True)) == 3
    cloze.tokenizer.model_max_length = 10  # of another task
    assert cloze(ASKED, max_option_length=30) == with_reader


@pytest.mark.parametrize("model_class", WN_DUMA_MODELS)
@pytest.mark.parametrize("layers", [0, 1])
def test_our_models_are_read_as_they_are_trained(model_class: Any, layers: int) -> None:
    """A batch of questions with two to four options, on the one side; each question by itself, on the other."""
    cloze = tiny_wn_duma(model_class, num_co_attention_layers=layers)
    asked = [ASKED | {"options": [*OPTIONS, "mat"][:count], "article": ARTICLE * count} for count in (3, 2, 4)]
    reader = FakeReader(happy=9)
    features = encode_dataset(cloze_rows(*asked), cloze.tokenizer, max_length=90, option_reader=reader)[0]
    with torch.no_grad():
        logits = cloze.model(**ClozeCollator(cloze.tokenizer)(list(features))).logits
    for given, expected in zip(asked, logits.softmax(-1).tolist(), strict=True):
        found = cloze(given, option_reader=reader, max_option_length=90)
        assert [option["score"] for option in found] == [
            pytest.approx(expected[option["index"]], abs=1e-5) for option in found
        ]
    assert same(cloze(asked, batch_size=4, use_definitions=False), [cloze(one, use_definitions=False) for one in asked])
    alone = cloze(ASKED, use_article=False, use_definitions=False)
    assert not same(alone, cloze(ASKED, use_definitions=False))


# ------------------------------------------------------------------------------------------------- collections, batches


@pytest.mark.parametrize("kind", MODELS)
def test_a_tokenizer_that_pads_the_other_side_changes_nothing(kind: str) -> None:
    cloze = tiny_cloze(kind)
    expected = cloze(MANY)
    cloze.tokenizer.padding_side = {"left": "right", "right": "left"}[cloze.tokenizer.padding_side]
    assert same(cloze(MANY, batch_size=8), expected)


def test_rows_of_recam() -> None:
    cloze = PIPELINES["bert"]
    numbered = {f"option_{number}": option for number, option in enumerate(OPTIONS)}
    row = {"article": ARTICLE, "question": QUESTION, "label": 7, "id": "x", **numbered}
    assert cloze(row) == cloze(ASKED) == cloze(ASKED | {"options": np.array(OPTIONS)})
    assert list(cloze(Dataset.from_list([row]))) == [cloze(ASKED)]


# -------------------------------------------------------------------------------------------------------- hostile input


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("a @placeholder", TypeError, 'a question is {"article": .*; got str .a @placeholder.'),
        (None, TypeError, "got NoneType None"),
        ({}, TypeError, "'article' is missing; .* and there is nothing"),
        (
            {"article": "a", "question": "@placeholder"},
            TypeError,
            "'options' is missing; .* there is article, question",
        ),
        (ASKED | {"options": None}, TypeError, "'options' is missing"),
        (ASKED | {"article": None}, TypeError, "'article' is missing"),
        (ASKED | {"article": 3}, TypeError, "the article is int 3; it must be a string"),
        (ASKED | {"article": "\n"}, ValueError, r"the article is '\\n'; it must hold at least one word"),
        (ASKED | {"question": "who?"}, ValueError, "has @placeholder 0 times; write it once"),
        (ASKED | {"question": QUESTION * 2}, ValueError, "has @placeholder 2 times"),
        (ASKED | {"options": ["a"]}, ValueError, r"two options or more, not \['a'\]"),
        (ASKED | {"options": []}, ValueError, "two options or more"),
        (ASKED | {"options": "ab"}, TypeError, "the options are str 'ab'; give a list of strings"),
        (ASKED | {"options": {"a", "b"}}, TypeError, "the options are set .*; give a list of strings"),
        (ASKED | {"options": ["a", ""]}, ValueError, "option 1 is ''"),
        (ASKED | {"options": ["a", 5]}, TypeError, "option 1 is int 5; it must be a string"),
        (ASKED | {"options": ["a", "b", "a "]}, ValueError, "options 0 and 2 are both 'a'"),
        (ASKED | {"option_0": "a", "option_1": "b"}, ValueError, "both 'options' and 'option_0'"),
        (
            {"option_0": "a", "option_2": "b"},
            ValueError,
            "there is option_2 but no option_1; number the options from 0",
        ),
        (ASKED | {"options": ["a", "\ud83d"]}, ValueError, "option 1: character 0"),
        (ASKED | {"question": "\ud83d @placeholder"}, ValueError, "the question: character 0"),
    ],
)
def test_invalid_inputs(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        cloze_question_of(given)


def test_a_question_that_is_too_long() -> None:
    with pytest.raises(ValueError, match=r"option 1, 'happy .* pieces, and 93 fit"):
        PIPELINES["bert"](ASKED | {"options": ["cat", "happy " * 300]})


def test_odd_questions(cloze: AbstractClozePipeline) -> None:
    chooser = random.Random(0)
    fragments = [
        *("the", "cat", "is", "happy", " ", "\n", "\u00a0", "\u200b", "\x00", "’"),
        *("😀", "👩‍👩‍👧", "é", "İ", "中文", "[SEP]", "<cls>"),
    ]

    def text(length: int) -> str:
        return "".join(chooser.choice(fragments) for _ in range(length))

    asked = [
        {
            "article": f"{text(60)}a",
            "question": f"{text(4)}@placeholder{text(4)}",
            "options": [f"{number}{text(2)}" for number in range(chooser.randint(2, 5))],
        }
        for _ in range(60)
    ]
    for given, found in zip(asked, cloze(asked, batch_size=16), strict=True):
        assert sorted(option["option"] for option in found) == sorted(given["options"])
        assert sum(option["score"] for option in found) == pytest.approx(1, abs=1e-5)


def test_a_very_long_article_takes_no_longer(cloze: AbstractClozePipeline) -> None:
    long = ASKED | {"article": ARTICLE * 3000}
    start = time.process_time()
    assert same(cloze(long, max_option_length=60), cloze(ASKED | {"article": ARTICLE * 10}, max_option_length=60))
    assert time.process_time() - start < 2


def test_missing_wordnet_is_no_matter_of_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    cloze = tiny_cloze("bert", on_error="skip")

    def missing() -> None:
        raise FileNotFoundError("WordNet is not here; run `clozeformers wordnet install`")

    monkeypatch.setattr(cloze, "_wordnet", missing)
    with pytest.raises(FileNotFoundError, match="clozeformers wordnet install"):
        cloze([ASKED], use_definitions=True)
    assert cloze(ASKED)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"question": QUESTION}, TypeError, r"pass either an input or question=\.\.\.; got both"),
        ({"use_definitions": "no"}, TypeError, "use_definitions is str 'no'; it must be True or False"),
        ({"option_reader": "WordNet"}, TypeError, "option_reader is str 'WordNet'; it must have the method `many`"),
        ({"max_option_length": 97}, ValueError, "max_option_length is 97; the model and its tokenizer read at most 96"),
        ({"max_option_length": 3}, ValueError, "the maximum length is 3 word pieces"),
    ],
)
def test_wrong_arguments_are_refused(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        PIPELINES["bert"](ASKED, **arguments)
    if "question" not in arguments:
        with pytest.raises(error, match=message):
            tiny_cloze("bert", **arguments)


def test_other_models_are_refused() -> None:
    tokenizer = bert_tokenizer()
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = BertConfig(vocab_size=len(tokenizer), **sizes)
    with pytest.raises(ValueError, match="BertForSequenceClassification is not a multiple choice model"):
        AbstractClozePipeline(model=BertForSequenceClassification(config), tokenizer=tokenizer)


def test_a_tokenizer_of_another_layout_is_refused() -> None:
    cloze = tiny_wn_duma(BertWithWNDuma)
    with pytest.raises(ValueError, match="puts 2 separators between article and option, but BertWithWNDuma expects 1"):
        AbstractClozePipeline(model=cloze.model, tokenizer=roberta_tokenizer())


def test_half_precision_is_close() -> None:
    cloze = tiny_cloze("bert")
    expected = {option["option"]: option["score"] for option in cloze(ASKED)}
    cloze.model.to(torch.bfloat16)
    found = {option["option"]: option["score"] for option in cloze(ASKED)}
    assert found == {option: pytest.approx(score, abs=0.1) for option, score in expected.items()}
    assert sum(found.values()) == pytest.approx(1, abs=1e-5)
