"""The official scores of answers, and of the vote of several models, on a SQuAD file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..metrics.squad import squad_scores
from ..voting import VoteMethod
from .ensemble import ensemble_files
from .squad import load_squad


def vote_scores(
    data: Path, predictions: Sequence[Path], weights: Sequence[float] | None, method: VoteMethod
) -> dict[str, float]:
    """Let files of predictions vote, see `ensemble_files`, and score the chosen answers to the questions of `data`."""
    return answer_scores(data, {"vote": ensemble_files(predictions, weights, method)})["vote"]


def answer_scores(data: Path, answers: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, float]]:
    """Score sets of answers (name -> question id -> answer) to the questions of a SQuAD file.

    Returns:
        Name -> the scores of `squad_scores`, in percent.

    Raises:
        FileNotFoundError, CorpusError: there is no such file, or it is damaged.
    """
    rows = load_squad(data)
    references = {row_id: gold["text"] for row_id, gold in zip(rows["id"], rows["answers"], strict=True)}
    return {name: squad_scores(given, references) for name, given in answers.items()}
