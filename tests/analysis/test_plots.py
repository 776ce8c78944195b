"""Charts are readable files, whatever the names in them."""

from __future__ import annotations

import sys

import pytest
from pandas import DataFrame, Series

from clozeformers.analysis.plots import bar_chart, line_chart
from clozeformers.analysis.tables import Table

matplotlib_image = pytest.importorskip("matplotlib.image")

HOSTILE = "_a $\\frac{$ % 日本"


def size(path) -> tuple[int, int]:
    """Width and height of a chart that is not blank."""
    pixels = matplotlib_image.imread(path)
    assert pixels.min() < pixels.max()
    return pixels.shape[1], pixels.shape[0]


def groups(names: str) -> Table:
    index = [*names, "all"]
    frame = DataFrame({"questions": 1, "EM": 50.0, "F1": 100.0}, index=index).rename_axis("letter")
    return Table("letters", frame, ("EM", "F1"), has_total=True)


def test_a_chart_of_groups_grows_with_their_number(tmp_path):
    bar_chart(groups("ab"), tmp_path / "few.png")
    bar_chart(groups("abcdefghij"), tmp_path / "many.png")
    (width, few), (same, many) = size(tmp_path / "few.png"), size(tmp_path / "many.png")
    assert width == same
    assert many > few


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
@pytest.mark.parametrize("has_total", [True, False])
def test_names_are_not_formulas(tmp_path, has_total):
    frame = DataFrame({"n": [1, 2], HOSTILE: [0.0, 4.0]}, index=[HOSTILE, "$"]).rename_axis(HOSTILE)
    bar_chart(Table(HOSTILE, frame, (HOSTILE,), has_total), tmp_path / "bars.png")
    line_chart({HOSTILE: {HOSTILE: Series([3, 4])}}, HOSTILE, tmp_path / "lines.png")
    assert size(tmp_path / "bars.png")
    assert size(tmp_path / "lines.png")
    assert {path.suffix for path in tmp_path.iterdir()} == {".png"}


def test_many_curves_in_two_panels(tmp_path):
    lines = {f"run {number}": Series([number, number + 1]) for number in range(12)}
    line_chart({"F1": lines}, "step", tmp_path / "one.png")
    line_chart({"F1": lines, "loss": {"run 3": lines["run 3"]}}, "step", tmp_path / "two.png")
    assert size(tmp_path / "two.png")[1] > size(tmp_path / "one.png")[1]


def test_the_global_state_of_matplotlib_is_not_used(tmp_path, monkeypatch):
    # None in sys.modules makes any import of it fail.
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    bar_chart(groups("ab"), tmp_path / "one.png")
    line_chart({"F1": {"run": Series([2])}}, "step", tmp_path / "two.png")
