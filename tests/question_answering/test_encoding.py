"""Questions and contexts to model inputs: windows, labels, what is counted, and batches."""

from __future__ import annotations

import logging
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clozeformers.question_answering.collator import QuestionAnsweringCollator
from clozeformers.question_answering.encoding import FeatureReport, qa_features
from clozeformers.question_answering.windows import WindowSizes, check_window_sizes, tokenise_questions
from tests.qa_models import CONTEXT, TOKENIZERS, bert_tokenizer, byte_tokenizer, word_tokenizer, xlnet_tokenizer

SMALL = {"max_length": 24, "max_question_length": 8, "doc_stride": 4}
characters = st.one_of(
    st.sampled_from(
        [" ", "\n", "\u00a0", "\u3000", "\t", "\r\n", "😀", "👩‍👩‍👧", "\u200b", "é", "İ", "ﬁ", "中", "…", "."]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3),
    st.sampled_from([" the ", "cat", " 1990", "[CLS]", "[SEP]", "<s>"]),
)
contexts = st.lists(characters, min_size=1, max_size=30).map("".join)


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return TOKENIZERS[request.param]()


def corpus(*answers: str | None, context: str = CONTEXT, question: str = "who sits?") -> Dataset:
    """A question for each answer, asked about the same context; None for none."""
    return Dataset.from_list(
        [
            {
                "id": f"q{number}",
                "title": "Cat",
                "context": context,
                "question": question,
                "answers": {
                    "text": [] if answer is None else [answer],
                    "answer_start": [] if answer is None else [context.index(answer)],
                },
            }
            for number, answer in enumerate(answers)
        ]
    )


def trained(rows: Dataset, tokenizer: Any, no_answer: bool = True, **sizes: int) -> tuple[Dataset, FeatureReport]:
    return qa_features(rows, tokenizer, for_training=True, no_answer=no_answer, **{"max_length": 200} | sizes)


def predicted(rows: Dataset, tokenizer: Any, **sizes: int) -> Dataset:
    return qa_features(rows, tokenizer, for_training=False, no_answer=True, **{"max_length": 200} | sizes)[0]


def shown(tokenizer: Any, feature: dict[str, Any]) -> list[str]:
    return tokenizer.convert_ids_to_tokens(feature["input_ids"])


def answer_of(rows: Dataset, feature: dict[str, Any], offsets: list[int]) -> str:
    start, end = offsets[2 * feature["start_positions"]], offsets[2 * feature["end_positions"] + 1]
    return rows[feature["row"]]["context"][start:end]


# ------------------------------------------------------------------------------------------------------------- windows


def test_a_question_with_its_context() -> None:
    tokenizer = word_tokenizer()
    [feature] = predicted(corpus(None, question="  who\nsits"), tokenizer)
    assert shown(tokenizer, feature)[:9] == ["[CLS]", "who", "sits", "[SEP]", "The", "cat", "sits", "on", "the"]
    assert feature["token_type_ids"] == [0] * 4 + [1] * (feature["length"] - 4)
    assert feature["length"] == len(feature["input_ids"]) == len(feature["char_ids"]) // 16
    assert feature["char_ids"][:16] == [0] * 16
    assert feature["char_ids"][16:20] == [1 + ord(letter) % 97 for letter in "who"] + [0]
    assert (feature["row"], feature["cls_position"]) == (0, 0)
    spans = np.reshape(feature["offsets"], (-1, 2)).tolist()
    assert spans[:4] == [[-1, -1]] * 4
    assert spans[-1] == [-1, -1]
    words = " ".join(CONTEXT[start:end] for start, end in spans[4:-1])
    assert words == "The cat sits on the mat . In 1990 it cost $ 5 , says Dr . Who of Paris ."


def test_the_context_comes_first_where_padding_does() -> None:
    tokenizer = xlnet_tokenizer()
    [feature] = predicted(corpus(None), tokenizer)
    tokens = shown(tokenizer, feature)
    assert (tokens[0], tokens[1], tokens[-1]) == ("▁", "T", "<cls>")
    assert feature["cls_position"] == feature["length"] - 1
    assert feature["offsets"][2:4] == [0, 1]
    assert "".join(tokens).endswith("<sep>▁who▁sits?<sep><cls>")
    for window in predicted(corpus(None), tokenizer, **SMALL):
        assert shown(tokenizer, window)[window["cls_position"]] == "<cls>"


