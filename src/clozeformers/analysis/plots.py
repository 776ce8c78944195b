"""Charts of tables and curves as PNG files, drawn without a display and without matplotlib's global state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from .tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS_PER_INCH = 150
_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d", "#eeca3b")
_LINE_STYLES = ("-", "--", ":", "-.")
_GRID = "#d9d9d9"


class Line(NamedTuple):
    """One curve: its name, and its points."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


def require_matplotlib() -> None:
    """Raise an ImportError that says how to get matplotlib, where it is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("charts are drawn with matplotlib; install it with: pip install matplotlib") from error


def bar_chart(table: Table, path: str | Path) -> None:
    """Draw the columns of a table that are meant for it (``table.bars``), in percent, as bars side by side.

    A table with counts gets horizontal bars, each with its group's name and count; one without is a distribution, with
    upright bars.

    Raises:
        ImportError: matplotlib is not installed.
    """
    require_matplotlib()
    count, groups = len(table.bars), len(table.rows)
    lying = table.counts is not None
    if table.counts is not None:
        sizes = zip(table.column(table.header[0]), table.column(table.counts), strict=True)
        names = [f"{name}  ({size:,})" for name, size in sizes]
    else:
        names = table.column(table.header[0])
    figure = _figure(7, 1.3 + 0.24 * groups * count) if lying else _figure(max(5, 1.5 + 0.36 * groups * count), 3.6)
    axes = figure.add_subplot()
    thickness = 0.8 / count
    for number, column in enumerate(table.bars):
        places = [group + (number - (count - 1) / 2) * thickness for group in range(groups)]
        values, colour = table.column(column), _COLOURS[number % len(_COLOURS)]
        bars = (axes.barh if lying else axes.bar)(places, values, thickness, color=colour, label=_plain(column))
        # A distribution has many empty places, where a label would only be in the way.
        labels = [f"{value:.1f}" if lying or value else "" for value in values]
        axes.bar_label(bars, labels, padding=2, fontsize=7)
    _finish(axes, table.name, grid="x" if lying else "y")
    if lying:
        axes.set_yticks(range(groups), map(_plain, names))
        axes.set_ylim(groups - 0.5, -0.5)
        axes.set_xlim(0, 100)
        axes.set_xlabel("percent")
    else:
        axes.set_xticks(range(groups), map(_plain, names))
        axes.set_xlim(-0.5, groups - 0.5)
        axes.set_xlabel(_plain(table.header[0]))
        axes.set_ylabel("percent")
    figure.legend(loc="outside upper right", ncols=count, frameon=False)
    _save(figure, path)


def line_chart(panels: Mapping[str, Sequence[Line]], x_label: str, path: str | Path) -> None:
    """Draw curves in panels one below the other, over one horizontal axis; a name keeps its colour in all of them.

    Args:
        panels: name of a panel's vertical axis -> its curves.
        x_label: name of the horizontal axis.
        path: the PNG file.

    Raises:
        ImportError: matplotlib is not installed.
    """
    require_matplotlib()
    names = list(dict.fromkeys(line.name for lines in panels.values() for line in lines))
    figure = _figure(8, 0.8 + 2.8 * len(panels))
    all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    handles = {}
    for axes, (label, lines) in zip(all_axes, panels.items(), strict=True):
        for name, x, y in lines:
            number = names.index(name)
            (handles[name],) = axes.plot(
                x,
                y,
                _LINE_STYLES[number // len(_COLOURS) % len(_LINE_STYLES)],
                color=_COLOURS[number % len(_COLOURS)],
                marker="o" if len(x) < 40 else None,
                markersize=3,
                linewidth=1.4,
            )
        _finish(axes, label, grid="both")
    all_axes[-1].set_xlabel(_plain(x_label))
    figure.legend(
        [handles[name] for name in names], map(_plain, names), loc="outside right upper", frameon=False, fontsize=8
    )
    _save(figure, path)


def _figure(width: float, height: float) -> Figure:
    """Make a figure of its own, in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _finish(axes: Axes, title: str, grid: Literal["x", "y", "both"]) -> None:
    axes.set_title(_plain(title), loc="left", fontsize=10, fontweight="bold")
    axes.grid(axis=grid, color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _save(figure: Figure, path: str | Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    figure.savefig(path, format="png", dpi=DOTS_PER_INCH)


def _plain(text: str) -> str:
    """Keep matplotlib from reading a name as a formula, or leaving it out as one that begins with ``_``."""
    return f"{' ' if text.startswith('_') else ''}{text}".replace("$", r"\$")
