"""An error analysis and its files: Markdown, JSON, charts, and an HTML page with every question and its texts."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..files import write_json, write_text
from ..text import join_names
from .plots import bar_chart, require_matplotlib
from .tables import Table

DEFAULT_LIMIT = 500
Span = tuple[int, int]


@dataclass(frozen=True)
class Record:
    """A scored question.

    Attributes:
        id: unique id.
        question: text of the question.
        text: the text to find the answer in.
        gold: character spans of the gold answers in the text.
        predicted: character spans of the predicted answer in the text.
        quality: sort key of the report, which lists the worst questions first.
        values: what ``analysis.json`` holds, and what tables and filters group by. ``values["outcome"]`` is
            ``"right"``, ``"partly"`` or ``"wrong"``.
        details: what the task's template shows besides.
    """

    id: str
    question: str
    text: str
    gold: Sequence[Span]
    predicted: Sequence[Span]
    quality: tuple[float, ...]
    values: Mapping[str, Any]
    details: Mapping[str, Any]

    @property
    def segments(self) -> list[tuple[str, str]]:
        """The text, split where a span begins or ends; each piece with its classes ``"gold"`` and ``"predicted"``."""
        spans = {"gold": self.gold, "predicted": self.predicted}
        bounds = {0, len(self.text), *(bound for span in (*self.gold, *self.predicted) for bound in span)}
        return [
            (
                self.text[start:end],
                " ".join(name for name, own in spans.items() if any(low <= start < high for low, high in own)),
            )
            for start, end in pairwise(sorted(bounds))
        ]


@dataclass(frozen=True)
class Analysis:
    """The error analysis of one model on one dataset.

    Attributes:
        summary: overall scores, in words.
        scores: overall scores, as JSON can hold them.
        records: the scored questions, in the order of the dataset.
        tables: over the records.
        template: the task's Jinja template, which extends ``report.html``.
        filters: value of the records that the report can be filtered by -> its order.
    """

    summary: str
    scores: Mapping[str, Any]
    records: Sequence[Record]
    tables: Sequence[Table]
    template: Path
    filters: Mapping[str, Sequence[str]]

    def to_markdown(self) -> str:
        """Return summary and tables in Markdown."""
        tables = (f"## {table.name[0].upper()}{table.name[1:]}\n\n{table.to_markdown()}" for table in self.tables)
        return "\n\n".join(["# Error analysis", self.summary, *tables]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return overall scores, tables and records (without the texts) as JSON can hold them."""
        records = [{"id": record.id, **record.values} for record in self.records]
        return {**self.scores, "tables": [table.to_dict() for table in self.tables], "records": records}

    def to_html(self, limit: int | None = DEFAULT_LIMIT) -> str:
        """Return the report: one page that loads no other file, and can be read without scripts.

        Args:
            limit: the maximum number of questions, chosen by a hash of their ids; None for all.

        Raises:
            ValueError: the limit is less than 1.
        """
        from jinja2 import Environment, FileSystemLoader, StrictUndefined

        if limit is not None and limit < 1:
            raise ValueError(f"the limit is {limit}; it must be at least 1, or None for all questions")
        sample = sorted(self.records, key=lambda record: hashlib.sha256(record.id.encode()).digest())[:limit]
        found = {name: {record.values[name] for record in sample} for name in self.filters}
        used = {name: [value for value in order if value in found[name]] for name, order in self.filters.items()}
        loader = FileSystemLoader([Path(__file__).parent, self.template.parent])
        environment = Environment(
            loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        return environment.get_template(self.template.name).render(
            analysis=self, records=sorted(sample, key=lambda record: record.quality), filters=used
        )


def write_analysis(analysis: Analysis, folder: str | Path, limit: int | None = DEFAULT_LIMIT) -> None:
    """Write ``analysis.md``, ``analysis.json``, ``report.html`` and a chart of each table into a folder.

    Args:
        analysis: the analysis.
        folder: the folder, created if missing. A chart is named for its table, with ``-`` for spaces.
        limit: the maximum number of questions in the report; None for all.

    Raises:
        ImportError: matplotlib is not installed. Nothing is written.
        ValueError: the limit is less than 1. Nothing is written.
    """
    require_matplotlib()
    report = analysis.to_html(limit)
    folder = Path(folder)
    write_text(analysis.to_markdown(), folder / "analysis.md")
    write_json(analysis.to_dict(), folder / "analysis.json")
    write_text(report, folder / "report.html")
    for table in analysis.tables:
        bar_chart(table, folder / f"{table.name.replace(' ', '-')}.png")


def check_question_ids(predictions: Iterable[str], questions: Collection[str]) -> None:
    """Raise a ValueError if there are predictions for questions that the dataset does not have."""
    unknown = [question for question in predictions if question not in questions]
    if unknown:
        raise ValueError(
            f"there are predictions for {join_names(unknown)}, which the data does not have; give the data that the "
            "model was run on"
        )
