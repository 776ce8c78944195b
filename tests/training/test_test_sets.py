"""Test sets: of several files, and none of rows that are trained on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clozeformers.metrics import SemStarScope
from clozeformers.tasks import TASKS
from clozeformers.training.model_card import render_model_card

from ..tiny_tasks import LAST, TinyTask

Tiny = Callable[[str], TinyTask]
NAMES = [task.name for task in TASKS]
STEP = [*LAST, "--max_steps", "1"]


def renamed(task: TinyTask, folder: Path, rows: slice = slice(None), with_test: bool = False) -> Path:
    """A copy of training rows under another name, with other ids, perhaps with the test rows behind them."""
    train, test = (task.files[name].read_text() for name in ("train", "test"))
    path = folder / f"other{task.files['train'].suffix}"
    if task.name == "question_answering":
        data = json.loads(train)["data"][rows] + (json.loads(test)["data"] if with_test else [])
        path.write_text(json.dumps({"data": data}).replace('"id": "', '"id": "other-'))
    else:
        lines = [json.loads(line) for line in train.splitlines()[rows] + (test.splitlines() if with_test else [])]
        path.write_text("\n".join(json.dumps({**line, "id": f"{n}#0"}) for n, line in enumerate(lines)))
    return path


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("rows", "with_test"), [(slice(None), False), (slice(8), False), (slice(None), True)])
def test_folds_are_not_scored_on_what_they_train_on(
    name: str, rows: slice, with_test: bool, tiny: Tiny, tmp_path: Path
) -> None:
    task = tiny(name)
    other = str(renamed(task, tmp_path, rows, with_test))
    with pytest.raises(ValueError, match=r"--test_file other holds rows of the training data, which each fold but one"):
        task.run(tmp_path / "run", *task.data("train"), *STEP, "--num_folds", "3", "--test_file", other)
    with pytest.raises(ValueError, match="makes a validation part of its own; leave out --validation_file"):
        task.run(tmp_path / "run", *task.data("train"), *STEP, "--num_folds", "3", "--validation_file", other)


@pytest.mark.parametrize("name", NAMES)
def test_several_files_are_one_test_set(name: str, tiny: Tiny, tmp_path: Path) -> None:
    task = tiny(name)
    dev, test = (str(task.files[part]) for part in ("dev", "test"))
    both = f"both={dev},{test}"
    arguments = [*task.data("train"), *STEP, "--test_file", both]
    record = task.run(tmp_path / "run", *arguments)
    apart = task.run(tmp_path / "apart", *task.data("train"), *STEP, "--test_file", dev, test)
    assert set(record["scores"]) == {"both"}
    counts = next(iter(record["corpora"]["both"]))
    assert record["corpora"]["both"][counts] == sum(apart["corpora"][part][counts] for part in ("dev", "test"))
    predictions = [next((tmp_path / run).glob(f"predictions_{part}.*")).read_text() for run, part in
                   (("run", "both"), ("apart", "dev"), ("apart", "test"))]  # fmt: skip
    if name == "negation_scope":
        assert predictions[0] == predictions[1] + predictions[2]
    else:
        assert json.loads(predictions[0]) == json.loads(predictions[1]) | json.loads(predictions[2])
    known = json.loads((tmp_path / "run" / "run-results.json").read_text())["arguments"]
    assert {f"contents of {dev}", f"contents of {test}"} < known.keys()
    card = next(task.card for task in TASKS if task.name == name)
    record["data"] |= {"validation_file": dev}
    record["training"] |= {"load_best_model_at_end": True, "eval_strategy": "steps"}
    assert ("that score is optimistic" in render_model_card(card, record, "")) is (card.chosen(record) is not None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["both={test},{test}"], "--test_file names .* twice"),
        (["a={test}", "{test}"], "--test_file names .* twice"),
        (["train={test}"], "--test_file train=...: there is another part of the data with this name"),
        (["a={dev}", "a={test}"], "--test_file a=...: there is another part"),
        (["both={test},{copy}"], "--test_file both: its files have rows with the same id"),
        (["a=nowhere,{test}"], "'nowhere' does not exist"),
    ],
)
def test_impossible_test_sets(given: list[str], message: str, tiny: Tiny, tmp_path: Path) -> None:
    task = tiny("negation_scope")
    copy = tmp_path / "test.jsonl"
    copy.write_bytes(task.files["test"].read_bytes())
    words = [word.format(**task.files, copy=copy) for word in given]
    with pytest.raises((OSError, ValueError), match=message):
        task.run(tmp_path / "run", *task.data("train"), *STEP, "--test_file", *words)


def test_the_columns_of_two_files_are_scored_together(tiny: Tiny, tmp_path: Path) -> None:
    task, gold = tiny("negation_scope"), []
    cells = {"He": "_ He _", "is": "_ is _", "not": "not _ _", "here": "_ here here"}
    for chapter in ("cardboard", "circle"):
        words = [[chapter, "0", str(n), word, word, "X", "*", *cells[word].split()] for n, word in enumerate(cells)]
        gold.append(tmp_path / chapter / "gold.txt")
        gold[-1].parent.mkdir()
        gold[-1].write_text("\n".join(map("\t".join, words)) + "\n\n")
    task.run(tmp_path / "run", *task.data("train"), "--test_file", f"cd-sco={gold[0]},{gold[1]}", *STEP)
    columns = [tmp_path / "run" / f"predictions_cd-sco-{number}.txt" for number in (1, 2)]
    scores = json.loads((tmp_path / "run" / "sem_star_cd-sco.json").read_text())
    assert scores == SemStarScope().compute(predictions=list(map(str, columns)), references=list(map(str, gold)))
    assert scores["sentences"] == 2
    assert "type: cd-sco" in (tmp_path / "run" / "README.md").read_text()
