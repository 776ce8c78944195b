"""Command lines of the scripts: help, suggestions, one line for a user's error, machines that lack something."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants

from clozeformers.cli import main as command_line
from clozeformers.errors import run_script
from clozeformers.tasks import TASKS, task_named
from clozeformers.training import arguments as training_arguments
from clozeformers.training import pretrained
from clozeformers.training.recipe import RECIPES, load_recipe

from ..tiny_tasks import LAST, TinyTask

Tiny = Callable[[str], TinyTask]
NAMES = [task.name for task in TASKS]
STEP = [*LAST, "--max_steps", "1"]


# --------------------------------------------------------------------------------------------------------------- help


def help_of(task: str, option: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        task_named(task).main([option])
    assert not ended.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_what_the_task_and_its_recipes_use(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    text = help_of(name, "--help", capsys)
    assert len(text.splitlines()) <= 90
    assert [line for line in text.splitlines() if re.fullmatch(r"\w+:", line)] == ["model:", "data:", "training:"]
    recipes = list((RECIPES / name).glob("*.yaml"))
    for recipe in recipes:
        assert re.search(rf"\s{recipe.stem}[,.]\s", text)
        for field in load_recipe(recipe):
            assert re.search(rf"^  --{field} ", text, re.MULTILINE), field
    assert "--output_dir" in text
    assert "--ddp_backend" not in text
    assert help_of(name, "-h", capsys) == text
    everything = help_of(name, "--help-all", capsys)
    assert set(re.findall(r"^  (--\w+)", text, re.MULTILINE)) < set(re.findall(r"^  (--\w+)", everything, re.MULTILINE))
    assert "--ddp_backend" in everything


# -------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("task", "line", "message"),
    [
        ("negation_scope", "--lerning_rate 3", "no option --lerning_rate; did you mean --learning_rate"),
        ("negation_scope", "--train-fil x", "no option --train-fil; did you mean --train_file"),
        ("negation_scope", "--learning_rate=x", "argument --learning_rate: invalid float value: 'x'"),
        ("negation_scope", "oa-ca-augmented", "no recipe 'oa-ca-augmented'; did you mean oa-ca-augment"),
        ("negation_scope", "{recipe}", "recipe.yaml: there is no field 'learnin_rate'; did you mean learning_rate"),
        ("negation_scope", "--model_name_or_path x stray", "'stray' belongs to no option; a recipe comes first"),
        ("negation_scope", "--train_file x", "arguments are required: --model_name_or_path \\(--help"),
        ("negation_scope", "{model} --kind negatoin", "invalid choice: 'negatoin' .*; did you mean negation"),
        ("negation_scope", "{model} --attention_variant OA-AC", "attention 'OA-AC'; did you mean OA-C or OA-CA"),
        ("negation_scope", "{model} --attention_variant oa-em", "did you mean OA-EM"),
        ("negation_scope", "{model} --report_to nowhere", "nowhere is not supported"),
        ("negation_scope", "{model} --load_best_model_at_end true", "requires the save and eval strategy to match"),
        ("question_answering", "--model_type bidff", "invalid choice: 'bidff' .*; did you mean bidaf"),
        ("question_answering", '--model_type bidaf --model_config {{"hiden_size":8}}', "did you mean hidden_size"),
        ("question_answering", '--model_type bidaf --model_config {{"attention":"bidfa"}}', "did you mean bidaf"),
    ],
)  # fmt: skip
def test_a_wrong_command_is_told_in_one_line(
    task: str,
    line: str,
    message: str,
    tiny: Tiny,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "recipe.yaml").write_text("learnin_rate: 1\n")
    given = tiny(task)
    model = " ".join(given.arguments[:4])
    words = line.format(recipe=tmp_path / "recipe.yaml", model=model).split()
    rest = ["--output_dir", str(tmp_path / "run"), *given.data("train"), "--use_cpu", "true"]
    monkeypatch.setattr(sys, "argv", ["run_it.py", *words, *rest])
    assert run_script(task_named(task).main) == 2
    told = capsys.readouterr().err
    assert "Traceback" not in told
    told = told.splitlines()[-1]  # after transformers' progress bars
    assert re.match(f"run_it.py: error: .*{message}", told), told


def test_a_measure_that_is_none_is_told(tiny: Tiny, tmp_path: Path) -> None:
    task = tiny("negation_scope")
    steps = ["--eval_strategy", "steps", "--eval_steps", "1", "--save_steps", "1", "--max_steps", "1"]
    options = ["--load_best_model_at_end", "true", "--metric_for_best_model", "recal"]
    with pytest.raises(ValueError, match=r"metric_for_best_model is 'recal', .* did you mean recall"):
        task.run(tmp_path / "run", *task.data("train", "dev"), *steps, *options)


@pytest.mark.parametrize(
    ("code", "is_shown"),
    [
        ("raise ValueError('a\\nwrong value')", True),
        ("raise ImportError('a package')", True),
        ("open('/no/such/file')", True),
        ("b'\\xff'.decode()", True),
        ("int('x')", False),
        ("[1].index(2)", False),
        ("import clozeformers.nothing", False),
        ("raise RuntimeError('bug')", False),
        ("torch.zeros(2) + torch.zeros(3)", False),
        ("torch.nn.functional.relu()", False),
    ],
)
def test_a_bug_has_its_traceback(
    code: str, is_shown: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def main(arguments: list[str]) -> None:
        exec(code, {"__package__": "clozeformers.training", "torch": torch})

    monkeypatch.setattr(sys, "argv", ["run_it.py"])
    if is_shown:
        assert run_script(main) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
    else:
        with pytest.raises((ImportError, RuntimeError, TypeError, ValueError)):
            run_script(main)


@pytest.mark.slow
def test_several_processes_tell_an_error_once(tiny: Tiny, tmp_path: Path) -> None:
    task = tiny("negation_scope")
    command = task.command(tmp_path / "run", *task.data("train"), "--num_folds", "1", processes=2)
    done = subprocess.run(command, env=task.environ(), capture_output=True, text=True, check=False)
    assert done.returncode
    told = [line for line in done.stderr.splitlines() if line.startswith("run_negation_scope.py: error: ")]
    assert len(told) == 1, done.stderr
    assert "clozeformers/training" not in done.stderr


# ------------------------------------------------------------------------------------------------------------ machines


@pytest.mark.parametrize("kind", ["bf16", "fp16", "tf32"])
def test_a_machine_without_a_precision_trains_in_float32(
    kind: str, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(training_arguments, "is_torch_bf16_gpu_available", lambda: False)
    monkeypatch.setattr(training_arguments, "is_torch_tf32_available", lambda: False)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    task = tiny("negation_scope")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(f"model_name_or_path: {task.arguments[1]}\nnum_block_heads: 6\nmax_length: 48\n{kind}: true\n")
    with caplog.at_level(logging.WARNING):
        record = task.run(tmp_path / "run", *task.data("train"), *STEP, "--use_cpu", "false", recipe=str(recipe))
    told = f"float32; this machine does not support {kind}"
    assert [entry.message for entry in caplog.records if "support" in entry.message] == [f"Training in {told}"]
    assert record["precision"] == told
    assert kind not in record["training"]
    assert f"| precision | {told} |" in (tmp_path / "run" / "README.md").read_text()


@pytest.fixture
def unreachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Hub that refuses connections; returns the cache."""
    cache = tmp_path / "hub"
    values = {"ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": False, "HF_HUB_CACHE": str(cache)}
    for name, value in values.items():
        monkeypatch.setattr(constants, name, value)
    pretrained._reaches_hub.cache_clear()
    return cache


