"""`pipeline("extractive-question-answering")`: its answers, lengths, windows and inputs."""

from __future__ import annotations

import math
import random
import re
import time
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import RobertaConfig, RobertaForQuestionAnswering

from clozeformers.pipelines.question_answering import ExtractiveQuestionAnsweringPipeline
from clozeformers.question_answering.inputs import question_of_input
from clozeformers.question_answering.simplification import simplify_question
from clozeformers.question_answering.windows import tokenize_questions, word_spans
from tests.hub_models import tiny_word_reader
from tests.qa_models import CONTEXT, MODELS, WORDS, bert_tokenizer, tiny_reader, xlnet_tokenizer

from .results import same

READERS = {kind: tiny_reader(kind) for kind in MODELS}
QUESTION = "Who sits on the mat?"
MANY = [
    {"question": QUESTION, "context": CONTEXT},
    {"question": "where", "context": "Paris"},
    {"question": "In 1990?", "context": CONTEXT * 6},
    {"question": " what does it cost, and who says so " * 9, "context": "x" + CONTEXT},
    {"question": "?", "context": "."},
]
FRAGMENTS = [
    *WORDS,
    *(" ", "  ", "\n", "\r\n", "\u00a0", "\u3000", "\t", "\u200b", "\u0301", "\x00", "’"),
    *("😀", "👩‍👩‍👧", "🇫🇷", "é", "İ", "ß", "ﬁ", "中文", "[SEP]", "<cls>"),
]


@pytest.fixture(params=MODELS)
def reader(request: pytest.FixtureRequest) -> ExtractiveQuestionAnsweringPipeline:
    return READERS[request.param]


# --------------------------------------------------------------------------------------------------------- the answers


def test_an_answer_is_a_part_of_the_context(reader: ExtractiveQuestionAnsweringPipeline) -> None:
    found = reader(question=QUESTION, context=CONTEXT)
    assert set(found) == {"answer", "start", "end", "score"}
    assert found["answer"] == CONTEXT[found["start"] : found["end"]] != ""
    assert 0 < found["score"] <= 1
    assert reader({"question": QUESTION, "context": CONTEXT, "id": 7, "answers": None}) == found


def test_scores_are_probabilities_over_the_slots(reader: ExtractiveQuestionAnsweringPipeline) -> None:
    """All answers together, and no answer, have the probability that a start does not come behind its end."""
    context = "The cat sits."
    found = reader(question="who", context=context, top_k=1000, max_answer_len=99, handle_impossible_answer=True)
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
    assert sum(one["answer"] == "" for one in found) == 1
    assert 0 < sum(one["score"] for one in found) < 1
    tokenizer, model = reader.tokenizer, reader.model
    pair = ("who", context) if tokenizer.padding_side == "right" else (context, "who")
    encoded = tokenizer(*pair, return_offsets_mapping=True, return_tensors="pt")
    offsets = encoded.pop("offset_mapping")[0]
    with torch.no_grad():
        output = model(**encoded)
    cls = encoded["input_ids"][0].tolist().index(tokenizer.cls_token_id)
    own = int(tokenizer.padding_side == "right")
    inside = [place for place, sequence in enumerate(encoded.encodings[0].sequence_ids) if sequence == own]
    starts, ends = (logits[0, [cls, *inside]].softmax(0) for logits in (output.start_logits, output.end_logits))
    [nothing] = [one["score"] for one in found if one["answer"] == ""]
    assert nothing == pytest.approx(float(starts[0] * ends[0]), abs=1e-6)
    stop = offsets[inside[-1]].tolist()
    [score] = [one["score"] for one in found if [one["start"], one["end"]] == stop]
    assert score == pytest.approx(float(starts[-1] * ends[-1]), abs=1e-6)


