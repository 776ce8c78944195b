"""Run the cells of an experiment, one model on one of the data each, and collect what they have measured."""

from __future__ import annotations

import functools
import json
import logging
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..analysis.curves import training_curves, write_training_curves
from ..digest import digest
from ..errors import is_user_error
from ..files import read_json_object, read_text, write_json
from ..text import did_you_mean
from ..voting import VoteMethod
from .corpora import file_label
from .experiment import RESULTS_FILE
from .experiment_file import PLACEHOLDER, ExperimentFile, is_held_out, names_of_files, test_files
from .experiment_schema import AnalysisFigure, CurvesFigure, Model
from .recipe import as_arguments, check_command, merge_fields

logger = logging.getLogger(__name__)

Cell = tuple[str, str]
Vote = Callable[[Path, Sequence[Path], Sequence[float] | None, VoteMethod], dict[str, float]]

_CELL_FILE = "cell.json"
_RECORDED = ("run", "seed", "scores", "parameters", "trained_parameters", "minutes")  # of a run


class Reproduction:
    """An experiment in a folder, with a folder a cell.

    Args:
        experiment: the experiment.
        folder: of its cells.
        files: name of a data file -> its path.
        arguments: a command line of the task's script that all cells end with.
        record: `results` of an earlier run, perhaps in another folder or on another machine. Cells that it holds, with
            the same recipe and the same data files, are not run again.

    Raises:
        ValueError: a file has another name than the experiment's, or the record is of another experiment.
        FileNotFoundError: there is no such file.
    """

    def __init__(
        self,
        experiment: ExperimentFile,
        folder: Path,
        files: Mapping[str, Path] | None = None,
        arguments: Sequence[str] = (),
        record: Path | None = None,
    ) -> None:
        self.experiment, self.folder, self.files, self.arguments = experiment, folder, files or {}, list(arguments)
        for name, path in self.files.items():
            if name not in experiment.files:
                described = "; ".join(f"{name}: {what}" for name, what in experiment.files.items())
                suggested = did_you_mean(name, experiment.files) or f"; there are {described}"
                raise ValueError(f"--file {name}={path}: {experiment.path} has no file {name!r}{suggested}")
            if not path.exists():
                raise FileNotFoundError(f"--file {name}={path}: there is no file or folder {path}")
        self.failures: list[str] = []
        self._digest = functools.cache(digest)
        self._recorded: dict[Cell, dict[str, Any]] = {}
        self._recorded_figures: dict[str, str] = {}
        if record is not None and record.exists():
            read = read_json_object(record, "delete it to measure again")
            if read.get("experiment") != experiment.name:
                raise ValueError(f"{record} holds {read.get('experiment')!r}; give {experiment.name} another --record")
            if not _is_record(read):
                raise ValueError(f"{record} is no complete record of an experiment; delete it to measure again")
            self._recorded = {(cell["model"], cell["data"]): cell for cell in read["cells"]}
            self._recorded_figures = read["figures"]

    def run(self, tables: Sequence[str], main: Callable[[list[str]], Any], vote: Vote | None) -> Iterator[str]:
        """Run the cells of tables that are not finished, and go on with the others when one fails.

        Args:
            tables: their names.
            main: of the task's script.
            vote: data file, predictions of each model, weights and method -> scores, for a vote of several models.

        Yields:
            What is being done; at last, what needs files that were not given. `failures` has what has failed.

        Raises:
            ValueError: a command is wrong, or no cell has its data; nothing has been run.
        """
        cells = self.experiment.cells(tables)
        missing = {cell: names for cell in cells if (names := self._missing(cell))}
        if len(missing) == len(cells):
            needed = dict.fromkeys(name for names in missing.values() for name in names)
            described = "; ".join(f"--file {name}=PATH: {self.experiment.files[name]}" for name in needed)
            raise ValueError(f"nothing can be run without data; give {described}; or --print, to see what was measured")
        waiting = [cell for cell in cells if cell not in missing and not self._is_finished(cell)]
        for cell in waiting:
            if self._model(cell).recipe:
                self._check_command(cell, main)
        for number, cell in enumerate(waiting, start=1):
            yield f"[{number}/{len(waiting)}] {_shown(cell)}"
            try:
                self._run(cell, main, vote)
            except Exception as error:
                if not is_user_error(error):
                    logger.exception("%s has failed", _shown(cell))
                self.failures.append(f"{_shown(cell)}: {error or type(error).__name__}")
        for cell, names in missing.items():
            yield f"not run: {_shown(cell)} needs {', '.join(f'--file {name}=PATH' for name in names)}"

    def cell_folder(self, cell: Cell) -> Path:
        """The output folder of a cell."""
        return self.folder / file_label(cell[0]) / file_label(cell[1])

    def results(self) -> list[dict[str, Any]]:
        """What each finished cell has measured, here or in the record, and how."""
        found = []
        for cell in self.experiment.cells(self.experiment.tables):
            folder, state = self.cell_folder(cell), self._measured(cell)
            if state is not None:
                record = read_json_object(folder / RESULTS_FILE, "delete it to measure again")
                own = {"model": cell[0], "data": cell[1], "recipe": self._model(cell).recipe, "files": state["files"]}
                own |= {"settings": state["settings"]}
                own |= {"command": shlex.join(state["command"]), "environment": record["environment"]}
                own |= {name: record[name] for name in ("corpora", "training") if name in record}
                runs = [{name: run[name] for name in _RECORDED if name in run} for run in record["runs"]]
                found.append(own | {"runs": runs})
            elif self._is_recorded(cell):
                found.append(self._recorded[cell])
        return found

    def figures(self, tables: Sequence[str], analyze_files: Callable[..., Any] | None) -> dict[str, str]:
        """Draw the figures of which all cells are finished here, and the data given; returns Markdown by name.

        Args:
            tables: names of tables, of which those that are no figures are left out.
            analyze_files: of the task's error analysis.
        """
        drawn = dict(self._recorded_figures)
        for name in tables:
            cells = self.experiment.cells([name])
            if all(self._measured(cell) is not None for cell in cells):
                try:
                    drawn |= self._draw(name, cells[0], analyze_files)
                except (ImportError, OSError, ValueError) as error:
                    self.failures.append(f"{name}: {error}")
        return drawn

    def _draw(self, name: str, cell: Cell, analyze_files: Callable[..., Any] | None) -> dict[str, str]:
        table, folder = self.experiment.tables[name], self.folder / "figures" / file_label(name)
        drawn = {}
        if isinstance(table, CurvesFigure):
            runs = {label: self.cell_folder((model, table.data)) for label, model in table.models.items()}
            for measure in table.curves:
                curves = training_curves(runs, measure)
                write_training_curves(curves, folder / measure)
                drawn[f"{name}, {measure}"] = _body(curves.to_markdown())
        elif isinstance(table, AnalysisFigure) and analyze_files is not None:
            (file,) = test_files(self.experiment.data[table.data].test[table.test])
            if file in self.files:
                analyze_files(self.files[file], self._predictions(cell, table.test), folder)
            if (folder / "analysis.md").exists():
                drawn[name] = _body(read_text(folder / "analysis.md"))
        return drawn

    # -------------------------------------------------------------------------------------------------------- commands

    def _model(self, cell: Cell) -> Model:
        return self.experiment.models[cell[0]]

    def _missing(self, cell: Cell) -> list[str]:
        """Names of the files that a cell needs and that were not given; one test set is enough."""
        model, data = self._model(cell), self.experiment.data[cell[1]]
        members: list[Any] = [self.experiment.models[name] for name in model.vote] or [model]
        needed = [*data.train, *([data.validation] if data.validation else [])]
        for owner in (self.experiment, data, *members):
            needed += names_of_files(owner.arguments)
        missing = [name for name in dict.fromkeys(needed) if name not in self.files]
        scored = any(map(is_held_out, data.test.values())) or self._tests(cell)
        tests = [] if scored else [name for files in data.test.values() for name in test_files(files)]
        return [*missing, *(name for name in tests if name not in self.files)]

    def _tests(self, cell: Cell) -> dict[str, list[str]]:
        """The test sets of which all files were given."""
        tests = {label: test_files(names) for label, names in self.experiment.data[cell[1]].test.items()}
        return {label: names for label, names in tests.items() if names and set(names) <= self.files.keys()}

    def _given(self, cell: Cell) -> dict[str, Any]:
        """The arguments that an experiment gives beside the recipe of a cell."""
        given: dict[str, Any] = {}
        for owner in (self.experiment, self.experiment.data[cell[1]], self._model(cell)):
            given = merge_fields(given, owner.arguments)
        return given

    def _settings(self, cell: Cell) -> dict[str, Any]:
        """The recipe of a cell with the arguments of the experiment, or the method of a vote."""
        model = self._model(cell)
        if model.vote:
            return {"method": model.method}
        return merge_fields(self.experiment.recipes[cell[0]], self._given(cell))

    def _command(self, cell: Cell) -> list[str]:
        """The command line of a cell, with ``{name}`` in place of each file."""
        model, data, settings = self._model(cell), self.experiment.data[cell[1]], self._settings(cell)
        words = [str(model.recipe), *as_arguments({field: settings[field] for field in self._given(cell)})]
        if data.train:
            words += ["--train_file", *(f"{{{name}}}" for name in data.train)]
        if data.validation:
            words += ["--validation_file", f"{{{data.validation}}}"]
        tests = self._tests(cell)
        if tests:
            paths = (f"{label}={','.join(f'{{{name}}}' for name in names)}" for label, names in tests.items())
            words += ["--test_file", *paths]
        return [*words, *self.arguments]

    def _state(self, cell: Cell) -> dict[str, Any]:
        """All that decides a cell's result."""
        model = self._model(cell)
        if model.vote:
            members = [self._state((name, cell[1])) for name in model.vote]
            return {"command": [], "settings": self._settings(cell), "files": {}, "members": members}
        command = self._command(cell)
        names = dict.fromkeys(PLACEHOLDER.findall(" ".join(command)))
        files = {name: self._digest(self.files[name]) for name in names if name in self.files}
        return {"command": command, "settings": self._settings(cell), "files": files}

    def _measured(self, cell: Cell) -> dict[str, Any] | None:
        """The state of a cell that was measured here, if its recipe and arguments are those of the experiment now."""
        path = self.cell_folder(cell) / _CELL_FILE
        state = read_json_object(path) if path.exists() else {}
        return state if state.get("settings") == _as_read(self._settings(cell)) else None

    def _is_finished(self, cell: Cell) -> bool:
        state, path = self._state(cell), self.cell_folder(cell) / _CELL_FILE
        if path.exists():
            return read_json_object(path) == _as_read(state)
        if any((self.cell_folder((member, cell[1])) / _CELL_FILE).exists() for member in self._model(cell).vote):
            return False
        return self._is_recorded(cell) and self._recorded[cell]["files"] == state["files"]

    def _is_recorded(self, cell: Cell) -> bool:
        """Whether the record holds a cell with the recipe and the arguments that the experiment has now."""
        recorded = self._recorded.get(cell, {})
        own = {"recipe": self._model(cell).recipe, "settings": _as_read(self._settings(cell))}
        return own == {name: recorded.get(name) for name in own}

    def _words(self, cell: Cell) -> list[str]:
        """The command line that the script is called with."""
        words = [PLACEHOLDER.sub(lambda name: str(self.files.get(name[1], name[0])), w) for w in self._command(cell)]
        place = ["--output_dir", str(self.cell_folder(cell)), "--run_name", file_label(" ".join(cell))]
        return [*words, *place, "--resume_from_checkpoint", "true"]

    def _check_command(self, cell: Cell, main: Callable[[list[str]], Any]) -> None:
        try:
            check_command(main, self._words(cell))
        except ValueError as error:
            option = next(iter(re.findall(r"--(\w+)", str(error))), "")
            owners: dict[tuple[str, ...], dict[str, Any]] = {
                ("models", cell[0]): self._model(cell).arguments,
                ("data", cell[1]): self.experiment.data[cell[1]].arguments,
                (): self.experiment.arguments,
            }
            keys = next((keys for keys, arguments in owners.items() if option in arguments), None)
            if keys is None or option in (word.lstrip("-") for word in self.arguments):
                raise ValueError(f"{_shown(cell)}: {error}") from None
            raise self.experiment.error([*keys, "arguments", option], str(error)) from None

    # ------------------------------------------------------------------------------------------------------------ runs

    def _run(self, cell: Cell, main: Callable[[list[str]], Any], vote: Vote | None) -> None:
        folder, model = self.cell_folder(cell), self._model(cell)
        if model.vote:
            write_json(self._vote(cell, vote), folder / RESULTS_FILE)
        else:
            main(self._words(cell))
        write_json(self._state(cell), folder / _CELL_FILE)  # last: without it, the cell is not finished

    def _vote(self, cell: Cell, vote: Vote | None) -> dict[str, Any]:
        """The record of a vote: of the seeds of one model, or of several models run by run."""
        model = self._model(cell)
        members = [(name, cell[1]) for name in model.vote]
        for member in members:
            if not (self.cell_folder(member) / RESULTS_FILE).exists():
                raise ValueError(f"{_shown(member)} was run elsewhere, and a vote needs its predictions here")
        records = [read_json_object(self.cell_folder(member) / RESULTS_FILE) for member in members]
        kept = {"environment": records[0]["environment"], "corpora": records[0]["corpora"]}
        if len(members) == 1:
            if not records[0].get("ensemble"):
                raise ValueError(f"{members[0][0]} has no vote of its runs: give it several seeds (num_seeds)")
            return kept | {"runs": [{"run": "vote", "scores": records[0]["ensemble"]}]}
        if vote is None:
            raise ValueError(f"{cell[0]}: there are no votes of several models in {self.experiment.task}")
        runs = []
        for run in (run["run"] for run in records[0]["runs"]):
            places = [self.cell_folder(member) / run for member in members]
            weights = None
            if model.method in ("weighted", "log-odds"):
                weights = [read_json_object(place / "eval_results.json")["eval_f1"] / 100 for place in places]
            scores = {}
            for test, names in self._tests(cell).items():
                if len(names) > 1:
                    raise ValueError(f"{_shown(cell)}: a vote is scored on test sets of one file; {test} has several")
                predictions = [self._predictions(member, test, run) for member in members]
                scores[test] = vote(self.files[names[0]], predictions, weights, model.method)
            runs.append({"run": run, "scores": scores})
        return kept | {"runs": runs}

    def _predictions(self, cell: Cell, test: str, run: str | None = None) -> Path:
        """The predictions of a run, by default the first."""
        folder = self.cell_folder(cell)
        run = read_json_object(folder / RESULTS_FILE)["runs"][0]["run"] if run is None else run
        return folder / run / f"predictions_{file_label(test)}.json"


def _as_read(value: Any) -> Any:
    """A value as it is read again from JSON."""
    return json.loads(json.dumps(value))


def _shown(cell: Cell) -> str:
    return f"{cell[0]} on {cell[1]}"


def _body(markdown: str) -> str:
    """Markdown without its title."""
    return markdown.partition("\n")[2].strip() if markdown.startswith("# ") else markdown.strip()


def _is_record(read: Mapping[str, Any]) -> bool:
    """Whether a file has what `reproduce` writes, as far as it is read again."""

    def all_have(values: Any, **kinds: type) -> bool:
        return isinstance(values, list) and all(
            isinstance(value, dict) and all(isinstance(value.get(name), kind) for name, kind in kinds.items())
            for value in values
        )

    cells = read.get("cells")
    return (
        isinstance(read.get("figures"), dict)
        and all_have(cells, model=str, data=str, settings=dict, files=dict, runs=list)
        and all(all_have(cell["runs"], run=str, scores=dict) for cell in cells or ())
        and all(all_have(list(run["scores"].values())) for cell in cells or () for run in cell["runs"])
    )