@pytest.mark.parametrize(
    ("task", "arguments"),
    [
        ("negation_scope", ["--model_name_or_path", "some/thing"]),
        ("negation_scope", ["--model_name_or_path", "{encoder}", "--dataset_name", "some/thing"]),
        ("abstract_cloze", ["--model_name_or_path", "some/thing"]),
        ("question_answering", ["--model_name_or_path", "some/thing"]),
        ("question_answering", ["--model_type", "bidaf", "--word_vectors", "encoder:some/thing"]),
    ],
)
def test_a_hub_out_of_reach_is_told_at_once(
    task: str, arguments: list[str], tiny: Tiny, unreachable: Path, tmp_path: Path
) -> None:
    given = tiny(task)
    words = [word.format(encoder=given.arguments[1]) for word in arguments]
    start = time.monotonic()
    with pytest.raises(ConnectionError, match=r"some/thing is the name .* cannot be reached; give .* HF_HOME"):
        task_named(task).main([*words, *given.data("train"), *STEP, "--output_dir", str(tmp_path / "run")])
    assert time.monotonic() - start < 10


def test_a_model_in_the_cache_is_used_offline(
    unreachable: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repository = unreachable / "models--some--thing"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0" * 40)
    (repository / "snapshots" / ("0" * 40)).mkdir(parents=True)
    (repository / "snapshots" / ("0" * 40) / "config.json").write_text('{"model_type": "bert"}')

    def told(model: str) -> str:
        assert command_line(["export", "code", model, "folder"]) == 2
        return capsys.readouterr().err

    assert f"the cache {unreachable} has the model: set HF_HUB_OFFLINE=1" in told("some/thing")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "is no model of clozeformers but of type 'bert'" in told("some/thing")
    assert "HF_HUB_OFFLINE is set; give the folder" in told("other/thing")


def test_a_damaged_model_is_named(tiny: Tiny, tmp_path: Path) -> None:
    task = tiny("negation_scope")
    folder = tmp_path / "model"
    folder.mkdir()
    for file in Path(task.arguments[1]).iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        (folder / name).write_bytes(b"{")
        with pytest.raises(ValueError, match=f"the model {folder} cannot be loaded"):
            task.run(tmp_path / "run", *STEP, *task.data("train"), "--model_name_or_path", str(folder))
