"""Ensembles of question answering models, by vote over their predictions.

Source: Jain & Dutta, "You Just Want Attention" (QANet and BiDAF on SQuAD 2.0), section 3.2.1. Every model has one vote
and ties are broken by the sum of the models' weights; in a weighted vote the sum decides alone. A model's weight is its
F1 on development data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..files import CorpusError, read_json_object
from ..text import join_names, truncate_repr
from ..voting import check_weights, majority_vote


def ensemble_files(
    paths: Sequence[str | Path], weights: Sequence[float] | None = None, weighted: bool = False
) -> dict[str, str]:
    """Vote over files of predictions.

    Args:
        paths: one file per model. If each has an ``nbest_<its name>`` beside it, two answers are the same if their
            character spans are; otherwise if their texts are.
        weights: one per model; by default all are equal.
        weighted: decide by the sums of weights, rather than by the number of votes.

    Returns:
        Question id -> answer, in the order of the first file.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file.
        ValueError: a file is damaged, the files answer different questions, or the weights do not fit.
    """
    check_weights(weights, len(paths), weighted)
    predictions = [read_predictions(path) for path in paths]
    for path, answers in zip(paths, predictions, strict=True):
        unshared = sorted(answers.keys() ^ predictions[0].keys())
        if unshared:
            problem = f"only one of {paths[0]} and {path} answers {join_names(unshared)}"
            raise ValueError(f"{problem}; all models must answer the same questions")
    nbest_paths = [Path(path).with_name(f"nbest_{Path(path).name}") for path in paths]
    spans: list[dict[str, tuple[int, int]]] = [{} for _ in paths]
    if all(path.is_file() for path in nbest_paths):
        spans = [_read_spans(*pair) for pair in zip(nbest_paths, predictions, strict=True)]
    chosen: dict[str, str] = {}
    for question in predictions[0]:
        # An answer that is missing from the n-best list votes by its text.
        votes = [(spans[model].get(question), answers[question]) for model, answers in enumerate(predictions)]
        chosen[question] = majority_vote(votes, weights, weighted)[1]
    return chosen


def read_predictions(path: str | Path) -> dict[str, str]:
    """Read predictions in the format of the official SQuAD scripts: a JSON object, question id -> answer.

    Raises:
        FileNotFoundError, IsADirectoryError, CorpusError: there is no such file, or it has another format.
    """
    predictions = read_json_object(path, hint="give a file of predictions that training wrote")
    for question, answer in predictions.items():
        if not isinstance(answer, str):
            problem = f"the answer is {truncate_repr(answer)}; it must be a string, '' for no answer"
            raise CorpusError(path, f"question {question!r}", problem)
    return predictions


def _read_spans(path: Path, predictions: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Look up the character span of each predicted answer: the best one with its text."""
    nbest = read_json_object(path)
    spans: dict[str, tuple[int, int]] = {}
    for question, answer in predictions.items():
        try:
            found = [one for one in nbest[question]["answers"] if one["text"] == answer]
            if answer and found:
                spans[question] = (int(found[0]["start"]), int(found[0]["end"]))
        except (KeyError, TypeError, ValueError) as error:
            expected = '{"answers": [{"text": ..., "start": ..., "end": ..., "score": ...}], "no_answer_score": ...}'
            raise CorpusError(path, f"question {question!r}", f"{error!r}; expected {expected}") from None
    return spans
