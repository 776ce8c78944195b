"""Experiment files: the tables of a paper as a grid of models and data, over recipes.

A file is YAML and may extend another, as recipes do. It names the data files that a command gives, the models (a recipe
with arguments, or a vote of models), the data (what is trained on and scored), and the tables that show the scores.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import yaml
from huggingface_hub.errors import StrictDataclassError

from ..files import CorpusError
from ..text import did_you_mean
from .corpora import HELD_OUT
from .experiment_schema import AnalysisFigure, CountsTable, CurvesFigure, Data, DerivedTable, Model, ScoreTable
from .recipe import RECIPES, extended_file, find_recipe, load_recipe

PLACEHOLDER = re.compile(r"\{([\w.-]+)\}")
Part = TypeVar("Part")


Table = ScoreTable | DerivedTable | CurvesFigure | AnalysisFigure | CountsTable
_KINDS: dict[str, type] = {"measures": ScoreTable, "derive": DerivedTable, "curves": CurvesFigure}
_KINDS |= {"analyze": AnalysisFigure, "count": CountsTable}
_RUN_NUMBERS = ("parameters", "trained_parameters", "minutes")


class Place(NamedTuple):
    """What a number of a table of scores is of: the model's name in the table, data, test set, measure."""

    model: str
    data: str
    test: str
    measure: str


@dataclass(frozen=True)
class ExperimentFile:
    """A file that has been read and checked.

    Attributes:
        path: the file; its name is that of the experiment.
        task: name of the task.
        title: of the paper, or what is compared.
        files: name of a data file -> what it is.
        arguments: of all models.
        models: by name.
        data: by name.
        tables: by name.
    """

    path: Path
    task: str
    title: str
    files: dict[str, str]
    models: dict[str, Model]
    data: dict[str, Data]
    tables: dict[str, Table]
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.path.stem

    def error(self, keys: Sequence[str], problem: str) -> CorpusError:
        """An error at a place in the file, given as the keys that lead there."""
        return CorpusError(*_locate(self.path, keys), problem)

    def check_measures(self, measures: Iterable[str]) -> None:
        """Raise an error for a column that is neither a measure of the task nor a number of a run."""
        known = [*measures, *_RUN_NUMBERS]
        for name, table in self.tables.items():
            for measure in table.measures if isinstance(table, ScoreTable) else ():
                _check_name(self.path, ("tables", name, "measures", measure), measure, known, "measure")

    @cached_property
    def recipes(self) -> dict[str, dict[str, Any]]:
        """The recipe of each model that has one."""
        return {
            name: load_recipe(find_recipe(self.task, model.recipe))
            for name, model in self.models.items()
            if model.recipe
        }

    def cells(self, tables: Iterable[str]) -> list[tuple[str, str]]:
        """The pairs of model and data that tables show, each once; a vote comes after the models that vote."""
        found: dict[tuple[str, str], None] = {}
        for table in (self.tables[name] for name in tables):
            if isinstance(table, DerivedTable):
                found |= dict.fromkeys(self.cells(table.tables.values()))
                continue
            for data in [table.data] if isinstance(table.data, str) else table.data:
                for model in _models_of(table):
                    found |= dict.fromkeys((member, data) for member in self.models[model].vote)
                    found[model, data] = None
        return list(found)

    def places(self, table: ScoreTable) -> dict[tuple[str, ...], list[Place]]:
        """The rows of a table of scores, by model or by data and test set, with the places of each."""
        tests = [(part, test) for part in table.data for test in self.data[part].test]
        tests = [each for each in tests if not table.tests or each[1] in table.tests]
        if table.rows == "data":
            return {
                row: [Place(label, *row, measure) for label in table.models for measure in table.measures]
                for row in tests
            }
        return {
            (label,): [Place(label, *test, measure) for test in tests for measure in table.measures]
            for label in table.models
        }

    def published(self, table: ScoreTable) -> dict[Place, float]:
        """The paper's numbers of a table."""
        rows = self.places(table)
        pairs = (pair for row, values in _published_rows(table).items() for pair in zip(rows[row], values, strict=True))
        return {place: value for place, value in pairs if value is not None}


