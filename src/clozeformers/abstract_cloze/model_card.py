"""Model cards and results tables of abstract cloze, written from the record of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from ..training.cards import (
    is_on_hub,
    markdown_table,
    provenance,
    recipe_name,
    save_card,
    selection_note,
    shown_name,
)
from ..training.results import percent

TASK = "abstract-cloze"

_TEMPLATE = Path(__file__).with_name("model_card_template.md")
_USAGE = """\
import clozeformers  # makes the task known
from transformers import pipeline

cloze = pipeline("abstract-cloze", model=MODEL)
example = {
    "article": "The council closed the library because it had no money left.",
    "question": "A town lost its library for @placeholder reasons.",
    "options": ["financial", "musical", "medical"],
}
for found in cloze(example):
    print(found["option"], round(found["score"], 2))"""
_STATISTICS = {
    "questions": "questions",
    "options": "options",
    "articles": "articles",
    "left_out": "left out for their articles",
}


def write_cloze_model_card(record: Mapping[str, Any], folder: Path, model_folder: Path | None) -> Path:
    """Write the model card of a run as `README.md`.

    Args:
        record: what `run_abstract_cloze` writes as `results.json`; every number of the card is read from it.
        folder: where to; made if it is not there.
        model_folder: a saved model of the run. The card's usage snippet is run with it and shown with what it printed;
            without a model, the card has no such section.

    Returns:
        The file written.
    """
    return save_card(
        card_data(record), _TEMPLATE, folder, usage=_USAGE, model_folder=model_folder, sections=_sections(record)
    )


def card_data(record: Mapping[str, Any]) -> ModelCardData:
    """The YAML block of a card."""
    encoder, dataset = record["model"]["model_name_or_path"], record["data"].get("dataset_name")
    return ModelCardData(
        model_name=record["name"],
        language="en",
        library_name="clozeformers",
        pipeline_tag="multiple-choice",
        tags=["clozeformers", TASK, "multiple-choice", "wn-duma"],
        base_model=encoder if is_on_hub(encoder) else None,
        datasets=[dataset] if dataset and is_on_hub(dataset) else None,
        eval_results=_eval_results(record) or None,
    )


def _eval_results(record: Mapping[str, Any]) -> list[EvalResult]:
    """The mean of each test set and, of several seeds, their vote; values between 0 and 1."""
    measured = [
        ("accuracy", test_set, measures["accuracy"]["mean"], {"std": round(measures["accuracy"]["std"], 4)})
        for test_set, measures in record["scores"].items()
    ]
    measured += [
        ("accuracy of the vote", test_set, measures["accuracy"], {})
        for test_set, measures in record["ensemble"].items()
    ]
    return [
        EvalResult(
            task_type="multiple-choice",
            task_name="Abstract cloze",
            dataset_type="recam",
            dataset_name=test_set,
            metric_type="accuracy",
            metric_name=name,
            metric_value=round(value, 4),
            metric_args={**spread, "runs": len(record["runs"])},
        )
        for name, test_set, value, spread in measured
    ]


# ---------------------------------------------------------------------------------------------------------------- text


def _sections(record: Mapping[str, Any]) -> dict[str, str]:
    """What the template's places are filled with."""
    run, model = record["runs"][0], record["model"]
    seeds = [str(run["seed"]) for run in record["runs"]]
    training = record["training"]
    is_measured_once = training.get("eval_strategy") == "epoch" and training["num_train_epochs"] <= 1
    chooses = training.get("load_best_model_at_end") and not is_measured_once
    averaged = f"mean ± standard deviation over {len(seeds)} seeds" if len(seeds) > 1 else "one run"
    return {
        **provenance(record),
        "head": _head(record),
        "encoder": f"`{shown_name(model['model_name_or_path'])}`",
        "input": f"{_input(record)}; at most {record['data']['max_length']} word pieces an option",
        "trained": f"{run['trained_parameters']:,}",
        "averaged": averaged + (selection_note(record, "step", "accuracy") if chooses else ""),
        "scores": scores_table(record) if record["scores"] else "",
        "seeds": ", ".join(seeds),
        "epochs": f"{run['epochs']:.4g}, {run['steps']:,} steps" if run.get("epochs") else "none",
        "folders": f"; it is the first of {len(seeds)}, in the folder `{run['run']}`" if run["run"] else "",
        "reach": "It reads the beginning of an article only, as much as fits beside the option."
        if record["data"]["use_article"]
        else "It reads the question alone, and no article.",
        "statistics": _statistics_table(record["corpora"]),
        "features": _features_table(run["features"]),
    }


