"""From files to files."""

from __future__ import annotations

import json
import sys

import pytest

from clozeformers.analysis import analyse_files

from ..analysis_questions import NBEST

PNG = b"\x89PNG\r\n\x1a\n"


def test_all_files_are_written(files, tmp_path):
    pytest.importorskip("matplotlib")
    data, predictions = files
    output = tmp_path / "new" / "analysis"
    analysis = analyse_files(data, predictions, output, limit=2)
    assert (output / "analysis.md").read_text(encoding="utf-8") == analysis.to_markdown()
    assert json.loads((output / "analysis.json").read_text(encoding="utf-8"))["questions"] == 6
    assert "Shown: 2 of 6" in (output / "report.html").read_text(encoding="utf-8")
    charts = {path.stem: path.read_bytes() for path in output.glob("*.png")}
    assert charts.keys() == {table.name.replace(" ", "-") for table in analysis.tables}
    assert all(chart.startswith(PNG) for chart in charts.values())


def test_nbest_answers_beside_the_predictions_are_read(files, tmp_path):
    pytest.importorskip("matplotlib")
    data, predictions = files
    (tmp_path / "nbest_predictions.json").write_text(json.dumps(NBEST))
    assert analyse_files(data, predictions, tmp_path / "out").records[3].log_probability == -0.25
    other = predictions.rename(tmp_path / "ensemble.json")
    assert analyse_files(data, other, tmp_path / "out").records[3].log_probability is None


@pytest.mark.parametrize(
    ("text", "message"), [("{", "nbest_predictions.json is no JSON file"), ("[]", "holds a list; it must hold an obj")]
)
def test_damaged_nbest_answers(files, tmp_path, text, message):
    pytest.importorskip("matplotlib")
    (tmp_path / "nbest_predictions.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        analyse_files(*files, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_wrong_limit_writes_nothing(files, tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match="limit is 0"):
        analyse_files(*files, tmp_path / "out", limit=0)
    assert not (tmp_path / "out").exists()


def test_half_a_character_in_a_prediction(files, tmp_path):
    pytest.importorskip("matplotlib")
    data, predictions = files
    predictions.write_text(json.dumps({"q0": "half \ud83d"}))
    analyse_files(data, predictions, tmp_path / "out")
    assert "half ?" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_without_matplotlib_the_command_to_get_it_is_named(files, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        analyse_files(*files, tmp_path / "out")
    assert not (tmp_path / "out").exists()
