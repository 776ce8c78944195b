"""Votes of several readers: every set of two or more, by summed probabilities and by majority.

    python benchmarks/reader_votes.py dev.json --reader NAME predictions.json ... --output benchmarks/reader_votes.json

A file of predictions has its n-best lists beside it, as the training script writes both. Ties of the majority go to the
highest sum of probabilities. All votes are scored on the same questions, so the best of them is optimistic.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path
from typing import Any

from clozeformers.analysis.tables import markdown_table
from clozeformers.files import write_json
from clozeformers.question_answering.ensemble import ensemble_files, read_predictions
from clozeformers.question_answering.votes import answer_scores
from clozeformers.training.results import environment
from clozeformers.voting import VoteMethod

METHODS: tuple[VoteMethod, ...] = ("sum", "majority")


def measure(data: Path, readers: dict[str, Path]) -> list[dict[str, Any]]:
    """The score of each reader, and of each vote with the difference to its best member."""
    answers = {(name,): {"": read_predictions(path)} for name, path in readers.items()}
    for size in range(2, len(readers) + 1):
        for names in combinations(readers, size):
            answers[names] = {method: ensemble_files([readers[n] for n in names], None, method) for method in METHODS}
    rows: list[dict[str, Any]] = []
    for names, by_method in answers.items():
        for method, score in answer_scores(data, by_method).items():
            own = {"readers": list(names), "method": method, "f1": score["f1"], "exact_match": score["exact_match"]}
            members = [
                row["f1"] for row in rows if len(names) > 1 and len(row["readers"]) == 1 and row["readers"][0] in names
            ]
            rows.append(own | {"gain": score["f1"] - max(members) if members else None})
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown table, one row a reader or vote."""
    cells = [
        [
            " + ".join(row["readers"]),
            row["method"] or "–",
            f"{row['f1']:.2f}",
            f"{row['exact_match']:.2f}",
            "" if row["gain"] is None else f"{row['gain']:+.2f}",
        ]
        for row in rows
    ]
    return markdown_table(["readers", "vote", "F1", "EM", "F1, to the best member"], cells, 3)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a file of SQuAD")
    parser.add_argument("--reader", nargs=2, action="append", required=True, metavar=("NAME", "FILE"))
    parser.add_argument("--output", type=Path, help="JSON file to write")
    options = parser.parse_args()
    rows = measure(options.data, {name: Path(path) for name, path in options.reader})
    print(table(rows))
    if options.output:
        write_json({"data": options.data.name, "rows": rows, "environment": environment()}, options.output)


if __name__ == "__main__":
    main()
