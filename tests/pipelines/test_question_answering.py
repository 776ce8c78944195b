"""`pipeline("extractive-question-answering")`: what comes out, and what happens to whatever goes in."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from torch.utils.data import Dataset as TorchDataset
from transformers import (
    AutoModelForQuestionAnswering,
    AutoTokenizer,
    PythonBackend,
    RobertaConfig,
    RobertaForQuestionAnswering,
)

from clozeformers.hub_export import flat_source, needed_modules
from clozeformers.pipelines.question_answering import ExtractiveQuestionAnsweringPipeline
from clozeformers.question_answering.answers import answer_texts
from clozeformers.question_answering.collator import QuestionAnsweringCollator
from tests.qa_models import CONTEXT, MODELS, WORDS, bert_tokenizer, tiny_reader, xlnet_tokenizer

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


def same(found: Any, expected: Any) -> bool:
    """Whether answers are equal, their scores up to the rounding of another batch."""
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    scores = [result.get("score", 0.0) for result in (found, expected)]
    return found | {"score": 0} == expected | {"score": 0} and scores == [pytest.approx(scores[1], abs=1e-5)] * 2


# --------------------------------------------------------------------------------------------------------- the answers


def test_an_answer_is_a_part_of_the_context(reader: ExtractiveQuestionAnsweringPipeline) -> None:
    found = reader(question=QUESTION, context=CONTEXT)
    assert set(found) == {"answer", "start", "end", "score"}
    assert found["answer"] == CONTEXT[found["start"] : found["end"]] != ""
    assert 0 < found["score"] <= 1
    assert reader({"question": QUESTION, "context": CONTEXT}) == found
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


def test_a_thousand_odd_contexts(reader: ExtractiveQuestionAnsweringPipeline) -> None:
    chooser = random.Random(0)
    texts = [
        "".join(chooser.choice(FRAGMENTS) for _ in range(chooser.randint(1, 30)))
        + chooser.choice(["cat", "1990", " . ", "É😀"])
        for _ in range(1000)
    ]
    asked = [{"question": chooser.choice(["who", "?", *texts[:9]]) + "?", "context": text} for text in texts]
    results = reader(asked, batch_size=32, top_k=3, handle_impossible_answer=True)
    assert len(results) == 1000
    for text, answers in zip(texts, results, strict=True):
        assert 1 < len(answers) <= 3
        for found in answers:
            assert text[found["start"] : found["end"]] == found["answer"] == found["answer"].strip()
            assert found["answer"] or (found["start"], found["end"]) == (0, 0)


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
    ordered = reader(MANY[0], handle_impossible_answer=True, top_k=10**4)
    assert [one["score"] for one in ordered] == sorted((one["score"] for one in ordered), reverse=True)


def test_the_n_best_list_is_what_answers_come_from(reader: ExtractiveQuestionAnsweringPipeline) -> None:
    lists = reader.nbest(MANY, batch_size=2)
    assert [len(found["answers"]) for found in lists][-1] == 1
    assert max(len(found["answers"]) for found in lists) == 20
    for found, best, row in zip(lists, reader(MANY), MANY, strict=True):
        first = found["answers"][0]
        assert (first["text"], first["start"], first["end"]) == (best["answer"], best["start"], best["end"])
        assert np.exp(first["score"]) == pytest.approx(best["score"], abs=1e-5)
        assert all(row["context"][one["start"] : one["end"]] == one["text"] for one in found["answers"])
    assert len(reader.nbest(**MANY[0], top_k=2)["answers"]) == 2
    chosen = answer_texts({"q": lists[0]}, no_answer_threshold=0.0)["q"]
    assert chosen == reader(MANY[0], handle_impossible_answer=True)["answer"]


def test_long_contexts_are_read_in_windows(reader: ExtractiveQuestionAnsweringPipeline) -> None:
    """Each window by itself says the same as all together."""
    sizes = {"max_seq_len": 30, "max_question_len": 6, "doc_stride": 8}
    read = reader.preprocess({"question": "who", "context": CONTEXT * 4}, reader._window_sizes(**sizes))
    assert len(read.windows) > 3
    assert max(len(window.slots.offsets) for window in read.windows) == 30
    together = reader.nbest(question="who", context=CONTEXT * 4, **sizes)
    collate = QuestionAnsweringCollator(reader.tokenizer.pad_token_id)
    best, no_answer = [], []
    for window in read.windows:
        logits = reader.forward(collate([window.inputs]))
        inside = (window.slots.offsets[:, 0] >= 0).nonzero()[0]
        slots = [window.slots.cls_position, *inside]
        starts, ends = (logits[name][0, slots].log_softmax(0).numpy() for name in ("start", "end"))
        no_answer.append(starts[0] + ends[0])
        spans = [(starts[i + 1] + ends[j + 1]) for i in range(len(inside)) for j in range(i, min(i + 15, len(inside)))]
        best.append(max(spans))
    assert together["answers"][0]["score"] == pytest.approx(max(best), abs=1e-4)
    assert together["no_answer_score"] == pytest.approx(min(no_answer), abs=1e-4)


# ------------------------------------------------------------------------------------------------ collections, batches


@pytest.mark.parametrize("batch_size", [1, 2, 7, 64])
def test_batches_and_order_change_nothing(reader: ExtractiveQuestionAnsweringPipeline, batch_size: int) -> None:
    alone = [reader(row, top_k=3) for row in MANY]
    assert same(reader(MANY, top_k=3, batch_size=batch_size), alone)
    assert same(reader(MANY[::-1], top_k=3, batch_size=batch_size), alone[::-1])


def test_padding_on_the_left_gives_the_same_where_positions_are_relative() -> None:
    """XLNet's tokenizer pads on the left, so its models are trained so; the pipeline pads on the right."""
    reader = READERS["xlnet"]
    windows = [reader.preprocess(row, reader._window_sizes()).windows[0] for row in MANY[:2]]
    logits = {}
    for side in ("left", "right"):
        batch = QuestionAnsweringCollator(reader.tokenizer.pad_token_id, side)([window.inputs for window in windows])
        output = reader.forward(batch)["start"]
        logits[side] = [row[mask.bool()] for row, mask in zip(output, batch["attention_mask"], strict=True)]
    assert len(logits["left"][0]) != len(logits["left"][1])
    for left, right in zip(logits["left"], logits["right"], strict=True):
        torch.testing.assert_close(left, right, atol=1e-5, rtol=1e-5)


