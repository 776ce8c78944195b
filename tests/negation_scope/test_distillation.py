"""A model learns from trained models, its teachers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file
from transformers import pipeline

from clozeformers.negation_scope.arguments import NegationDataArguments, NegationTrainingArguments
from clozeformers.negation_scope.corpora.jsonl import write_negation_jsonl
from clozeformers.negation_scope.corpora.schema import NEGATION_FEATURES
from clozeformers.negation_scope.distillation import add_teacher_targets, unlabelled_rows
from clozeformers.negation_scope.loading import load_corpus, sentence_ids, strata_of
from clozeformers.training.corpora import Corpora

from ..tiny_tasks import LAST, TinyTask, tiny_negation_scope

BEFORE = {"tokens": ["it", "is", "not", "here"], "cue": [0, 0, 1, 0], "scope": [1, 1, 0, 0]}
LEARNING = ["--learning_rate", "1e-2", "--head_learning_rate", "1e-2"]


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> TinyTask:
    return tiny_negation_scope(tmp_path_factory.mktemp("task"))


def write(path: Path, *rows: dict[str, Any]) -> Path:
    write_negation_jsonl(rows, path)
    return path


@pytest.fixture(scope="module")
def teachers(task: TinyTask, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Models that have learnt opposite scopes: what comes before the cue (CD-SCO), and what comes after it (SFU)."""
    folder = tmp_path_factory.mktemp("teachers")
    for corpus, scope in (("cd-sco", [1, 1, 0, 0]), ("sfu", [0, 0, 0, 1])):
        rows = [BEFORE | {"corpus": corpus, "scope": scope, "id": f"{number}#0"} for number in range(8)]
        file = write(folder / f"{corpus}.jsonl", *rows)
        task.run(folder / corpus, "--train_file", str(file), *LAST, *LEARNING, "--max_steps", "40")
    return {corpus: str(folder / corpus) for corpus in ("cd-sco", "sfu")}


def of_pipeline(model: str) -> list[float]:
    [found] = pipeline("negation-scope", model=model, device="cpu")("it is not here", return_words=True)
    return [word["probability"] for word in found["words"]]


def test_targets(teachers: dict[str, str], tmp_path: Path) -> None:
    rows = [BEFORE | {"corpus": corpus, "id": f"{corpus}#0"} for corpus in ("cd-sco", "sfu", "bioscope")]
    (tmp_path / "texts.txt").write_text("it is not here\n\nit is here .\n")
    data_args = NegationDataArguments(
        teachers=[*teachers.values()], teacher_weight=0.25, unlabelled_file=[str(tmp_path / "texts.txt")]
    )
    args = NegationTrainingArguments(str(tmp_path), use_cpu=True, disable_tqdm=True)
    taught = add_teacher_targets(load_corpus(write(tmp_path / "mine.jsonl", *rows)), data_args, args)
    assert taught["id"] == ["cd-sco#0", "sfu#0", "bioscope#0", "texts/1/cd-sco#0", "texts/1/sfu#0"]
    scope = BEFORE["scope"]
    for corpus, mixed, alone in zip(("cd-sco", "sfu"), taught["target"][:2], taught["target"][3:], strict=True):
        probabilities = of_pipeline(teachers[corpus])
        assert alone == pytest.approx(probabilities, abs=1e-5)
        assert mixed == pytest.approx(
            [0.25 * probability + 0.75 * gold for probability, gold in zip(probabilities, scope, strict=True)], abs=1e-5
        )
    assert taught["target"][2] == scope, "no teacher knows BioScope"


@pytest.mark.parametrize("weight", ["0", "1"])
def test_a_student_follows_its_teacher(weight: str, teachers: dict[str, str], task: TinyTask, tmp_path: Path) -> None:
    rows = [BEFORE | {"corpus": "sfu", "id": f"{number}#0"} for number in range(8)]
    data = ["--train_file", str(write(tmp_path / "mine.jsonl", *rows)), "--teachers", teachers["sfu"]]
    task.run(tmp_path / "run", *data, *LAST, *LEARNING, "--max_steps", "40", "--teacher_weight", weight)
    in_scope = [int(value > 0.5) for value in of_pipeline(str(tmp_path / "run"))]
    assert in_scope == ([0, 0, 0, 1] if weight == "1" else BEFORE["scope"])


