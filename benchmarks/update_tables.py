"""Write the tables of RESULTS.md and benchmarks/README.md, and the model cards, from the recorded measurements.

    python benchmarks/update_tables.py

What the snippet of a card has printed is kept: its model may lie elsewhere.

A table is placed between `<!-- table: PATTERN ... -->` and `<!-- /table -->`. The patterns are relative to the
repository root and select either results of training scripts, or the JSON file of one benchmark or one experiment.
"""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

from clozeformers.cli import main as clozeformers
from clozeformers.files import write_text
from clozeformers.tasks import task_named
from clozeformers.training.experiment_file import find_experiment, read_experiment
from clozeformers.training.experiment_tables import LEGEND, render_experiment
from clozeformers.training.model_card import render_model_card

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = (ROOT / "RESULTS.md", ROOT / "benchmarks" / "README.md")
MODELS = ROOT / "src" / "clozeformers" / "models"
PRINTED = re.compile(r"\nprints\n\n```text\n(.*?)\n```\n", re.DOTALL)
TABLE = re.compile(r"<!-- table: ([^\n]+) -->\n.*?<!-- /table -->", re.DOTALL)


def select(patterns: str) -> list[Path]:
    """Files that match the patterns of a table."""
    files = [path for pattern in patterns.split() for path in sorted(ROOT.glob(pattern))]
    if not files:
        raise FileNotFoundError(f"no file in {ROOT} matches {patterns}")
    return files


def table(patterns: str) -> str:
    """The Markdown table of the selected files."""
    files = select(patterns)
    if files[0].parent.name == "benchmarks":
        return import_module(files[0].stem).table(json.loads(files[0].read_text())["rows"])
    if files[0].parent.name == "experiments":
        return experiment_tables(json.loads(files[0].read_text(encoding="utf-8")))
    printed = io.StringIO()
    with redirect_stdout(printed):
        status = clozeformers(["results", *map(str, files)])
    if status:
        raise SystemExit(status)
    return printed.getvalue().strip()


def experiment_tables(record: dict[str, Any]) -> str:
    """The tables of an experiment for which something was measured."""
    experiment = read_experiment(find_experiment(record["experiment"]))
    measured = {(cell["model"], cell["data"]) for cell in record["cells"]}
    shown = [name for name in experiment.tables if measured & set(experiment.cells([name]))]
    return f"{LEGEND}\n\n{render_experiment(experiment, record['cells'], shown, record['figures'])}"


def update(text: str) -> str:
    """The text of a document with current tables."""
    return TABLE.sub(lambda match: f"<!-- table: {match[1]} -->\n{table(match[1])}\n<!-- /table -->", text)


def cards() -> dict[Path, Path]:
    """Record -> card, of model_cards and of the packaged models."""
    records = {path: path.with_suffix(".md") for path in sorted((ROOT / "model_cards").glob("*.json"))}
    return records | {path: path.with_name("README.md") for path in sorted(MODELS.glob("*/results.json"))}


def render_card(record_file: Path, text: str) -> str:
    """The card of a record, with the printed output of the card as it is."""
    record, printed = json.loads(record_file.read_text(encoding="utf-8")), PRINTED.search(text)
    return render_model_card(task_named(record["task"]).card, record, printed[1] if printed else None)


if __name__ == "__main__":
    for record_file, card in cards().items():
        write_text(render_card(record_file, card.read_text(encoding="utf-8")), card)
    for document in DOCUMENTS:
        write_text(update(document.read_text(encoding="utf-8")), document)
