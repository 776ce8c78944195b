"""Training curves, read from the Trainer's state."""

from __future__ import annotations

import json
import sys

import pytest
from transformers import TrainerState

from clozeformers.analysis import training_curves, write_training_curves
from clozeformers.analysis.curves import Point


@pytest.fixture
def runs(tmp_path):
    """Two runs, written by the Trainer's own class; the first scored its best model once more at the end."""
    written = {}
    for run, scores in {"qanet": [0.5, 0.7, 0.7, 0.6], "bidaf|gru": [0.4, 0.3]}.items():
        log = []
        for epoch, score in enumerate(scores, start=1):
            log.append({"loss": 1 / epoch, "epoch": float(epoch), "step": 10 * epoch})
            log.append({"eval_f1": score, "eval_loss": 2 - score, "epoch": float(epoch), "step": 10 * epoch})
        log.append({"eval_f1": max(scores), "eval_loss": 0.1, "epoch": float(len(scores)), "step": 10 * len(scores)})
        written[run] = tmp_path / run.replace("|", "-")
        written[run].mkdir()
        TrainerState(log_history=log).save_to_json(str(written[run] / "trainer_state.json"))
    return written


def test_points_of_each_run(runs):
    curves = training_curves(runs, "eval_f1")
    assert curves.curves["qanet"] == (
        *(Point(10, 1.0, 0.5), Point(20, 2.0, 0.7), Point(30, 3.0, 0.7)),
        Point(40, 4.0, 0.6),
    )
    assert curves.losses["bidaf|gru"] == (Point(10, 1.0, 1.0), Point(20, 2.0, 0.5))
    assert curves.best("qanet") == Point(20, 2.0, 0.7)
    assert training_curves(runs, "eval_loss").best("bidaf|gru") == Point(10, 1.0, 1.6)


def test_a_file_does_for_a_folder(runs):
    files = {run: folder / "trainer_state.json" for run, folder in runs.items()}
    assert training_curves(files, "eval_f1") == training_curves(runs, "eval_f1")


def test_markdown_and_json(runs):
    curves = training_curves(runs, "eval_f1")
    assert curves.to_markdown().splitlines()[2:] == [
        "| run | best eval_f1 | step | epoch | last value | last step |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| qanet | 0.7000 | 20 | 2.00 | 0.6000 | 40 |",
        r"| bidaf\|gru | 0.4000 | 10 | 1.00 | 0.3000 | 20 |",
    ]
    values = json.loads(curves.to_json())
    assert values["measure"] == "eval_f1"
    assert values["runs"]["qanet"]["best"] == {"step": 20, "epoch": 2.0, "value": 0.7}
    assert len(values["runs"]["bidaf|gru"]["training_loss"]) == 2


@pytest.mark.parametrize("measure", ["eval_f1", "loss"])
def test_files(runs, tmp_path, measure):
    pytest.importorskip("matplotlib")
    write_training_curves(training_curves(runs, measure), tmp_path / "a" / "b")
    names = {path.name for path in (tmp_path / "a" / "b").iterdir()}
    assert names == {"training_curves.png", "training_curves.json", "training_curves.md"}


def test_without_matplotlib_nothing_is_written(runs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        write_training_curves(training_curves(runs, "eval_f1"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_values_that_are_no_numbers_are_left_out(tmp_path):
    path = tmp_path / "trainer_state.json"
    path.write_text('{"log_history": [{"eval_f1": NaN, "step": 1, "epoch": 1}, {"eval_f1": 0.5, "step": 2}]}')
    assert training_curves({"run": path}, "eval_f1").curves["run"] == (Point(2, 0.0, 0.5),)


def test_no_runs():
    with pytest.raises(ValueError, match="no runs to compare"):
        training_curves({}, "eval_f1")


def test_a_measure_that_was_not_logged(runs):
    message = "trainer_state.json has no values of 'eval_em'; there are: eval_f1, eval_loss, loss"
    with pytest.raises(ValueError, match=message):
        training_curves(runs, "eval_em")


def test_a_missing_file(tmp_path):
    for place in (tmp_path, tmp_path / "trainer_state.json"):
        with pytest.raises(FileNotFoundError, match=r"there is no .*trainer_state.json; give the trainer_state.json"):
            training_curves({"run": place}, "eval_f1")


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"log_history": {}}', '{"log_history": [1]}', "\udcff"])
def test_a_damaged_file(tmp_path, text):
    path = tmp_path / "trainer_state.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=r"trainer_state.json is damaged"):
        training_curves({"run": path}, "eval_f1")
