"""Readers that learn from other models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from torch.nn.functional import cross_entropy
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from clozeformers.modeling.losses import span_target_loss
from clozeformers.question_answering.arguments import QADataArguments, QATrainingArguments
from clozeformers.question_answering.distillation import _on_positions, add_teacher_targets
from clozeformers.question_answering.encoding import encode_questions
from clozeformers.question_answering.squad import load_squad

from ..tiny_tasks import LAST, TinyTask, save_word_encoder, tiny_question_answering


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> TinyTask:
    return tiny_question_answering(tmp_path_factory.mktemp("task"))


@pytest.fixture(scope="module")
def teacher(task: TinyTask, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("teacher")
    task.run(folder, *task.data("train"), *LAST, "--max_steps", "20", "--learning_rate", "1e-2")
    return folder


@pytest.fixture(scope="module")
def wrong(task: TinyTask, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The training questions, annotated with the first word of their context."""
    annotated = json.loads(Path(task.files["train"]).read_text())
    for article in annotated["data"]:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                word = paragraph["context"].split()[0]
                question["answers"] = [{"text": word, "answer_start": 0}]
    path = tmp_path_factory.mktemp("wrong") / "wrong.json"
    path.write_text(json.dumps(annotated))
    return path


def taught(rows: Dataset, teacher: Path, folder: Path, **options: Any) -> Dataset:
    """The targets of the teacher's own inputs."""
    tokenizer = AutoTokenizer.from_pretrained(teacher)
    data_args = QADataArguments(teachers=[str(teacher)], **{"max_question_length": 20, "doc_stride": 16} | options)
    sizes = {"max_length": options.get("max_length", 60), "max_question_length": 20, "doc_stride": 8}
    features, _ = encode_questions(rows, tokenizer, for_training=True, no_answer=False, with_offsets=True, **sizes)
    return add_teacher_targets(
        rows, features, data_args, QATrainingArguments(str(folder), use_cpu=True, report_to="none")
    )


def test_targets_are_the_probabilities_of_the_teacher(task: TinyTask, teacher: Path, tmp_path: Path) -> None:
    rows = load_squad(task.files["dev"])
    features = taught(rows, teacher, tmp_path, teacher_weight=1.0)
    model, tokenizer = AutoModelForQuestionAnswering.from_pretrained(teacher), AutoTokenizer.from_pretrained(teacher)
    for row, feature in zip(rows, features, strict=True):
        inputs = tokenizer(row["question"], row["context"], return_tensors="pt")
        with torch.no_grad():
            output = model(**inputs)
        assert feature["input_ids"] == inputs["input_ids"][0].tolist()
        for targets, logits in (("start_targets", output.start_logits), ("end_targets", output.end_logits)):
            assert feature[targets] == pytest.approx(logits.softmax(-1)[0].tolist(), abs=1e-5)
    half = taught(rows, teacher, tmp_path, teacher_weight=0.25)
    for ours, theirs in zip(half, features, strict=True):
        expected = 0.25 * np.array(theirs["start_targets"])
        expected[ours["start_positions"]] += 0.75
        assert ours["start_targets"] == pytest.approx(expected.tolist(), abs=1e-6)


def test_parts_of_a_context_have_their_annotation(task: TinyTask, teacher: Path, tmp_path: Path) -> None:
    rows = load_squad(task.files["dev"])
    long = rows.map(lambda row: {"context": row["context"] + " xyz" * 60}, load_from_cache_file=False)
    features = taught(long, teacher, tmp_path, teacher_weight=1.0)
    for feature in features:
        assert set(feature["start_targets"]) <= {0.0, 1.0}
        assert feature["start_targets"][feature["start_positions"]] == 1


def test_pieces_of_a_teacher_on_words() -> None:
    # "ab cd-e": the words ab, cd, -, e behind [CLS]; the pieces a, ##b, cd-, e.
    offsets = np.array([[-1, -1], [0, 2], [3, 5], [5, 6], [6, 7], [-1, -1]])
    spans = np.array([[0, 1], [1, 2], [3, 6], [6, 7]])
    start, end = np.array([0.1, 0.2, 0.3, 0.15, 0.25]), np.array([0.0, 0.5, 0.2, 0.3, 0.0])
    targets = _on_positions(offsets, 0, spans, start, end)
    assert targets.tolist() == [
        pytest.approx([0.25, 0.3, 0.3, 0, 0.15, 0]),  # ##b begins in ab
        pytest.approx([0, 0.5, 0, 0.2, 0.3, 0]),  # cd- ends with the word -
    ]


