"""Speed and scores of exported models in onnxruntime, with weights of 32 and of 8 bits, beside PyTorch.

    python benchmarks/onnx_backend.py --model runs/negation dev.jsonl --model runs/reader dev.json \
        --output benchmarks/onnx_backend.json

Each model is exported and reads the first rows of its file: sentences with their cues, or questions. The three read the
same batches alternately in one process, with one thread each; the rate is the median over the repeats. The difference
is the largest one of a logit to PyTorch's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from transformers import pipeline

from clozeformers import save_as_onnx
from clozeformers.cli.loading import load_pipeline
from clozeformers.files import write_json
from clozeformers.metrics import NegationScope
from clozeformers.metrics.squad import squad_scores
from clozeformers.negation_scope import load_corpus
from clozeformers.question_answering.squad import load_squad
from clozeformers.training.results import environment

BATCH = 32
KINDS = ("pytorch", "onnx", "int8")


def read(task: str, file: str, rows: int) -> list[dict[str, Any]]:
    """The first rows of a corpus of the task: of negation, those with a cue."""
    if task == "negation-scope":
        return [row for row in load_corpus(file) if any(row["cue"])][:rows]
    return list(load_squad(file).select(range(rows)))


def f1(pipe: Any, rows: list[dict[str, Any]]) -> float:
    """The score of the task, in percent."""
    if pipe.task == "negation-scope":
        found = pipe(
            [{"tokens": row["tokens"], "cue": row["cue"]} for row in rows], return_words=True, batch_size=BATCH
        )
        predicted = [[int(word["probability"] > 0.5) for word in cues[0]["words"]] for cues in found]
        return NegationScope().compute(predictions=predicted, references=[row["scope"] for row in rows])["f1"]
    answers = pipe([{name: row[name] for name in ("question", "context")} for row in rows], batch_size=BATCH)
    predictions = {row["id"]: one["answer"] for row, one in zip(rows, answers, strict=True)}
    return squad_scores(predictions, {row["id"]: row["answers"]["text"] for row in rows})["f1"]


def features(pipe: Any, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the model reads of the rows."""
    parameters = pipe._resolve_parameters(**pipe._preprocess_params)
    names = ("tokens", "cue") if pipe.task == "negation-scope" else ("question", "context")
    return [window for row in rows for window in pipe.preprocess({n: row[n] for n in names}, **parameters)["features"]]


def measure(model: str, file: str, rows: int, repeats: int) -> dict[str, Any]:
    """One row of the table."""
    pipes = {"pytorch": load_pipeline(model)}
    task, name = pipes["pytorch"].task, Path(model).name
    data = read(task, file, rows)
    sizes = {"pytorch": sum(weights.nbytes for weights in pipes["pytorch"].model.parameters())}
    with TemporaryDirectory() as folder:
        for kind in KINDS[1:]:
            place = Path(folder) / kind
            save_as_onnx(pipes["pytorch"], place, int8=kind == "int8")
            pipes[kind] = pipeline(task, model=str(place), backend="onnx")
            sizes[kind] = sum(path.stat().st_size for path in place.glob("*.onnx"))
    windows = features(pipes["pytorch"], data)
    seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
    logits = {}
    for _ in range(repeats):
        for kind, pipe in pipes.items():
            started = time.perf_counter()
            logits[kind] = list(pipe._predict(windows, BATCH))
            seconds[kind].append(time.perf_counter() - started)
    row: dict[str, Any] = {"model": name, "task": task, "rows": len(data)}
    for kind, pipe in pipes.items():
        pairs = zip(logits[kind], logits["pytorch"], strict=True)
        row[kind] = {
            "per_second": len(data) / statistics.median(seconds[kind]),
            "f1": f1(pipe, data),
            "megabytes": sizes[kind] / 1e6,
            "difference": max(float((ours - theirs).abs().max()) for ours, theirs in pairs),
        }
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown table, one row a model and backend."""
    lines = ["| model | backend | rows/s | F1 | largest difference | MB |", "| --- | --- | ---: | ---: | ---: | ---: |"]
    for row in rows:
        for kind in KINDS:
            own, base = row[kind], row["pytorch"]
            rate = f"{own['per_second']:.1f} ({own['per_second'] / base['per_second']:.2f})"
            difference = "" if kind == "pytorch" else f"{own['difference']:.1e}"
            cells = [row["model"], kind, rate, f"{own['f1']:.2f}", difference, f"{own['megabytes']:.1f}"]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", nargs=2, action="append", required=True, metavar=("FOLDER", "FILE"))
    parser.add_argument("--rows", type=int, default=300, help="of each file")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, help="JSON file to write; rows of other models are kept")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = [measure(model, file, options.rows, options.repeats) for model, file in options.model]
    if options.output and options.output.exists():
        new = {row["model"] for row in rows}
        rows += [row for row in json.loads(options.output.read_text())["rows"] if row["model"] not in new]
    print(table(rows))
    if options.output:
        write_json({"rows": rows, "environment": environment()}, options.output)


if __name__ == "__main__":
    main()
