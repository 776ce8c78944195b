"""Scores of options without a trained model, and the sum of several models' scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from datasets import Dataset
from transformers import AutoModel, AutoTokenizer

from ..modeling.co_attention import masked_mean
from ..training.pretrained import loading
from .questions import ClozeQuestion

_MAX_PIECES = 256


def score_by_length(rows: Dataset) -> list[np.ndarray]:
    """The number of characters of each option: ``[C]`` for each question."""
    return [np.array([float(len(option.strip())) for option in options]) for options in rows["options"]]


def score_by_cosine(rows: Dataset, model_name_or_path: str) -> list[np.ndarray]:
    """The cosine of the article and the filled-in question, by mean-pooled embeddings of an encoder.

    Args:
        rows: questions as `load_recam` returns them.
        model_name_or_path: the encoder, on the Hub or a folder; its first 256 pieces of a text are read.

    Returns:
        ``[C]`` for each question.

    Raises:
        ValueError: the encoder cannot be loaded.
    """
    with loading(model_name_or_path):
        tokenizer = AutoTokenizer.from_pretrained(model_name_or_path)
        model = AutoModel.from_pretrained(model_name_or_path).eval()
    scores = []
    columns = (rows["article"], rows["question"], rows["options"])
    for article, question, options in zip(*columns, strict=True):
        texts = [article, *ClozeQuestion(article, question, tuple(options)).sentences]
        inputs = tokenizer(texts, padding=True, truncation=True, max_length=_MAX_PIECES, return_tensors="pt")
        with torch.no_grad():
            hidden_states = model(**inputs).last_hidden_state.float()
        pooled = torch.nn.functional.normalize(masked_mean(hidden_states, inputs["attention_mask"].bool()), dim=-1)
        scores.append((pooled[1:] @ pooled[0]).numpy())
    return scores


def probabilities_of(rows: Dataset, scores: Sequence[np.ndarray]) -> dict[str, list[float]]:
    """Row id -> the softmax of its scores."""
    probabilities = {}
    for row_id, values in zip(rows["id"], scores, strict=True):
        odds = np.exp(values - values.max())
        probabilities[row_id] = (odds / odds.sum()).tolist()
    return probabilities


def add_standardized(models: Sequence[Mapping[str, Sequence[float]]], rows: Dataset) -> list[np.ndarray]:
    """Add the log-probabilities of several models, each standardised, so that a sharper one does not decide alone.

    Log-probabilities are centred in each question and divided by their standard deviation over all of them; no label is
    read.

    Args:
        models: for each, row id -> the probability of each option.
        rows: the questions.

    Returns:
        ``[C]`` for each question.
    """
    total: list[np.ndarray] = [np.zeros(len(options)) for options in rows["options"]]
    for model in models:
        logs = [np.log(np.maximum(model[row_id], 1e-12)) for row_id in rows["id"]]
        centred = [values - values.mean() for values in logs]
        scale = float(np.concatenate(centred).std()) or 1.0
        total = [added + values / scale for added, values in zip(total, centred, strict=True)]
    return total