def test_odd_contexts(reader: ExtractiveQuestionAnsweringPipeline) -> None:
    chooser = random.Random(0)
    texts = [
        "".join(chooser.choice(FRAGMENTS) for _ in range(chooser.randint(1, 30)))
        + chooser.choice(["cat", "1990", " . ", "É😀"])
        for _ in range(300)
    ]
    asked = [{"question": chooser.choice(["who", "?", *texts[:9]]) + "?", "context": text} for text in texts]
    results = reader(asked, batch_size=32, top_k=3, handle_impossible_answer=True)
    assert len(results) == 300
    for text, answers in zip(texts, results, strict=True):
        assert 1 < len(answers) <= 3
        for found in answers:
            assert text[found["start"] : found["end"]] == found["answer"] == found["answer"].strip()
            assert found["answer"] or (found["start"], found["end"]) == (0, 0)
            for edge in (found["start"], found["end"]):
                assert not (edge > 0 and re.match("[a-z]{2}", text[edge - 1 : edge + 1], re.IGNORECASE | re.ASCII))


PIECES = "Some cats, 1,000 matted (or so) say."
WORDS_OF_PIECES = {
    "bert": ["Some", "cats", ",", "1", ",", "000", "matted", "(", "or", "so", ")", "say", "."],
    "xlnet": ["Some", "cats", ",", "1,000", "matted", "(", "or", "so", ")", "say", "."],
}


@pytest.mark.parametrize("kind", WORDS_OF_PIECES)
def test_an_answer_is_never_a_piece_of_a_word(kind: str) -> None:
    """Punctuation is a word, but not a part of one where the tokenizer only splits at white space."""
    single = {"question": "who", "context": PIECES, "top_k": 10**3, "max_answer_len": 1}
    whole = READERS[kind](**single)
    assert sorted(found["answer"] for found in whole) == sorted(WORDS_OF_PIECES[kind])
    assert same(READERS[kind](**single | {"top_k": 3}), whole[:3])
    pieces = {found["answer"] for found in READERS[kind](**single, align_to_words=False)}
    assert {"cat", "s", "o", "m"} < pieces
    assert not {"cats", "Some"} & pieces


@pytest.mark.parametrize("kind", ["qanet", "bidaf"])
def test_readers_of_words_have_nothing_to_align(kind: str) -> None:
    reader = tiny_word_reader(kind)
    asked = {"question": "who", "context": PIECES + " Tesla's well-known U.S. don't", "top_k": 10**3}
    assert reader(**asked) == reader(**asked, align_to_words=False)


def test_words_are_those_of_the_tokenizer() -> None:
    """As `token_to_word` and `word_to_chars` give them, with which transformers 4 aligned answers."""
    tokenizer, chooser = bert_tokenizer(), random.Random(0)
    for _ in range(200):
        context = "cat " + "".join(
            chooser.choice([*WORDS, " ", "\n", "-", "é", "中文", "cats", "x9"]) for _ in range(20)
        )
        [tokenized] = tokenize_questions(tokenizer, ["who"], [context], 9)
        encoded = tokenizer("who", context)
        for position, span in enumerate(word_spans(tokenized, context).tolist()):
            if tokenized.spans[position, 0] >= 0:
                assert span == [*encoded.word_to_chars(encoded.token_to_word(position), sequence_index=1)]


def test_more_answers_and_longer_ones(reader: ExtractiveQuestionAnsweringPipeline) -> None:
    best = reader(MANY[0])
    three = reader(MANY[0], top_k=3)
    assert three[0] == best
    assert len({(found["start"], found["end"]) for found in three}) == 3
    single = reader(MANY[0], top_k=50, max_answer_len=1)
    words = CONTEXT.split()
    assert all(any(found["answer"] in word for word in words) for found in single)
    assert len(reader(question="who", context=".", top_k=9)) == 1
    assert len(reader(MANY[0], top_k=10**4, max_answer_len=10**6)) > 100


def test_no_answer(reader: ExtractiveQuestionAnsweringPipeline) -> None:
    plain = reader(MANY[0], top_k=4)
    nothing = reader(MANY[0], handle_impossible_answer=True, no_answer_threshold=-1000)
    assert (nothing["answer"], nothing["start"], nothing["end"]) == ("", 0, 0)
    assert 0 <= nothing["score"] < 1
    assert reader(MANY[0], handle_impossible_answer=True, no_answer_threshold=-1000, top_k=3) == [nothing, *plain[:2]]
    assert reader(MANY[0], handle_impossible_answer=True, no_answer_threshold=1000, top_k=4) == plain
    reader.model.config.no_answer_threshold = -1000  # as training with unanswerable questions writes it
    try:
        assert reader(MANY[0]) == nothing
        assert reader(MANY[0], no_answer_threshold=1000) == reader(MANY[0], handle_impossible_answer=False) == plain[0]
    finally:
        reader.model.config.no_answer_threshold = None
    ordered = reader(MANY[0], handle_impossible_answer=True, top_k=10**4)
    assert [one["score"] for one in ordered] == sorted((one["score"] for one in ordered), reverse=True)


