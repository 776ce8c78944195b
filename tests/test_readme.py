"""The examples and commands of README.md run, and the numbers of all documents come from recorded measurements."""

import ast
import importlib
import io
import json
import os
import re
import shlex
import subprocess
from contextlib import redirect_stdout
from pathlib import Path
from statistics import fmean

import pytest
import torch

from clozeformers.cli import main as clozeformers
from clozeformers.modeling.attention import ATTENTIONS
from clozeformers.negation_scope import load_corpus

from .cloze_corpora import recam_rows, save_encoder, write_dictionary, write_recam
from .qa_corpora import write_squad

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
COMMANDS = [
    shlex.split(line, comments=True)
    for kind, code in BLOCKS
    if kind == "bash"
    for line in code.replace("\\\n", "").splitlines()
]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """A working directory for the examples."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "src").symlink_to(ROOT / "src")
    before = Path.cwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


@pytest.fixture(scope="module")
def demo_output(workplace):
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert clozeformers(["demo"]) == 0
    return printed.getvalue()


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def scores(file: Path) -> dict[str, float]:
    *_, measured = json.loads(file.read_text())["scores"].values()
    return {measure: values["mean"] for measure, values in measured.items()}


def card_scores(name: str) -> dict[str, float]:
    return scores(ROOT / "model_cards" / f"{name}.json")


def percent(score: float) -> float:
    return score if score > 1 else 100 * score


def python(text: str) -> str:
    """The Python block that contains a text."""
    [code] = [code for kind, code in BLOCKS if kind == "python" and text in code]
    return code


FEW = [word for part in ("train", "eval", "predict") for word in (f"--max_{part}_samples", "32")]


def train(script: str, *arguments: str) -> Path:
    """Run the README's command of a training script for one epoch, and return the output folder."""
    [command] = [words for words in COMMANDS if words[0] == "python" and script in words[1]]
    assert (ROOT / command[1]).exists()
    main = importlib.import_module(f"clozeformers.run_glue_style.{script}").main
    main([*command[2:], *arguments, "--num_train_epochs", "1", "--use_cpu", "true"])
    return Path(command[command.index("--output_dir") + 1])


def test_demo(demo_output):
    before, after = (percent(scores(Path(f".demo/{name}/results.json"))["f1"]) for name in ("before", "model"))
    assert 50 < before < 80
    assert after >= 95
    assert demo_output.startswith("{I do} [not] {know the answer}.\n")
    assert "\nWho paid for the first telescope? a shipping company\n" in demo_output
    assert "\nWhich comet was discovered there? (not in the text)\n" in demo_output
    assert f"| test | {before:.2f} |" in demo_output
    assert f"| test | {after:.2f} |" in demo_output
    assert Path(".demo/model/README.md").read_text().startswith("---\n")


@pytest.mark.parametrize(
    "example",
    ['pipeline("negation-scope")', 'pipeline("extractive-question-answering")', "load_corpus", "clozeformers_negation"],
)
def test_examples_print_the_output_shown(workplace, example, capsys):
    code = python(example)
    exec(code, {})
    assert capsys.readouterr().out == BLOCKS[BLOCKS.index(("python", code)) + 1][1]


def test_command_line(capsys):
    [command] = [words for words in COMMANDS if words[:2] == ["clozeformers", "scope"]]
    assert clozeformers(command[1:]) == 0
    assert capsys.readouterr().out == "{I do} [not] {know the answer}.\n"


def test_whole_files_are_predicted(workplace):
    Path("sentences.txt").write_text("I do not know the answer.\nAll is well.\n")
    [command] = [words for words in COMMANDS if words[:2] == ["clozeformers", "predict"]]
    assert clozeformers(command[1:]) == 0
    assert Path("predictions/part-0000000.csv").read_text().startswith("text,prediction,error\n")


def test_negation_scope(workplace):
    [line] = [code for kind, code in BLOCKS if kind == "json"]
    Path("corpus.jsonl").write_text(line * 6)
    assert len(load_corpus("corpus.jsonl")) == 6
    record = json.loads((train("run_negation_scope", *FEW) / "results.json").read_text())
    assert record["corpora"]["test"]["cues"] > 0


def test_question_answering(workplace, capsys):
    for seed, name in enumerate(("squad-train.json", "squad-dev.json")):
        write_squad(Path(name), 32, seed)
    train("run_extractive_qa")
    capsys.readouterr()
    exec(python("runs/reader"), {})
    answer = ast.literal_eval(capsys.readouterr().out)
    assert "The letter was written by Ada Lovelace in 1843."[answer["start"] : answer["end"]] == answer["answer"]


