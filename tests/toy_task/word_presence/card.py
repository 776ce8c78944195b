"""The word presence part of model cards and results tables."""

from __future__ import annotations

from ..training.model_card import TaskCard

CARD = TaskCard(
    task="word-presence",
    title="Word presence",
    pipeline_tag="text-classification",
    tags=("toy",),
    summary=lambda record: "A word reads a text: the model says whether the text holds it.",
    usage=lambda record: (
        """\
from transformers import pipeline

print(pipeline("word-presence", model=MODEL)({"word": "a", "text": "a b"}))"""
    ),
    measures={"accuracy": "accuracy"},
    counts={"rows": "rows"},
    statistics=lambda rows: {"rows": len(rows)},
    model=lambda record: {"model": "toy"},
    columns=lambda record: {"model": "toy"},
    chosen=lambda record: None,
    dataset=lambda record, test_set: ("toy", test_set),
    licence=lambda record: "none",
    notes=lambda record: "",
)