def test_long_contexts_are_read_in_windows(reader: ExtractiveQuestionAnsweringPipeline) -> None:
    """The best of all windows, each read by itself, is the answer."""
    lengths = {"max_seq_len": 30, "max_question_len": 6, "doc_stride": 8}
    asked = {"question": "who", "context": CONTEXT * 4}
    read = reader.preprocess(asked, **reader._resolve_parameters(**lengths))
    assert len(read["features"]) > 3
    assert max(len(features["input_ids"]) for features in read["features"]) == 30
    best, no_answer = [], []
    for features, slots in zip(read["features"], read["slots"], strict=True):
        inside = (slots.offsets[:, 0] >= 0).nonzero()[0]
        logits = reader.forward(reader.collate([features]))[0, [slots.cls_position, *inside]]
        starts, ends = logits.log_softmax(0).T.tolist()
        no_answer.append(starts[0] + ends[0])
        spans = [(starts[i + 1] + ends[j + 1]) for i in range(len(inside)) for j in range(i, min(i + 15, len(inside)))]
        best.append(max(spans))
    together = reader(asked, **lengths, top_k=10**4, handle_impossible_answer=True)
    assert max(one["score"] for one in together if one["answer"]) == pytest.approx(math.exp(max(best)), abs=1e-5)
    assert [one["score"] for one in together if not one["answer"]] == [
        pytest.approx(math.exp(min(no_answer)), abs=1e-5)
    ]


def test_questions_and_contexts_in_parallel(reader: ExtractiveQuestionAnsweringPipeline) -> None:
    questions, contexts = ([row[name] for row in MANY] for name in ("question", "context"))
    assert reader(question=questions, context=contexts) == reader(MANY)
    corpus = Dataset.from_list(MANY)
    assert reader(question=corpus["question"], context=corpus["context"]) == reader(MANY)
    one_context = reader(question=questions, context=CONTEXT)
    assert same(one_context, [reader(question=question, context=CONTEXT) for question in questions])
    assert same(reader(question="who", context=(CONTEXT, "Paris"))[1], reader(question="who", context="Paris"))
    assert reader(question=[], context=CONTEXT) == reader(question=[], context=[]) == []
    with pytest.raises(ValueError, match="got 5 questions and 2 contexts"):
        reader(question=questions, context=contexts[:2])


def test_conventions_of_the_pipeline_of_transformers_4(reader: ExtractiveQuestionAnsweringPipeline) -> None:
    expected = reader(MANY[0])
    assert reader(QUESTION, CONTEXT) == expected
    lists_of_one = ([MANY[0]], (MANY[0],), np.array([MANY[0]], dtype=object))
    assert [reader(given) for given in lists_of_one] == [expected] * 3
    assert reader(question=[QUESTION], context=[CONTEXT]) == reader(question=[QUESTION], context=CONTEXT) == expected
    assert reader([MANY[0]], top_k=2) == reader(MANY[0], top_k=2)
    assert list(reader(iter([MANY[0]]))) == [expected]
    assert reader([5], on_error="skip") == reader(5, on_error="skip")
    for padding in (True, False, "longest", "max_length", "do_not_pad"):
        assert reader(MANY[0], padding=padding) == expected


def lengths(reader: ExtractiveQuestionAnsweringPipeline, **given: int) -> tuple[int, int, int]:
    return tuple(reader._resolve_parameters(**{**reader._preprocess_params, **given})["sizes"])


def test_parameters_of_the_pipeline_and_of_a_call() -> None:
    reader = tiny_reader("bert", top_k=2, max_seq_len=40, max_question_len=9)
    assert len(reader(MANY[0])) == 2
    assert len(reader(MANY[0], top_k=4)) == 4
    assert isinstance(reader(MANY[0], top_k=1), dict)
    assert lengths(reader) == (40, 9, 14)
    assert lengths(reader, max_question_len=7, doc_stride=3) == (40, 7, 3)


