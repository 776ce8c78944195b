"""Training curves, read from the Trainer's state."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from transformers import TrainerState

from clozeformers.analysis.curves import run_names, training_curves, write_training_curves
from clozeformers.cli import main


def write_run(folder, scores, repeat_best=False):
    """Write a run with a score every 10 steps; the first score may be that of a best model, evaluated at the end."""
    log = []
    for epoch, score in enumerate(scores, start=1):
        log.append({"loss": 1 / epoch, "epoch": float(epoch), "step": 10 * epoch})
        log.append({"eval_f1": score, "eval_loss": 2 - score, "epoch": float(epoch), "step": 10 * epoch})
    if repeat_best:
        log.append({"eval_f1": max(scores), "eval_loss": 0.1, "epoch": float(len(scores)), "step": 10 * len(scores)})
    folder.mkdir(parents=True)
    TrainerState(log_history=log).save_to_json(str(folder / "trainer_state.json"))
    return folder


@pytest.fixture
def runs(tmp_path):
    return {
        "qanet": write_run(tmp_path / "qanet", [0.5, 0.7, 0.7, 0.6], repeat_best=True),
        "bidaf|gru": write_run(tmp_path / "bidaf", [0.4, 0.3]) / "trainer_state.json",
    }


def test_values_of_each_run(runs):
    curves = training_curves(runs, "eval_f1")
    assert curves.curves["qanet"]["value"].to_dict() == {10: 0.5, 20: 0.7, 30: 0.7, 40: 0.6}
    assert curves.losses["bidaf|gru"].to_dict() == {10: 1.0, 20: 0.5}
    assert curves.best_step("qanet") == 20
    assert training_curves(runs, "eval_loss").best_step("bidaf|gru") == 10
    assert curves.to_markdown().splitlines()[2:] == [
        "| run | best eval_f1 | step | epoch | last value | last step |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| qanet | 0.7000 | 20 | 2.00 | 0.6000 | 40 |",
        r"| bidaf\|gru | 0.4000 | 10 | 1.00 | 0.3000 | 20 |",
    ]


@pytest.mark.parametrize("measure", ["eval_f1", "loss"])
def test_files(runs, tmp_path, measure):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "a" / "b"
    write_training_curves(training_curves(runs, measure), folder)
    assert {path.name for path in folder.iterdir()} == {f"training_curves.{kind}" for kind in ("png", "json", "md")}
    values = json.loads((folder / "training_curves.json").read_text())
    assert values["measure"] == measure
    assert values["runs"]["bidaf|gru"]["training_loss"] == {"10": 1.0, "20": 0.5}


def test_without_matplotlib_nothing_is_written(runs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        write_training_curves(training_curves(runs, "eval_f1"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_values_that_are_not_finite_are_left_out(tmp_path):
    path = tmp_path / "trainer_state.json"
    log = '{"eval_f1": NaN, "step": 1}, {"eval_f1": Infinity, "step": 2}, {"eval_f1": 0.5, "step": 3, "epoch": 1}'
    path.write_text(f'{{"log_history": [{log}]}}')
    assert training_curves({"run": path}, "eval_f1").curves["run"]["value"].to_dict() == {3: 0.5}


def test_the_curve_of_several_seeds_is_their_mean(runs, tmp_path, capsys):
    write_run(tmp_path / "duma" / "seed-0", [0.5, 0.75, 0.25])
    write_run(tmp_path / "duma" / "seed-1", [0.75, 1.0])
    curves = training_curves({"duma": tmp_path / "duma"}, "eval_f1")
    assert curves.curves["duma"]["value"].to_dict() == {10: 0.625, 20: 0.875}
    pytest.importorskip("matplotlib")
    paths = [str(tmp_path / "duma"), str(runs["qanet"])]
    assert main(["curves", "eval_f1", *paths, "--output", str(tmp_path / "out")]) == 0
    assert "| duma | 0.8750 | 20 |" in capsys.readouterr().out


def test_seeds_without_a_step_in_common(tmp_path):
    for seed in (0, 1):
        folder = tmp_path / f"seed-{seed}"
        folder.mkdir()
        (folder / "trainer_state.json").write_text(f'{{"log_history": [{{"eval_f1": 0.5, "step": {seed}}}]}}')
    with pytest.raises(ValueError, match="no step in common at which 'eval_f1'"):
        training_curves({"run": tmp_path}, "eval_f1")


def test_a_measure_that_was_not_logged(runs):
    message = "trainer_state.json has no values of 'eval_em'; it has eval_f1, eval_loss, loss"
    with pytest.raises(ValueError, match=message):
        training_curves(runs, "eval_em")


def test_a_missing_file(tmp_path):
    for path in (tmp_path, tmp_path / "trainer_state.json"):
        with pytest.raises(FileNotFoundError, match=r"trainer_state.json does not exist; give the trainer_state.json"):
            training_curves({"run": path}, "eval_f1")


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        '{"log_history": {}}',
        '{"log_history": [1]}',
        '{"log_history": [{}]}',
        '{"log_history": [{"step": 1.5, "eval_f1": 1}]}',
        '{"log_history": [{"step": true, "eval_f1": 1}]}',
        f'{{"log_history": [{{"step": 1, "eval_f1": {"1" * 400}}}]}}',
    ],
)
def test_a_damaged_file(tmp_path, text):
    path = tmp_path / "trainer_state.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"trainer_state.json, line 1: .*give the trainer_state.json of a run"):
        training_curves({"run": path}, "eval_f1")


def test_run_names_use_as_many_folders_as_they_need():
    paths = [Path("runs/duma/seed-0"), Path("runs/encoder/seed-0"), Path("runs/encoder/seed-1")]
    assert run_names(paths) == ["duma/seed-0", "encoder/seed-0", "seed-1"]
    assert run_names([Path("runs/a")]) == ["a"]
