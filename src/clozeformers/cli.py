"""The `clozeformers` command: run models on text, print results, reproduce papers, vote, analyze, export."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from .errors import report_error
from .voting import VOTE_METHODS

_COLOURS = {"cue": ("\x1b[1;31m", "\x1b[0m"), "scope": ("\x1b[4;32m", "\x1b[0m")}
_BRACKETS = {"cue": ("[", "]"), "scope": ("{", "}")}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, that of the process by default.

    Returns:
        The exit status: 0, or 2 after an error of the user's, which is printed to stderr.
    """
    options = _parser().parse_args(arguments)
    try:
        for line in options.command(options):
            print(line, flush=True)
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        return report_error(error, f"clozeformers {options.name}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="clozeformers", description=__doc__)
    commands = parser.add_subparsers(dest="name", required=True, metavar="COMMAND")

    def add(
        name: str, run: Callable[[argparse.Namespace], Iterator[str]], help: str, usage: str | None = None
    ) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=help, usage=usage and f"%(prog)s [-h] {usage}")
        command.set_defaults(command=run)
        return command

    results = add("results", _results, "print results files as Markdown tables, one a task")
    results.add_argument("files", nargs="+", type=Path, metavar="FILE", help="results.json of a training script")
    reproduce = add(
        "reproduce",
        _reproduce,
        "run what is missing of a paper's tables, and print them beside the paper's numbers",
        "EXPERIMENT --output_dir FOLDER [--file NAME=PATH] [--table NAME] [--print] [--record FILE] [--arguments ...]",
    )
    reproduce.add_argument("experiment", metavar="EXPERIMENT", help="an experiment file, or the name of one")
    reproduce.add_argument("--output_dir", type=Path, required=True, help="the folder of all runs")
    reproduce.add_argument("--file", action="append", default=[], help="a data file that the experiment names")
    reproduce.add_argument("--table", action="append", help="this table or figure only; by default all")
    reproduce.add_argument("--print", action="store_true", help="run nothing")
    reproduce.add_argument("--record", type=Path, help="write the numbers to this file, for `make results`")
    reproduce.add_argument(
        "--arguments",
        nargs=argparse.REMAINDER,
        default=[],
        help="options of the training script for all runs; comes last",
    )
    scope = add("scope", _scope, "show the negation cues of a text and their scopes")
    scope.add_argument("texts", nargs="+", metavar="TEXT", help='a text; "-" for each line of the standard input')
    scope.add_argument("--model", help="a negation scope model: a folder or a name on the Hub (default: packaged)")
    scope.add_argument("--json", action="store_true", help="one JSON object a text instead of marked text")
    # An option of several values takes what comes after it: the usage shows it behind the positional arguments.
    answer = add("answer", _answer, "answer a question from a text", "QUESTION TEXT [--model MODEL [MODEL ...]]")
    answer.add_argument("question", metavar="QUESTION")
    answer.add_argument("context", metavar="TEXT", help='the text with the answer; "-" for the standard input')
    answer.add_argument(
        "--model", nargs="+", default=[None], help="a question answering model (default: packaged); several vote"
    )
    ensemble = add(
        "ensemble",
        _ensemble,
        "let the predictions of several models vote, and score all",
        "DATA FILE [FILE ...] [--weights WEIGHT [WEIGHT ...]] [--method METHOD] [--output FILE]",
    )
    ensemble.add_argument("data", type=Path, metavar="DATA", help="the questions, a SQuAD file")
    ensemble.add_argument("predictions", type=Path, nargs="+", metavar="FILE", help="predictions, one file a model")
    ensemble.add_argument("--weights", type=float, nargs="+", help="one a model, such as its F1 on development data")
    ensemble.add_argument(
        "--method",
        choices=VOTE_METHODS,
        default="majority",
        help="what decides: the number of votes, the sum of weights, that of their log odds, or the sum of the "
        "probabilities in the n-best lists (default: %(default)s)",
    )
    ensemble.add_argument("--output", type=Path, help="write the chosen answers to this file")
    analyze = add("analyze", _analyze, "tables, charts and a report of a model's errors")
    analyze.add_argument("data", type=Path, metavar="DATA", help="the questions, a file of SQuAD or ReCAM")
    analyze.add_argument("predictions", type=Path, metavar="FILE", help="predictions of a model")
    analyze.add_argument("folder", type=Path, metavar="FOLDER", help="where to write")
    curves = add("curves", _curves, "training curves of several runs, as a chart and tables")
    curves.add_argument("measure", metavar="MEASURE", help="a name from the log: eval_f1, eval_accuracy")
    curves.add_argument(
        "runs", type=Path, nargs="+", metavar="RUN", help="output folders of a training script; seeds are averaged"
    )
    curves.add_argument("--output", type=Path, required=True, help="the folder to write to")
    export = add("export", _export, "save a model with the code that it needs to load without this library")
    export.add_argument("model", metavar="MODEL", help="a model of this library: a folder or a name on the Hub")
    export.add_argument("folder", type=Path, metavar="FOLDER", help="where to save it")
    add("models", _models, "list the models in the package, with their sizes and scores")
    wordnet = commands.add_parser("wordnet", help="install WordNet, or show where it is")
    actions = wordnet.add_subparsers(required=True, metavar="ACTION")
    install = actions.add_parser("install", help="copy the system's WordNet or download it, unless it is installed")
    install.add_argument("--folder", type=Path, help="a data folder, for CLOZEFORMERS_HOME or NLTK_DATA")
    install.set_defaults(command=_wordnet_install)
    status = actions.add_parser("status", help="show where WordNet is, and check that definitions can be looked up")
    status.set_defaults(command=_wordnet_status)
    return parser