def test_the_loss_of_probabilities() -> None:
    logits = torch.randn(2, 2, 6)
    attention_mask = torch.tensor([[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 0, 0]])
    logits[:, 0, :2] = torch.finfo(torch.float32).min  # where a word reader allows no answer
    positions = torch.tensor([3, 1])
    masked = logits.masked_fill(attention_mask == 0, -torch.inf)
    annotated = [torch.nn.functional.one_hot(positions, 6).float()] * 2
    expected = sum(cross_entropy(each, positions) for each in masked) / 2
    assert float(span_target_loss(logits, annotated, attention_mask)) == pytest.approx(float(expected))
    # In bfloat16 too, and with any logits at padding.
    logits[:, attention_mask == 0] = 1e4
    assert float(span_target_loss(logits.bfloat16(), annotated, attention_mask)) == pytest.approx(
        float(expected), rel=1e-2
    )
    soft = torch.tensor([[0, 0, 0.5, 0.5, 0, 0], [0, 0.5, 0, 0.5, 0, 0]])
    expected = -sum((each.log_softmax(-1).nan_to_num(neginf=0) * soft).sum() for each in masked) / 4
    assert float(span_target_loss(logits, [soft, soft], attention_mask)) == pytest.approx(float(expected), rel=1e-5)
    none = torch.zeros(2, 6)
    assert span_target_loss(logits, [none, none], attention_mask) == 0
    alone = [torch.stack([each[0], none[0]]) for each in annotated]
    one = span_target_loss(logits[:, :1], [each[:1] for each in annotated], attention_mask[:1])
    assert span_target_loss(logits, alone, attention_mask) == pytest.approx(float(one)), (
        "no target, no part in the mean"
    )


def test_a_reader_learns_from_its_teacher_alone(task: TinyTask, teacher: Path, wrong: Path, tmp_path: Path) -> None:
    """With the whole weight on the teacher, the annotation has no effect."""
    learning = [
        "--bf16",
        "true",
        "--max_steps",
        "30",
        "--learning_rate",
        "1e-2",
        "--teachers",
        str(teacher),
        "--teacher_weight",
        "1",
    ]
    test = ["--test_file", str(task.files["train"])]
    record = task.run(tmp_path / "run", "--train_file", str(wrong), *test, *LAST, *learning)
    own = TinyTask("question_answering", {}, ["--model_name_or_path", str(teacher)]).run(tmp_path / "own", *test)
    ours, theirs = (next(iter(each["scores"].values()))["f1"]["mean"] for each in (record, own))
    assert theirs > 30
    assert ours > 0.6 * theirs


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--teacher_weight", "2"], "--teacher_weight is 2.0; it must be between 0 and 1"),
        (["--teachers", "/nowhere"], "/nowhere"),
    ],
)
def test_wrong_options(options: list[str], error: str, task: TinyTask, tmp_path: Path) -> None:
    with pytest.raises((OSError, ValueError), match=error):
        task.run(tmp_path / "run", *task.data("train"), *LAST, "--max_steps", "1", *options)


def test_an_encoder_learns_from_a_teacher(task: TinyTask, teacher: Path, wrong: Path, tmp_path: Path) -> None:
    encoder = save_word_encoder(tmp_path / "bert", "bert")
    sizes = ["--max_length", "60", "--max_question_length", "20", "--doc_stride", "8", "--max_steps", "1"]
    student = TinyTask("question_answering", {}, ["--model_name_or_path", str(encoder), *sizes])

    def loss(file: Path, *options: str) -> float:
        folder = tmp_path / f"{file.stem}{len(options)}"
        student.run(folder, "--train_file", str(file), *LAST, *options)
        return float(json.loads((folder / "train_results.json").read_text())["train_loss"])

    taught = ["--teachers", str(teacher), "--teacher_weight", "1"]
    learned = loss(wrong, *taught)
    assert learned == pytest.approx(loss(Path(task.files["train"]), *taught))
    assert learned != pytest.approx(loss(wrong), rel=1e-3)
