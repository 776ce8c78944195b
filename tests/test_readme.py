"""The README is true: its examples print what it says, its commands run, its tables come from files."""

import ast
import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from clozeformers.abstract_cloze.model_card import cloze_results_table
from clozeformers.demo import main as demo
from clozeformers.negation_scope.model_card import results_table
from clozeformers.question_answering.model_card import qa_results_table

from .cloze_corpora import recam_rows, save_encoder, write_dictionary, write_recam
from .qa_corpora import write_squad

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
PYTHON = [
    (code, BLOCKS[number + 1][1])
    for number, (kind, code) in enumerate(BLOCKS)
    if kind == "python" and BLOCKS[number + 1][0] == "text"
]
COMMANDS = [
    line.split("  #")[0].strip()
    for kind, code in BLOCKS
    if kind == "bash"
    for line in code.splitlines()
    if line.strip()
]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """A folder in which the demo has run; with what it printed."""
    folder = tmp_path_factory.mktemp("readme")
    printed = io.StringIO()
    with (
        contextlib.chdir(folder) if sys.version_info >= (3, 11) else _chdir(folder),
        contextlib.redirect_stdout(printed),
    ):
        demo([])
    return folder, printed.getvalue()


@contextlib.contextmanager
def _chdir(folder):
    before = Path.cwd()
    os.chdir(folder)
    yield
    os.chdir(before)


def test_the_demo_reads_well(workplace):
    folder, printed = workplace
    scores = json.loads((folder / ".demo" / "model" / "results.json").read_text())["scores"]
    assert scores["held-out"]["f1"]["mean"] >= 0.95
    assert "{I do} [not] {know the answer}." in printed
    assert (folder / ".demo" / "model" / "model.safetensors").exists()
    assert (folder / ".demo" / "model" / "README.md").exists()


def test_there_are_examples():
    assert len(PYTHON) >= 3
    assert {"make demo", "make test"} <= set(COMMANDS)


@pytest.mark.parametrize(("code", "output"), PYTHON, ids=range(len(PYTHON)))
def test_examples_print_what_the_readme_says(workplace, code, output):
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=workplace[0],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == output


def tiny_corpus(path: Path) -> None:
    rows = [{"tokens": ["I", "do", "not", "know", "."], "cue": [0, 0, 1, 0, 0], "scope": [1, 1, 0, 1, 0]}] * 6
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_the_question_answering_example(tmp_path):
    [command] = [command for command in COMMANDS if "run_extractive_qa" in command]
    for folder in ("run_glue_style", "configs"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    words = shlex.split(command)
    for seed, word in enumerate(sorted({word for word in words if word.startswith("squad-")})):
        write_squad(tmp_path / word, 32, seed)
    words += ["--num_train_epochs", "1", "--use_cpu", "true"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    [code] = [code for kind, code in BLOCKS if kind == "python" and "runs/reader" in code]
    for arguments in (words[1:], ["-c", code]):
        result = subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
        )
        assert result.returncode == 0, result.stderr[-3000:]
    found = ast.literal_eval(result.stdout.strip())
    assert found.keys() == {"answer", "start", "end", "score"}
    assert found["answer"] in "The letter was written by Ada Lovelace in 1843."


def test_the_abstract_cloze_example(tmp_path):
    [command] = [command for command in COMMANDS if "run_abstract_cloze" in command]
    for folder in ("run_glue_style", "configs"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    words = shlex.split(command)
    for seed, word in enumerate(sorted({word for word in words if word.startswith("recam-")})):
        write_recam(tmp_path / word, recam_rows(16, seed))
    words += ["--model_name_or_path", str(save_encoder(tmp_path / "encoder", "bert")), "--num_train_epochs", "1"]
    words += ["--use_cpu", "true"]
    home = write_dictionary(tmp_path / "home")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "CLOZEFORMERS_HOME": str(home)}
    [code] = [code for kind, code in BLOCKS if kind == "python" and "runs/cloze" in code]
    for arguments in (words[1:], ["-c", code]):
        result = subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
        )
        assert result.returncode == 0, result.stderr[-3000:]
    printed = [line.split()[:2] for line in result.stdout.splitlines()]
    assert sorted(printed) == [["committing", "1"], ["prompting", "0"]]