# ------------------------------------------------------------------------------------------------------------ commands


def _results(options: argparse.Namespace) -> Iterator[str]:
    from .files import read_json_object
    from .tasks import TASKS, task_named
    from .training.model_card import results_table

    hint = "give the results.json that a training script writes"
    by_task: dict[str, list[dict[str, Any]]] = {}
    for path in options.files:
        record = read_json_object(path, hint)
        try:
            task = task_named(record["task"])
            results_table(task.card, [record])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} holds no complete results ({error!r}); {hint}") from None
        by_task.setdefault(task.name, []).append(record)
    yield "\n\n".join(results_table(task.card, by_task[task.name]) for task in TASKS if task.name in by_task)


def _reproduce(options: argparse.Namespace) -> Iterator[str]:
    from .files import write_json
    from .tasks import task_named
    from .text import did_you_mean
    from .training.experiment_file import find_experiment, read_experiment
    from .training.experiment_tables import LEGEND, render_experiment
    from .training.reproduction import Reproduction

    experiment = read_experiment(find_experiment(options.experiment))
    task = task_named(experiment.task)
    for name in options.table or ():
        if name not in experiment.tables:
            suggested = did_you_mean(name, experiment.tables) or f"; there are {', '.join(experiment.tables)}"
            raise ValueError(f"{experiment.path} has no table {name!r}{suggested}")
    tables = options.table or list(experiment.tables)
    for given in options.file:
        if "=" not in given:
            raise ValueError(f"--file {given}: give --file NAME=PATH; the names are {', '.join(experiment.files)}")
    files = {name: Path(path) for name, _, path in (given.partition("=") for given in options.file)}
    reproduction = Reproduction(experiment, options.output_dir / experiment.name, files, options.arguments)
    if not options.print:
        yield from reproduction.run(tables, task.main, task.vote_scores)
    results = reproduction.results()
    figures = reproduction.figures(tables, task.analysis.analyze_files if task.has_analysis else None)
    if options.record is not None:
        write_json({"experiment": experiment.name, "cells": results, "figures": figures}, options.record)
    yield f"# {experiment.title}\n\n{LEGEND}\n\n{render_experiment(experiment, results, tables, figures)}"
    if reproduction.failures:
        raise ValueError(f"{len(reproduction.failures)} of the runs have failed: {'; '.join(reproduction.failures)}")


def _scope(options: argparse.Namespace) -> Iterator[str]:
    negation = _load_pipeline(options.model, "negation-scope")
    colour = terminal_has_colour()
    for text in _texts(options.texts):
        cues = negation(text)
        if options.json:
            yield json.dumps({"text": text, "cues": cues}, ensure_ascii=False)
        else:
            yield show_scopes(text, cues, colour)


def _texts(given: Iterable[str]) -> Iterator[str]:
    for text in given:
        if text == "-":
            yield from (line.rstrip("\r\n") for line in sys.stdin if line.strip())
        else:
            yield text


def _export(options: argparse.Namespace) -> Iterator[str]:
    from .hub import save_with_code

    save_with_code(_load_pipeline(options.model), options.folder)
    yield f"saved in {options.folder}; where clozeformers is not installed, load it with trust_remote_code=True"


def _answer(options: argparse.Namespace) -> Iterator[str]:
    from .pipelines.question_answering_ensemble import ExtractiveQuestionAnsweringEnsemble

    members = [_load_pipeline(model, "extractive-question-answering") for model in options.model]
    answer = members[0] if len(members) == 1 else ExtractiveQuestionAnsweringEnsemble(members)
    context = sys.stdin.read() if options.context == "-" else options.context
    yield json.dumps(answer(question=options.question, context=context), ensure_ascii=False)