def test_a_student_of_teachers_of_several_conventions_knows_these(
    teachers: dict[str, str], task: TinyTask, tmp_path: Path
) -> None:
    (tmp_path / "texts.txt").write_text("it is not here\n" * 8)
    file = write(tmp_path / "mine.jsonl", *(BEFORE | {"corpus": "cd-sco", "id": f"{number}#0"} for number in range(8)))
    data = ["--train_file", str(file), "--teachers", *teachers.values()]
    texts = ["--unlabelled_file", str(tmp_path / "texts.txt")]
    task.run(tmp_path / "run", *data, *texts, *LAST, *LEARNING, "--max_steps", "60")
    negation = pipeline("negation-scope", model=str(tmp_path / "run"), device="cpu")
    scopes = {name: negation("it is not here", convention=name)[0]["scope"] for name in teachers}
    assert [[span["text"] for span in scope] for scope in scopes.values()] == [["it is"], ["here"]]


def test_teachers_leave_the_seeds_of_their_students(teachers: dict[str, str], task: TinyTask, tmp_path: Path) -> None:
    data = [
        *task.data("train"),
        "--teachers",
        teachers["sfu"],
        "--bf16",
        "true",
        "--seed",
        "0",
        "--num_seeds",
        "2",
        "--max_steps",
        "1",
    ]
    task.run(tmp_path, *data, *LAST, "--learning_rate", "0", "--head_learning_rate", "0")
    heads = [
        load_file(tmp_path / seed / "model.safetensors")["scope_classifier.weight"] for seed in ("seed-0", "seed-1")
    ]
    assert not torch.equal(*heads)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--unlabelled_file", "x.txt"], "has no annotation; give --teachers"),
        (["--teacher_weight", "1.5"], "--teacher_weight is 1.5; it must be between 0 and 1"),
        (["--teachers", "/nowhere"], "/nowhere"),
    ],
)
def test_wrong_options(options: list[str], error: str, task: TinyTask, tmp_path: Path) -> None:
    with pytest.raises((OSError, ValueError), match=error):
        task.run(tmp_path / "run", *task.data("train"), *LAST, "--max_steps", "1", *options)


def test_cues_of_unlabelled_texts(tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("It is impossible. He did not come, and not only he.\n")
    found = [(row["corpus"], row["cue_text"], len(row["tokens"])) for row in unlabelled_rows(path, ["cd-sco", "sfu"])]
    assert found == [("cd-sco", "im", 4), ("cd-sco", "not", 10), ("sfu", "not", 10), ("sfu", "not", 10)]
    assert {row["corpus"] for row in unlabelled_rows(path, [])} == {"texts"}


def test_teachers_have_not_seen_the_scopes_that_their_pupil_is_scored_on() -> None:
    sentence = BEFORE | {"kind": "negation", "cue_text": "not"}
    cues = [sentence | {"corpus": corpus, "id": f"{corpus}-{number}#0"} for number in range(30) for corpus in "ab"]
    empty = {"cue": [0] * 4, "scope": [0] * 4, "cue_text": ""}
    without = [row | empty | {"id": f"x-{row['id']}".replace("#0", "#-")} for row in cues]
    teachers, students = (
        Dataset.from_list(rows, features=NEGATION_FEATURES) for rows in (cues, [*without[:20], *cues, *without[20:]])
    )

    def scored(rows: Dataset) -> list[set[str]]:
        fold = Corpora(rows, None, {}).fold(1, 10, 0, sentence_ids(rows), strata_of(rows))
        return [{name for name in part["id"] if not name.startswith("x")} for part in fold.test.values()]

    assert scored(students) == scored(teachers)
    assert list(map(len, scored(students))) == [3, 3]
