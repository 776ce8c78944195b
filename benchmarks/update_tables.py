"""Write the tables of RESULTS.md and benchmarks/README.md from the recorded measurements.

    python benchmarks/update_tables.py

A table is placed between `<!-- table: PATTERN ... -->` and `<!-- /table -->`. The patterns are relative to the
repository root and select either results of training scripts or the JSON file of one benchmark.
"""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

from clozeformers.cli import main as clozeformers
from clozeformers.files import write_text

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = (ROOT / "RESULTS.md", ROOT / "benchmarks" / "README.md")
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
    printed = io.StringIO()
    with redirect_stdout(printed):
        status = clozeformers(["results", *map(str, files)])
    if status:
        raise SystemExit(status)
    return printed.getvalue().strip()


def update(text: str) -> str:
    """The text of a document with current tables."""
    return TABLE.sub(lambda match: f"<!-- table: {match[1]} -->\n{table(match[1])}\n<!-- /table -->", text)


if __name__ == "__main__":
    for document in DOCUMENTS:
        write_text(update(document.read_text(encoding="utf-8")), document)
