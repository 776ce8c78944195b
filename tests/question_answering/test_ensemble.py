"""Votes over files of predictions."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from clozeformers.files import CorpusError
from clozeformers.question_answering.ensemble import ensemble_files, read_predictions

NBEST_FILE = "nbest_predictions.json"


def write_run(folder: Path, predictions: Any, nbest: Any = None) -> Path:
    folder.mkdir()
    path = folder / "predictions.json"
    path.write_text(json.dumps(predictions), encoding="utf-8")
    if nbest is not None:
        (folder / NBEST_FILE).write_text(json.dumps(nbest), encoding="utf-8")
    return path


def best(*answers: tuple[str, int], score: float = -1.0) -> dict:
    listed = [{"text": text, "start": start, "end": start + len(text), "score": score} for text, start in answers]
    return {"answers": listed, "no_answer_score": -2.0}


def test_answers_are_compared_by_span_if_all_have_nbest_files(tmp_path):
    runs = [
        ({"1": "Rhine", "2": ""}, {"1": best(("Rhine", 40), ("Rhine", 4)), "2": best(("Bonn", 0))}),
        ({"1": "the Rhine", "2": ""}, {"1": best(("Rhine", 40), ("the Rhine", 0)), "2": best()}),
        ({"1": "Rhine", "2": "Bonn"}, {"1": best(("Rhine", 4)), "2": best(("Bonn", 0))}),
        ({"1": "the Rhine", "2": "Bonn"}, {"1": best(("the Rhine", 0)), "2": best(("Bonn", 0))}),
    ]
    paths = [write_run(tmp_path / str(number), *run) for number, run in enumerate(runs)]
    assert ensemble_files(paths[:3]) == {"1": "the Rhine", "2": ""}  # three places, of which this is the first
    # The two models that say "Rhine" mean different places, so that "the Rhine" has most votes.
    weights = [0.9, 0.1, 0.9, 0.1]
    assert ensemble_files(paths, weights) == {"1": "the Rhine", "2": "Bonn"}
    paths[0].with_name(NBEST_FILE).unlink()
    assert ensemble_files(paths, weights)["1"] == "Rhine"
    assert ensemble_files([str(path) for path in paths], weights, "weighted")["1"] == "Rhine"


def test_answers_are_compared_by_text_without_nbest_files(tmp_path):
    runs = [{"1": "Rhine", "2": "", "3": "x"}, {"1": "the Rhine", "3": "y", "2": ""}, {"1": "Rhine", "3": "y", "2": ""}]
    paths = [write_run(tmp_path / str(number), run) for number, run in enumerate(runs)]
    assert ensemble_files(paths) == {"1": "Rhine", "2": "", "3": "y"}
    assert list(ensemble_files(paths[1:])) == ["1", "3", "2"]
    assert ensemble_files(paths, [71.0, 30.0, 40.0], "weighted") == {"1": "Rhine", "2": "", "3": "x"}


@pytest.mark.parametrize("order", [1, -1])
def test_ties_do_not_depend_on_the_order_of_the_files(tmp_path, order):
    runs = [
        ({"1": "Rhine", "2": "Main"}, {"1": best(("Rhine", 4), score=-0.5), "2": best(("Main", 9), score=-3.0)}),
        ({"1": "Bonn", "2": ""}, {"1": best(("Bonn", 0)), "2": best(("Main", 9))}),
    ]
    paths = [write_run(tmp_path / str(number), *run) for number, run in enumerate(runs)][::order]
    assert ensemble_files(paths) == {"1": "Rhine", "2": ""}
    for path in paths:
        path.with_name(NBEST_FILE).unlink()
    assert ensemble_files(paths) == {"1": "Bonn", "2": ""}


def test_answer_that_is_missing_from_the_nbest_list_still_votes(tmp_path):
    paths = [
        write_run(tmp_path / "a", {"1": "Main"}, {"1": best(("Rhine", 4))}),
        write_run(tmp_path / "b", {"1": "Main"}, {"1": best()}),
        write_run(tmp_path / "c", {"1": "Rhine"}, {"1": best(("Rhine", 4))}),
    ]
    assert ensemble_files(paths) == {"1": "Main"}


def test_summed_probabilities(tmp_path):
    """An answer that two models have second wins; no answer counts only where a model predicts it."""
    rhine, delta = ("the Rhine", 0, -1.2), ("Rhine delta", 4, -1.3)
    paths = []
    for number, found in enumerate([(("Bonn", 30, -1.1), rhine), (("Main", 40, -1.15), delta), (delta, rhine)]):
        answers = [answer for *place, score in found for answer in best(tuple(place), score=score)["answers"]]
        nbest = {"1": {"answers": answers, "no_answer_score": -0.9}}
        paths.append(write_run(tmp_path / str(number), {"1": found[0][0]}, nbest))
    for order in (1, -1):
        assert ensemble_files(paths[::order], method="sum") == {"1": "the Rhine"}
        assert ensemble_files(paths[:2][::order], method="sum") == {"1": "the Rhine"}
    assert ensemble_files(paths, [1, 9, 0], "sum") == {"1": "Main"}
    paths[2].write_text('{"1": ""}')
    assert ensemble_files(paths, method="sum") == {"1": ""}
    paths[0].with_name(NBEST_FILE).unlink()
    with pytest.raises(FileNotFoundError, match=r"there is no .*nbest_predictions\.json, whose .* another method"):
        ensemble_files(paths, method="sum")


@pytest.mark.parametrize("other", [{"1": "x"}, {"1": "x", "2": "y", "3": "z"}])
def test_different_questions(tmp_path, other):
    paths = [write_run(tmp_path / "a", {"1": "x", "2": "y"}), write_run(tmp_path / "b", other)]
    with pytest.raises(ValueError, match="there are 1 weights for 2 models"):
        ensemble_files(paths, [0.5])
    with pytest.raises(ValueError, match=r"only one of .*a.pred.* and .*b.pred.* answers 1 question \('[23]'\)"):
        ensemble_files(paths)


@pytest.mark.parametrize(
    ("content", "message"),
    [([], r"line 1: \[\] is not a JSON object; give a"), ({"1": None}, "question '1': the answer is None; it must be")],
)
def test_damaged_predictions(tmp_path, content, message):
    path = write_run(tmp_path / "a", content)
    with pytest.raises(CorpusError, match=rf"predictions\.json, {message}"):
        read_predictions(path)


@pytest.mark.parametrize(
    "nbest",
    [
        {},
        {"1": []},
        {"1": {"answers": [{"text": "x"}]}},
        {"1": {"answers": ["x"]}},
        {"1": {"answers": [{"text": "x", "start": 0, "end": 1, "score": math.nan}], "no_answer_score": 0.0}},
        {"1": {"answers": [{"text": "x", "start": 0, "end": 1, "score": 0.0}], "no_answer_score": math.inf}},
    ],
)
def test_damaged_nbest_list(tmp_path, nbest):
    path = write_run(tmp_path / "a", {"1": "x"}, nbest)
    with pytest.raises(CorpusError, match=rf"{NBEST_FILE}, question '1': .*; expected .*no_answer_score"):
        ensemble_files([path])