@pytest.mark.parametrize("command", [command for command in COMMANDS if "run_negation_scope" in command])
def test_training_commands_run(workplace, command, tmp_path):
    words = shlex.split(command)
    for word in words:
        if word.endswith(".jsonl"):
            tiny_corpus(tmp_path / word)
    for folder in ("run_glue_style", "configs"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    encoder = str(workplace[0] / ".demo" / "encoder")
    words += ["--model_name_or_path", encoder, "--num_block_heads", "8", "--num_train_epochs", "1", "--use_cpu", "true"]
    start = {"python": [sys.executable], "accelerate": [sys.executable, "-m", "accelerate.commands.accelerate_cli"]}
    if words[0] == "accelerate":
        words += ["--ddp_backend", "gloo"]
    result = subprocess.run(
        [*start[words[0]], *words[1:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )
    assert result.returncode == 0, result.stderr[-3000:]
    folder = tmp_path / words[words.index("--output_dir") + 1]
    assert json.loads((folder / "results.json").read_text())["corpora"]["train"]["cues"] > 0
    assert (folder / "README.md").read_text().startswith("---\n")


def test_make_has_the_targets_that_the_readme_names():
    for command in COMMANDS:
        if command.startswith("make"):
            subprocess.run([*shlex.split(command), "--dry-run"], cwd=ROOT, check=True, capture_output=True)


def test_the_command_line_example(workplace):
    [command] = re.findall(r"`(clozeformers scope [^`]*)`", README)
    words = shlex.split(command)
    result = subprocess.run(
        [sys.executable, "-m", "clozeformers.cli", *words[1:]],
        cwd=workplace[0],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert "{I do} [not] {know the answer}." in result.stdout, result.stderr


def marked(name: str) -> str:
    [text] = re.findall(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", README, re.DOTALL)
    return text.strip()


def test_the_results_table_comes_from_the_files():
    records = [json.loads(path.read_text()) for path in sorted((ROOT / "model_cards").glob("*.json"))]
    answering = [record for record in records if record.get("task") == "extractive-question-answering"]
    choosing = [record for record in records if record.get("task") == "abstract-cloze"]
    scoping = [record for record in records if record not in [*answering, *choosing]]
    assert marked("results") == results_table(scoping).strip()
    assert marked("qa-results") == qa_results_table(answering).strip()
    assert marked("cloze-results") == cloze_results_table(choosing).strip()
    for path in (ROOT / "model_cards").glob("*.json"):
        assert path.with_suffix(".md").exists(), f"{path} has no card"


def test_figures_of_answering_nothing_come_from_the_files():
    for name, test_set in (("small-no-answer", "part"), ("no-answer-half-a", "half-a"), ("no-answer-half-b", "half-b")):
        measured = json.loads((ROOT / "model_cards" / f"{name}.json").read_text())["scores"][f"dev-v2.0-{test_set}"]
        assert f" {100 * measured['NoAns_total']['mean'] / measured['total']['mean']:.2f}" in README
        if test_set == "part":
            assert f"F1 {measured['f1']['mean']:.2f}, where answering nothing" in README


def test_the_halves_are_made_as_the_readme_says(tmp_path):
    [code] = [code for kind, code in BLOCKS if kind == "python" and "dev-v2.0-half" in code]
    squad = json.loads(write_squad(tmp_path / "dev-v2.0-part.json", 20, 0, unanswerable=0.5).read_text())
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    halves = [json.loads((tmp_path / f"dev-v2.0-half-{name}.json").read_text())["data"] for name in "ab"]
    assert [halves[n % 2][n // 2] for n in range(len(squad["data"]))] == squad["data"]


def test_the_benchmark_tables_come_from_their_files():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        from extractive_qa import table as qa_table
        from orthogonal_attention import table
    finally:
        sys.path.pop(0)
    measured = json.loads((ROOT / "benchmarks" / "extractive_qa.json").read_text())
    assert marked("qa-benchmark") == qa_table(measured["rows"])
    measured = json.loads((ROOT / "benchmarks" / "orthogonal_attention.json").read_text())
    sizes = list(measured["rows"][0]["batch"])
    assert marked("benchmark") == table(measured["rows"], sizes)


def test_links_and_paths_exist():
    for path in re.findall(r"`((?:src|configs|model_cards|benchmarks|run_glue_style|tests)/[\w./-]*)`", README):
        assert (ROOT / path).exists(), path
