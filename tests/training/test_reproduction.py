"""Experiments: every shipped one on tiny data, what is run again, what fails, and the numbers of the tables."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from clozeformers.cli import main
from clozeformers.tasks import Task, task_named
from clozeformers.training import reproduction
from clozeformers.training.experiment import Experiment
from clozeformers.training.experiment_file import find_experiment, read_experiment
from clozeformers.training.experiment_schema import DerivedTable
from clozeformers.training.experiment_tables import mean_differences, render_experiment, score_frame, sign_flip_p
from clozeformers.training.recipe import RECIPES, check_command, find_recipe

from ..qa_corpora import write_squad
from ..scripts import ROOT
from ..tiny_tasks import QUIET, TinyTask, save_word_encoder

Tiny = Callable[[str], TinyTask]
SOURCES = {"augment": "Table 2", "normal": "Table 3"}
SHIPPED = sorted(RECIPES.glob("*/experiments/*.yaml"))
STEP = ["--max_steps", "1", "--max_train_samples", "16", "--per_device_train_batch_size", "4", "--bf16", "false"]
FOLD, ONE_SEED = {"arguments": {"num_folds": 3, "folds": [1]}}, {"arguments": {"num_seeds": 1}}
FEWER = {"BA": FOLD, "BF": FOLD, "SFU": FOLD, "Sherlock": ONE_SEED, "SQuAD 1.1": ONE_SEED}
FEWER["Subtask 1"] = {"arguments": {"num_seeds": 2}}
# Part of a file's name -> the tiny file that it is a copy of; else that of test.
LIKE = {"train": "train", "abstracts": "train", "glove": "vectors", "fasttext": "vectors", "cardboard": "dev"}


class Script:
    """A task's `main` that trains the first command only; the others have a copy of its files, with other scores."""

    def __init__(self, train: Callable[[list[str]], Any]) -> None:
        self.train = train
        self.folders: list[Path] = []

    def __call__(self, words: list[str]) -> None:
        self.folders.append(Path(words[words.index("--output_dir") + 1]))
        noise = random.Random(str(words))
        if len(self.folders) == 1:
            self.train(words)
            self._weigh(noise)
            return
        shutil.copytree(self.folders[0], self.folders[-1], ignore=shutil.ignore_patterns("cell.json"))
        self._weigh(noise)
        path = self.folders[-1] / "results.json"
        record = json.loads(path.read_text())
        tests = [match[1] for word in words if (match := re.fullmatch(r"(\w[\w -]*)=/.*", word))]
        if "--num_folds" in words:
            corpora = [f", {name}" for name in ("bioscope", "sfu")] if "--extra_train_file" in words else [""]
            tests += [f"held-out fold{name}" for name in corpora]
        for run in record["runs"]:
            measures = next(iter(run["scores"].values()))
            run["scores"] = {test: {name: 50 + noise.random() for name in measures} for test in tests}
        record["ensemble"] = {test: dict.fromkeys(measures, 60.0) for test in tests}
        path.write_text(json.dumps(record))

    def _weigh(self, noise: random.Random) -> None:
        """Votes weigh by validation scores, and a model that is trained for one step may have none."""
        path = self.folders[-1] / "eval_results.json"
        if path.exists():
            path.write_text(json.dumps(json.loads(path.read_text()) | {"eval_f1": 50 + noise.random()}))


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Script]:
    def make(task: str) -> Script:
        train = task_named(task).main
        made = Script(train)
        monkeypatch.setattr(Task, "main", property(lambda _: made))
        monkeypatch.setattr(reproduction, "check_command", lambda _, words: check_command(train, words))
        monkeypatch.setattr(reproduction, "write_training_curves", lambda *_: None)
        return made

    return make


