"""The pages in docs: every snippet runs on tiny models and data, and prints what the page says it prints."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml
from transformers import pipeline

import clozeformers
from clozeformers import __version__
from clozeformers.cli.app import app
from clozeformers.modeling.attention import ATTENTIONS
from clozeformers.negation_scope.corpora.jsonl import write_negation_jsonl
from clozeformers.training.arguments import DataArguments

from .cloze_corpora import recam_rows, save_encoder, write_dictionary, write_recam
from .docs_pages import DOCS, ROOT, Reader, blocks, notebook_cells, pages, snippets
from .hub_models import tiny_pipeline, tiny_word_reader
from .hub_server import HubServer
from .negation_rows import negation_rows
from .qa_corpora import write_squad
from .qa_models import tiny_reader
from .tiny_tasks import TINY_BIDAF

PAGES = [page for page in pages() if snippets(page)]
SHORT = ["--num_train_epochs", "1"]
# In place of the encoder that a recipe takes from the Hub.
ENCODER = ["--model_name_or_path", "encoder"]
# In place of a recipe's reader of full size.
SMALL = ["--model_config", TINY_BIDAF]
OPTIONS = {
    "how-to/many-machines.md": ENCODER,
    "how-to/own-corpus.md": ENCODER,
    "tutorials/abstract-cloze.md": ENCODER,
    "tutorials/question-answering.md": SMALL,
}
# Left to the slow test: a second export, and a Ray cluster.
SLOW = ("int8=True", "--engine ray")
# What a model prints that was trained on all rows.
TRAINED = ("The patient [denies] {chest pain}.\n",)
SMALL_CLUSTER = {"RAY_ADDRESS=head:6379 ": "", "workers=64": "workers=1", "cpus=1": "cpus=0.5"}


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the pages name and do not make."""
    folder = tmp_path_factory.mktemp("stock")
    tiny_pipeline("bert", num_attention_blocks=0).save_pretrained(folder / "negation-model")
    write_negation_jsonl(negation_rows(16, seed=0), folder / "negations.jsonl")
    reader = tiny_word_reader("bidaf")
    reader.tokenizer.model_max_length = 253
    reader.save_pretrained(folder / "reader")
    tiny_reader("bert").save_pretrained(folder / "qa-model")
    save_encoder(folder / "encoder", "bert")
    for number, part in enumerate(("train", "dev")):
        write_squad(folder / f"squad-{part}.json", 8, number)
        write_recam(folder / f"recam-{part}.jsonl", recam_rows(4, number))
    write_dictionary(folder / "home")
    (folder / "reports").mkdir()
    (folder / "reports" / "one.txt").write_text("No fever.\nAll is well.\n")
    pd.DataFrame({"report": ["No fever.", "All is well."], "text": ["No fever.", "It is not well."]}).to_parquet(
        folder / "reports.parquet"
    )
    return folder


@pytest.fixture
def workplace(stock: Path, tmp_path: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder with what the pages name, and a Hub; attentions that a page registers are forgotten."""
    shutil.copytree(stock, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLOZEFORMERS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RAY_worker_niceness", "0")
    known = dict(ATTENTIONS)
    yield tmp_path
    ATTENTIONS.clear()
    ATTENTIONS.update(known)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands read a few rows, unless they say how many."""
    for part in ("train", "eval", "predict"):
        monkeypatch.setattr(DataArguments.__dataclass_fields__[f"max_{part}_samples"], "default", 16)


@pytest.mark.usefixtures("few", "workplace")
@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")  # in peft
@pytest.mark.parametrize("page", PAGES)
def test_the_snippets_of_a_page_run(page: str) -> None:
    reader = Reader(page, [*SHORT, *OPTIONS.get(page, ())], left_out=SLOW, not_compared=TRAINED)
    reader.read()
    if page == "training.md":
        check_training(reader)


def check_training(reader: Reader) -> None:
    """Check what docs/training.md has trained."""
    scores = [line for line in "".join(reader.printed).splitlines() if not line.startswith("{'")]
    assert len(scores) == 3
    assert all(0 <= float(score) <= 100 for score in scores)
    assert 1e-5 <= reader.names["best"].hyperparameters["learning_rate"] <= 1e-3
    for model in ("my-negation-model", "my-adapter"):
        found = pipeline("negation-scope", model=model)("I do not know the answer.")
        assert [negation["cue"]["text"] for negation in found] == ["not"]
    adapter, model_file = Path("my-adapter/adapter_model.safetensors"), Path("my-negation-model/model.safetensors")
    assert adapter.stat().st_size < model_file.stat().st_size


@pytest.mark.slow
@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("page", ["how-to/onnx.md", "prediction.md", "tutorials/negation-scope.md"])
def test_the_whole_page_runs(page: str) -> None:
    Reader(page, replaced=SMALL_CLUSTER).read()


def test_slow_snippets_are_on_pages_that_run_whole() -> None:
    whole = test_the_whole_page_runs.pytestmark[0].args[1]  # type: ignore[attr-defined]
    for page in pages():
        if any(text in block.code for block in blocks(page) for text in (*SLOW, *TRAINED)):
            assert page in whole, page


def test_every_command_is_in_the_reference() -> None:
    listed = re.findall(r"`([a-z]+)(?: \w+)?`", (DOCS / "reference" / "commands.md").read_text().split("```")[0])
    assert set(app.commands) <= set(listed)


def test_every_public_name_is_in_the_reference() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md"))
    assert [name for name in clozeformers.__all__ if not re.search(rf"\b{name}\b", text)] == []


def test_links_lead_to_files() -> None:
    """As the strict build of the site checks it, without mkdocs."""
    for page in pages():
        for link in re.findall(r"\]\((?!\w+:)([^)#\s]+)", (DOCS / page).read_text(encoding="utf-8")):
            assert (DOCS / page).parent.joinpath(link).exists(), f"{page}: {link}"


def test_pages_are_short() -> None:
    for page in pages():
        assert len((DOCS / page).read_text(encoding="utf-8").splitlines()) <= 200, page


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["cff-version"], citation["version"]) == ("1.2.0", __version__)
    assert citation["license"] == "Apache-2.0"
    assert {"message", "title", "authors"} <= citation.keys()


