"""Tables of counts and percentages over groups of scored examples. pandas is imported at first use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame, Series


@dataclass(frozen=True)
class Table:
    """Counts and percentages of groups.

    Attributes:
        name: the title.
        frame: one row a group, whose name is the index. Integer columns are counts, float columns percentages.
        bars: the columns, in percent, that a chart draws.
        has_total: whether the last row is over all examples. Charts leave it out.
    """

    name: str
    frame: DataFrame
    bars: tuple[str, ...]
    has_total: bool

    @property
    def header(self) -> list[str]:
        """Names of the columns, that of the index first."""
        return [self.frame.index.name, *self.frame.columns]

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """Name, counts and percentages of each group."""
        return list(self.frame.itertuples(name=None))

    def format_rows(self) -> list[list[str]]:
        """Return the rows as text: counts with thousands separators, percentages with two decimals."""
        return [
            [name, *(f"{value:.2f}" if isinstance(value, float) else f"{value:,}" for value in values)]
            for name, *values in self.rows
        ]

    def to_markdown(self) -> str:
        """Return the table in Markdown."""
        return markdown_table(self.header, self.format_rows(), len(self.header) - 1)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON can hold it, percentages unrounded."""
        return {"name": self.name, "header": self.header, "rows": self.rows}


def group_table(examples: DataFrame, by: str, measures: Sequence[str]) -> Table:
    """Average measures over groups of questions.

    Args:
        examples: one row a question.
        by: the column that names a question's group. The groups of a categorical column are in the order of its
            categories, those of any other sorted; groups without questions are left out.
        measures: columns with values between 0 and 1.

    Returns:
        A table with the columns ``questions``, ``share`` and the means of the measures, the latter in percent.
    """
    from pandas import DataFrame, concat

    def summarize(key: Any) -> DataFrame:
        groups = examples.groupby(key, observed=True)
        sizes = groups.size()
        counts = DataFrame({"questions": sizes, "share": 100 * sizes / len(examples)})
        return counts.join(100 * groups[list(measures)].mean())

    frame = concat([summarize(by), summarize(lambda _: "all")])
    return Table(by, frame.rename_axis(by), tuple(measures), has_total=True)


def distribution_table(name: str, values_name: str, series: Mapping[str, Series]) -> Table:
    """Count how often each value occurs in one or more series.

    Args:
        name: title of the table.
        values_name: what the values are.
        series: name of a series -> its values, categorical, with the same categories in all series.

    Returns:
        A table with one row a category, also for categories that do not occur, and for each series a column of counts
        and one of shares in percent.
    """
    from pandas import DataFrame

    columns = {}
    for label, values in series.items():
        columns[label] = values.value_counts(sort=False)
        columns[f"{label}, share"] = 100 * columns[label] / max(1, len(values))
    bars = tuple(f"{label}, share" for label in series)
    return Table(name, DataFrame(columns).rename_axis(values_name), bars, has_total=False)


def cut_ranges(values: Sequence[float], ranges: Mapping[float, str]) -> Series:
    """Sort numbers of at least 0 into ranges, given as upper bound -> name in ascending order."""
    from pandas import Series, cut

    return cut(Series(values, dtype=float), [-1, *ranges], labels=list(ranges.values()))


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """Return a Markdown table whose last `numbers` columns are aligned to the right."""
    rule = ["---"] * (len(header) - numbers) + ["---:"] * numbers
    return "\n".join(
        "| " + " | ".join(" ".join(cell.replace("|", r"\|").split()) for cell in row) + " |"
        for row in (header, rule, *rows)
    )
