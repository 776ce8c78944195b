"""Tables over groups of scored examples. Nothing here knows a task: a grouping and its measures are functions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

Example = TypeVar("Example")
Cell = str | int | float


@dataclass(frozen=True)
class Grouping(Generic[Example]):
    """A way to sort examples into groups.

    Attributes:
        name: what the groups differ in, such as ``"question word"``; the table's name.
        key: an example -> the name of its group.
        order: names of groups in the order to show them; others follow, sorted. Groups without examples are not shown.
    """

    name: str
    key: Callable[[Example], str]
    order: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows.

    Attributes:
        name: what it is about.
        header: names of the columns.
        rows: a row's name, then numbers: int for a count, float for a percentage.
        bars: the columns in percent that a chart of the table draws.
        total: a last row over all examples, which charts leave out.
        counts: the column with the size of each row, which a chart shows beside the row's name.
    """

    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    bars: tuple[str, ...]
    total: tuple[Cell, ...] | None = None
    counts: str | None = None

    def column(self, name: str) -> list[Any]:
        """The values of a column, without the total."""
        place = self.header.index(name)
        return [row[place] for row in self.rows]

    def shown(self) -> list[list[str]]:
        """All rows as text, the total last: counts with separators, percentages with two digits."""
        return [[show(cell) for cell in row] for row in (*self.rows, *([self.total] if self.total else []))]

    def to_markdown(self) -> str:
        """The table in Markdown, numbers aligned to the right."""
        return markdown_table(self.header, self.shown())

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON can hold it: ``name``, ``header``, ``rows`` and ``total``, numbers unrounded."""
        return {name: value for name, value in asdict(self).items() if name in ("name", "header", "rows", "total")}


def group_table(
    examples: Iterable[Example],
    grouping: Grouping[Example],
    measures: Mapping[str, Callable[[Example], float]],
    counted: str = "examples",
) -> Table:
    """Average measures over each group.

    Args:
        examples: one or more.
        grouping: how to sort them.
        measures: name of a column -> an example's value, between 0 and 1.
        counted: name of the column with the number of examples.

    Returns:
        A row a group: its name, the number of its examples, their share of all and the mean of each measure, both in
        percent; and the same over all examples.

    Raises:
        ValueError: there are no examples.
    """
    groups: defaultdict[str, list[Example]] = defaultdict(list)
    everything = list(examples)
    for example in everything:
        groups[grouping.key(example)].append(example)
    if not everything:
        raise ValueError(f"there are no {counted} to group by {grouping.name}; give one or more")

    def row(name: str, group: Sequence[Example]) -> tuple[Cell, ...]:
        means = (100 * sum(map(measure, group)) / len(group) for measure in measures.values())
        return (name, len(group), 100 * len(group) / len(everything), *means)

    return Table(
        name=grouping.name,
        header=(grouping.name, counted, "share", *measures),
        rows=tuple(row(name, groups[name]) for name in _ordered(groups, grouping.order)),
        bars=tuple(measures),
        total=row("all", everything),
        counts=counted,
    )


def distribution_table(name: str, header: str, series: Mapping[str, Iterable[str]], order: Sequence[str] = ()) -> Table:
    """Count how often each value stands in one or more series.

    Args:
        name: the table's name.
        header: what the values are.
        series: name of a series -> its values.
        order: values in the order to show them, those that no series has too; others follow, sorted.

    Returns:
        A row a value; for each series a column of counts and one of shares in percent (0 in an empty series).
    """
    counters = {label: Counter(values) for label, values in series.items()}
    rows: list[tuple[Cell, ...]] = []
    for value in _ordered({*order, *(value for counter in counters.values() for value in counter)}, order):
        cells: list[Cell] = [value]
        for counter in counters.values():
            cells += [counter[value], 100 * counter[value] / max(1, sum(counter.values()))]
        rows.append(tuple(cells))
    shares = tuple(f"{label}, share" for label in series)
    columns = [column for pair in zip(series, shares, strict=True) for column in pair]
    return Table(name=name, header=(header, *columns), rows=tuple(rows), bars=shares)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown of a table; all columns but the first are aligned to the right."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(map(_escaped, row)) + " |" for row in (header, rule, *rows))


def analysis_markdown(summary: str, tables: Iterable[Table]) -> str:
    """An error analysis in Markdown: a summary, and a section a table."""
    lines = ["# Error analysis", summary]
    for table in tables:
        lines += [f"## {table.name[0].upper()}{table.name[1:]}", table.to_markdown()]
    return "\n\n".join(lines) + "\n"


def show(cell: Cell) -> str:
    """A cell as text."""
    if isinstance(cell, float):
        return f"{cell:.2f}"
    return cell if isinstance(cell, str) else f"{cell:,}"


def _escaped(cell: str) -> str:
    """Keep a name from breaking the table."""
    return " ".join(cell.replace("|", r"\|").split())


def _ordered(names: Iterable[str], order: Sequence[str]) -> list[str]:
    found = set(names)
    return [name for name in order if name in found] + sorted(found.difference(order))
