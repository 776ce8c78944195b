"""Readers that learn from other models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from clozeformers.modeling.losses import span_loss
from clozeformers.question_answering.arguments import QADataArguments, QATrainingArguments
from clozeformers.question_answering.distillation import _on_positions, teach
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


def taught(rows: Dataset, teacher: Path, folder: Path, **options: Any) -> Dataset:
    """The targets of the teacher's own inputs."""
    tokenizer = AutoTokenizer.from_pretrained(teacher)
    data_args = QADataArguments(teachers=[str(teacher)], **{"max_question_length": 20, "doc_stride": 16} | options)
    sizes = {"max_length": options.get("max_length", 60), "max_question_length": 20, "doc_stride": 8}
    features, _ = encode_questions(rows, tokenizer, for_training=True, no_answer=False, with_offsets=True, **sizes)
    return teach(rows, features, data_args, QATrainingArguments(str(folder), use_cpu=True, report_to="none"))


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
    logits, allowed = torch.randn(2, 2, 5).double(), torch.ones(2, 5, dtype=torch.bool)
    allowed[0, :2] = False
    positions = torch.tensor([3, 1])
    hard = [torch.nn.functional.one_hot(each, 5).float() for each in (positions, positions)]
    assert span_loss(*logits, allowed, *hard) == pytest.approx(float(span_loss(*logits, allowed, positions, positions)))
    soft = torch.tensor([[0, 0, 0.5, 0.5, 0], [0, 0.5, 0, 0.5, 0]])
    other = torch.tensor([2, 3])
    mean = (span_loss(*logits, allowed, positions, positions) + span_loss(*logits, allowed, other, other)) / 2
    assert span_loss(*logits, allowed, soft, soft) == pytest.approx(float(mean), rel=1e-5)
    none = torch.zeros(2, 5)
    assert span_loss(*logits, allowed, none, none) == 0
    one = span_loss(*(part[:1] for part in logits), allowed[:1], hard[0][:1], hard[0][:1])
    alone = torch.cat([hard[0][:1], none[1:]])
    assert span_loss(*logits, allowed, alone, alone) == pytest.approx(float(one)), "an input without a label counts not"


def test_a_reader_learns_from_its_teacher_alone(task: TinyTask, teacher: Path, tmp_path: Path) -> None:
    """With the whole weight on the teacher, the annotation has no effect."""
    wrong = json.loads(Path(task.files["train"]).read_text())
    for article in wrong["data"]:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                word = paragraph["context"].split()[0]
                question["answers"] = [{"text": word, "answer_start": 0}]
    (tmp_path / "wrong.json").write_text(json.dumps(wrong))
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
    record = task.run(tmp_path / "run", "--train_file", str(tmp_path / "wrong.json"), *test, *LAST, *learning)
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


def test_an_encoder_learns_from_no_teacher(task: TinyTask, teacher: Path, tmp_path: Path) -> None:
    encoder = save_word_encoder(tmp_path / "bert", "bert")
    student = TinyTask("question_answering", task.files, ["--model_name_or_path", str(encoder), "--max_length", "60"])
    with pytest.raises(ValueError, match="only QANet and BiDAF learn from other models, not BertForQuestionAnswering"):
        student.run(tmp_path / "run", *student.data("train"), *LAST, "--teachers", str(teacher))
