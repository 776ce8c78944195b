"""The tables of an experiment in Markdown: measured scores in the layout of the paper, its numbers beside them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..analysis.tables import markdown_table
from .experiment_file import ExperimentFile, Place, is_held_out
from .experiment_schema import CountsTable, DerivedTable, ScoreTable

Cells = Mapping[tuple[str, str], Mapping[str, Any]]

NONE = "–"
_MOST_EXACT_PAIRS = 20
LEGEND = (
    "Measured here, as mean ± standard deviation (number of runs) / the paper's number; – is not run, or not stated."
)


def render_experiment(
    experiment: ExperimentFile,
    results: Sequence[Mapping[str, Any]],
    tables: Sequence[str] | None = None,
    figures: Mapping[str, str] | None = None,
) -> str:
    """Markdown of an experiment's tables.

    Args:
        experiment: the experiment.
        results: of the cells that are finished, as `Reproduction.results` gives them. What is missing is shown as a
            dash.
        tables: names of the tables; by default all.
        figures: Markdown of figures by name, to be shown below.
    """
    cells = {(result["model"], result["data"]): result for result in results}
    parts = []
    for name in experiment.tables if tables is None else tables:
        table = experiment.tables[name]
        title = f"**{name}.** {table.caption}".strip()
        if isinstance(table, ScoreTable):
            parts += [title, _scores(experiment, table, cells)]
            if table.baseline is not None:
                parts += [*_differences(experiment, table, cells)]
        elif isinstance(table, DerivedTable):
            parts += [title, _derived(experiment, table, cells)]
        elif isinstance(table, CountsTable):
            parts += [title, _counts(table, cells)]
        else:
            drawn = [text for each, text in (figures or {}).items() if each == name or each.startswith(f"{name}, ")]
            parts += [title, *(drawn or [NONE])]
    return "\n\n".join(parts)


def sign_flip_p(differences: Sequence[float]) -> float:
    """Two-sided permutation test of paired differences: how often random signs give a mean as far from 0.

    Exact for up to 20 pairs, over all 2^n signs, so at least 2^(1 - n); for more, over 100,000 random ones.
    """
    if len(differences) > _MOST_EXACT_PAIRS:
        sums = np.random.default_rng(0).choice([-1.0, 1.0], (100_000, len(differences))) @ np.asarray(differences)
    else:
        sums = np.zeros(1)
        for difference in differences:
            sums = np.concatenate([sums + difference, sums - difference])
    return float(np.mean(np.abs(sums) >= abs(math.fsum(differences)) - 1e-9))


# -------------------------------------------------------------------------------------------------------------- scores


def _scores(experiment: ExperimentFile, table: ScoreTable, cells: Cells) -> str:
    published = experiment.published(table)

    def show(place: Place) -> str:
        number = _number(place.measure)
        own = _summary(list(measured(experiment, table, cells, place).values()), number)
        paper = published.get(place)
        return own if not published else f"{own} / {NONE if paper is None else number.format(paper)}"

    return _layout(experiment, table, show, table.models)


def _differences(experiment: ExperimentFile, table: ScoreTable, cells: Cells) -> Iterator[str]:
    """The same table of differences to the baseline, with the test; nothing before there are any."""
    published, pairs = experiment.published(table), []

    def show(place: Place) -> str:
        number, against = _number(place.measure).replace(":", ":+"), place._replace(model=str(table.baseline))
        own, other = (measured(experiment, table, cells, each) for each in (place, against))
        differences = [own[run] - other[run] for run in own if run in other]
        text = NONE
        if differences:
            pairs.append(len(differences))
            text = number.format(statistics.fmean(differences))
            text += f" (p = {sign_flip_p(differences):.3f})" if len(differences) > 1 else ""
        if published.get(place) is not None and published.get(against) is not None:
            text += f" / {number.format(published[place] - published[against])}"
        return text

    others = [label for label in table.models if label != table.baseline]
    text = _layout(experiment, table, show, others) if others else ""
    if pairs:
        fewest = min(pairs)
        limit = f"; {fewest} pairs give no p below {2 ** (1 - fewest):.3g}" if fewest > 1 else ""
        yield (
            f"Difference to {table.baseline}, mean over the pairs of runs with the same seed and fold; p of the "
            f"two-sided sign-flip permutation test{limit}:"
        )
        yield text


def _layout(experiment: ExperimentFile, table: ScoreTable, show: Any, labels: Any) -> str:
    """The table with `show(place)` in each of its places, for some of its models."""
    rows = {
        row: [place for place in row_places if place.model in labels]
        for row, row_places in experiment.places(table).items()
    }
    if table.rows == "data":
        header = ["trained on", "test set", *labels]
    else:
        columns = next(filter(None, rows.values()))  # the baseline has no row among the differences
        num_tests, num_measures = len({place[1:3] for place in columns}), len(table.measures)
        names = (
            [p.test] * (num_tests > 1) + [table.measures[p.measure]] * (num_measures > 1 or num_tests == 1)
            for p in columns
        )
        header = ["model", *map(", ".join, names)]
    shown = [[*row, *map(show, row_places)] for row, row_places in rows.items() if row_places]
    return markdown_table(header, shown, len(header) - len(next(iter(rows))))


def measured(experiment: ExperimentFile, table: ScoreTable, cells: Cells, place: Place) -> dict[str, float]:
    """The score of each run, or a number of the run such as its parameters; empty if it was not run."""
    cell = cells.get((table.models[place.model], place.data), {"runs": ()})
    files = experiment.data[place.data].test[place.test]
    test = files if is_held_out(files) else place.test
    found = {run["run"]: run["scores"].get(test, {}).get(place.measure, run.get(place.measure)) for run in cell["runs"]}
    return {run: float(value) for run, value in found.items() if value is not None}


def _number(measure: str) -> str:
    return "{:,.0f}" if measure.endswith("parameters") else "{:.2f}"


def _summary(values: Sequence[float], number: str) -> str:
    if not values:
        return NONE
    spread = f" ± {number.format(statistics.stdev(values))}" if len(values) > 1 else ""
    return f"{number.format(statistics.fmean(values))}{spread} ({len(values)})"


def _counts(table: CountsTable, cells: Cells) -> str:
    corpora = {
        (part, name): counts
        for part in table.data
        for name, counts in cells.get((table.count, part), {}).get("corpora", {}).items()
    }
    columns = list(next(iter(corpora.values()), {}))
    rows = [[*row, *(f"{counts[column]:,}" for column in columns)] for row, counts in corpora.items()]
    return markdown_table(["data", "part", *columns], rows, len(columns)) if rows else NONE


# ------------------------------------------------------------------------------------------------------------- derived


def _derived(experiment: ExperimentFile, table: DerivedTable, cells: Cells) -> str:
    """The computation with what was measured and with the paper's numbers, side by side."""
    derive = {
        "mean_differences": mean_differences,
        "best_training_data": best_training_data,
        "best_models": best_models,
        "differences_by_training_data": differences_by_training_data,
    }[table.derive]
    sources = {name: experiment.tables[source] for name, source in table.tables.items()}
    own, paper = (
        derive({name: score_frame(experiment, source, numbers) for name, source in sources.items()}, table)
        for numbers in (cells, None)
    )
    if table.published:
        paper = pd.DataFrame(table.published.values(), index=table.published, columns=own.columns)
    both = (own + " / " + paper).reset_index()
    rows = both.astype(str).to_numpy().tolist()
    rows += [
        [row, name, f"{NONE} / {value:.2f}"] for row, numbers in table.cited.items() for name, value in numbers.items()
    ]
    groups = list(dict.fromkeys(row[0] for row in rows))
    rows.sort(key=lambda row: groups.index(row[0]))
    return markdown_table([str(name) for name in both.columns], rows, len(own.columns))