def find_experiment(name: str) -> Path:
    """The file of an experiment: `name` itself, or the one of that name in the package."""
    known = {path.stem: path for path in sorted(RECIPES.glob("*/experiments/*.yaml"))}
    if Path(name).is_file():
        return Path(name)
    if name not in known:
        suggested = did_you_mean(Path(name).stem, known) or f"; give a file, or one of {', '.join(known)}"
        raise FileNotFoundError(f"there is no experiment {name!r}{suggested}")
    return known[name]


def read_experiment(path: Path) -> ExperimentFile:
    """Read an experiment file.

    Raises:
        ValueError: it has an unknown field, a value of a wrong type, or a name that nothing has; says in which line.
    """
    values = load_recipe(path)

    def build(kind: type[Part], value: Any, *keys: str) -> Part:
        if not isinstance(value, dict):
            raise CorpusError(*_locate(path, keys), f"{value!r} must be a mapping of fields")
        known = {spec.name: spec for spec in dataclasses.fields(kind)}  # type: ignore[arg-type]
        for name in value:
            _check_name(path, (*keys, name), name, known, "field")
        try:
            return kind(**value)
        except (StrictDataclassError, TypeError) as error:  # a wrong type; a missing field
            raise CorpusError(*_locate(path, keys), " ".join(str(error).split())) from None

    def build_all(field: str, kind_of: Any) -> dict[str, Any]:
        own = values.get(field)
        if not isinstance(own, dict) or not own or not all(isinstance(name, str) for name in own):
            raise CorpusError(*_locate(path, [field]), f"{field} must be a mapping of names")
        return {name: build(*kind_of(name, value), field, name) for name, value in own.items()}

    def table_kind(name: str, value: Any) -> tuple[type, Any]:
        kinds = [kind for key, kind in _KINDS.items() if isinstance(value, dict) and key in value]
        if len(kinds) != 1:
            raise CorpusError(*_locate(path, ["tables", name]), f"a table has one of the fields {', '.join(_KINDS)}")
        models = value.get("models")
        if isinstance(models, list) and all(isinstance(name, str) for name in models):
            value = {**value, "models": {name: name for name in models}}
        return kinds[0], value

    parts = {
        "models": build_all("models", lambda _, value: (Model, {"recipe": value} if isinstance(value, str) else value)),
        "data": build_all("data", lambda _, value: (Data, value)),
        "tables": build_all("tables", table_kind),
    }
    for own, kind in {"task": str, "title": str, "files": dict, "arguments": dict}.items():
        if not isinstance(values.get(own, kind()), kind):
            raise CorpusError(*_locate(path, [own]), f"{own} is {values[own]!r}; it must be a {kind.__name__}")
    experiment = build(ExperimentFile, {**values, **parts, "path": path})
    _check_name(path, ["task"], experiment.task, [folder.name for folder in sorted(RECIPES.iterdir())], "task")
    tables = {name: _complete(experiment, table) for name, table in experiment.tables.items()}
    experiment = dataclasses.replace(experiment, tables=tables)
    _check(experiment)
    return experiment


def _complete(experiment: ExperimentFile, table: Table) -> Table:
    """A table of scores with the models and data that it shows by default."""
    if not isinstance(table, ScoreTable):
        return table
    models = table.models or {name: name for name in experiment.models}
    return dataclasses.replace(table, models=models, data=table.data or list(experiment.data))


def _models_of(table: Any) -> list[str]:
    if isinstance(table, AnalysisFigure | CountsTable):
        return [table.analyze if isinstance(table, AnalysisFigure) else table.count]
    return list(table.models.values())


def _check(experiment: ExperimentFile) -> None:
    """Raise an error for a name that nothing has."""
    path, models, data = experiment.path, experiment.models, experiment.data
    for name, model in models.items():
        if bool(model.recipe) == bool(model.vote):
            raise experiment.error(["models", name], "a model is either a recipe or a vote")
        for member in model.vote:
            _check_name(path, ("models", name, "vote"), member, {m for m in models if models[m].recipe}, "model")
        try:
            find_recipe(experiment.task, model.recipe) if model.recipe else None
        except FileNotFoundError as error:
            raise experiment.error(["models", name, "recipe"], str(error)) from None
    for name, part in data.items():
        named = [*part.train, *([part.validation] if part.validation else [])]
        for file in [*named, *(file for files in part.test.values() for file in test_files(files))]:
            _check_name(path, ("data", name), file, experiment.files, "file (under `files`)")
    owners: dict[tuple[str, ...], Any] = {("models", name): model for name, model in models.items()}
    owners |= {("data", name): part for name, part in data.items()} | {(): experiment}
    for keys, owner in owners.items():
        for file in names_of_files(owner.arguments):
            _check_name(path, (*keys, "arguments"), file, experiment.files, "file (under `files`)")
    for name, table in experiment.tables.items():
        _check_table(experiment, ("tables", name), table)