def _head(record: Mapping[str, Any]) -> str:
    """What stands on the encoder, with its sizes."""
    model, name = record["model"], _variant(record)
    layers = model["num_co_attention_layers"]
    if not layers:
        return "none: a linear layer on the encoder's pooled output"
    sizes = f"{model['num_co_attention_heads']} heads of {model['co_attention_head_size']}"
    return f"{name}: {model['co_attention']} co-attention, {layers} {'layer' if layers == 1 else 'layers'}, {sizes}"


def _variant(record: Mapping[str, Any]) -> str:
    """Name of the model, as the paper gives it."""
    if not record["model"]["num_co_attention_layers"]:
        return "encoder"
    if record["model"]["co_attention"] == "parallel":
        return "DUMA"
    return "WN-DUMA" if record["data"]["use_definitions"] else "stacked co-attention"


def _input(record: Mapping[str, Any]) -> str:
    """What the encoder reads of a question."""
    data = record["data"]
    parts = ["article"] if data["use_article"] else []
    parts += ["question with option", *(["definitions"] if data["use_definitions"] else [])]
    return ", ".join(parts)


def scores_table(record: Mapping[str, Any]) -> str:
    """Markdown table of the accuracies in percent: one row a test set, with a column for the vote of several seeds.

    Where nothing was scored, a sentence that says so.
    """
    if not record["scores"]:
        return "No question with a label was scored."
    ensemble, corpora = record.get("ensemble") or {}, record["corpora"]
    rows = [
        [
            test_set,
            f"{corpora[test_set]['labelled']:,}",
            percent(measures["accuracy"]),
            *([f"{100 * ensemble[test_set]['accuracy']:.2f}"] if ensemble else []),
        ]
        for test_set, measures in record["scores"].items()
    ]
    vote = [f"vote of {len(record['runs'])} seeds"] if ensemble else []
    return markdown_table(["test set", "questions", "accuracy", *vote], rows, 2 + len(vote))


def _statistics_table(corpora: Mapping[str, Mapping[str, int]]) -> str:
    rows = [[name, *(f"{counts[column]:,}" for column in _STATISTICS)] for name, counts in corpora.items()]
    return markdown_table(["corpus", *_STATISTICS.values()], rows, len(_STATISTICS))


def _features_table(features: Mapping[str, Mapping[str, int]]) -> str:
    columns = list(next(iter(features.values())))
    rows = [[name, *(f"{counts[column]:,}" for column in columns)] for name, counts in features.items()]
    return markdown_table(["corpus", *(column.replace("_", " ") for column in columns)], rows, len(columns))


def cloze_results_table(records: Sequence[Mapping[str, Any]]) -> str:
    """Markdown table of many runs.

    Args:
        records: as for `write_cloze_model_card`.

    Returns:
        One row a run and test set, by test set, best mean accuracy first; in percent.
    """
    header = ["test set", "model", "encoder", "input", "trained on", "accuracy", "vote", "seeds", "parameters"]
    header += ["minutes", "date", "recipe"]
    found = [(record, test_set) for record in records for test_set in record["scores"]]
    found.sort(key=lambda item: (item[1], -item[0]["scores"][item[1]]["accuracy"]["mean"]))
    rows = []
    for record, test_set in found:
        files = record["data"].get("train_file") or [record["data"].get("dataset_name") or "–"]
        voted = record["ensemble"].get(test_set)
        rows.append(
            [
                test_set,
                _variant(record),
                shown_name(record["model"]["model_name_or_path"]),
                _input(record),
                ", ".join(Path(name).stem for name in files),
                percent(record["scores"][test_set]["accuracy"]),
                f"{100 * voted['accuracy']:.2f}" if voted else "–",
                str(len(record["runs"])),
                f"{record['parameters'] / 1e6:.1f} M",
                f"{record['minutes']:.0f}",
                record["environment"]["date"],
                recipe_name(record),
            ]
        )
    return markdown_table(header, rows)
