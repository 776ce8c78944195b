"""Charts: files that can be read, whatever the names in them."""

from __future__ import annotations

import sys

import pytest

from clozeformers.analysis.plots import Line, bar_chart, line_chart
from clozeformers.analysis.tables import Grouping, Table, distribution_table, group_table

matplotlib_image = pytest.importorskip("matplotlib.image")

HOSTILE = "_a $\\frac{$ % 日本"


def size(path) -> tuple[int, int]:
    """Width and height of a chart that has something on it."""
    pixels = matplotlib_image.imread(path)
    assert pixels.min() < pixels.max()
    return pixels.shape[1], pixels.shape[0]


def letters(text: str) -> Table:
    return group_table(text, Grouping("letter", str), {"EM": lambda _: 0.5, "F1": lambda _: 1.0})


def test_a_chart_of_groups_grows_with_them(tmp_path):
    bar_chart(letters("ab"), tmp_path / "few.png")
    bar_chart(letters("abcdefghij"), tmp_path / "many.png")
    (width, few), (same, many) = size(tmp_path / "few.png"), size(tmp_path / "many.png")
    assert width == same
    assert many > few


def test_a_distribution(tmp_path):
    bar_chart(distribution_table("lengths", "words", {"gold": "112", "predicted": "3"}, "0123"), tmp_path / "one.png")
    width, height = size(tmp_path / "one.png")
    assert width > height


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
def test_names_are_no_formulas(tmp_path):
    table = Table(HOSTILE, (HOSTILE, "n", HOSTILE * 2), ((HOSTILE, 1, 3.0), ("$", 2, 4.0)), (HOSTILE * 2,), counts="n")
    bar_chart(table, tmp_path / "bars.png")
    line_chart({HOSTILE: [Line(HOSTILE, [1, 2], [3, 4])]}, HOSTILE, tmp_path / "lines.png")
    assert size(tmp_path / "bars.png")
    assert size(tmp_path / "lines.png")


def test_many_curves_in_two_panels(tmp_path):
    lines = [Line(f"run {number}", [0, 1], [number, number + 1]) for number in range(12)]
    line_chart({"F1": lines}, "step", tmp_path / "one.png")
    line_chart({"F1": lines, "loss": lines[:3]}, "step", tmp_path / "two.png")
    assert size(tmp_path / "two.png")[1] > size(tmp_path / "one.png")[1]


def test_global_state_is_left_alone(tmp_path, monkeypatch):
    # None in sys.modules makes any import of it fail.
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    bar_chart(letters("ab"), tmp_path / "one.png")
    line_chart({"F1": [Line("run", [1], [2])]}, "step", tmp_path / "two.png")