def score_frame(experiment: ExperimentFile, table: Any, cells: Cells | None) -> pd.DataFrame:
    """Means of a table with `rows: data`, or the paper's numbers if `cells` is None; NaN where there is none.

    Returns:
        A column a model; the rows are indexed by `trained on` and `test set`.
    """
    published, rows = experiment.published(table), experiment.places(table)

    def number(place: Place) -> float:
        if cells is None:
            return published.get(place, math.nan)
        scores = measured(experiment, table, cells, place)
        return statistics.fmean(scores.values()) if scores else math.nan

    index = pd.MultiIndex.from_tuples(list(rows), names=["trained on", "test set"])
    values = [[number(place) for place in row] for row in rows.values()]
    return pd.DataFrame(values, index=index, columns=list(table.models))


def mean_differences(frames: Mapping[str, pd.DataFrame], table: DerivedTable) -> pd.DataFrame:
    """Of each model, the mean difference to the baseline, or to the best model of the row in a table without it."""
    columns = {}
    for name, frame in frames.items():
        has_baseline = table.baseline in frame.columns
        reference = frame[table.baseline] if has_baseline else frame.dropna().max(axis="columns")
        differences = frame.drop(columns=[table.baseline] if has_baseline else []).sub(reference, axis="index")
        columns[f"{name}, difference to {table.baseline if has_baseline else 'the best'}"] = _mean_text(differences)
    return pd.DataFrame(columns).rename_axis("model")