@pytest.mark.skipif((ROOT / "PKG-INFO").exists(), reason="a source distribution has none")
def test_issue_forms_are_complete() -> None:
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        if path.stem != "config":
            assert {"name", "description", "body"} <= form.keys()
            assert all({"type", "id", "attributes"} <= part.keys() for part in form["body"])


@pytest.mark.skipif((ROOT / "PKG-INFO").exists(), reason="a source distribution has none")
def test_a_release_has_one_version(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    for name in ("CHANGELOG.md", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path)
    problems = runpy.run_path(str(ROOT / ".github" / "release.py"))["problems"]
    for ending in (".tar.gz", "-py3-none-any.whl"):
        assert f"dist lacks clozeformers-{__version__}{ending}" in problems(__version__, tmp_path)
        (tmp_path / "dist" / f"clozeformers-{__version__}{ending}").touch()
    assert problems(__version__, tmp_path) == []
    assert len(problems("9.9", tmp_path)) == 6


NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_install_first_and_hold_no_outputs(path: Path) -> None:
    assert notebook_cells(path)[0].startswith("%pip install")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, stock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.source.startswith("%pip install"):
            cell.source = "pass"
        cell.source = cell.source.replace("sentence-transformers/all-MiniLM-L6-v2", str(stock / "encoder"))
    monkeypatch.setenv("CLOZEFORMERS_HOME", str(stock / "home"))
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    nbclient.NotebookClient(notebook, timeout=900, resources={"metadata": {"path": str(tmp_path)}}).execute()


@pytest.mark.slow
def test_the_site_builds(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # as in the Makefile
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr


@pytest.mark.parametrize("task", ["negation-scope", "extractive-question-answering"])
def test_pictures_show_what_the_packaged_models_say(task: str) -> None:
    pictures = runpy.run_path(str(ROOT / "docs" / "pictures.py"))
    shown = json.loads((pictures["PICTURES"] / f"{task}.json").read_text(encoding="utf-8"))
    assert shown["input"] == pictures["EXAMPLES"][task]
    found = pictures["drawn"](task).result
    rounded = [
        json.loads(json.dumps(each), parse_float=lambda x: round(float(x), 2)) for each in (shown["result"], found)
    ]
    assert rounded[0] == rounded[1]


def test_readme_has_a_picture_of_each_task() -> None:
    pictures, readme = (
        runpy.run_path(str(ROOT / "docs" / "pictures.py")),
        (ROOT / "README.md").read_text(encoding="utf-8"),
    )
    for task in pictures["EXAMPLES"]:
        path = f"docs/assets/pictures/{task}.png"
        assert (ROOT / path).read_bytes().startswith(b"\x89PNG")
        assert f"]({path})" in readme
    shown = json.loads((pictures["PICTURES"] / "abstract-cloze.json").read_text(encoding="utf-8"))
    assert shown["input"] == pictures["EXAMPLES"]["abstract-cloze"]
    assert f"`{shown['model']}`" in readme
    assert sum(option["score"] for option in shown["result"]) == pytest.approx(1)