def _ensemble(options: argparse.Namespace) -> Iterator[str]:
    from .analysis.tables import markdown_table
    from .files import write_json
    from .question_answering.ensemble import ensemble_files, read_predictions
    from .question_answering.votes import answer_scores

    chosen = ensemble_files(options.predictions, options.weights, options.method)
    answers = {str(path): read_predictions(path) for path in options.predictions}
    answers[f"vote ({options.method})"] = chosen
    scores = answer_scores(options.data, answers)
    if options.output is not None:
        write_json(chosen, options.output)
    cells = [[name, f"{score['exact_match']:.2f}", f"{score['f1']:.2f}"] for name, score in scores.items()]
    yield markdown_table(["answers", "EM", "F1"], cells)


def _analyze(options: argparse.Namespace) -> Iterator[str]:
    from .tasks import TASKS

    analyses = [task.analysis for task in TASKS if task.has_analysis]
    analysis = next((module for module in analyses if module.is_data_file(options.data)), None)
    if analysis is None:
        raise ValueError(f"{options.data} is in none of the formats that can be analyzed: SQuAD's and ReCAM's")
    yield analysis.analyze_files(options.data, options.predictions, options.folder).to_markdown()


def _curves(options: argparse.Namespace) -> Iterator[str]:
    from .analysis.curves import run_names, training_curves, write_training_curves

    names = run_names(options.runs)
    curves = training_curves(dict(zip(names, options.runs, strict=True)), options.measure)
    write_training_curves(curves, options.output)
    yield curves.to_markdown()


def _models(options: argparse.Namespace) -> Iterator[str]:
    from .packaged import packaged_models_table

    yield packaged_models_table()


def _wordnet_install(options: argparse.Namespace) -> Iterator[str]:
    from .abstract_cloze.wordnet_install import install

    yield f"WordNet is in {install(options.folder)}"


def _wordnet_status(options: argparse.Namespace) -> Iterator[str]:
    from .abstract_cloze.wordnet import DefinitionLookup

    wordnet = DefinitionLookup().wordnet
    yield f"WordNet is in {wordnet.place}: {sum(1 for _ in wordnet.reader.all_lemma_names()):,} words"


def _load_pipeline(model: str | None, task: str | None = None) -> Any:
    """Load a pipeline of a task, by default with its packaged model, or of the task that the library's model is for."""
    import transformers

    from .tasks import TASKS
    from .training.pretrained import loading

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    # Unless trust_remote_code is False, transformers asks on the standard input, where the texts may come from.
    if task is None:
        assert model is not None
        with loading(model):
            config = transformers.AutoConfig.from_pretrained(model, trust_remote_code=False)
        own = {cls.config_class: row.pipeline_name for row in TASKS for cls in row.models}
        if type(config) not in own:
            raise ValueError(f"{model} is no model of clozeformers but of type {config.model_type!r}")
        task = own[type(config)]
    with loading(model) if model is not None else nullcontext():
        return transformers.pipeline(task, model=model, trust_remote_code=False)


# ------------------------------------------------------------------------------------------------------------- drawing


def terminal_has_colour() -> bool:
    """Whether the standard output is a terminal with colours and NO_COLOR is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def show_scopes(text: str, results: Sequence[Mapping[str, Any]], colour: bool) -> str:
    """Mark cue and scope in a text.

    Args:
        text: the input of `pipeline("negation-scope")`.
        results: its results.
        colour: show the cue in bold red and the scope in green, underlined; else ``[cue]`` and ``{scope}``.

    Returns:
        One line a cue, or the text on one line if it has none.
    """
    # A line break would end the cue's line, and other control characters could steer the terminal.
    text = "".join(character if character.isprintable() else " " for character in text)
    marks = _COLOURS if colour else _BRACKETS
    return "\n".join(_mark(text, result, marks) for result in results) if results else text


def _mark(text: str, result: Mapping[str, Any], marks: Mapping[str, tuple[str, str]]) -> str:
    kinds = [""] * len(text)
    # The cue last: it replaces the scope where they overlap.
    for kind, spans in (("scope", result["scope"]), ("cue", result["cue"].get("parts", [result["cue"]]))):
        for span in spans:
            kinds[span["start"] : span["end"]] = [kind] * (span["end"] - span["start"])
    marked = []
    for kind, pairs in groupby(zip(kinds, text, strict=True), key=itemgetter(0)):
        before, after = marks.get(kind, ("", ""))
        marked.append(before + "".join(character for _, character in pairs) + after)
    return "".join(marked)


if __name__ == "__main__":
    sys.exit(main())
