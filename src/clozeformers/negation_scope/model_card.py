"""Model cards and results tables, written from the record that a training script leaves in `results.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
from ..training.results import percent, summary_table
from .corpora.detect import detect_format

_TEMPLATE = Path(__file__).with_name("model_card_template.md")
TASK = "negation-scope"
_USAGE = """\
import clozeformers  # makes the task known
from transformers import pipeline

negation = pipeline("negation-scope", model=MODEL)
for found in negation("I do not know the answer."):
    print(found)"""


class Corpus(NamedTuple):
    """What a card says about a corpus format's data."""

    name: str
    licence: str


_OTHER = Corpus("", "see the data's owner")
_CORPORA = {
    "cd-sco": Corpus("CD-SCO", "none is stated with the files of CD-SCO (*SEM 2012)"),
    "bioscope": Corpus("BioScope", "BioScope is free for research use"),
    "sfu": Corpus("SFU Review", "SFU Review's annotations are under GPL-3.0 or later"),
}


def write_model_card(record: Mapping[str, Any], folder: Path, model_folder: Path | None) -> Path:
    """Write the model card of a run as `README.md`.

    Args:
        record: what `run_negation_scope` writes as `results.json`; every number of the card is read from it.
        folder: where to; made if it is not there.
        model_folder: a saved model of the run. The card's usage snippet is run with it and shown with what it printed;
            without a model, the card has no such section.

    Returns:
        The file written.

    Raises:
        ValueError: if the metadata is not what huggingface_hub's card classes read back.
    """
    return save_card(
        card_data(record), _TEMPLATE, folder, usage=_USAGE, model_folder=model_folder, sections=_sections(record)
    )


# ------------------------------------------------------------------------------------------------------------ metadata


def card_data(record: Mapping[str, Any]) -> ModelCardData:
    """The YAML block of a card."""
    encoder = record["model"]["model_name_or_path"]
    dataset = record["data"].get("dataset_name")
    return ModelCardData(
        model_name=record["name"],
        language="en",
        library_name="clozeformers",
        pipeline_tag="token-classification",
        tags=["clozeformers", TASK, "negation", "orthogonal-attention"],
        base_model=encoder if is_on_hub(encoder) else None,
        datasets=[dataset] if dataset and is_on_hub(dataset) else None,
        eval_results=_eval_results(record) or None,
    )


def _eval_results(record: Mapping[str, Any]) -> list[EvalResult]:
    """One entry a test set and measure; values between 0 and 1."""
    results = []
    for test_set, measures in record["scores"].items():
        kind = _test_format(record, test_set)
        for measure, value in measures.items():
            results.append(
                EvalResult(
                    task_type="token-classification",
                    task_name="Negation scope resolution",
                    dataset_type=kind or "negation-corpus",
                    dataset_name=_CORPORA.get(kind or "", _OTHER).name or test_set,
                    dataset_split=test_set,
                    metric_type=measure,
                    metric_value=round(value["mean"], 4),
                    metric_args={"std": round(value["std"], 4), "runs": value["runs"]},
                )
            )
    return results


def _test_format(record: Mapping[str, Any], test_set: str) -> str | None:
    """Format of the corpus that a test set was read from: its own file, or the training corpus for held-out folds."""
    for path in record["data"].get("test_file") or []:
        place = Path(path)
        if test_set in (place.stem, f"{place.parent.name}/{place.stem}"):
            return _format(record, path)
    return _format(record, record["data"].get("train_file"))


def _format(record: Mapping[str, Any], path: str | None) -> str | None:
    """Format of a corpus: as the record says, or else as the file shows, or None."""
    if path is None or record["data"].get("corpus_format"):
        return record["data"].get("corpus_format") if path else None
    try:
        return detect_format(path)
    except (OSError, ValueError):
        return None


# ---------------------------------------------------------------------------------------------------------------- text


def _sections(record: Mapping[str, Any]) -> dict[str, str]:
    """What the template's places are filled with."""
    scores = record["scores"]
    training_format = _format(record, record["data"].get("train_file"))
    return {
        **provenance(record),
        "head": _head(record),
        "encoder": f"`{shown_name(record['model']['model_name_or_path'])}`",
        "input": _input(record),
        "averaged": _averaged(record) + selection_note(record, "epoch", "F1"),
        "scores": summary_table(scores, list(next(iter(scores.values())))) if scores else "",
        "statistics": _statistics_table(record["corpora"]),
        "licence": _CORPORA.get(training_format or "", _OTHER).licence,
    }


def _head(record: Mapping[str, Any]) -> str:
    blocks = record["model"]["num_attention_blocks"]
    if _variant(record) == "baseline":
        return "none: a linear layer on the encoder (baseline)"
    return f"Orthogonal Attention, {_variant(record)}, {blocks} {'block' if blocks == 1 else 'blocks'}"


def _input(record: Mapping[str, Any]) -> str:
    """How the cue is shown to the encoder."""
    kinds = {
        "augment": "augment: a special token stands before each cue word",
        "normal": "normal: the sentence as it is",
    }
    return kinds[record["data"]["input"]]


def _averaged(record: Mapping[str, Any]) -> str:
    """Over what the scores are averaged."""
    folds, seeds = record["training"].get("num_folds"), record["training"].get("num_seeds", 1)
    parts = [f"{folds}-fold cross-validation"] if folds else []
    parts += [f"{seeds} seeds"] if seeds > 1 else []
    runs = len(record["runs"])
    if runs == 1:
        return "one run" + (f" of {' and '.join(parts)}" if parts else "")
    return f"mean ± standard deviation over {runs} runs ({' and '.join(parts)})"


def _statistics_table(corpora: Mapping[str, Mapping[str, int]]) -> str:
    rows = [[name, *(f"{corpora[name][count]:,}" for count in ("sentences", "cues", "scopes"))] for name in corpora]
    return markdown_table(["corpus", "sentences", "cues", "non-empty scopes"], rows, numbers=3)


# ------------------------------------------------------------------------------------------------------- results table


def results_table(records: Sequence[Mapping[str, Any]]) -> str:
    """Markdown table of many runs.

    Args:
        records: as for `write_model_card`.

    Returns:
        One row a run and test set, by training corpus and test set, best F1 first; scores in percent.
    """
    header = ["trained on", "test set", "model", "input", "encoder", "precision", "recall", "F1", "PCS"]
    header += ["parameters", "date", "recipe"]
    found = [(record, test_set) for record in records for test_set in record["scores"]]
    found.sort(key=lambda item: (_trained_on(item[0]), item[1], -item[0]["scores"][item[1]]["f1"]["mean"]))
    rows = [_results_row(record, test_set) for record, test_set in found]
    return markdown_table(header, rows)


def _results_row(record: Mapping[str, Any], test_set: str) -> list[str]:
    scores = record["scores"][test_set]
    return [
        _trained_on(record),
        test_set,
        _variant(record),
        record["data"]["input"],
        shown_name(record["model"]["model_name_or_path"]),
        *(percent(scores[measure]) for measure in ("precision", "recall", "f1", "pcs")),
        f"{record['parameters'] / 1e6:.1f} M",
        record["environment"]["date"],
        recipe_name(record),
    ]


def _variant(record: Mapping[str, Any]) -> str:
    model = record["model"]
    return model["attention_variant"] if model["num_attention_blocks"] else "baseline"


def _trained_on(record: Mapping[str, Any]) -> str:
    """Name of the training corpus; a dash for a model that was only scored."""
    data = record["data"]
    return Path(data["train_file"]).stem if data.get("train_file") else data.get("dataset_name") or "–"