def test_windows_are_those_of_the_tokenizer() -> None:
    """The tokenizers library cuts a long context itself, in another way: by truncation and overflow."""
    tokenizer = bert_tokenizer()
    rows = corpus(None, context=CONTEXT * 3)
    whole = tokenizer("who sits?", CONTEXT * 3, truncation="only_second", max_length=24, stride=4, padding=False,
                      return_overflowing_tokens=True)  # fmt: skip
    features = predicted(rows, tokenizer, **SMALL)
    assert len(features) > 3
    assert list(features["input_ids"]) == whole["input_ids"]
    assert list(features["token_type_ids"]) == whole["token_type_ids"]


@given(context=contexts, question=st.text(st.characters(exclude_categories=["Cs"]), max_size=12), data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_windows_of_any_text(tokenizer: Any, context: str, question: str, data: st.DataObject) -> None:
    special = tokenizer.num_special_tokens_to_add(pair=True)
    longest = data.draw(st.integers(1, 9))
    stride = data.draw(st.integers(0, 9))
    max_length = data.draw(st.integers(special + longest + stride + 1, special + longest + stride + 20))
    [read] = tokenise_questions(tokenizer, [question], [context], longest)
    [whole] = tokenise_questions(tokenizer, [question], [context], 10**6)
    assert whole.inputs["input_ids"][whole.context].tolist() == read.inputs["input_ids"][read.context].tolist()
    # What is not white space is in some token's span, unless the tokenizer itself drops or moves it; spans are text.
    for start, end in read.spans[(read.spans >= 0).all(axis=1)]:
        text = context[start:end]
        assert text
        assert text == text.strip()
    windows = list(read.windows(max_length, stride))
    assert all(len(window) <= max_length for window in windows)
    outside = [position for position in range(len(read.spans)) if position not in read.context]
    assert len(outside) <= special + longest
    inside = [[position for position in window if position in read.context] for window in windows]
    assert all(sorted(set(window) - set(part)) == outside for window, part in zip(windows, inside, strict=True))
    assert sorted({position for part in inside for position in part}) == list(read.context)
    for part, following in pairwise(inside):
        assert len(part) + len(outside) == max_length
        assert part[len(part) - stride :] == following[:stride]
        assert following[-1] > part[-1]
    assert read.cls_position in outside or read.cls_position == 0


def test_spelled_special_tokens_are_no_slot() -> None:
    tokenizer = xlnet_tokenizer()
    [read] = tokenise_questions(tokenizer, ["who <cls> sits"], ["The <cls> cat <sep>"], 50)
    assert read.inputs["input_ids"].tolist().count(tokenizer.cls_token_id) == 3
    assert read.cls_position == len(read.spans) - 1


def test_white_space_before_a_question_is_left_out(tokenizer: Any) -> None:
    [plain, spaced] = tokenise_questions(tokenizer, ["who sits", " \n who sits"], [CONTEXT] * 2, 50)
    assert spaced.inputs["input_ids"].tolist() == plain.inputs["input_ids"].tolist()


def test_the_sequence_begins_with_another_token_where_there_is_no_cls() -> None:
    [read] = tokenise_questions(byte_tokenizer(), ["who"], ["<s> cat"], 50)
    assert read.cls_position == 0
    bare = byte_tokenizer()
    bare.bos_token = None
    assert tokenise_questions(bare, ["who"], ["cat"], 50)[0].cls_position == 0


def test_long_questions_are_cut_to_their_first_words(tokenizer: Any) -> None:
    rows = corpus("mat", question="who sits on the mat of the cat in Paris " * 3)
    features, report = trained(rows, tokenizer, max_question_length=3)
    assert report.cut_questions == 1
    [whole] = trained(rows, tokenizer, max_question_length=150, max_length=1000)[0]
    assert features[0]["length"] < whole["length"]
    tokens, all_tokens = shown(tokenizer, features[0]), shown(tokenizer, whole)
    if tokenizer.padding_side == "right":
        assert tokens[:4] == all_tokens[:4]
    assert len(tokens) == 3 + tokenizer.num_special_tokens_to_add(pair=True) + len(
        tokenizer(CONTEXT, add_special_tokens=False)["input_ids"]
    )


@pytest.mark.parametrize(
    ("sizes", "error", "message"),
    [
        ((4, 1, 0), ValueError, "max_length is 4; it must be at least 5 .*3 special tokens"),
        ((20, 0, 0), ValueError, "max_question_length is 0; it must be from 1 to 16"),
        ((20, 17, 0), ValueError, "max_question_length is 17; it must be from 1 to 16"),
        (
            (20, 10, 7),
            ValueError,
            "doc_stride is 7; it must be from 0 to 6 .*max_length=20, max_question_length=10, doc_stride=7",
        ),
        ((20, 10, -1), ValueError, "doc_stride is -1"),
        ((20.0, 10, 1), TypeError, "max_length is 20.0; it must be a whole number"),
        ((20, True, 1), TypeError, "max_question_length is True"),
    ],
)
def test_lengths_that_leave_no_room(sizes: tuple[int, int, int], error: type[Exception], message: str) -> None:
    tokenizer = word_tokenizer()
    check_window_sizes(WindowSizes(20, 10, 6), tokenizer)
    with pytest.raises(error, match=message):
        check_window_sizes(WindowSizes(*sizes), tokenizer)
    with pytest.raises(error, match=message):
        predicted(corpus(None), tokenizer, **dict(zip(WindowSizes._fields, sizes, strict=True)))
    [read] = tokenise_questions(tokenizer, ["who"], [CONTEXT], 8)
    with pytest.raises(ValueError, match="10 words or pieces leave 6 to the context; windows that share 6 need more"):
        list(read.windows(10, 6))


# -------------------------------------------------------------------------------------------------------------- labels


def test_labels_are_the_answers(tokenizer: Any) -> None:
    answers = ["The cat", "on", "Paris", "1990", "mat.  In", " it cost ", "Dr."]
    rows = corpus(*answers)
    features, report = trained(rows, tokenizer)
    offsets = predicted(rows, tokenizer)["offsets"]
    found = [answer_of(rows, feature, offsets[feature["row"]]) for feature in features]
    assert found == [answer.strip() for answer in answers]
    assert (report.questions, report.features, report.widened, report.lost) == (7, 7, 0, 0)
    assert str(report) == "7 questions in 7 inputs"


def test_answers_inside_words_are_widened_and_counted() -> None:
    tokenizer = word_tokenizer()
    rows = corpus("990", "Pari", "Who\u00a0of Par", "mat", " ", " \u00a0"[:1])
    features, report = trained(rows, tokenizer)
    offsets = predicted(rows, tokenizer)["offsets"]
    found = [answer_of(rows, feature, offsets[feature["row"]]) for feature in features]
    assert found == ["1990", "Paris", "Who\u00a0of Paris", "mat"]
    assert (report.widened, report.lost, report.features) == (3, 2, 4)
    assert str(report) == (
        "6 questions in 4 inputs; 3 answers widened to whole words or pieces; 2 answers without any word, left out"
    )


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_windows_without_the_answer(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    tokenizer = TOKENIZERS[kind]()
    rows = corpus("mat", None, context=CONTEXT * 4)
    windows = predicted(rows, tokenizer, **SMALL)
    with caplog.at_level(logging.INFO, "clozeformers"):
        features, report = trained(rows, tokenizer, **SMALL)
    assert str(report) in caplog.text
    assert len(features) == report.features == len(windows)
    in_window = 0
    for feature, window in zip(features, windows, strict=True):
        assert feature["input_ids"] == window["input_ids"]
        labels = [feature["start_positions"], feature["end_positions"]]
        spans = np.reshape(window["offsets"], (-1, 2))
        characters = {place for start, end in spans for place in range(start, end)}
        if feature["row"] == 0 and characters.issuperset(range(CONTEXT.index("mat"), CONTEXT.index("mat") + 3)):
            in_window += 1
            assert answer_of(rows, feature, window["offsets"]) == "mat"
        else:
            assert labels == [window["cls_position"]] * 2
    assert in_window
    of_first = windows["row"][:].count(0)
    assert (report.windowed, report.unanswerable, report.windows_without_answer) == (2, 1, of_first - in_window)
    without, report_without = trained(rows, tokenizer, no_answer=False, **SMALL)
    assert len(without) == in_window
    assert report_without == report._replace(features=in_window, no_answer=False)
    assert f"1 questions without answer, left out; {of_first - in_window} windows" in str(report_without)


@given(context=contexts, data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_label_holds_any_answer(tokenizer: Any, context: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(context) - 1))
    end = data.draw(st.integers(start + 1, len(context)))
    [read] = tokenise_questions(tokenizer, ["who"], [context], 50)
    tokens = read.tokens_of(start, end)
    parts = [place for place, (first, last) in enumerate(read.spans.tolist()) if first < end and start < last]
    assert tokens == ((parts[0], parts[-1]) if parts else None)
    rows = corpus(context[start:end], context=context)
    features, report = trained(rows, tokenizer, max_length=1000)
    assert report.lost + report.features == 1
    if report.features:
        found = answer_of(rows, features[0], predicted(rows, tokenizer, max_length=1000)[0]["offsets"])
        assert found == found.strip()
        answer = context[start:end].strip()
        assert report.widened or found == answer


def test_an_answer_that_stands_elsewhere_is_named() -> None:
    [row] = corpus("mat")
    row["answers"]["answer_start"] = [4]
    with pytest.raises(
        ValueError, match=r"question 'q0': its answer 'mat' does not stand at character 4 .* where 'cat'"
    ):
        trained(Dataset.from_list([row]), word_tokenizer())
    with pytest.raises(ValueError, match="there are no rows"):
        trained(corpus("mat").select([]), word_tokenizer())


def test_an_empty_context_is_read_too(tokenizer: Any) -> None:
    [feature] = predicted(corpus(None, context=" "), tokenizer)
    assert set(feature["offsets"]) == {-1}


def test_columns_are_compact() -> None:
    rows = corpus("mat", None)
    training, prediction = trained(rows, word_tokenizer())[0], predicted(rows, word_tokenizer())
    common = {"input_ids": "int32", "token_type_ids": "int8", "char_ids": "uint16", "length": "int32", "row": "int32"}
    labels = {"start_positions": "int32", "end_positions": "int32"}
    places = {"offsets": "int32", "cls_position": "int32"}
    unlabelled = predicted(rows.remove_columns("answers"), word_tokenizer())
    for features, own in ((training, labels), (prediction, labels | places), (unlabelled, places)):
        types = {name: getattr(kind, "feature", kind).dtype for name, kind in features.features.items()}
        assert types == common | own
    assert "char_ids" not in predicted(rows, bert_tokenizer()).column_names
    assert "token_type_ids" not in predicted(rows, byte_tokenizer()).column_names


def test_features_of_a_stored_corpus_are_kept(tmp_path: Path) -> None:
    corpus("mat", "990", " ", None).save_to_disk(tmp_path)
    tokenizer = word_tokenizer()
    first, report = trained(Dataset.load_from_disk(str(tmp_path)), tokenizer)
    again, same_report = trained(Dataset.load_from_disk(str(tmp_path)), tokenizer)
    assert first.cache_files == again.cache_files != []
    assert report == same_report
    assert (report.widened, report.lost, report.unanswerable) == (1, 1, 1)
    files = {file["filename"] for file in first.cache_files}
    other, _ = trained(Dataset.load_from_disk(str(tmp_path)), tokenizer, max_length=190)
    assert files.isdisjoint(file["filename"] for file in other.cache_files)


# ------------------------------------------------------------------------------------------------------------- batches


@pytest.mark.parametrize("as_arrays", [False, True])
@pytest.mark.parametrize("side", ["right", "left"])
def test_batches_are_padded_to_their_longest(side: Any, as_arrays: bool) -> None:
    rows = Dataset.from_list([*corpus("mat"), *corpus("cat", context="The cat .")])
    features = trained(rows, word_tokenizer())[0].with_format("numpy" if as_arrays else None)
    long, short = features[0], features[1]
    assert (int(short["length"]), int(short["start_positions"])) == (9, 6)
    batch = QuestionAnsweringCollator(7, side)([long, short])
    length = int(long["length"])
    real = slice(0, 9) if side == "right" else slice(length - 9, length)
    assert set(batch) == {
        *("input_ids", "attention_mask", "token_type_ids", "char_ids", "start_positions", "end_positions")
    }
    assert all(values.dtype == torch.int64 for values in batch.values())
    assert batch["char_ids"].shape == (2, length, 16)
    for name, filler in (("input_ids", 7), ("token_type_ids", 0), ("attention_mask", 0), ("char_ids", 0)):
        given = np.ones(9) if name == "attention_mask" else np.reshape(short[name], batch[name][1, real].shape)
        assert batch[name][1, real].tolist() == given.tolist()
        rest = torch.ones(length, dtype=torch.bool)
        rest[real] = False
        assert (batch[name][1][rest] == filler).all()
    words = batch["input_ids"][1]
    assert words[batch["start_positions"][1]] == word_tokenizer().convert_tokens_to_ids("cat")
    assert words[batch["end_positions"][1]] == word_tokenizer().convert_tokens_to_ids("cat")
    assert batch["start_positions"][0] == long["start_positions"]


def test_a_batch_holds_what_there_is() -> None:
    features = predicted(corpus(None, None).remove_columns("answers"), byte_tokenizer())
    batch = QuestionAnsweringCollator(0)(list(features))
    assert set(batch) == {"input_ids", "attention_mask"}
