"""Votes of several models over answers."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clozeformers.question_answering.ensemble import ensemble_files, majority_vote, read_predictions, vote_spans

NBEST_FILE = "nbest_predictions.json"
A, B, C = (0, 4), (0, 9), (5, 9)


@pytest.mark.parametrize(
    ("votes", "weights", "majority", "weighted"),
    [
        ([A, B, B], [0.9, 0.2, 0.3], B, A),
        ([A, A, B, B], [0.1, 0.2, 0.5, 0.4], B, B),
        ([A, None, None], [0.5, 0.6, 0.7], None, None),
        ([A, B, C], [0.3, 0.6, 0.5], B, B),
        ([A, B], [0.5, 0.5], A, A),
        # Added one by one as floats, 0.1 + 0.2 + 0.3 is above 0.3 + 0.2 + 0.1.
        ([B, A, A, B, B, A], [0.3, 0.1, 0.2, 0.2, 0.1, 0.3], B, B),
        ([A, B, B], [0.0, 0.0, 0.0], B, A),
        ([C], [0.7], C, C),
    ],
)
def test_votes_over_spans(votes, weights, majority, weighted):
    assert vote_spans(votes, weights) == majority
    assert vote_spans(votes, weights, weighted=True) == weighted


def test_without_weights_all_models_weigh_the_same():
    assert vote_spans([A, B, B]) == B
    assert vote_spans([C, B, A]) == C


VOTES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 8)), min_size=1, max_size=9)


@given(VOTES, st.booleans())
def test_the_winner_is_the_strongest_and_the_first_among_equals(pairs, weighted):
    votes, weights = [vote for vote, _ in pairs], [weight / 8 for _, weight in pairs]
    counts = Counter(votes)

    def strength(vote: int) -> tuple[Fraction, ...]:
        total = sum((Fraction(weight) for one, weight in zip(votes, weights, strict=True) if one == vote), Fraction(0))
        return (total,) if weighted else (Fraction(counts[vote]), total)

    best = max(strength(vote) for vote in votes)
    assert vote_spans(votes, weights, weighted) == next(vote for vote in votes if strength(vote) == best)


def test_majority_vote_over_texts():
    predictions = [
        {"1": "Rhine", "2": "", "3": "x"},
        {"1": "the Rhine", "3": "y", "2": ""},
        {"1": "the Rhine", "2": "no", "3": "z"},
    ]
    assert majority_vote(predictions) == {"1": "the Rhine", "2": "", "3": "x"}
    assert list(majority_vote(predictions[1:])) == ["1", "3", "2"]
    assert majority_vote(predictions, [71.0, 30.0, 40.0], weighted=True) == {"1": "Rhine", "2": "", "3": "x"}
    assert majority_vote(predictions, [0.1, 0.2, 0.3]) == {"1": "the Rhine", "2": "", "3": "z"}


@pytest.mark.parametrize(
    ("predictions", "options", "message"),
    [
        ([], {}, "there is no model to vote"),
        ([{"1": ""}], {"weighted": True}, "a weighted vote needs weights"),
        ([{"1": ""}] * 3, {"weights": [0.5, 0.5]}, "there are 2 weights for 3 models"),
        ([{"1": ""}] * 2, {"weights": [0.5, -0.5]}, "a weight is -0.5; it must be a finite number of at least 0"),
        ([{"1": ""}], {"weights": [float("nan")]}, "a weight is nan"),
        (
            [{"1": "", "2": "", "3": ""}, {"2": ""}],
            {},
            r"predictions\[1\] does not answer 2 questions \('1', '3'\) that predictions\[0\] answers",
        ),
        (
            [{"1": ""}, {"1": ""}, {str(number): "" for number in range(9)}],
            {},
            r"predictions\[0\] does not answer 8 questions \('0', '2', '3', '4', '5', \.\.\.\) that predictions\[2\] ",
        ),
    ],
)
def test_what_cannot_vote(predictions, options, message):
    with pytest.raises(ValueError, match=message):
        majority_vote(predictions, **options)


def write_run(folder: Path, predictions: Any, nbest: Any = None) -> Path:
    folder.mkdir()
    path = folder / "predictions.json"
    path.write_text(json.dumps(predictions), encoding="utf-8")
    if nbest is not None:
        (folder / NBEST_FILE).write_text(json.dumps(nbest), encoding="utf-8")
    return path


def best(*answers: tuple[str, int]) -> dict:
    listed = [{"text": text, "start": start, "end": start + len(text), "score": -1.0} for text, start in answers]
    return {"answers": listed, "no_answer_score": -2.0}


def test_files_vote_over_spans_where_all_know_them(tmp_path):
    runs = [
        ({"1": "Rhine", "2": ""}, {"1": best(("Rhine", 40), ("Rhine", 4)), "2": best(("Bonn", 0))}),
        ({"1": "the Rhine", "2": ""}, {"1": best(("Rhine", 40), ("the Rhine", 0)), "2": best()}),
        ({"1": "Rhine", "2": "Bonn"}, {"1": best(("Rhine", 4)), "2": best(("Bonn", 0))}),
        ({"1": "the Rhine", "2": "Bonn"}, {"1": best(("the Rhine", 0)), "2": best(("Bonn", 0))}),
    ]
    paths = [write_run(tmp_path / str(number), *run) for number, run in enumerate(runs)]
    assert ensemble_files(paths[:3]) == {"1": "Rhine", "2": ""}
    # The two models that say "Rhine" mean different places, so that "the Rhine" has most votes.
    weights = [0.9, 0.1, 0.9, 0.1]
    assert ensemble_files(paths, weights) == {"1": "the Rhine", "2": ""}
    paths[0].with_name(NBEST_FILE).unlink()
    assert ensemble_files(paths, weights)["1"] == "Rhine"
    assert ensemble_files([str(path) for path in paths], weights, weighted=True)["1"] == "Rhine"


def test_an_answer_that_no_list_holds_still_votes(tmp_path):
    paths = [
        write_run(tmp_path / "a", {"1": "Main"}, {"1": best(("Rhine", 4))}),
        write_run(tmp_path / "b", {"1": "Main"}, {"1": best()}),
        write_run(tmp_path / "c", {"1": "Rhine"}, {"1": best(("Rhine", 4))}),
    ]
    assert ensemble_files(paths) == {"1": "Main"}


def test_files_with_other_questions_are_named(tmp_path):
    paths = [write_run(tmp_path / "a", {"1": "x", "2": "y"}), write_run(tmp_path / "b", {"1": "x"})]
    with pytest.raises(ValueError, match=r"b.predictions\.json does not answer 1 question \('2'\) that .*a.pred"):
        ensemble_files(paths)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", r"predictions\.json is not JSON \(.*line 1"),
        (b"\xff", r"predictions\.json is not JSON \(.*utf-8"),
        (b"[]", r"predictions\.json holds \[\]; it must hold an object"),
        (b'{"1": null}', r"predictions\.json: the answer to '1' is None; it must be a string, '' for none"),
    ],
)
def test_files_that_are_no_predictions(tmp_path, content, message):
    path = tmp_path / "predictions.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_predictions(path)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="is no file; give a file of predictions"):
        ensemble_files([tmp_path])


@pytest.mark.parametrize("nbest", [{}, {"1": []}, {"1": {"answers": [{"text": "x"}]}}, {"1": {"answers": ["x"]}}])
def test_a_damaged_list_of_best_answers(tmp_path, nbest):
    path = write_run(tmp_path / "a", {"1": "x"}, nbest)
    with pytest.raises(ValueError, match=rf"{NBEST_FILE}: for '1' it must hold .*no_answer_score"):
        ensemble_files([path])


def test_reading_predictions(tmp_path):
    path = tmp_path / "predictions.json"
    path.write_bytes(b'\xef\xbb\xbf{"1": "Rhein\\u00fc", "2": ""}')
    assert read_predictions(path) == {"1": "Rheinü", "2": ""}
