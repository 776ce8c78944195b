"""The question answering part of model cards and results tables."""

from __future__ import annotations

from pathlib import Path

from datasets import Dataset

from ..training.model_card import Record, TaskCard, display_name


def _statistics(rows: Dataset) -> dict[str, int]:
    return {
        "questions": len(rows),
        "unanswerable": sum(not answers["text"] for answers in rows["answers"]),
        "contexts": len(set(rows["context"])),
    }


def _vectors(record: Record) -> str:
    source = record["model"].get("word_vectors")
    if source is None:
        return "learned" if record["model"].get("model_name_or_path") is None else "the model's own"
    encoder = source.removeprefix("encoder:")
    return display_name(source) if encoder == source else f"output of {display_name(encoder)}"


def _model(record: Record) -> dict[str, str]:
    fields = {name: value for name, value in record["config"].items() if not name.startswith(("_", "transformers"))}
    config = ", ".join(f"`{name}={value}`" for name, value in fields.items())
    return _columns(record) | {"config": config}


def _columns(record: Record) -> dict[str, str]:
    return {"model": str(record["config"].get("model_type", "–")), "word vectors": _vectors(record)}


def _chosen(record: Record) -> str | None:
    best = ["step"] if record["training"].get("load_best_model_at_end") else []
    return " and ".join(best + (["no-answer threshold"] if record["data"]["no_answer"] else [])) or None


def _dataset(record: Record, test_set: str) -> tuple[str, str]:
    return "squad_v2" if record["data"]["no_answer"] else "squad", test_set


def _notes(record: Record) -> str:
    no_answer = "It always answers: it was trained on questions that have an answer."
    if record["data"]["no_answer"]:
        threshold = record["runs"][0].get("no_answer_threshold") or 0.0
        no_answer = (
            f"It was scored as giving no answer where the no-answer score exceeds the best answer's by more than "
            f"{threshold:.4g}; the pipeline does so with "
            f"`handle_impossible_answer=True, no_answer_threshold={threshold}`, the default where the model's config "
            "has this threshold."
        )
    text = Path(__file__).with_name("card_notes.md").read_text(encoding="utf-8")
    return text.format(max_answer_length=record["data"]["max_answer_length"], no_answer=no_answer)


CARD = TaskCard(
    task="extractive-question-answering",
    title="Extractive question answering",
    pipeline_tag="question-answering",
    tags=("squad",),
    summary=lambda record: (
        "A question reads a passage: the model finds the words of the passage that answer the question."
    ),
    usage=lambda record: (
        """\
import clozeformers  # registers the task
from transformers import pipeline

answer = pipeline("extractive-question-answering", model=MODEL)
print(answer(question="Who wrote the letter?", context="The letter was written by Ada Lovelace in 1843."))"""
    ),
    measures={
        "f1": "F1",
        "exact_match": "EM",
        "HasAns_f1": "F1, answerable",
        "HasAns_exact": "EM, answerable",
        "NoAns_exact": "EM, unanswerable",
        "avna": "AvNA",
        "best_f1": "F1, best threshold",
    },
    counts={"questions": "questions", "unanswerable": "unanswerable", "contexts": "contexts"},
    statistics=_statistics,
    model=_model,
    columns=_columns,
    chosen=_chosen,
    dataset=_dataset,
    licence=lambda record: "SQuAD's is CC BY-SA 4.0; for other files, see the data's owner",
    notes=_notes,
)
