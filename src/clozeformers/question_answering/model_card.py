"""Model cards and results tables of question answering, written from the record of a run."""

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

_TEMPLATE = Path(__file__).with_name("model_card_template.md")
TASK = "extractive-question-answering"
_USAGE = """\
import clozeformers  # makes the task known
from transformers import pipeline

answer = pipeline("extractive-question-answering", model=MODEL)
print(answer(question="Who wrote the letter?", context="The letter was written by Ada Lovelace in 1843."))"""
# What the tables show, of all that the scripts measure.
_MEASURES = {
    "exact_match": "EM",
    "f1": "F1",
    "HasAns_exact": "EM, answerable",
    "HasAns_f1": "F1, answerable",
    "NoAns_exact": "EM, unanswerable",
    "avna": "AvNA",
    "best_f1": "F1, best threshold",
    "total": "questions",
}


def write_qa_model_card(record: Mapping[str, Any], folder: Path, model_folder: Path | None) -> Path:
    """Write the model card of a run as `README.md`.

    Args:
        record: what `run_extractive_qa` writes as `results.json`; every number of the card is read from it.
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
    base, dataset = record["model"].get("model_name_or_path"), record["data"].get("dataset_name")
    return ModelCardData(
        model_name=record["name"],
        language="en",
        library_name="clozeformers",
        pipeline_tag="question-answering",
        tags=["clozeformers", TASK, _kind(record)],
        base_model=base if base and is_on_hub(base) else None,
        datasets=[dataset] if dataset and is_on_hub(dataset) else None,
        eval_results=[
            EvalResult(
                task_type="question-answering",
                task_name="Extractive question answering",
                dataset_type="squad_v2" if record["data"]["no_answer"] else "squad",
                dataset_name=test_set,
                metric_type=measure,
                metric_value=round(measures[measure]["mean"], 2),
            )
            for test_set, measures in record["scores"].items()
            for measure in ("exact_match", "f1")
        ]
        or None,
    )


def _sections(record: Mapping[str, Any]) -> dict[str, str]:
    """What the template's places are filled with."""
    run, data, no_answer = record["runs"][0], record["data"], record["data"]["no_answer"]
    best, threshold = record["training"].get("load_best_model_at_end"), run.get("no_answer_threshold") or 0.0
    chosen = " and ".join(["step"] * bool(best) + ["no-answer threshold"] * no_answer)
    asked = f"`handle_impossible_answer=True, no_answer_threshold={threshold}`"
    fields = {name: value for name, value in record["config"].items() if not name.startswith(("_", "transformers"))}
    return {
        **provenance(record),
        "model": _kind(record),
        "word_vectors": _vectors(record),
        "config": ", ".join(f"`{name}={value}`" for name, value in fields.items()),
        "or_none": ", or that none do" if no_answer else "",
        "script": "SQuAD 2.0" if no_answer else "SQuAD 1.1",
        "selection": selection_note(record, chosen, "F1") if chosen else "",
        "scores": _scores_table(record["scores"]),
        "epochs": f"{run['epochs']:.4g}, {run['steps']:,} steps" if run.get("epochs") else "none",
        "statistics": _statistics_table(record["corpora"]),
        "features": "\n".join(f"* {name}: {report}" for name, report in run["features"].items()),
        "max_answer_length": str(data["max_answer_length"]),
        "no_answer": "It was scored as giving no answer where the no-answer score exceeds the best answer's by more "
        f"than {threshold:.4g}; the pipeline does so with {asked}."
        if no_answer
        else "It always answers: it was trained on questions that have an answer.",
    }


def _kind(record: Mapping[str, Any]) -> str:
    return str(record["config"].get("model_type", "–"))


def _vectors(record: Mapping[str, Any]) -> str:
    source = record["model"].get("word_vectors")
    if source is None:
        return "learned" if record["model"].get("model_name_or_path") is None else "the model's own"
    kind, _, name = source.rpartition("encoder:")
    return f"input embeddings of {shown_name(name)}" if kind or source != name else shown_name(source)


def _scores_table(scores: Mapping[str, Any]) -> str:
    shown = [name for name in _MEASURES if any(name in measures for measures in scores.values())]
    rows = [
        [test_set, *(_number(name, measures[name]["mean"]) if name in measures else "–" for name in shown)]
        for test_set, measures in scores.items()
    ]
    return markdown_table(["test set", *(_MEASURES[name] for name in shown)], rows, len(shown)) if rows else ""


def _number(name: str, value: float) -> str:
    return f"{value:,.0f}" if name == "total" else f"{value:.2f}"


def _statistics_table(corpora: Mapping[str, Mapping[str, int]]) -> str:
    names = ("questions", "unanswerable", "contexts")
    rows = [[corpus, *(f"{counts[name]:,}" for name in names)] for corpus, counts in corpora.items()]
    return markdown_table(["corpus", *names], rows, len(names))


def qa_results_table(records: Sequence[Mapping[str, Any]]) -> str:
    """Markdown table of many runs.

    Args:
        records: as for `write_qa_model_card`.

    Returns:
        One row a run and test set, by test set, best F1 first; scores in percent.
    """
    header = ["test set", "model", "trained on", "word vectors", "EM", "F1", "AvNA", "parameters", "minutes", "date"]
    header += ["recipe"]
    found = [(record, test_set) for record in records for test_set in record["scores"]]
    found.sort(key=lambda item: (item[1], -item[0]["scores"][item[1]]["f1"]["mean"]))
    rows = []
    for record, test_set in found:
        scores = {name: value["mean"] for name, value in record["scores"][test_set].items()}
        files = record["data"].get("train_file") or [record["data"].get("dataset_name") or "–"]
        rows.append(
            [
                test_set,
                _kind(record),
                ", ".join(Path(name).stem for name in files),
                _vectors(record),
                f"{scores['exact_match']:.2f}",
                f"{scores['f1']:.2f}",
                f"{scores['avna']:.2f}" if "avna" in scores else "–",
                f"{record['parameters'] / 1e6:.2f} M",
                f"{record['minutes']:.0f}",
                record["environment"]["date"],
                recipe_name(record),
            ]
        )
    return markdown_table(header, rows)
