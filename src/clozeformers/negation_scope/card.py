"""The negation scope part of model cards and results tables."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from datasets import Dataset

from ..files import data_name
from ..training.arguments import split_test_file
from ..training.corpora import HELD_OUT
from ..training.model_card import Record, TaskCard, display_name
from .corpora.loading import detect_format
from .corpora.schema import sentence_id

_INPUTS = {
    "augment": "augment: a special token precedes each cue word",
    "normal": "normal: the sentence as it is",
}


_CUE_WORDS = {"keep": "", "drop": ", cue words out of scope", "add": ", cue words in scope"}
_NAMES = {"cd-sco": "CD-SCO", "bioscope": "BioScope", "sfu": "SFU Review"}
_LICENCES = {
    "cd-sco": "none is stated with the files of CD-SCO (*SEM 2012)",
    "bioscope": "BioScope is free for research use",
    "sfu": "SFU Review's annotations are under GPL-3.0 or later",
}
_OTHER_LICENCE = "see the data's owner"
_FINDS_CUES = "The model finds the cues, unless they are given"
_FINDS_OTHER_CUES = """\
Under the conventions {names}, the cues are those of a lexicon; under others the model finds them, unless they are
  given"""
_IS_GIVEN_CUES = """\
The model is given the cues. If none are given, the pipeline finds them with a lexicon or with the detector that it is
  given"""
_CHOICE = """
  This model knows the conventions {names}, and `convention=...` in a call of the pipeline chooses one. Without it,
  scopes follow the first{and_cues}."""
_AND_ALL_CUES = """, and the cues are all those of the lexicon, some of which no corpus annotates, such as *denies*"""
_USAGE = """\
import clozeformers  # registers the task
from transformers import pipeline

negation = pipeline("negation-scope", model=MODEL)
for found in negation({given}):
    print(found)"""
_EXAMPLE = '"I do not know the answer."'
_EXAMPLE_OF_SPECULATION = '{"text": "I may know the answer.", "cues": ["may"]}'


def _statistics(rows: Dataset) -> dict[str, int]:
    return {
        "sentences": len(set(map(sentence_id, rows["id"]))),
        "cues": sum(map(any, rows["cue"])),
        "scopes": sum(map(any, rows["scope"])),
    }


def _variant(record: Record) -> str:
    model = record["model"]
    if model["num_attention_blocks"]:
        return str(model["attention_variant"])
    return "token classification" if record["data"].get("label_pieces") == "first" else "baseline"


def _model(record: Record) -> dict[str, str]:
    blocks = record["model"]["num_attention_blocks"]
    head = f"Orthogonal Attention, {_variant(record)}, {blocks} block{'s' * (blocks != 1)}"
    return {
        "head": head if blocks else "a linear layer on the encoder (baseline)",
        "encoder": f"`{display_name(record['model']['model_name_or_path'])}`",
        "input": _INPUTS[record["data"]["input"]],
    }


def _columns(record: Record) -> dict[str, str]:
    encoder = display_name(record["model"]["model_name_or_path"])
    scored = _CUE_WORDS[record["data"].get("cue_in_scope", "keep")]
    return {"model": _variant(record), "input": record["data"]["input"] + scored, "encoder": encoder}


def _chosen(record: Record) -> str | None:
    training = record["training"]
    return "epoch" if training.get("load_best_model_at_end") or training.get("early_stopping_patience") else None


def _formats(data: Mapping[str, Any]) -> dict[str, str]:
    """The corpus format of each file that can be told."""
    given = [each for name in ("train_file", "extra_train_file", "test_file") for each in data.get(name) or []]
    formats: dict[str, str] = {}
    for path in dict.fromkeys(path for each in given for path in split_test_file(each)[1]):
        with suppress(OSError, ValueError):
            formats[path] = detect_format(path)
    return formats


def _format(record: Record, paths: list[str]) -> str:
    """Format of the first corpus, as given or as found when it was read; "" if it is not recorded."""
    found = record.get("formats", {}).get(paths[0], "") if paths else ""  # older records have none
    return str(record["data"].get("corpus_format") or found) if paths else ""


def _dataset(record: Record, test_set: str) -> tuple[str, str]:
    """A test set is a file, or a held-out part of the training corpus."""
    own = []
    for name, paths in map(split_test_file, record["data"].get("test_file") or []):
        file = Path(paths[0])
        if test_set in (name, data_name(file), f"{file.parent.name}/{data_name(file)}"):
            own += paths
    corpus = test_set.removeprefix(f"{HELD_OUT}, ")
    kind = corpus if corpus in _NAMES else _format(record, own or record["data"].get("train_file") or [])
    return kind or "negation-corpus", _NAMES.get(kind, test_set)


def _licence(record: Record) -> str:
    data = record["data"]
    files = [*(data.get("train_file") or []), *(data.get("extra_train_file") or [])]
    return "; ".join(dict.fromkeys(_LICENCES.get(_format(record, [file]), _OTHER_LICENCE) for file in files or [""]))


def _notes(record: Record) -> str:
    config = record.get("config", {})  # older records have none
    conventions = config.get("conventions") or []
    by_lexicon = config.get("lexicon_conventions") or []
    choice = ""
    if len(conventions) > 1:
        and_cues = _AND_ALL_CUES if conventions[0] in by_lexicon or not config.get("finds_cues") else ""
        choice = _CHOICE.format(names=", ".join(conventions), and_cues=and_cues)
    cues = _FINDS_CUES if config.get("finds_cues") else _IS_GIVEN_CUES
    if by_lexicon:
        cues = _FINDS_OTHER_CUES.format(names=", ".join(by_lexicon))
    text = Path(__file__).with_name("card_notes.md").read_text(encoding="utf-8")
    return text.format(cues=cues, choice=choice)


def _is_speculation(record: Record) -> bool:
    return record["data"].get("kind") == "speculation"


def _summary(record: Record) -> str:
    if _is_speculation(record):
        return "A cue reads its sentence: given a cue such as *may*, the model marks the words that it makes uncertain."
    return "A negation cue reads its sentence: given a cue such as *not*, the model marks the words that it negates."


def _usage(record: Record) -> str:
    # The pipeline's lexicon has no cues of speculation.
    return _USAGE.replace("{given}", _EXAMPLE_OF_SPECULATION if _is_speculation(record) else _EXAMPLE)


CARD = TaskCard(
    task="negation-scope",
    title="Negation scope resolution",
    pipeline_tag="token-classification",
    tags=("negation", "orthogonal-attention"),
    summary=_summary,
    usage=_usage,
    measures={
        "f1": "F1",
        "precision": "precision",
        "recall": "recall",
        "pcs": "PCS",
        "cue_f1": "cue F1",
        "cue_overlap_f1": "cue F1, overlap",
        "lexicon_cue_f1": "cue F1, lexicon",
        "both_cue_f1": "cue F1, both",
        "found_f1": "F1, found cues",
    },
    counts={"sentences": "sentences", "cues": "cues", "scopes": "non-empty scopes"},
    statistics=_statistics,
    model=_model,
    columns=_columns,
    chosen=_chosen,
    dataset=_dataset,
    licence=_licence,
    notes=_notes,
    formats=_formats,
)