def differences_by_training_data(frames: Mapping[str, pd.DataFrame], _: DerivedTable) -> pd.DataFrame:
    """Of each model and training data, the mean difference of the second table to the first."""
    first, second = frames.values()
    differences = (second - first).dropna(axis="columns", how="all").reindex(columns=second.columns)
    return differences.groupby(level="trained on", sort=False)[list(differences)].apply(_mean_text)


def best_training_data(frames: Mapping[str, pd.DataFrame], _: DerivedTable) -> pd.DataFrame:
    """Of each table and test set, the row of the training data that give the best score."""
    columns = list(dict.fromkeys(column for frame in frames.values() for column in frame.columns))
    rows = {
        (name, test): _best_row(frame, test).reindex(columns).map(_text)
        for name, frame in frames.items()
        for test in frame.index.unique("test set")
    }
    return pd.DataFrame(rows).T.rename_axis(["input", "test set"])


def best_models(frames: Mapping[str, pd.DataFrame], table: DerivedTable) -> pd.DataFrame:
    """Of each test set, the best model of each table, and the baseline."""
    rows = {}
    for test in next(iter(frames.values())).index.unique("test set"):
        for name, frame in frames.items():
            row = _best_row(frame, test)
            if table.baseline in row:
                rows[test, str(table.baseline)] = _text(row[table.baseline])
            others = row.drop(str(table.baseline), errors="ignore").dropna()
            best = f"{others.idxmax()} {others.max():.2f}" if len(others) else NONE
            rows[test, f"best, {name}"] = best
    return pd.Series(rows).rename_axis(["test set", "model"]).to_frame("score")


def _best_row(frame: pd.DataFrame, test: str) -> pd.Series:
    rows = frame.xs(test, level="test set")
    best = rows.max(axis="columns").dropna()
    return rows.loc[best.idxmax()] if len(best) else rows.iloc[0]


def _mean_text(differences: pd.DataFrame) -> pd.Series:
    """Means of columns, with the number of rows where some are missing."""
    counts = differences.notna().sum()
    partly = {
        name: f" ({count} of {len(differences)} rows)" * (0 < count < len(differences))
        for name, count in counts.items()
    }
    return pd.Series({name: _text(mean, "+.2f") + partly[name] for name, mean in differences.mean().items()})


def _text(value: float, number: str = ".2f") -> str:
    return NONE if math.isnan(value) else f"{value:{number}}"