def test_lengths_that_are_too_large_are_reduced() -> None:
    assert lengths(READERS["bert"], max_seq_len=512) == lengths(READERS["bert"]) == (64, 30, 15)
    assert lengths(READERS["bert"], doc_stride=128) == (64, 30, 30)
    assert lengths(READERS["bert"], max_seq_len=384, max_question_len=20, doc_stride=128) == (64, 20, 40)
    reader = tiny_reader("bert", max_seq_len=384, doc_stride=128)
    assert reader(question="who", context=CONTEXT * 6) == READERS["bert"](
        question="who", context=CONTEXT * 6, doc_stride=30
    )


def test_lengths_that_are_not_given() -> None:
    assert lengths(READERS["word"]) == (384, 64, 128)
    assert lengths(READERS["xlnet"], max_seq_len=512) == (512, 64, 128)
    assert lengths(READERS["bert"]) == (64, 30, 15)
    assert lengths(READERS["word"], max_seq_len=5) == (5, 1, 0)


def test_lengths_of_training_are_the_defaults() -> None:
    reader = tiny_reader("word")
    trained = {"max_input_length": 60, "max_question_length": 40, "doc_stride": 15, "max_answer_length": 2}
    reader.model.config.update(trained)
    assert lengths(reader) == (60, 40, 15)
    assert lengths(reader, max_question_len=20) == (60, 20, 15)
    assert lengths(reader, max_seq_len=43, doc_stride=9) == (43, 20, 9)
    assert reader(MANY[0], top_k=99) == reader(MANY[0], top_k=99, max_answer_len=2)
    reader.model.config.update({"max_question_length": None, "doc_stride": None, "max_answer_length": None})
    assert lengths(reader) == (60, 28, 14)
    assert reader(MANY[0], top_k=99) == reader(MANY[0], top_k=99, max_answer_len=15)


# ----------------------------------------------------------------------------------------------------- simple questions


@pytest.mark.parametrize("none", [False, True])
def test_the_likelier_form_of_a_question_is_answered(reader: ExtractiveQuestionAnsweringPipeline, none: bool) -> None:
    arguments = {"context": CONTEXT * 5, "handle_impossible_answer": none, "max_seq_len": 40, "doc_stride": 3}
    for question in ("By whom was the mat given?", "In what year was it Paris?", "In 1990, who sits on the mat?"):
        forms = [reader(question=form, **arguments) for form in (question, simplify_question(question))]
        best = max(forms, key=lambda answer: answer["score"])
        assert reader(question=question, simplify_questions=True, **arguments) == best
    assert reader(question=QUESTION, simplify_questions=True, **arguments) == reader(question=QUESTION, **arguments)


def test_questions_are_simplified_as_in_training() -> None:
    reader = tiny_reader("word")
    asked = {"question": "In what year was it Paris?", "context": CONTEXT}
    plain, simplified = (reader(**asked, simplify_questions=value, top_k=5) for value in (False, True))
    assert plain != simplified
    assert reader(**asked, top_k=5) == plain
    reader.model.config.simplify_questions = True
    assert reader(**asked, top_k=5) == simplified
    assert reader(**asked, top_k=5, simplify_questions=False) == plain


# -------------------------------------------------------------------------------------------------------- hostile input