class Rows(TorchDataset):
    def __len__(self) -> int:
        return len(MANY)

    def __getitem__(self, number: int) -> dict[str, str]:
        return MANY[number]


def test_every_kind_of_collection(reader: ExtractiveQuestionAnsweringPipeline) -> None:
    expected = reader(MANY)
    corpus = Dataset.from_list([row | {"id": str(number)} for number, row in enumerate(MANY)])
    assert reader(tuple(MANY)) == expected
    assert reader([]) == []
    for collection in (iter(MANY), Rows(), corpus, corpus.to_iterable_dataset(), corpus.with_format("numpy")):
        results = reader(collection, progress_bar=True)
        assert not isinstance(results, list)
        assert list(results) == expected


def test_questions_and_contexts_in_parallel(reader: ExtractiveQuestionAnsweringPipeline) -> None:
    questions, contexts = ([row[name] for row in MANY] for name in ("question", "context"))
    assert reader(question=questions, context=contexts) == reader(MANY)
    corpus = Dataset.from_list(MANY)
    assert reader(question=corpus["question"], context=corpus["context"]) == reader(MANY)
    one_context = reader(question=questions, context=CONTEXT)
    assert same(one_context, [reader(question=question, context=CONTEXT) for question in questions])
    assert same(reader(question="who", context=(CONTEXT, "Paris"))[1], reader(question="who", context="Paris"))
    assert reader(question=[], context=CONTEXT) == reader(question=[], context=[]) == []
    assert reader(question=["who"], context=["Paris"]) == [reader(question="who", context="Paris")]
    with pytest.raises(ValueError, match="there are 5 questions and 2 contexts"):
        reader(question=questions, context=contexts[:2])


def test_generators_stream(reader: ExtractiveQuestionAnsweringPipeline) -> None:
    taken = []

    def endless() -> Any:
        while True:
            taken.append(1)
            yield MANY[1]

    results = reader(endless(), batch_size=2)
    assert not taken
    next(results)
    assert len(taken) < 100


def test_parameters_of_the_pipeline_and_of_a_call() -> None:
    reader = tiny_reader("bert", top_k=2, batch_size=3, on_error="skip", max_seq_len=40, max_question_len=9)
    assert len(reader(MANY[0])) == 2
    assert len(reader(MANY[0], top_k=4)) == 4
    assert isinstance(reader(MANY[0], top_k=1), dict)
    assert "error" in reader(None)
    assert reader._window_sizes(**reader._preprocess_params) == (40, 9, 14)


def test_lengths_that_are_not_given() -> None:
    assert READERS["word"]._window_sizes() == (384, 64, 128)
    assert READERS["xlnet"]._window_sizes(max_seq_len=512) == (512, 64, 128)
    assert READERS["bert"]._window_sizes() == (64, 30, 15)
    assert READERS["word"]._window_sizes(max_seq_len=5) == (5, 1, 0)


def test_saved_and_loaded_again_gives_the_same(tmp_path: Path) -> None:
    READERS["bert"].save_pretrained(tmp_path)
    assert (tmp_path / "model.safetensors").exists()
    assert not list(tmp_path.glob("*.py"))
    loaded = ExtractiveQuestionAnsweringPipeline(
        model=AutoModelForQuestionAnswering.from_pretrained(tmp_path),
        tokenizer=AutoTokenizer.from_pretrained(tmp_path),
        device="cpu",
    )
    assert loaded(MANY) == READERS["bert"](MANY)


