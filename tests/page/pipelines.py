"""Tiny pipelines of the page's tabs, with random weights."""

from __future__ import annotations

from typing import Any

from clozeformers import BertWithWNDuma

from ..cloze_models import ARTICLE, OPTIONS, QUESTION, FakeReader, tiny_wn_duma
from ..hub_models import QUESTION as ASKED
from ..hub_models import tiny_pipeline, tiny_word_reader

INPUTS = {
    "negation": ["He is neither here nor there, and not me.", "automatic"],
    "question": [ASKED["question"], ASKED["context"], "3"],
    "cloze": [QUESTION, "\n".join(OPTIONS), ARTICLE],
}


def tiny_cloze(model_class: Any = BertWithWNDuma, **fields: Any) -> Any:
    """A pipeline that takes definitions from no dictionary."""
    pipeline = tiny_wn_duma(model_class, **fields)
    pipeline._preprocess_params["option_reader"] = FakeReader()
    return pipeline


def tiny_pipelines() -> dict[str, Any]:
    """Name of a tab -> its pipeline."""
    return {"negation": tiny_pipeline("bert"), "question": tiny_word_reader("bidaf"), "cloze": tiny_cloze()}
