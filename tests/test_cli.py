"""The `clozeformers` command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from transformers import Pipeline

from clozeformers import BertWithWNDuma, __version__
from clozeformers.cli import main
from clozeformers.cli.app import app
from clozeformers.training.recipe import RECIPES

from .cloze_models import tiny_wn_duma
from .commands import send
from .hub_models import SENTENCE, save_tiny, tiny_pipeline, tiny_word_reader
from .scripts import ROOT
from .tiny_tasks import LAST, QUIET, TINY_TASKS


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("model"))


def test_scope_reads_texts_and_the_standard_input(
    model_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    send(monkeypatch, "\ufeff\nNobody came.\nAll is well.\n")
    assert main(["scope", SENTENCE, "-", "--model", str(model_folder)]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert len(lines) == 3
    assert "[not]" in lines[0]
    assert "[Nobody]" in lines[1]
    assert lines[2] == "All is well."
    assert captured.err == ""


def test_scope_as_json(model_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scope", SENTENCE, "All is well.", "--model", str(model_folder), "--json"]) == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first["text"] == SENTENCE
    assert [found["cue"]["text"] for found in first["cues"]] == ["not"]
    assert second == {"text": "All is well.", "cues": []}


@pytest.mark.parametrize(
    ("task", "build"),
    [
        ("negation_scope", lambda: tiny_pipeline("bert")),
        ("question_answering", lambda: tiny_word_reader("bidaf")),
        ("abstract_cloze", lambda: tiny_wn_duma(BertWithWNDuma)),
    ],
)
def test_export(task: str, build: Callable[[], Pipeline], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build().save_pretrained(tmp_path / "model")
    assert main(["export", "code", str(tmp_path / "model"), str(tmp_path / "out")]) == 0
    assert "trust_remote_code=True" in capsys.readouterr().out
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"config.json", "model.safetensors", f"clozeformers_pipelines_{task}.py"} < names


def test_only_own_models_are_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    assert main(["export", "code", str(tmp_path), str(tmp_path / "out")]) == 2
    assert "is no model of clozeformers but of type 'bert'" in capsys.readouterr().err


def test_results_prints_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    files = [ROOT / "model_cards" / f"minilm-{variant}-augment-cd-sco.json" for variant in ("oa-ca", "oa-em")]
    assert main(["results", *map(str, files)]) == 0
    table = capsys.readouterr().out
    assert "OA-CA" in table
    assert "OA-EM" in table


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        (None, "does not exist"),
        ('{"task": "abstract-cloze", "scores": {"a": {}}}', "holds no complete results"),
        ('{"task": ["a"]}', "there is no task ['a']; there are negation-scope"),
    ],
)
def test_results_that_are_none(
    content: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "results.json"
    if content is not None:
        file.write_text(content)
    assert main(["results", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("clozeformers results: error: ")
    assert message in captured.err
    assert str(file) in captured.err


def test_code_of_a_model_is_not_run_whatever_the_standard_input_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "unknown", "auto_map": {"AutoConfig": "code.Config"}}')
    (tmp_path / "code.py").write_text("raise RuntimeError('code of the checkpoint was run')\n")
    send(monkeypatch, "y\n")
    assert main(["scope", "-", "--model", str(tmp_path)]) == 2
    assert "contains custom code" in capsys.readouterr().err


COMMANDS = {
    " ".join(path): command
    for name, found in app.commands.items()
    for path, command in [
        ((name,), found),
        *(((name, inner), each) for inner, each in getattr(found, "commands", {}).items()),
    ]
}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_screen_and_explains_every_option(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "--help"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"Usage: clozeformers {name}")
    assert len(printed.splitlines()) <= 24
    assert max(map(len, printed.splitlines())) <= 80
    for parameter in COMMANDS[name].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.name}"


def test_the_overview_fits_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) <= 30
    assert "..." not in printed.partition("Commands:")[2], "a summary is cut off"
    assert main(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Usage: clozeformers"),
        (["scopes"], "No such command 'scopes'. (Did you mean"),
        (["scope"], "clozeformers scope: error: Missing argument 'TEXT...'. (clozeformers scope --help)"),
        (["scope", "x", "--modle", "y"], "No such option '--modle'"),
        (["train", "negation"], "there is no task 'negation'; there are negation-scope"),
        (["recipes", "minilm-gop"], "the package has no recipe 'minilm-gop'; did you mean minilm-gap or"),
        (["card", "/nowhere"], "/nowhere/results.json"),
    ],
)
def test_a_wrong_command_line_is_told_in_a_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert len(captured.err.splitlines()) == 1 or not arguments
    assert captured.out == ""


def test_words_are_completed() -> None:
    environment = {
        **os.environ,
        "_CLOZEFORMERS_COMPLETE": "bash_complete",
        "COMP_WORDS": "clozeformers ex",
        "COMP_CWORD": "1",
    }
    command = [sys.executable, "-c", "from clozeformers.cli import main; main()"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "plain,export\n"


def test_recipes_are_listed_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipes"]) == 0
    assert "\nextractive-question-answering\n" in capsys.readouterr().out
    assert main(["recipes", "minilm-gap"]) == 0
    assert capsys.readouterr().out == (RECIPES / "abstract_cloze" / "minilm-gap.yaml").read_text()


def test_a_model_is_trained_scored_and_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task, run = TINY_TASKS["negation_scope"](tmp_path), tmp_path / "run"
    options = [
        *task.arguments,
        *QUIET,
        *LAST,
        "--max_steps",
        "1",
        *task.data("train", "test"),
        "--output_dir",
        str(run),
    ]
    assert main(["train", "negation-scope", *options]) == 0
    trained = capsys.readouterr().out
    files = [str(task.files["test"])]
    assert main(["evaluate", "negation-scope", str(run), *files, "--output_dir", str(tmp_path / "scores")]) == 0
    table = trained[trained.index("| test set") :]
    assert capsys.readouterr().out == table
    assert main(["evaluate", "negation-scope", str(run), *files, "--max_predict_samples", "3"]) == 0
    assert capsys.readouterr().out != table
    card = (run / "README.md").read_text()
    (run / "README.md").unlink()
    assert main(["card", str(run)]) == 0
    assert (run / "README.md").read_text() == card
    record = json.loads((run / "results.json").read_text())
    for lost in ("runs", "training", "corpora"):
        (run / "results.json").write_text(json.dumps({**record, lost: []}))
        assert main(["card", str(run)]) == 2
        assert "results.json holds no complete results" in capsys.readouterr().err
    assert main(["train", "--help"]) == 0


@pytest.mark.usefixtures("wordnet_home")
def test_words_for_a_gap_are_ranked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny_wn_duma(BertWithWNDuma).save_pretrained(tmp_path)
    options = ["rain", "sun", "snow"]
    assert main(["cloze", "The @placeholder came .", "It was wet .", *options, "--model", str(tmp_path)]) == 0
    ranked = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {each["option"] for each in ranked} == set(options)


def test_errors_of_the_user_are_told_without_a_traceback(
    model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("file", "file.txt"):
        (tmp_path / name).write_text("")
    for arguments in (
        ["scope", SENTENCE, "--model", str(tmp_path / "nothing")],
        ["scope", SENTENCE, "--model", "no owner/name"],
        ["scope", str(tmp_path / "file.txt"), "--model", str(model_folder)],
        ["scope", SENTENCE, "--model", str(tmp_path)],
        ["export", "code", str(model_folder), str(tmp_path / "file")],
    ):
        assert main(arguments) == 2
        assert f"clozeformers {arguments[0]}: error: " in capsys.readouterr().err
    assert main(["export", "code", str(model_folder)]) == 2