def tiny_model(task: TinyTask, name: str, folder: Path) -> list[str]:
    """The arguments that replace the models of an experiment by tiny ones."""
    if task.name == "question_answering":
        return []
    kind = "xlnet" if name == "orthogonal-attention" else "bert"
    encoder = save_word_encoder(folder / kind, kind) if task.name == "negation_scope" else task.arguments[1]
    return ["--model_name_or_path", str(encoder)]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_an_experiment_on_tiny_data(
    path: Path,
    tiny: Tiny,
    script: Callable[[str], Script],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shipped = read_experiment(path)
    task = tiny(shipped.task)
    for name, value in task.environment.items():
        monkeypatch.setenv(name, value)
    own = tmp_path / path.name
    own.write_text(yaml.safe_dump({"extends": str(path), "data": {n: FEWER[n] for n in shipped.data if n in FEWER}}))
    files: list[str] = []
    for name in shipped.files:
        if name == "minilm":
            files += ["--file", f"{name}={save_word_encoder(tmp_path / name, 'bert')}"]
            continue
        source = task.files[next((file for part, file in LIKE.items() if part in name), "test")]
        copied = Path(shutil.copy(source, tmp_path / (name + source.suffix)))
        if name == "squad-2-dev":
            write_squad(copied, 16, 1, unanswerable=0.4)
        files += ["--file", f"{name}={copied}"]
    tiny_arguments = [*QUIET, *STEP, *tiny_model(task, path.stem, tmp_path)]
    command = ["reproduce", str(own), "--output_dir", str(tmp_path / "runs"), *files]
    run = script(task.name)
    assert main([*command, "--", *tiny_arguments]) == 0, capsys.readouterr().err
    trained = [cell for cell in shipped.cells(shipped.tables) if not shipped.models[cell[0]].vote]
    assert len(run.folders) == len(set(run.folders)) == len(trained)
    parts = capsys.readouterr().out.partition(f"# {shipped.title}")[2].split("\n\n**")[1:]
    assert [part.partition(".**")[0] for part in parts] == list(shipped.tables)
    for part, table in zip(parts, shipped.tables.values(), strict=True):
        scores = part.partition("\n\nDifference to")[0]
        assert re.search(r"\| [+-]?\d[\d,.]* ", scores) if isinstance(table, DerivedTable) else "| – " not in scores, (
            part
        )
        assert not part.rstrip().endswith("\n\n–")
    assert main([*command, "--print", "--table", next(iter(shipped.tables))]) == 0
    assert capsys.readouterr().out.rstrip().endswith(parts[0].rstrip())


# ------------------------------------------------------------------------------------------------------------- running

SMALL = """
task: negation_scope
title: A small experiment
files: {train: some sentences, test: other sentences, more: more sentences}
models:
  first: minilm-baseline-augment
  second: {recipe: minilm-oa-em-augment, arguments: {learning_rate: 1.0e-4}}
data:
  one: {train: [train], test: {test: test, more: more}, arguments: {num_seeds: 2, validation_fraction: 0.2}}
tables:
  Scores: {measures: {f1: F1}, baseline: first, published: {first: [50, null]}}
"""


@pytest.fixture
def small(tiny: Tiny, tmp_path: Path) -> tuple[Path, list[str]]:
    """A small experiment, and the command that runs it."""
    task, path = tiny("negation_scope"), tmp_path / "small.yaml"
    path.write_text(SMALL)
    files = [f"--file={name}={task.files[name]}" for name in ("train", "test")]
    return path, ["reproduce", str(path), "--output_dir", str(tmp_path / "runs"), *files]


def test_a_killed_experiment_goes_on(
    small: tuple[Path, list[str]],
    tiny: Tiny,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["--", *QUIET, *STEP, *tiny("negation_scope").arguments[:2]]
    command, record = [*small[1], "--record", str(tmp_path / "record.json"), *arguments], tmp_path / "record.json"
    runs, publish = tmp_path / "runs" / "small", Experiment.publish

    def killed(experiment: Experiment) -> Any:
        if "second" in str(experiment.output_dir):
            raise KeyboardInterrupt
        return publish(experiment)

    with monkeypatch.context() as patch:
        patch.setattr(Experiment, "publish", killed)
        assert main(command) == 130
    assert main([*small[1], "--print"]) == 0
    assert re.search(
        r"\| first \| [\d.]+ ± [\d.]+ \(2\) / 50.00 \| – / – \|\n\| second \| – /", capsys.readouterr().out
    )
    small[0].write_text(SMALL.replace("first: minilm-baseline-augment", "first: minilm-oa-c-augment"))
    assert main([*small[1], "--print"]) == 0
    assert "| first | – / 50.00 |" in capsys.readouterr().out  # what was measured has another recipe
    small[0].write_text(SMALL)
    finished = {path: path.stat().st_mtime_ns for path in runs.glob("*/one/seed-*/model.safetensors")}
    assert len(finished) == 4
    assert main(command) == 0
    assert "[1/1] second on one" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    cells = json.loads(record.read_text())["cells"]
    assert [(cell["recipe"], [run["seed"] for run in cell["runs"]]) for cell in cells] == [
        ("minilm-baseline-augment", [0, 1]),
        ("minilm-oa-em-augment", [0, 1]),
    ]
    assert "--learning_rate 0.0001" in cells[1]["command"]
    assert "test={test}" in cells[1]["command"]
    before, after = ([run["scores"]["test"]["f1"] for run in cell["runs"]] for cell in cells)
    difference = f"{sum(b - a for a, b in zip(before, after, strict=True)) / 2:+.2f} (p = "
    assert f"| second | {difference}" in capsys.readouterr().out or main([*small[1], "--print"]) == 0
    assert f"| second | {difference}" in capsys.readouterr().out
    assert main([*command[: command.index("--")], *arguments, "--max_steps", "2"]) == 2
    assert "first on one: " in (error := capsys.readouterr().err)
    assert "a finished run with other max_steps" in error


def test_a_record_goes_on_in_another_folder(
    small: tuple[Path, list[str]],
    tiny: Tiny,
    script: Callable[[str], Script],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path, command = small
    record, run = tmp_path / "record.json", script("negation_scope")
    one, both = yaml.safe_load(SMALL), yaml.safe_load(SMALL)
    one["models"].pop("second")
    path.write_text(yaml.safe_dump(one))
    rest = ["--record", str(record), "--", *QUIET, *STEP, *tiny("negation_scope").arguments[:2]]
    assert main([*command, *rest]) == 0
    (first,) = json.loads(record.read_text())["cells"]

    def go_on(folder: str, **changes: Any) -> list[str]:
        """What is run in a new folder, after changes of the experiment."""
        path.write_text(yaml.safe_dump(both | changes, sort_keys=False))
        capsys.readouterr()
        elsewhere = [str(tmp_path / folder) if word.endswith("runs") else word for word in command]
        main([*elsewhere, *rest])
        return re.findall(r"(?m)^\[\d/\d\] (.*)", capsys.readouterr().out)

    assert go_on("elsewhere") == ["second on one"]
    cells = json.loads(record.read_text())["cells"]
    assert cells[0] == first
    assert [cell["model"] for cell in cells] == ["first", "second"]
    models = both["models"]
    assert go_on("again") == []
    assert go_on("other recipe", models=models | {"first": "minilm-oa-c-augment"}) == ["first on one"]
    slower = {"recipe": "minilm-baseline-augment", "arguments": {"learning_rate": 1e-5}}
    assert go_on("other rate", models=models | {"first": slower}) == ["first on one"]
    for folder in (tmp_path / "again", tmp_path / "other recipe", tmp_path / "other rate"):
        shutil.rmtree(folder, ignore_errors=True)
    run.folders.clear()
    for damaged in (
        {"cells": None},
        {"figures": []},
        {"cells": [first | {"runs": 5}]},
        {"cells": [first | {"runs": [{"run": ""}]}]},
        {"cells": [first | {"runs": [{"run": "", "scores": {"dev": 5}}]}]},
    ):
        broken = tmp_path / "broken.json"
        broken.write_text(json.dumps(json.loads(record.read_text()) | damaged))
        assert main([*command, "--record", str(broken)]) == 2
        assert f"{broken} is no complete record of an experiment; delete it" in capsys.readouterr().err
    vote = {"vote": ["first", "second"]}
    assert go_on("vote", models=models | {"vote": vote}) == ["first on one", "vote on one"]
    other = tmp_path / "other.yaml"
    shutil.copy(path, other)
    assert main([command[0], str(other), *command[2:], *rest]) == 2
    assert f"{record} holds 'small'; give other another --record" in capsys.readouterr().err


def test_other_cells_run_when_one_fails(
    small: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called: list[str] = []

    def script(words: list[str]) -> None:
        called.append(words[0])
        raise ValueError("no data") if len(called) == 1 else RuntimeError("out of memory")

    monkeypatch.setattr(Task, "main", property(lambda _: script))
    monkeypatch.setattr(reproduction, "check_command", lambda *_: None)
    assert main(small[1]) == 2
    assert called == ["minilm-baseline-augment", "minilm-oa-em-augment"]
    captured = capsys.readouterr()
    assert "2 of the runs have failed: first on one: no data; second on one: out of memory" in captured.err
    assert "| first | – / 50.00 | – / – |" in captured.out


def test_what_needs_other_files_is_not_run(
    small: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["reproduce", str(small[0]), "--output_dir", str(tmp_path)]) == 2
    assert "nothing can be run without data; give --file train=PATH: " in capsys.readouterr().err


# -------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (("task:", "taks:"), 2, "no field 'taks'; did you mean task"),
        (("first: minilm-baseline-augment", "first: minilm-baseline"), 6, "did you mean minilm-baseline-augment"),
        (("learning_rate", "lerning_rate"), 7, "no option --lerning_rate; did you mean --learning_rate"),
        (("num_seeds: 2", "num_seeds: two"), 9, "--num_seeds: invalid int value: 'two'"),
        (("train: [train]", "train: [trian]"), 9, "no file (under `files`) 'trian'; did you mean train"),
        (("train: [train]", "train: train"), 9, "expected a list, got str"),
        (("{f1: F1}", "{f2: F2}"), 11, "there is no measure 'f2'; "),
        (("{f1: F1}", "[f1]"), 11, "expected a dict, got list"),
        (("measures", "measure"), 11, "a table has one of the fields measures, derive, curves, analyze, count"),
        (("baseline: first", "baseline: frist"), 11, "no model in this table 'frist'; did you mean first"),
        (("[50, null]", "[50]"), 11, "must be a list of 2 numbers"),
        (("published: {first", "published: {third"), 11, "the table has no row third"),
        (("1.0e-4", "'{vectors}'"), 7, "no file (under `files`) 'vectors'"),
        (("recipe: minilm-oa-em-augment,", "vote: [frist], recipe: x,"), 7, "either a recipe or a vote"),
        (
            ("{recipe: minilm-oa-em-augment, arguments: {learning_rate: 1.0e-4}}", "{vote: [frist]}"),
            7,
            "no model 'frist'",
        ),
    ],
)
def test_errors_name_file_and_line(
    change: tuple[str, str], line: int, message: str, small: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    path, command = small
    path.write_text(SMALL.replace(*change))
    assert main(command) == 2
    error = capsys.readouterr().err
    assert f"{path}, line {line}: " in error
    assert message in error
    extending = path.with_name("extending.yaml")
    extending.write_text("extends: small.yaml\ntitle: other\n")
    assert main([command[0], str(extending), *command[2:]]) == 2
    assert f"{path}, line {line}: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--file", "tset=x"], "has no file 'tset'; did you mean test?"),
        (["--file", "test"], "--file test: give --file NAME=VALUE; the names are train, test, more"),
        (["--file", "test=/no/such"], "there is no file or folder /no/such"),
        (["--table", "Score"], "has no table 'Score'; did you mean Scores?"),
        (["--", "--max_setps", "1"], "first on one: there is no option --max_setps; did you mean --max_steps"),
    ],
)
def test_wrong_options(
    given: list[str], message: str, small: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*small[1], "--", *QUIET][: -len(QUIET) - 1] + given) == 2
    assert message in capsys.readouterr().err


