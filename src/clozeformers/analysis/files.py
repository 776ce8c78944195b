"""An analysis as files: from the data and a predictions file to tables, charts and the HTML report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .plots import bar_chart, require_matplotlib
from .question_answering import Analysis, analyse
from .report import DEFAULT_LIMIT, render_report


def analyse_files(
    data_path: str | Path, predictions_path: str | Path, output_dir: str | Path, limit: int | None = DEFAULT_LIMIT
) -> Analysis:
    """Analyse the predictions of a file, and write what :func:`write_analysis` writes.

    Args:
        data_path: the questions, a JSON file in the format of SQuAD 1.1 or 2.0.
        predictions_path: a JSON object, question id -> answer, as the official scripts take it. Where
            ``nbest_<its name>`` stands beside it, that says where the answers stand and how probable they are.
        output_dir: where to write.
        limit: the largest number of questions in the report; None for all.

    Returns:
        The analysis.

    Raises:
        ValueError: a file cannot be read, or what :func:`~.question_answering.analyse` and :func:`write_analysis`
            raise. Nothing is written then.
        ImportError: matplotlib is not installed. Nothing is written then.
    """
    from ..data.squad import load_squad
    from ..ensemble import read_predictions

    require_matplotlib()
    predictions_path = Path(predictions_path)
    nbest_path = predictions_path.with_name(f"nbest_{predictions_path.name}")
    nbest = _read_nbest(nbest_path) if nbest_path.is_file() else None
    analysis = analyse(load_squad(data_path), read_predictions(predictions_path), nbest)
    write_analysis(analysis, output_dir, limit)
    return analysis


def write_analysis(analysis: Analysis, folder: str | Path, limit: int | None = DEFAULT_LIMIT) -> None:
    """Write ``analysis.md``, ``analysis.json``, ``report.html`` and a chart (PNG) of each table.

    Args:
        analysis: what to write.
        folder: where to; made if it is not there. A chart has its table's name, with ``-`` for spaces.
        limit: the largest number of questions in the report; None for all.

    Raises:
        ValueError: the limit is below 1. Nothing is written then.
        ImportError: matplotlib is not installed. Nothing is written then.
    """
    require_matplotlib()
    report = render_report(analysis, limit)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("analysis.md", analysis.to_markdown()),
        ("analysis.json", analysis.to_json()),
        ("report.html", report),
    ):
        # A prediction may hold half a surrogate pair, as JSON can spell it and UTF-8 cannot.
        (folder / name).write_bytes(text.encode("utf-8", "replace"))
    for table in analysis.tables:
        bar_chart(table, folder / f"{table.name.replace(' ', '-')}.png")


def _read_nbest(path: Path) -> dict[str, Any]:
    try:
        nbest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON file: {error}; without it, answers are searched in the context") from None
    if not isinstance(nbest, dict):
        raise ValueError(f"{path} holds a {type(nbest).__name__}; it must hold an object, question id -> answers")
    return nbest
