"""A few questions of SQuAD's form, and answers to them that are right, partly right, wrong and missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

RIVERS = (
    "The Rhine rises near St. Moritz in the U.S. of old maps, as J. Smith says. It flows to the North Sea. The North "
    "Sea is cold."
)


def question_row(
    number: int, question: str, *answers: str, context: str = RIVERS, title: str = "Rivers"
) -> dict[str, Any]:
    """A row whose answers stand where they first occur."""
    starts = [context.index(answer) for answer in answers]
    return {
        "id": f"q{number}",
        "title": title,
        "context": context,
        "question": question,
        "answers": {"text": list(answers), "answer_start": starts},
    }


ROWS = [
    question_row(0, "What rises near St. Moritz?", "The Rhine", "Rhine"),
    question_row(1, "To where does it flow?", "the North Sea"),
    question_row(2, "Who says so?", "J. Smith"),
    question_row(3, "By whom was the sea warmed?"),
    question_row(4, "Which sea is cold?", "The North Sea"),
    question_row(5, "How long is it?"),
]
PREDICTIONS = {"q0": "rhine", "q1": "flows to the North Sea", "q2": "old maps", "q3": "", "q5": "J. Smith"}
FLOWS = RIVERS.index("flows")
NBEST = {
    "q1": {"answers": [{"text": "flows to the North Sea", "start": FLOWS, "end": FLOWS + 22, "score": -0.5}]},
    "q3": {"answers": [], "no_answer_score": -0.25},
}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The questions and the predictions as files."""
    paragraph = {
        "context": RIVERS,
        "qas": [
            {
                "id": row["id"],
                "question": row["question"],
                "is_impossible": not row["answers"]["text"],
                "answers": [
                    {"text": text, "answer_start": start}
                    for text, start in zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True)
                ],
            }
            for row in ROWS
        ],
    }
    data, predictions = tmp_path / "dev.json", tmp_path / "predictions.json"
    data.write_text(json.dumps({"version": "v2.0", "data": [{"title": "Rivers", "paragraphs": [paragraph]}]}))
    predictions.write_text(json.dumps(PREDICTIONS))
    return data, predictions
