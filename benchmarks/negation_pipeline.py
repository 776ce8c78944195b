"""Sentences per second of the packaged negation model, beside transformers' own pipeline.

    python benchmarks/negation_pipeline.py sentences.txt --encoder sentence-transformers/all-MiniLM-L6-v2 \
        --models "one pass, six layers=runs/one-pass" --output benchmarks/negation_pipeline.json

The baseline is `pipeline("token-classification")` with the encoder and a head of four labels, which would label cues
but read no scopes; its weights do not matter for its speed. All read the same sentences, alternately, in batches of 32.
Where the lexicon finds the cues, sentences without one are not read by the model.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline

import clozeformers  # noqa: F401
from clozeformers.files import read_text, write_json
from clozeformers.training.results import environment

BATCH_SIZE = 32


def texts_per_second(run: Callable[[], Any], count: int) -> float:
    """Speed of one run over all texts."""
    start = time.perf_counter()
    run()
    return count / (time.perf_counter() - start)


def further_reader(given: str) -> tuple[str, tuple[str, Callable[..., Any]]]:
    """Name, what is read, and pipeline of ``NAME=FOLDER``."""
    name, _, folder = given.partition("=")
    return name, ("cues, scopes", pipeline("negation-scope", model=folder, batch_size=BATCH_SIZE))


def table(rows: list[dict]) -> str:
    """Markdown, one row a model."""
    lines = ["| model | reads | sentences/s | ratio |", "| --- | --- | ---: | ---: |"]
    for row in rows:
        lines.append(f"| {row['model']} | {row['reads']} | {row['sentences_per_second']:.0f} | {row['ratio']:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sentences", type=Path, help="a text file with one sentence a line")
    parser.add_argument("--encoder", required=True, help="of the baseline: a name on the Hub or a folder")
    parser.add_argument("--models", nargs="*", default=[], metavar="NAME=FOLDER", help="more models that find cues")
    parser.add_argument("--count", type=int, default=1500, help="read this many of the sentences")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each, alternating")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    options = parser.parse_args()
    texts = [line for line in read_text(options.sentences).splitlines() if line.strip()][: options.count]
    baseline = pipeline(
        "token-classification",
        model=AutoModelForTokenClassification.from_pretrained(options.encoder, num_labels=4),
        tokenizer=AutoTokenizer.from_pretrained(options.encoder),
        batch_size=BATCH_SIZE,
    )
    negation = pipeline("negation-scope", batch_size=BATCH_SIZE)
    readers = {
        "the packaged model": ("cues of the lexicon, scopes", negation),
        'the packaged model, convention="sfu"': ("cues, scopes", partial(negation, convention="sfu")),
        **dict(map(further_reader, options.models)),
        f"token classification, {options.encoder.rstrip('/').split('/')[-1]}": ("labels of words", baseline),
    }
    speeds = [
        {name: texts_per_second(partial(run, texts), len(texts)) for name, (_, run) in readers.items()}
        for _ in range(options.repeats)
    ]
    last = list(readers)[-1]
    rows = [
        {
            "model": name,
            "reads": reads,
            "sentences_per_second": statistics.median(each[name] for each in speeds),
            "ratio": statistics.median(each[name] / each[last] for each in speeds),
        }
        for name, (reads, _) in readers.items()
    ]
    print(table(rows))
    if options.output:
        write_json({"sentences": len(texts), "rows": rows, "environment": environment()}, options.output)


if __name__ == "__main__":
    main()
