"""Charts as PNG files, drawn with matplotlib without a display and without its global state."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..files import atomic_file
from .tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import Series

_DOTS_PER_INCH = 150
_COLORS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d", "#eeca3b")
_LINE_STYLES = ("-", "--", ":", "-.")


def require_matplotlib() -> None:
    """Raise an ImportError with the command that installs matplotlib if it is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("charts need matplotlib; install it with: pip install matplotlib") from error


def bar_chart(table: Table, path: str | Path) -> None:
    """Draw the columns ``table.bars`` side by side.

    The bars of groups (a table with a total) are horizontal, with the size of each group beside its name; those of a
    distribution are vertical.
    """
    horizontal = table.has_total
    frame = table.frame.iloc[:-1] if table.has_total else table.frame
    count, groups = len(table.bars), len(frame)
    names = [_escape(name) for name in frame.index]
    if horizontal:
        names = [f"{name}  ({size:,})" for name, size in zip(names, frame.iloc[:, 0], strict=True)]
        figure = _figure(7, 1.3 + 0.24 * groups * count)
    else:
        figure = _figure(max(5, 1.5 + 0.36 * groups * count), 3.6)
    axes = figure.add_subplot()
    thickness = 0.8 / count
    for number, column in enumerate(table.bars):
        positions = [group + (number - (count - 1) / 2) * thickness for group in range(groups)]
        draw = axes.barh if horizontal else axes.bar
        color = _COLORS[number % len(_COLORS)]
        bars = draw(positions, frame[column], thickness, color=color, label=_escape(column))
        # A distribution has many empty categories, whose labels would clutter the chart.
        axes.bar_label(bars, [f"{v:.1f}" if horizontal or v else "" for v in frame[column]], padding=2, fontsize=7)
    _style(axes, table.name, grid="x" if horizontal else "y")
    if horizontal:
        axes.set_yticks(range(groups), names)
        axes.set(ylim=(groups - 0.5, -0.5), xlim=(0, 100), xlabel="percent")
    else:
        axes.set_xticks(range(groups), names)
        axes.set(xlim=(-0.5, groups - 0.5), xlabel=_escape(frame.index.name), ylabel="percent")
    figure.legend(loc="outside upper right", ncols=count, frameon=False)
    _save(figure, path)


def line_chart(panels: Mapping[str, Mapping[str, Series]], x_label: str, path: str | Path) -> None:
    """Draw lines in panels one below the other that share the horizontal axis.

    Args:
        panels: title of a panel -> name of a line -> its values by position. A name has one color in all panels.
        x_label: label of the horizontal axis.
        path: the PNG file.
    """
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    figure = _figure(8, 0.8 + 2.8 * len(panels))
    all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    handles = {}
    for axes, (title, lines) in zip(all_axes, panels.items(), strict=True):
        for name, line in lines.items():
            number = names.index(name)
            (handles[name],) = axes.plot(
                line.index,
                line,
                _LINE_STYLES[number // len(_COLORS) % len(_LINE_STYLES)],
                color=_COLORS[number % len(_COLORS)],
                marker="o" if len(line) < 40 else None,
                markersize=3,
                linewidth=1.4,
            )
        _style(axes, title, grid="both")
    all_axes[-1].set_xlabel(_escape(x_label))
    labels = map(_escape, handles)
    figure.legend(handles.values(), labels, loc="outside right upper", frameon=False, fontsize=8)
    _save(figure, path)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _style(axes: Axes, title: str, grid: Literal["x", "y", "both"]) -> None:
    axes.set_title(_escape(title), loc="left", fontsize=10, fontweight="bold")
    axes.grid(axis=grid, color="#d9d9d9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _save(figure: Figure, path: str | Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    with atomic_file(path) as unfinished:
        figure.savefig(unfinished, format="png", dpi=_DOTS_PER_INCH)


def _escape(text: str) -> str:
    """Keep matplotlib from parsing a text as a formula, and from leaving out a legend entry that begins with ``_``."""
    return f"{' ' if text.startswith('_') else ''}{text}".replace("$", r"\$")
