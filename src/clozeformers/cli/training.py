"""Commands that train and score: train, evaluate, recipes, reproduce."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from .app import PATH, app, pairs

_PASS_ON = {"ignore_unknown_options": True, "help_option_names": []}


@app.command(context_settings=_PASS_ON, options_metavar="")
@click.argument("task")
@click.argument("arguments", metavar="[RECIPE] [OPTIONS...]", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def train(context: click.Context, task: str, arguments: Sequence[str]) -> None:
    """Fine-tune a model and score it.

    TASK is negation-scope, extractive-question-answering or abstract-cloze. What follows is the command line of its
    script in run_glue_style; TASK --help lists the options, and clozeformers recipes the recipes.
    """
    from ..tasks import task_named

    if task in ("-h", "--help"):
        print(context.get_help())
    else:
        task_named(task).main(list(arguments))


@app.command(context_settings={"ignore_unknown_options": True})
@click.argument("task")
@click.argument("model")
@click.argument("words", metavar="FILE... [OPTIONS...]", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--output_dir", type=PATH, help="Keep predictions, scores and a card here.")
def evaluate(task: str, model: str, words: Sequence[str], output_dir: Path | None) -> None:
    """Score a model on files with labels, each a test set.

    OPTIONS are those of `clozeformers train TASK`, such as --max_predict_samples 100.
    """
    from ..tasks import task_named

    with tempfile.TemporaryDirectory() as unkept:
        given = ["--model_name_or_path", model, "--output_dir", str(output_dir or unkept)]
        task_named(task).main([*given, "--test_file", *words])


@app.command()
@click.argument("names", metavar="[NAME...]", nargs=-1)
def recipes(names: Sequence[str]) -> None:
    """List the recipes that the package has, or print some.

    Of a file, all fields are printed, with those of the recipe that it extends.
    """
    from ..tasks import TASKS
    from ..text import did_you_mean
    from ..training.recipe import load_recipe, recipe_files

    owners = {name: task.name for task in TASKS for name in recipe_files(task.name)}
    for name in names:
        if Path(name).is_file():
            print(json.dumps(load_recipe(Path(name)), indent=2))
            continue
        if name not in owners:
            suggested = did_you_mean(name, owners) or "; clozeformers recipes lists them"
            raise ValueError(f"the package has no recipe {name!r}{suggested}")
        print(recipe_files(owners[name])[name].read_text(encoding="utf-8"), end="")
    for task in () if names else TASKS:
        print(task.pipeline_name, *recipe_files(task.name), sep="\n  ")


@app.command()
@click.argument("experiment")
@click.argument("arguments", metavar="[-- OPTIONS...]", nargs=-1)
@click.option("--output_dir", type=PATH, default="runs", show_default=True, help="The folder of all runs.")
@click.option("--file", "files", metavar="NAME=PATH", multiple=True, help="A data file that the experiment names.")
@click.option("--table", "tables", multiple=True, help="This table or figure only.")
@click.option("--print", "only_print", is_flag=True, help="Run nothing.")
@click.option("--record", type=PATH, help="Write the numbers to this file; what it holds is not run again.")
def reproduce(
    experiment: str,
    arguments: Sequence[str],
    *,
    output_dir: Path,
    files: Sequence[str],
    tables: Sequence[str],
    only_print: bool,
    record: Path | None,
) -> None:
    """Run what is missing of a paper's tables, and print them.

    EXPERIMENT is a file, or the name of one in the package. OPTIONS are passed on to the training script.
    """
    from ..files import write_json
    from ..tasks import task_named
    from ..text import did_you_mean
    from ..training.experiment_file import find_experiment, read_experiment
    from ..training.experiment_tables import LEGEND, render_experiment
    from ..training.reproduction import Reproduction

    read = read_experiment(find_experiment(experiment))
    task = task_named(read.task)
    read.check_measures(task.card.measures)
    for name in tables:
        if name not in read.tables:
            suggested = did_you_mean(name, read.tables) or f"; there are {', '.join(read.tables)}"
            raise ValueError(f"{read.path} has no table {name!r}{suggested}")
    wanted = list(tables) or list(read.tables)
    given = pairs("--file", files, f"; the names are {', '.join(read.files)}")
    paths = {name: Path(path) for name, path in given.items()}
    reproduction = Reproduction(read, output_dir / read.name, paths, arguments, record)
    if not only_print:
        for line in reproduction.run(wanted, task.main, task.vote_scores):
            print(line, flush=True)
    results = reproduction.results()
    figures = reproduction.figures(wanted, task.analysis.analyze_files if task.has_analysis else None)
    if record is not None:
        write_json({"experiment": read.name, "cells": results, "figures": figures}, record)
    print(f"# {read.title}\n\n{LEGEND}\n\n{render_experiment(read, results, wanted, figures)}")
    if reproduction.failures:
        raise ValueError(f"{len(reproduction.failures)} of the runs have failed: {'; '.join(reproduction.failures)}")