def test_an_unknown_experiment_names_similar_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "small-reader", "--output_dir", str(tmp_path)]) == 2
    assert "there is no experiment 'small-reader'; did you mean small-readers?" in capsys.readouterr().err


def test_an_experiment_is_no_recipe() -> None:
    assert len({path.stem for path in SHIPPED}) == len(SHIPPED)
    with pytest.raises(FileNotFoundError, match="there is no recipe 'minilm-cd-sco'"):
        find_recipe("negation_scope", "minilm-cd-sco")


# -------------------------------------------------------------------------------------------------------------- tables


@pytest.mark.parametrize("differences", [[0.5, 1.5, 1.0], [0.2, -0.1, 0.4, 0.3, -0.6], [0.0, 0.0]])
def test_the_permutation_test_counts_all_signs(differences: list[float]) -> None:
    means = [
        sum(s * d for s, d in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    expected = sum(abs(mean) >= abs(sum(differences)) - 1e-12 for mean in means) / len(means)
    assert sign_flip_p(differences) == expected >= 2 ** (1 - len(differences))
    assert sign_flip_p(differences * 10) == pytest.approx(
        1.0 if not any(differences) else sign_flip_p(differences), abs=1
    )


def test_derived_tables_of_the_paper() -> None:
    """Computed from the published numbers of Tables 2 and 3, they are the published ones."""
    experiment = read_experiment(find_experiment("orthogonal-attention"))
    text = render_experiment(experiment, [], ["Table 4", "Table 5", "Table 6", "Figure 7"])
    frames = {name: score_frame(experiment, experiment.tables[table], None) for name, table in SOURCES.items()}
    columns = mean_differences(frames, experiment.tables["Table 4"])
    assert columns["augment, difference to Baseline"].to_dict() == {
        "OA-C": "+0.10",
        "OA-CA": "+0.21",
        "OA-EM": "+0.26",
        "OA-EMB": "+0.41",
    }
    assert "| augment | BF | – / 93.13 | – / 93.85 | – / 93.83 | – / 93.70 | – / 92.92 |" in text
    assert "| normal | SFU | – / 88.52 | – / 87.23 | – / 86.80 | – / 88.29 | – / – |" in text
    assert "| Sherlock | best, normal | – / OA-CA 90.52 |" in text
    assert "| BA | best, augment | – / OA-C 95.31 |" in text
    assert f"| SFU | – / {(83.18 + 77.45 + 88.52 + 72.17 - 84.55 - 80.41 - 90.49 - 73.82) / 4:+.2f} |" in text


def test_derived_tables_of_a_part_say_so() -> None:
    experiment = read_experiment(find_experiment("minilm-orthogonal-attention"))
    scores = {"BA": 90.0, "SFU": 80.0}
    results = [
        {
            "model": model,
            "data": "BA",
            "runs": [{"run": "", "scores": {test: {"f1": f1 + plus} for test, f1 in scores.items()}}],
        }
        for model, plus in (("OA-C", 1.5), ("Baseline", 0.0), ("OA-C, normal", -2.0), ("OA-CA, normal", -1.0))
    ]
    results[0]["runs"][0]["scores"]["held-out fold"] = {"f1": 93.0}
    results[1]["runs"][0]["scores"]["held-out fold"] = {"f1": 91.0}
    text = render_experiment(experiment, results, ["Table 4", "Table 5", "Figure 7"])
    assert "| OA-C | +1.75 (2 of 16 rows) / +0.10 | – / -1.30 |" in text
    assert "| OA-CA | – / +0.21 | – / -1.06 |" in text
    assert "| augment | SFU | 81.50 / 90.49 | – / 90.80 |" in text
    assert "| BA | -3.50 (1 of 4 rows) / -2.43 |" in text


def test_a_record_makes_the_tables_of_results(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    tables = import_module("update_tables")
    scores = {"development": {"f1": 90.0, "precision": 91.0, "recall": 92.0, "pcs": 60.0}}
    cell = {"model": "baseline", "data": "CD-SCO", "runs": [{"run": "", "scores": scores}]}
    text = tables.experiment_tables({"experiment": "minilm-cd-sco", "cells": [cell], "figures": {}})
    assert "| baseline | 90.00 (1) | 91.00 (1) | 92.00 (1) | 60.00 (1) |\n| OA-C | – | – | – | – |" in text


def test_differences_have_the_columns_of_the_scores(tmp_path: Path) -> None:
    small = SMALL.replace("{f1: F1}", "{f1: F1, pcs: PCS}").replace(", published: {first: [50, null]}", "")
    (tmp_path / "small.yaml").write_text(small)
    scores = {test: {"f1": 90.0, "pcs": 60.0} for test in ("test", "more")}
    runs = [{"run": "", "scores": scores}]
    cells = [{"model": name, "data": "one", "runs": runs} for name in ("first", "second")]
    text = render_experiment(read_experiment(tmp_path / "small.yaml"), cells, ["Scores"])
    scored, _, differences = text.partition("Difference to first")
    header = "| model | test, F1 | test, PCS | more, F1 | more, PCS |"
    assert header in scored
    assert header in differences
    assert "| first |" not in differences


def test_the_example_of_contributing_is_an_experiment(tmp_path: Path) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (tmp_path / "own.yaml").write_text(text.partition("```yaml\n")[2].partition("```")[0])
    experiment = read_experiment(tmp_path / "own.yaml")
    assert experiment.cells(["Scores"]) == [("baseline", "own"), ("OA-EM", "own")]
