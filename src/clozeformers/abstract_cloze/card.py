"""The abstract cloze part of model cards and results tables."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from datasets import Dataset

from ..training.model_card import Record, TaskCard, display_name
from ..words import split_words


def _statistics(rows: Dataset) -> dict[str, float]:
    """Counts; mean lengths and vocabularies in words, as in Table 1 of Jiang et al."""
    articles = [_words(article) for article in rows["article"]]
    questions = [_words(question) for question in rows["question"]]
    return {
        "questions": len(rows),
        "options": sum(map(len, rows["options"])),
        "articles": len(set(rows["article"])),
        "labelled": sum(label >= 0 for label in rows["label"]),
        "article_words": round(fmean(map(len, articles)), 1),
        "question_words": round(fmean(map(len, questions)), 1),
        "distinct_words": len({word for words in articles + questions for word in words}),
        "distinct_options": len({option for options in rows["options"] for option in options}),
    }


def _words(text: str) -> list[str]:
    return [word.text.lower() for word in split_words(text)]


_METHODS = {
    "longest": "the longest option",
    "cosine": "cosine of mean-pooled embeddings",
    "ngrams": "n-gram regression",
    "ensemble": "ensemble",
}
_FEATURES = {"span": "mean over the option's pieces", "gap": "mask in the gap"}


def _variant(record: Record) -> str:
    """Name of the model, as the paper gives it, with what it reads of the option's own pieces."""
    model = record["model"]
    if "method" in model:
        return _METHODS[model["method"]]
    name = "WN-DUMA" if record["data"]["use_definitions"] else "stacked co-attention"
    if not model["num_co_attention_layers"]:
        name = "encoder"
    elif model["co_attention"] == "parallel":
        name = "DUMA"
    feature = _FEATURES.get(model.get("option_features"))  # older records have none
    return f"{name}, {feature}" if feature else name


def _members(record: Record) -> str:
    return ", ".join(display_name(member) for member in record["model"]["members"] or [])


def _input(record: Record) -> str:
    data = record["data"]
    if "method" in record["model"]:
        alone = "options" if record["model"]["method"] == "longest" else "article, question with option"
        return _members(record) or alone
    sentences = "similar sentences of the article" if data.get("article_sentences") == "similar" else "article"
    parts = {sentences: data["use_article"], "question with option": True, "definitions": data["use_definitions"]}
    return ", ".join(part for part, is_read in parts.items() if is_read)


def _model(record: Record) -> dict[str, str]:
    model = record["model"]
    if "method" in model:
        return {"method": _METHODS[model["method"]], "input": _input(record)}
    layers = model["num_co_attention_layers"]
    sizes = f"{model['num_co_attention_heads']} heads of {model['co_attention_head_size']}"
    head = f"{_variant(record)}: {model['co_attention']} co-attention, {layers} layer{'s' * (layers != 1)}, {sizes}"
    return {
        "head": head if layers else _head_of_encoder(model.get("option_features")),
        "encoder": f"`{display_name(model['model_name_or_path'])}`",
        "input": f"{_input(record)}; at most {record['data']['max_length']} word pieces an option",
    }


def _head_of_encoder(option_features: str | None) -> str:
    if option_features == "gap":
        return "the state at a mask in the gap, against the mean input embedding of each option"
    beside = " and on the normalised mean over the option's own pieces" if option_features == "span" else ""
    return f"a linear layer on the encoder's pooled output{beside}"


def _columns(record: Record) -> dict[str, str]:
    encoder = display_name(record["model"]["model_name_or_path"] or "–")
    return {"model": _variant(record), "encoder": encoder, "input": _input(record)}


def _chosen(record: Record) -> str | None:
    training = record["training"]
    is_measured_once = training.get("eval_strategy") == "epoch" and training["num_train_epochs"] <= 1
    return "step" if training.get("load_best_model_at_end") and not is_measured_once else None


def _notes(record: Record) -> str:
    reach = "It reads the beginning of an article only, as much as fits beside the option."
    if record["data"].get("article_sentences") == "similar":
        reach = "It reads those sentences of an article that are similar to the question, as many as fit."
    if "method" in record["model"]:
        reach = "It is no model to load: its predictions are in the output folder of its command."
    elif not record["data"]["use_article"]:
        reach = "It reads the question alone, and no article."
    return Path(__file__).with_name("card_notes.md").read_text(encoding="utf-8").format(reach=reach)


CARD = TaskCard(
    task="abstract-cloze",
    title="Abstract cloze",
    pipeline_tag="multiple-choice",
    tags=("multiple-choice", "wn-duma"),
    summary=lambda record: "A summary with a gap reads its article: the model ranks the words that could fill the gap.",
    usage=lambda record: (
        """\
import clozeformers  # registers the task
from transformers import pipeline

cloze = pipeline("abstract-cloze", model=MODEL)
example = {
    "article": "The council closed the library because it had no money left.",
    "question": "A town lost its library for @placeholder reasons.",
    "options": ["financial", "musical", "medical"],
}
for found in cloze(example):
    print(found["option"], round(found["score"], 2))"""
    ),
    measures={"accuracy": "accuracy"},
    counts={"questions": "questions", "options": "options", "articles": "articles", "labelled": "labelled"},
    statistics=_statistics,
    model=_model,
    columns=_columns,
    chosen=_chosen,
    dataset=lambda record, test_set: ("recam", test_set),
    licence=lambda record: (
        "none is stated with the files of ReCAM (SemEval-2021 Task 4); for other files, see the data's owner. "
        "WordNet's licence allows any use"
    ),
    notes=_notes,
)