def test_its_code_can_travel_with_a_checkpoint() -> None:
    """Without `datasets`, which users of a checkpoint need not have."""
    modules = needed_modules([ExtractiveQuestionAnsweringPipeline.__module__])
    sources = map(flat_source, modules)
    assert not any("from datasets" in source or "import datasets" in source for source in sources)
    assert len(modules) == 9


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
        (None, TypeError, r'pass question="..." and context="...", .* not NoneType None'),
        (5, TypeError, "not int 5"),
        ("who?", TypeError, "not str 'who\\?'"),
        (b"who?", TypeError, "not bytes"),
        ({}, TypeError, r"not a mapping with \[\]"),
        ({"question": "who"}, TypeError, r"not a mapping with \['question'\]"),
        ({"question": None, "context": "Paris"}, TypeError, '"question" is a string, not NoneType None'),
        ({"question": "who", "context": 3}, TypeError, '"context" is a string, not int 3'),
        ({"question": ["who"], "context": ["Paris"]}, TypeError, r'"question" is a string, not list \[\'who\'\]; pass'),
        ({"question": "", "context": "Paris"}, ValueError, "the question is ''; it must hold at least one word"),
        ({"question": " \n\u3000", "context": "Paris"}, ValueError, "the question is ' "),
        ({"question": "who", "context": ""}, ValueError, "the context is ''"),
        ({"question": "who", "context": " \t\u00a0"}, ValueError, "the context is ' "),
        ({"question": "who \ud83d", "context": "Paris"}, ValueError, "character 4 of the question, '.ud83d'"),
        ({"question": "who", "context": "\udc00"}, ValueError, "character 0 of the context"),
    ],
)
def test_bad_input_is_named_and_the_rest_is_not_lost(
    reader: ExtractiveQuestionAnsweringPipeline, given: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        reader(given)
    with pytest.raises(error, match="input 1: .*" + message):
        reader([MANY[0], given])
    first, bad, last = reader([MANY[0], given, MANY[1]], on_error="skip", batch_size=2)
    assert same([first, last], reader(MANY[:2]))
    assert set(bad) == {"error"}


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
        ({"top_k": 0}, ValueError, "top_k is 0; it must be a whole number of at least 1"),
        ({"top_k": 1.5}, ValueError, "top_k is 1.5"),
        ({"top_k": True}, ValueError, "top_k is True"),
        ({"max_answer_len": 0}, ValueError, "max_answer_len is 0"),
        ({"batch_size": 0}, ValueError, "batch_size is 0"),
        ({"on_error": "ignore"}, ValueError, 'on_error is "raise" or "skip", not \'ignore\''),
        ({"max_seq_len": 65}, ValueError, "max_seq_len is 65; the model and its tokenizer read at most 64"),
        ({"max_seq_len": 4}, ValueError, "max_seq_len is 4; it must be at least 5"),
        ({"max_seq_len": "64"}, TypeError, "max_seq_len is '64'; it must be a whole number"),
        ({"max_question_len": 61}, ValueError, "max_question_len is 61; it must be from 1 to 60"),
        ({"max_question_len": 0}, ValueError, "max_question_len is 0; it must be from 1 to 60"),
        ({"doc_stride": 31}, ValueError, "doc_stride is 31; it must be from 0 to 30"),
        ({"doc_stride": -1}, ValueError, "doc_stride is -1; it must be from 0 to 30"),
        ({"aggregation": 1}, TypeError, "aggregation"),
    ],
)
def test_wrong_parameters_are_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        READERS["bert"](MANY[0], **arguments)
    if "batch_size" not in arguments:
        with pytest.raises(error, match=message):
            tiny_reader("bert", **arguments)


def test_wrong_calls_are_refused() -> None:
    reader = READERS["bert"]
    with pytest.raises(TypeError, match=r"by name; besides the first input there is .'Paris'"):
        reader("who", "Paris")
    with pytest.raises(TypeError, match=r"pass either question=... and context=..., or inputs"):
        reader(MANY, question="who", context="Paris")
    with pytest.raises(TypeError, match='"context" is a string, not NoneType None'):
        reader(question="who")
    with pytest.raises(TypeError, match="a data frame is no input"):
        reader(Dataset.from_list(MANY).to_pandas())


def test_models_and_tokenizers_that_will_not_do() -> None:
    class Slow(PythonBackend):
        vocab_size = 3

        def get_vocab(self) -> dict[str, int]:
            return {}

    with pytest.raises(ValueError, match=r"Slow cannot align .* load a fast tokenizer with AutoTokenizer"):
        ExtractiveQuestionAnsweringPipeline(model=READERS["bert"].model, tokenizer=Slow(), device="cpu")
    bare = ExtractiveQuestionAnsweringPipeline(
        model=READERS["bert"].model.bert, tokenizer=bert_tokenizer(), device="cpu"
    )
    with pytest.raises(TypeError, match="BertModel gives no start and end logits; load the model with AutoModelForQ"):
        bare(MANY[0])


def test_positions_that_begin_behind_the_padding() -> None:
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = RobertaConfig(vocab_size=300, max_position_embeddings=34, **sizes)
    reader = ExtractiveQuestionAnsweringPipeline(
        model=RobertaForQuestionAnswering(config), tokenizer=xlnet_tokenizer(), device="cpu"
    )
    assert reader._window_sizes().max_length == 32
    assert reader(question="who", context=CONTEXT * 3)["answer"]
