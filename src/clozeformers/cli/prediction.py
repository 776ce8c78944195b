"""The command that predicts whole data sets."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import click
import torch

from .. import __version__
from ..digest import model_digest
from ..prediction.formats import FORMATS
from ..prediction.shards import Shards
from ..prediction.sources import check_folder, count_rows, read_source, source_schema
from ..tasks import task_named
from ..text import did_you_mean
from .app import PATH, app, pairs

# Of the parameters of a pipeline that a command line can give.
_PLAIN_TYPES = {"bool", "int", "float", "str"}
_COUNT = click.IntRange(min=1)


@app.command()
@click.argument("task")
@click.argument("source")
@click.argument("folder", type=PATH)
@click.option("--model", help="A folder or a name on the Hub  [default: the packaged model]")
@click.option("--column", "columns", metavar="INPUT=COLUMN", multiple=True, help="Where an input stands.")
@click.option("--set", "parameters", metavar="NAME=VALUE", multiple=True, help="A parameter of the pipeline.")
@click.option("--split", default="train", show_default=True, help="Of a data set on the Hub.")
@click.option(
    "--format",
    type=click.Choice(list(FORMATS)),
    metavar="FORMAT",
    default="jsonl",
    help=f"{'|'.join(FORMATS)} (default: jsonl)",
)
@click.option(
    "--on_error",
    type=click.Choice(["raise", "skip"]),
    default="raise",
    show_default=True,
    help="Rows that cannot be read.",
)
@click.option("--batch_size", type=_COUNT, metavar="N", default=32, show_default=True, help="Rows in a forward pass.")
@click.option("--rows_per_shard", type=_COUNT, metavar="N", default=1000, show_default=True, help="Rows of a part.")
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True, help="Where to run.")
@click.option("--ray", metavar="NAME=VALUE", multiple=True, help="workers; cpus, gpus of each.")
def predict(
    task: str,
    source: str,
    folder: Path,
    *,
    model: str | None,
    columns: Sequence[str],
    parameters: Sequence[str],
    split: str,
    **options: Any,
) -> None:
    """Predict all rows of a data set, in parts.

    SOURCE is a file or folder of text, JSON lines, CSV or Parquet, "-" for the standard input, or a data set on the
    Hub. FOLDER gets all columns and the prediction; the same command goes on after an interruption.
    """
    from transformers.utils.logging import tqdm

    from ..prediction.engines import predict_here, predict_on_ray
    from ..prediction.predictor import Predictor

    renamed = pairs("--column", columns)
    given = {name: _value(value) for name, value in pairs("--set", parameters).items()}
    _check_parameters(task, given)
    device = given.pop("device", None)  # the same predictions wherever they are computed
    check_folder(source, folder)
    contents = model_digest(Path(model)) if model is not None and Path(model).is_dir() else __version__
    settings = {
        "task": task,
        "model": model,
        "contents of the model": contents,
        "source": source,
        "split": split,
        "columns": renamed,
        "set": given,
    }
    on_error, batch_size = options["on_error"], options["batch_size"]
    schema = source_schema(source) if options["format"] == "parquet" else None
    shards = Shards(folder, settings, options["format"], options["rows_per_shard"], schema)
    build = partial(Predictor, task, model, columns=renamed, on_error="skip", batch_size=batch_size, **given)
    run = predict_here
    if options["engine"] == "ray":
        run = partial(predict_on_ray, cluster=_cluster(pairs("--ray", options["ray"])))
    elif options["ray"]:
        raise ValueError("--ray is for --engine ray")
    bar = partial(tqdm, total=count_rows(source), unit="row") if sys.stderr.isatty() else None
    failed = run(read_source(source, split), shards, build, device=device, on_error=on_error, bar=bar)
    if os.environ.get("RANK", "0") == "0":
        errors = f"; {failed} row{'s have' if failed > 1 else ' has'} an error" if failed else ""
        print(f"{folder}: finished{errors}")


def _cluster(given: dict[str, str]) -> Any:
    """The settings of a Ray cluster."""
    from ..prediction.engines import Cluster

    try:
        values = {name: int(value) if name == "workers" else float(value) for name, value in given.items()}
        return Cluster(**values)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        wrong = " ".join(f"{name}={value}" for name, value in given.items())
        raise ValueError(f"--ray {wrong}: give workers=, cpus= or gpus=, and a number") from None


def _check_parameters(task: str, given: dict[str, Any]) -> None:
    """Raise a ValueError for a name that `--set` does not take, or a type of numbers that torch does not have."""
    parameters = signature(task_named(task).pipeline._sanitize_parameters).parameters
    names = [name for name, own in parameters.items() if _PLAIN_TYPES & set(str(own.annotation).split(" | "))]
    names += ["backend", "device", "dtype", "num_workers", "revision"]
    for name in given:
        if name not in names:
            option = f"; give --{name}" if name in ("model", "batch_size", "on_error") else did_you_mean(name, names)
            hint = option or f"; there are {', '.join(names)}"
            raise ValueError(f"--set {name}: there is no such parameter{hint}")
    dtype = given.get("dtype", "auto")
    known = getattr(torch, str(dtype), None)
    if dtype != "auto" and not (isinstance(known, torch.dtype) and known.is_floating_point):
        raise ValueError(f"--set dtype={dtype}: no model has such numbers; give auto, float32, float16 or bfloat16")


def _value(text: str) -> Any:
    """A value as JSON has it, or else a string."""
    try:
        return json.loads(text)
    except ValueError:
        return text