@pytest.mark.parametrize("kind", ["bert", "word"])
def test_a_hundred_thousand_characters(kind: str) -> None:
    reader = READERS[kind]
    begin = time.monotonic()
    story = ("The cat sits on the mat, says Dr. Who of Paris. " * 2100)[:100_000]
    for context in (story, "a" * 100_000 + " cat", " " * 99_997 + "cat"):
        found = reader(question="who" * 1000, context=context, batch_size=64)
        assert found["answer"] == context[found["start"] : found["end"]] != ""
    assert time.monotonic() - begin < 100


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (None, TypeError, r'pass question="..." and context="...", .* got NoneType None'),
        ("who?", TypeError, r"got str 'who\?'"),
        ({"question": "who"}, TypeError, r"got dict {'question': 'who'}"),
        ({"question": None, "context": "Paris"}, TypeError, "the question is NoneType None; it must be a string"),
        (
            {"question": ["who"], "context": ["Paris"]},
            TypeError,
            r"the question is list \['who'\]; it must be a string",
        ),
        ({"question": "who", "context": 3}, TypeError, "the context is int 3"),
        (
            {"question": " \n\u3000", "context": "Paris"},
            ValueError,
            "the question is ' .*; it must hold at least one word",
        ),
        ({"question": "who", "context": ""}, ValueError, "the context is ''"),
        ({"question": "who \ud83d", "context": "Paris"}, ValueError, "the question: character 4, '.ud83d'"),
        ({"question": "who", "context": "\udc00"}, ValueError, "the context: character 0"),
    ],
)
def test_invalid_inputs(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        question_of_input(given)


def test_a_context_that_the_tokenizer_drops() -> None:
    with pytest.raises(ValueError, match=r"the tokenizer finds no word in the context '.u200b"):
        READERS["bert"](question="who", context="\u200b\x00")


def test_one_character_and_special_tokens_as_text(reader: ExtractiveQuestionAnsweringPipeline) -> None:
    assert reader(question="[CLS]", context="x")["answer"] == "x"
    found = reader(question="<sep>", context="[SEP] <cls>")
    assert found["answer"] == "[SEP] <cls>"[found["start"] : found["end"]] != ""


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"top_k": 0}, ValueError, "top_k is 0; it must be an integer of at least 1"),
        ({"top_k": 1.5}, ValueError, "top_k is 1.5"),
        ({"top_k": True}, ValueError, "top_k is True"),
        ({"max_answer_len": 0}, ValueError, "max_answer_len is 0"),
        ({"no_answer_threshold": float("nan")}, ValueError, "no_answer_threshold is nan; it must be a number"),
        ({"no_answer_threshold": "high"}, ValueError, "no_answer_threshold is 'high'; it must be a number"),
        ({"max_seq_len": 4}, ValueError, "max_seq_len is 4; it must be at least 5"),
        ({"max_seq_len": "64"}, TypeError, "max_seq_len is '64'; it must be a whole number"),
        ({"max_question_len": 61}, ValueError, "max_question_len is 61; it must be from 1 to 60"),
        ({"max_question_len": 0}, ValueError, "max_question_len is 0; it must be from 1 to 60"),
        ({"padding": "left"}, ValueError, "padding is 'left'; it must be True, False or one of"),
        ({"align_to_words": "no"}, TypeError, "align_to_words is str 'no'; it must be True or False"),
        ({"doc_stride": -1}, ValueError, "doc_stride is -1; it must be from 0 to 30"),
    ],
)
def test_wrong_parameters_are_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        READERS["bert"](MANY[0], **arguments)
    with pytest.raises(error, match=message):
        tiny_reader("bert", **arguments)


def test_wrong_calls_and_models_are_refused() -> None:
    reader = READERS["bert"]
    with pytest.raises(
        TypeError, match=r'Pipeline takes question="..." and context="...", .* got another .* \'Paris\''
    ):
        reader(MANY[0], "Paris")
    with pytest.raises(TypeError, match=r"pass question=... and context=..., or inputs, not both; inputs is \[{'quest"):
        reader(MANY, question="who", context="Paris")
    with pytest.raises(TypeError, match="the context is NoneType None"):
        reader(question="who")
    bare = ExtractiveQuestionAnsweringPipeline(model=reader.model.bert, tokenizer=bert_tokenizer(), device="cpu")
    with pytest.raises(TypeError, match="BertModel gives no start and end logits; load the model with AutoModelForQ"):
        bare(MANY[0])


def test_positions_that_begin_behind_the_padding() -> None:
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = RobertaConfig(vocab_size=300, max_position_embeddings=34, **sizes)
    reader = ExtractiveQuestionAnsweringPipeline(
        model=RobertaForQuestionAnswering(config), tokenizer=xlnet_tokenizer(), device="cpu"
    )
    assert lengths(reader)[0] == 32
    assert reader(question="who", context=CONTEXT * 3)["answer"]
