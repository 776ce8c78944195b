"""Questions per second of the packaged reader, beside a reader with the whole vocabulary of its encoder.

    python benchmarks/question_pipeline.py dev-v1.1.json --reader runs/minilm-qa \
        --output benchmarks/question_pipeline.json

Both read the same questions in the same pipeline, alternately, in batches of 32 windows.
"""

from __future__ import annotations

import argparse
import statistics
from functools import partial
from pathlib import Path

from negation_pipeline import BATCH_SIZE, texts_per_second
from transformers import pipeline

import clozeformers  # noqa: F401
from clozeformers.files import write_json
from clozeformers.question_answering import load_squad
from clozeformers.training.results import environment


def table(rows: list[dict]) -> str:
    """Markdown, one row a model."""
    lines = ["| model | parameters | questions/s | ratio |", "| --- | ---: | ---: | ---: |"]
    for row in rows:
        size = f"{row['parameters'] / 1e6:.1f} M"
        lines.append(f"| {row['model']} | {size} | {row['questions_per_second']:.1f} | {row['ratio']:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path, help="a SQuAD file")
    parser.add_argument("--reader", required=True, help="the baseline: a name on the Hub or a folder")
    parser.add_argument("--count", type=int, default=300, help="read this many questions, evenly spaced")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each, alternating")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    options = parser.parse_args()
    rows = load_squad(options.questions)
    rows = rows.select(range(0, len(rows), max(len(rows) // options.count, 1))).select(range(options.count))
    asked = [{"question": row["question"], "context": row["context"]} for row in rows]
    task = "extractive-question-answering"
    readers = {
        "the packaged model": pipeline(task, batch_size=BATCH_SIZE),
        options.reader.rstrip("/").split("/")[-1]: pipeline(task, model=options.reader, batch_size=BATCH_SIZE),
    }
    speeds = [
        {name: texts_per_second(partial(reader, asked), len(asked)) for name, reader in readers.items()}
        for _ in range(options.repeats)
    ]
    last = list(readers)[-1]
    measured = [
        {
            "model": name,
            "parameters": reader.model.num_parameters(),
            "questions_per_second": statistics.median(each[name] for each in speeds),
            "ratio": statistics.median(each[name] / each[last] for each in speeds),
        }
        for name, reader in readers.items()
    ]
    print(table(measured))
    if options.output:
        write_json({"questions": len(asked), "rows": measured, "environment": environment()}, options.output)


if __name__ == "__main__":
    main()
