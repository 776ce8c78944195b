"""An analysis as files: from the data and a predictions file to tables, charts and the HTML report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..abstract_cloze.analysis import WITHOUT_WORDNET, ClozeAnalysis, analyse_cloze
from ..question_answering.analysis import Analysis, analyse
from .plots import bar_chart, require_matplotlib
from .report import DEFAULT_LIMIT, render_report

if TYPE_CHECKING:
    from ..abstract_cloze.wordnet import OptionReader


def analyse_files(
    data_path: str | Path, predictions_path: str | Path, output_dir: str | Path, limit: int | None = DEFAULT_LIMIT
) -> Analysis | ClozeAnalysis:
    """Analyse the predictions of a file, and write what :func:`write_analysis` writes.

    Args:
        data_path: the questions: a JSON file in the format of SQuAD 1.1 or 2.0, or ReCAM's JSON lines.
        predictions_path: a JSON object, question id -> answer, as the official scripts of SQuAD take it, or -> number
            of the chosen option. Where ``nbest_<its name>`` stands beside answers, that says where they stand and how
            probable they are; ``probabilities_<...>.json`` beside ``predictions_<...>.json`` says how probable each
            option is.
        output_dir: where to write.
        limit: the largest number of questions in the report; None for all.

    Returns:
        The analysis.

    Raises:
        ValueError: a file cannot be read, or what :func:`~.question_answering.analyse`,
            :func:`~.abstract_cloze.analyse_cloze` and :func:`write_analysis` raise. Nothing is written then.
        ImportError: matplotlib is not installed. Nothing is written then.
    """
    require_matplotlib()
    read = _analyse_options if _is_recam(Path(data_path)) else _analyse_answers
    analysis = read(Path(data_path), Path(predictions_path))
    write_analysis(analysis, output_dir, limit)
    return analysis


def _is_recam(path: Path) -> bool:
    """Whether the first line of a file is an object with options; what cannot be read is left to the right reader."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            first = json.loads(next((line for line in lines if line.strip()), ""))
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and not first.keys().isdisjoint({"option_0", "options"})


def _analyse_answers(data_path: Path, predictions_path: Path) -> Analysis:
    from ..question_answering.ensemble import read_predictions
    from ..question_answering.squad import load_squad

    nbest_path = predictions_path.with_name(f"nbest_{predictions_path.name}")
    hint = "without it, answers are searched in the context"
    nbest = _read_object(nbest_path, "answers", hint) if nbest_path.is_file() else None
    return analyse(load_squad(data_path), read_predictions(predictions_path), nbest)


def _analyse_options(data_path: Path, predictions_path: Path) -> ClozeAnalysis:
    from ..abstract_cloze.recam import load_recam

    beside = predictions_path.with_name(predictions_path.name.replace("predictions", "probabilities", 1))
    has_probabilities = beside != predictions_path and beside.is_file()
    hint = "without it, the report shows no probabilities"
    probabilities = _read_object(beside, "probabilities", hint) if has_probabilities else None
    predictions = _read_object(predictions_path, "option number", "give the predictions that training wrote")
    reader, remarks = _option_reader()
    return analyse_cloze(load_recam(data_path), predictions, probabilities, reader, remarks)


def _option_reader() -> tuple[OptionReader | None, list[str]]:
    """What looks options up in WordNet; or None, and a sentence that says why."""
    from ..abstract_cloze.part_of_speech import get_tagger
    from ..abstract_cloze.wordnet import OptionReader, find_wordnet

    try:
        return OptionReader(find_wordnet(), get_tagger()), []
    except (FileNotFoundError, ImportError) as error:
        return None, [f"{WITHOUT_WORDNET}{error}"]


def write_analysis(analysis: Analysis | ClozeAnalysis, folder: str | Path, limit: int | None = DEFAULT_LIMIT) -> None:
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


def _read_object(path: Path, values: str, hint: str) -> dict[str, Any]:
    """Read a JSON object, question id -> what `values` names; an error ends with the hint."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file; {hint}")
    try:
        found = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no JSON file: {error}; {hint}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path} holds a {type(found).__name__}; it must hold an object, question id -> {values}")
    return found
