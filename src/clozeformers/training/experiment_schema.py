"""What an experiment file holds: models, data, and tables and figures."""

# Without `from __future__ import annotations`: `@strict` cannot check types that are strings.
from dataclasses import dataclass, field
from typing import Any, Literal

from huggingface_hub.dataclasses import strict

from ..voting import VoteMethod


@strict
@dataclass
class Model:
    """A recipe, or a vote of other models; with one, of its seeds.

    Attributes:
        recipe: its name.
        arguments: fields that differ from the recipe's; a mapping changes the fields that it names. ``{name}`` in a
            value stands for the path of a file.
        vote: names of the models that vote.
        method: of the vote, see `clozeformers.voting.elect`; weights are the models' scores on the validation data.
    """

    recipe: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    vote: list[str] = field(default_factory=list)
    method: VoteMethod = "majority"


@strict
@dataclass
class Data:
    """What is trained on and scored, by names of files.

    Attributes:
        test: test set -> its file, or files, or `HELD_OUT` for the part that cross-validation holds out; of several
            corpora, such as ``"held-out fold, sfu"``.
        train: files to train on.
        validation: file to choose the best model on.
        arguments: as of a model.
    """

    test: dict[str, str | list[str]]
    train: list[str] = field(default_factory=list)
    validation: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)


@strict
@dataclass
class ScoreTable:
    """Scores of models on test sets.

    Attributes:
        measures: measure of the task, or field of a run such as `parameters` -> its name in the table.
        models: name in the table -> model, or a list of models; by default all.
        data: names of data; by default all.
        rows: what the rows are. With `data`, each test set is a row, each model a column, and there is one measure.
        tests: the test sets that are shown; by default all.
        baseline: the name in the table of the model that the others are compared with.
        published: row -> the numbers of the paper by column; with `rows: data`, data -> test set -> these numbers.
        caption: the title.
    """

    measures: dict[str, str]
    models: dict[str, str] = field(default_factory=dict)
    data: list[str] = field(default_factory=list)
    rows: Literal["models", "data"] = "models"
    tests: list[str] = field(default_factory=list)
    baseline: str | None = None
    published: dict[str, Any] = field(default_factory=dict)
    caption: str = ""


@strict
@dataclass
class DerivedTable:
    """A table that is computed from tables with `rows: data`; see `derived_tables`.

    Attributes:
        derive: the computation.
        tables: name in this table -> the table that it is computed from.
        baseline: name of a model in these tables.
        published: row -> the paper's numbers; without them, they are computed from those of the other tables.
        cited: row -> name -> a number of another paper.
        caption: the title.
    """

    derive: Literal["mean_differences", "best_training_data", "best_models", "differences_by_training_data"]
    tables: dict[str, str]
    baseline: str | None = None
    published: dict[str, list[str]] = field(default_factory=dict)
    cited: dict[str, dict[str, float]] = field(default_factory=dict)
    caption: str = ""


@strict
@dataclass
class CurvesFigure:
    """Training curves: measures of the Trainer's log, such as `eval_f1`, of models on one of the data."""

    curves: list[str]
    models: dict[str, str]
    data: str
    caption: str = ""


@strict
@dataclass
class AnalysisFigure:
    """The error analysis of a model's predictions of a test set."""

    analyze: str
    data: str
    test: str
    caption: str = ""


@strict
@dataclass
class CountsTable:
    """Counts of the corpora that a model was trained and scored with, for some of the data."""

    count: str
    data: list[str]
    caption: str = ""