def test_abstract_cloze(workplace, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CLOZEFORMERS_HOME", str(write_dictionary(tmp_path / "home")))
    for seed, name in enumerate(("recam-train.jsonl", "recam-dev.jsonl")):
        write_recam(Path(name), recam_rows(16, seed))
    train("run_abstract_cloze", "--model_name_or_path", str(save_encoder(tmp_path / "encoder", "bert")))
    capsys.readouterr()
    exec(python("runs/cloze"), {})
    assert sorted(line.split()[0] for line in capsys.readouterr().out.splitlines()) == ["committing", "prompting"]


def test_contributing_registers_an_attention():
    [code] = re.findall(r"^```python\n(import torch\n.*?)^```", text_of("CONTRIBUTING.md"), re.MULTILINE | re.DOTALL)
    exec(code, names := {"__name__": __name__})
    context, query = torch.randn(2, 5, 8), torch.randn(2, 3, 8)
    masks = torch.ones(2, 5, dtype=torch.bool), torch.zeros(2, 3, dtype=torch.bool)
    assert names["GatedDotAttention"](8)(context, query, *masks).isfinite().all()
    ATTENTIONS.pop("gated-dot")


def test_make_targets():
    for target in [*(words[1] for words in COMMANDS if words[0] == "make"), "results", "bench"]:
        subprocess.run(["make", target, "--dry-run"], cwd=ROOT, check=True, capture_output=True)


@pytest.mark.parametrize(
    "name",
    ["README.md", "RESULTS.md", "CONTRIBUTING.md", "benchmarks/README.md", "docs/prediction.md", "docs/training.md"],
)
def test_links_and_paths_exist(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    links = [(ROOT / name).parent / path for path in re.findall(r"\]\((?!http)([^)#]+)\)", text)]
    paths = re.findall(r"`((?:src|configs|model_cards|benchmarks|run_glue_style|tests)/[\w./-]*)`", text)
    assert all(path.exists() for path in [*links, *(ROOT / path for path in paths)]), (links, paths)


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("update_tables")


def test_tables_are_current(tables):
    for document in tables.DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        assert tables.update(text) == text, f"{document} is outdated; run make results"
    shown = [path for match in tables.TABLE.finditer(text_of("RESULTS.md")) for path in tables.select(match[1])]
    packaged = (ROOT / "src/clozeformers/models").glob("*/results.json")
    measured = [path for path in shown if path.parent.name != "benchmarks"]
    assert sorted(measured) == sorted([*(ROOT / "model_cards").rglob("*.json"), *packaged])
    assert all(path.with_suffix(".md").exists() for path in shown if path.parent.name == "model_cards")


def test_headline_scores():
    [(value, baseline)] = re.findall(r"\| ([\d.]+) F1 \| \[minilm-cd-sco\]\(RESULTS\.md\) \| .* has ([\d.]+),", README)
    cells = json.loads((ROOT / "model_cards/experiments/minilm-cd-sco.json").read_text())["cells"]
    means = {cell["model"]: fmean(run["scores"]["development"]["f1"] for run in cell["runs"]) for cell in cells}
    assert (value, baseline) == (f"{means['OA-CA']:.2f}", f"{means['baseline']:.2f}")
    rows = re.findall(r"\| ([\d.]+) (F1|accuracy) \| \[[\w-]+\]\(model_cards/([\w-]+)\.md\) \| (.*) \|", README)
    assert [name for *_, name, _ in rows] == ["small-bidaf", "minilm-gap-pretrained-texts"]
    for value, measure, name, _ in rows:
        assert value == f"{percent(card_scores(name)[measure.lower()]):.2f}"
    lowest = min(card_scores(f"minilm-gap-pretrained{kind}")["accuracy"] for kind in ("", "-long", "-texts"))
    assert f"({percent(lowest):.2f} to {rows[1][0]})" in rows[1][3]
    assert f"has {percent(card_scores('baseline-ngrams')['accuracy']):.2f}" in rows[1][3]


def test_headline_score_of_the_packaged_reader():
    folder = "src/clozeformers/models/extractive-question-answering"
    [row] = [line for line in README.splitlines() if f"[packaged reader]({folder}/README.md)" in line]
    first, *_ = json.loads((ROOT / folder / "results.json").read_text())["scores"].values()
    assert f"| {first['f1']['mean']:.2f} F1 |" in row


def test_headline_scores_of_the_packaged_model():
    folder = "src/clozeformers/models/negation-scope"
    [row] = [line for line in README.splitlines() if f"[packaged model]({folder}/README.md)" in line]
    measured = json.loads((ROOT / folder / "results.json").read_text())["scores"]
    names = ("SEM-2012-SharedTask-CD-SCO-dev-09032012", "held-out fold, bioscope", "held-out fold, sfu")
    assert re.findall(r"\d+\.\d+", row) == [f"{measured[name]['f1']['mean']:.2f}" for name in names]


def test_figures_beside_the_tables_of_question_answering():
    gain = card_scores("minilm-no-answer-halves")["f1"] - 50.43  # see the next test
    further = card_scores("packaged-no-answer-halves")["f1"] - 50.43
    text = re.sub(r"\s+", " ", text_of("RESULTS.md"))
    assert f"so it gains {gain:.1f} points of F1" in text
    assert f"with averaged weights, and gains {further:.1f}" in text
    cells = json.loads((ROOT / "model_cards/experiments/small-readers.json").read_text())["cells"]
    own = {cell["model"]: cell["runs"][0] for cell in cells}
    ratio = own["MiniLM"]["trained_parameters"] / own["BiDAF"]["trained_parameters"]
    assert f"{ratio:.0f} times as many trained parameters as BiDAF" in text


def test_scores_of_never_answering():
    for name in ("small-no-answer", "no-answer-half-a", "no-answer-half-b"):
        measured = card_scores(name)
        assert f" {100 * measured['NoAns_total'] / measured['total']:.2f}" in text_of("RESULTS.md")
    assert f"F1 {card_scores('small-no-answer')['f1']:.2f}, where never" in text_of("RESULTS.md")
