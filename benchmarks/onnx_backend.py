"""Speed and scores of exported models in onnxruntime, with weights of 32 and of 8 bits, beside PyTorch.

    python benchmarks/onnx_backend.py --model NAME runs/negation dev.jsonl --model NAME runs/reader dev.json \
        --output benchmarks/onnx_backend.json

Each model is exported and reads the first rows of its file: sentences with their cues, questions, or questions with
options. With one thread and with two, the three read the same batches alternately in one process; a rate is the median
over the repeats, a ratio that of the repeats' ratios to PyTorch. The difference is the largest one of a logit to
PyTorch's. Where the processor has other work, the rates say little, and the ratios with two threads too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from transformers import pipeline

from clozeformers import save_as_onnx
from clozeformers.abstract_cloze import load_recam
from clozeformers.cli.loading import load_pipeline
from clozeformers.files import write_json
from clozeformers.metrics import NegationScope
from clozeformers.metrics.squad import squad_scores
from clozeformers.negation_scope import load_corpus
from clozeformers.question_answering import load_squad
from clozeformers.training.results import environment

BATCH = 32
KINDS = ("pytorch", "onnx", "int8")
THREADS = (1, 2)
# By pipeline: the reader of its files, and the columns that are an input.
TASKS = {
    "negation-scope": (load_corpus, ("tokens", "cue")),
    "extractive-question-answering": (load_squad, ("question", "context")),
    "abstract-cloze": (load_recam, ("article", "question", "options")),
}


def read(task: str, file: str, count: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The first rows of a file, and what a pipeline takes of them."""
    load, names = TASKS[task]
    data = load(file)
    rows = list(data.select(range(min(count, len(data)))))
    return rows, [{name: row[name] for name in names} for row in rows]


def score(pipe: Any, rows: list[dict[str, Any]], inputs: list[dict[str, Any]]) -> float:
    """F1 or accuracy, in percent."""
    if pipe.task == "negation-scope":
        found = pipe(inputs, return_words=True, batch_size=BATCH)
        predicted = [[int(word["probability"] > 0.5) for word in cues[0]["words"]] for cues in found]
        return NegationScope().compute(predictions=predicted, references=[row["scope"] for row in rows])["f1"]
    results = pipe(inputs, batch_size=BATCH)
    if pipe.task == "abstract-cloze":
        hits = [found[0]["index"] == row["label"] for row, found in zip(rows, results, strict=True)]
        return 100 * statistics.mean(hits)
    answers = {row["id"]: found["answer"] for row, found in zip(rows, results, strict=True)}
    return squad_scores(answers, {row["id"]: row["answers"]["text"] for row in rows})["f1"]


def features(pipe: Any, inputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the model reads of the inputs."""
    parameters = pipe._resolve_parameters(**pipe._preprocess_params)
    return [window for one in inputs for window in pipe.preprocess(one, **parameters)["features"]]


def measure_speed(pipes: dict[str, Any], windows: list[dict[str, Any]], repeats: int) -> dict[str, dict[str, float]]:
    """Rate and ratio of each pipeline, timed alternately, after a batch that is not timed."""
    seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for pipe in pipes.values():
        pipe._predict(windows[:BATCH], BATCH)
    for _ in range(repeats):
        for kind, pipe in pipes.items():
            started = time.perf_counter()
            pipe._predict(windows, BATCH)
            seconds[kind].append(time.perf_counter() - started)
    return {
        kind: {
            "per_second": len(windows) / statistics.median(own),
            "ratio": statistics.median(base / each for base, each in zip(seconds["pytorch"], own, strict=True)),
        }
        for kind, own in seconds.items()
    }


def measure(name: str, model: str, file: str, count: int, repeats: int) -> dict[str, Any]:
    """One model: three rows of the table."""
    base = load_pipeline(model)
    rows, inputs = read(base.task, file, count)
    windows = features(base, inputs)
    row: dict[str, Any] = {"model": name, "task": base.task, "rows": len(rows), "threads": {}}
    sizes = {"pytorch": sum(weights.nbytes for weights in base.model.parameters())}
    with TemporaryDirectory() as folder:
        places = {kind: Path(folder) / kind for kind in KINDS[1:]}
        for kind, place in places.items():
            save_as_onnx(base, place, int8=kind == "int8")
            sizes[kind] = sum(path.stat().st_size for path in place.glob("*.onnx"))
        for threads in THREADS:
            torch.set_num_threads(threads)  # onnxruntime takes as many when it loads a model
            pipes = {"pytorch": base}
            pipes |= {kind: pipeline(base.task, model=str(place), backend="onnx") for kind, place in places.items()}
            row["threads"][str(threads)] = measure_speed(pipes, windows, repeats)
    expected = list(base._predict(windows, BATCH))
    for kind, pipe in pipes.items():
        pairs = zip(pipe._predict(windows, BATCH), expected, strict=True)
        row[kind] = {
            "score": score(pipe, rows, inputs),
            "megabytes": sizes[kind] / 1e6,
            "difference": max(float((ours - theirs).abs().max()) for ours, theirs in pairs),
        }
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown table, one row a model and backend, with the ratios to PyTorch in parentheses."""
    lines = [
        "| model | backend | windows/s, 1 thread | 2 threads | score | largest difference | MB |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        for kind in KINDS:
            speeds = [row["threads"][str(threads)][kind] for threads in THREADS]
            cells = [f"{speed['per_second']:.1f} ({speed['ratio']:.2f})" for speed in speeds]
            difference = "" if kind == "pytorch" else f"{row[kind]['difference']:.1e}"
            cells += [f"{row[kind]['score']:.2f}", difference, f"{row[kind]['megabytes']:.1f}"]
            lines.append(f"| {row['model']} | {kind} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", nargs=3, action="append", required=True, metavar=("NAME", "FOLDER", "FILE"))
    parser.add_argument("--rows", type=int, default=300, help="of each file")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path, help="JSON file to write; rows of other models are kept")
    options = parser.parse_args()
    rows = [measure(*model, options.rows, options.repeats) for model in options.model]
    if options.output and options.output.exists():
        new = {row["model"] for row in rows}
        rows += [row for row in json.loads(options.output.read_text())["rows"] if row["model"] not in new]
    print(table(rows))
    if options.output:
        recorded = environment()
        recorded["versions"]["onnxruntime"] = version("onnxruntime")
        write_json({"rows": rows, "environment": recorded}, options.output)


if __name__ == "__main__":
    main()