def _check_table(experiment: ExperimentFile, keys: tuple[str, ...], table: Any) -> None:
    path = experiment.path
    if isinstance(table, DerivedTable):
        sources = {name: each for name, each in experiment.tables.items() if getattr(each, "rows", "") == "data"}
        for source in table.tables.values():
            _check_name(path, (*keys, "tables"), source, sources, "table with `rows: data`")
        return
    for model in _models_of(table):
        _check_name(path, (*keys, "models"), model, experiment.models, "model")
    for part in [table.data] if isinstance(table.data, str) else table.data:
        _check_name(path, (*keys, "data"), part, experiment.data, "data")
    if isinstance(table, AnalysisFigure):
        _check_name(path, (*keys, "test"), table.test, experiment.data[table.data].test, "test set")
        if len(test_files(experiment.data[table.data].test[table.test])) != 1:
            raise experiment.error([*keys, "test"], "an analysis is of a test set with one file")
    if isinstance(table, ScoreTable):
        if table.baseline:
            _check_name(path, (*keys, "baseline"), table.baseline, table.models, "model in this table")
        if table.rows == "data" and len(table.measures) > 1:
            raise experiment.error([*keys, "measures"], "a table with `rows: data` has one measure")
        rows = experiment.places(table)
        for row, values in _published_rows(table).items():
            if row not in rows:
                raise experiment.error([*keys, "published", *row], f"the table has no row {', '.join(row)}")
            are_numbers = isinstance(values, list) and all(v is None or type(v) in (int, float) for v in values)
            if not are_numbers or len(values) != len(rows[row]):
                problem = f"{values!r} must be a list of {len(rows[row])} numbers, null for none"
                raise experiment.error([*keys, "published", *row], problem)


def _published_rows(table: ScoreTable) -> dict[tuple[str, ...], Any]:
    if table.rows == "models":
        return {(label,): values for label, values in table.published.items()}
    by_data = {part: tests if isinstance(tests, dict) else {"": tests} for part, tests in table.published.items()}
    return {(part, test): values for part, tests in by_data.items() for test, values in tests.items()}


def names_of_files(arguments: Mapping[str, Any]) -> list[str]:
    """The names of files that stand in braces in the values of arguments."""
    return PLACEHOLDER.findall(json.dumps(arguments))


def test_files(given: str | list[str]) -> list[str]:
    """The names of a test set's files; none if cross-validation makes it."""
    return [] if is_held_out(given) else [given] if isinstance(given, str) else given


def is_held_out(given: str | list[str]) -> bool:
    """Whether a test set is the part that cross-validation holds out, or that of one of several corpora."""
    return isinstance(given, str) and given.partition(", ")[0] == HELD_OUT


def _check_name(path: Path, keys: Sequence[str], name: str, known: Iterable[str], kind: str) -> None:
    known = list(known)
    if name not in known:
        suggested = did_you_mean(name, known) or f"; there are {', '.join(known)}"
        raise CorpusError(*_locate(path, keys), f"there is no {kind} {name!r}{suggested}")


def _locate(path: Path, keys: Sequence[str]) -> tuple[Path, int]:
    """The file and line of the value that keys lead to, or of the nearest one above it, through what it extends."""
    best, place = -1, (path, 1)
    while True:
        node, depth, line, extended = yaml.compose(path.read_text(encoding="utf-8")), 0, 1, None
        for key, value in getattr(node, "value", []):
            extended = value.value if key.value == "extends" else extended
        for wanted in keys:
            pairs: Mapping[str, Any] = {}
            if isinstance(node, yaml.MappingNode):
                pairs = {key.value: (key, value) for key, value in node.value}
            if wanted not in pairs:
                break
            key, node = pairs[wanted]
            depth, line = depth + 1, key.start_mark.line + 1
        if depth > best:
            best, place = depth, (path, line)
        if depth == len(keys) or extended is None:
            return place
        path = extended_file(path, extended)
