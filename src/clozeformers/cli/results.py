"""Commands on what was measured: results, analyze, curves, ensemble, card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..voting import VOTE_METHODS, VoteMethod
from .app import PATH, app

_RECORD_HINT = "give the results.json that a training script writes"


@app.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=PATH)
def results(files: Sequence[Path]) -> None:
    """Print results files as Markdown tables, one a task."""
    from ..tasks import TASKS
    from ..training.model_card import results_table

    by_task: dict[str, list[dict[str, Any]]] = {}
    for path in files:
        task, record = _read_record(path)
        by_task.setdefault(task.name, []).append(record)
    print("\n\n".join(results_table(task.card, by_task[task.name]) for task in TASKS if task.name in by_task))


@app.command()
@click.argument("run", type=PATH)
def card(run: Path) -> None:
    """Write the model card of a training again.

    RUN is the output folder; all numbers come from its results.json.
    """
    from ..training.model_card import write_model_card

    task, record = _read_record(run / "results.json")
    try:
        first = run / record["runs"][0]["run"]
        model = first if (first / "config.json").exists() else None
        path = write_model_card(task.card, record, run / "README.md", model)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{run / 'results.json'} holds no complete results ({error!r}); {_RECORD_HINT}") from None
    print(f"written to {path}")


def _read_record(path: Path) -> tuple[Any, dict[str, Any]]:
    """Read a results file, and find its task."""
    from ..files import read_json_object
    from ..tasks import task_named
    from ..training.model_card import results_table

    record = read_json_object(path, _RECORD_HINT)
    try:
        task = task_named(record["task"])
        results_table(task.card, [record])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no complete results ({error!r}); {_RECORD_HINT}") from None
    return task, record


@app.command()
@click.argument("data", type=PATH)
@click.argument("predictions", metavar="FILE", type=PATH)
@click.argument("folder", type=PATH)
@click.option("--open", "opens", is_flag=True, help="Open the report in the browser.")
def analyze(data: Path, predictions: Path, folder: Path, opens: bool) -> None:
    """Write tables, charts and a report of a model's errors.

    DATA is a file of SQuAD or ReCAM, FILE what a model has predicted on it.
    """
    from ..files import read_text
    from ..rows import count_parquet_rows, is_parquet
    from ..tasks import TASKS

    analyses = [task.analysis for task in TASKS if task.has_analysis]
    analysis = next((module for module in analyses if module.is_data_file(data)), None)
    if analysis is None:
        count_parquet_rows(data) if is_parquet(data) else read_text(data)  # says what a damaged file is
        raise ValueError(f"{data} is in none of the formats that can be analyzed: SQuAD's and ReCAM's")
    print(analysis.analyze_files(data, predictions, folder).to_markdown())
    if opens:
        click.launch(str(folder / "report.html"))


@app.command()
@click.argument("measure")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=PATH)
@click.option("--output", required=True, type=PATH, help="The folder to write to.")
def curves(measure: str, runs: Sequence[Path], output: Path) -> None:
    """Draw training curves of several runs.

    MEASURE is a name from the log, such as eval_f1; RUN the output folder of a
    training, whose seeds are averaged. A table is printed.
    """
    from ..analysis.curves import run_names, training_curves, write_training_curves

    names = run_names(runs)
    drawn = training_curves(dict(zip(names, runs, strict=True)), measure)
    write_training_curves(drawn, output)
    print(drawn.to_markdown())


@app.command()
@click.argument("data", type=PATH)
@click.argument("predictions", metavar="FILE...", nargs=-1, required=True, type=PATH)
@click.option("--weight", "weights", multiple=True, type=float, help="One a file, such as its F1 on other data.")
@click.option(
    "--method",
    type=click.Choice(VOTE_METHODS),
    default="majority",
    show_default=True,
    help="What decides: votes, weights, their log odds, or probabilities of n-best lists.",
)
@click.option("--output", type=PATH, help="Write the chosen answers to this file.")
def ensemble(
    data: Path, predictions: Sequence[Path], *, weights: Sequence[float], method: VoteMethod, output: Path | None
) -> None:
    """Let the predictions of several models vote, and score all.

    DATA is a file of SQuAD, FILE what one model has predicted on it.
    """
    from ..analysis.tables import markdown_table
    from ..files import write_json
    from ..question_answering.ensemble import ensemble_files, read_predictions
    from ..question_answering.votes import answer_scores

    chosen = ensemble_files(predictions, list(weights) or None, method)
    answers = {str(path): read_predictions(path) for path in predictions}
    answers[f"vote ({method})"] = chosen
    scores = answer_scores(data, answers)
    if output is not None:
        write_json(chosen, output)
    cells = [[name, f"{score['exact_match']:.2f}", f"{score['f1']:.2f}"] for name, score in scores.items()]
    print(markdown_table(["answers", "EM", "F1"], cells))
