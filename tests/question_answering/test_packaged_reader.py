"""What the packaged reader makes of questions on texts of several kinds, some without an answer."""

from __future__ import annotations

from pathlib import Path

from transformers import pipeline

from clozeformers.metrics.squad import squad_scores
from clozeformers.question_answering import load_squad

QUESTIONS = Path(__file__).parents[1] / "data" / "questions.json"


def test_questions_with_and_without_an_answer() -> None:
    rows = load_squad(QUESTIONS)
    reader = pipeline("extractive-question-answering", device="cpu", batch_size=16)
    asked = [{"question": row["question"], "context": row["context"]} for row in rows]
    answers = {row["id"]: answer["answer"] for row, answer in zip(rows, reader(asked), strict=True)}
    references = {row["id"]: row["answers"]["text"] for row in rows}
    scores = squad_scores(answers, references, version_2=True)
    assert scores["total"] >= 70
    assert scores["NoAns_total"] >= 15
    assert scores["HasAns_f1"] >= 85
    assert scores["NoAns_exact"] >= 55
    always = {
        row["id"]: answer["answer"]
        for row, answer in zip(rows, reader(asked, handle_impossible_answer=False), strict=True)
    }
    assert all(always.values())
