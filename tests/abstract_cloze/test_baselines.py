"""Baselines, and the sum of several models' scores."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from clozeformers.abstract_cloze.baselines import add_standardized, probabilities_of, score_by_cosine, score_by_length
from clozeformers.abstract_cloze.ngrams import FEATURES, NGramRegression, _fit, tokens
from clozeformers.abstract_cloze.recam import load_recam
from clozeformers.cli import main as command_line
from clozeformers.run_glue_style.run_abstract_cloze_baselines import main
from tests.cloze_corpora import RIGHT, recam_rows, save_encoder, write_recam
from tests.cloze_models import cloze_rows

QUIET = ["--use_cpu", "true", "--report_to", "none"]


def test_scores_by_hand() -> None:
    rows = cloze_rows({"options": ["a", "abc", " ab "]})
    assert score_by_length(rows)[0].tolist() == [1, 3, 2]
    assert probabilities_of(rows, [np.log([1.0, 2.0, 1.0])]) == {"q0": pytest.approx([0.25, 0.5, 0.25])}


def test_members_are_standardised_before_they_are_added() -> None:
    rows = cloze_rows({"options": ["a", "b"]}, {"options": ["a", "b"]})
    sharp, soft = {"q0": [0.99, 0.01], "q1": [0.01, 0.99]}, {"q0": [0.4, 0.6], "q1": [0.4, 0.6]}
    one, two = (add_standardized([member], rows) for member in (sharp, soft))
    for scores in (one, two):
        assert np.concatenate(scores).std() == pytest.approx(1)
        assert np.abs([values.mean() for values in scores]).max() < 1e-12
    both = add_standardized([sharp, soft], rows)
    np.testing.assert_allclose(both, np.add(one, two))
    # A member that is never sure adds nothing.
    np.testing.assert_allclose(add_standardized([sharp, {"q0": [0.5, 0.5], "q1": [0.5, 0.5]}], rows), one)


def test_the_regression_maximises_the_likelihood() -> None:
    generator = np.random.default_rng(0)
    questions = [generator.normal(size=(size, 3)) for size in (5, 2, 3) * 20]
    labels = [int((features @ [1.0, -2.0, 0.0]).argmax()) for features in questions]
    weights = _fit(questions, labels)

    def objective(values: np.ndarray) -> float:
        logs = [features @ values - np.logaddexp.reduce(features @ values) for features in questions]
        return sum(log[label] for log, label in zip(logs, labels, strict=True)) - values @ values / 2

    for change in np.eye(3) * 1e-3:
        assert max(objective(weights + change), objective(weights - change)) < objective(weights)


def test_counts_leave_the_question_out() -> None:
    """Features of a training row are those of a regression that has never read its article and summaries."""
    rows = cloze_rows(
        {"article": "A dog sat on the mat.", "question": "The cat is @placeholder to the club ."},
        {"article": "The cat is happy to sit. The dog is new.", "question": "a @placeholder dog", "label": 2},
        {"article": "It was doing something in the club.", "question": "not @placeholder in the club", "label": 1},
    )
    whole, others = NGramRegression(rows), NGramRegression(rows.select([1, 2]), [rows])
    ours, expected = whole.features(rows.select([0]))[0], others.features(rows.select([0]))[0]
    assert ours.shape == (3, len(FEATURES))
    # Only the number of all words, against which n-grams are smoothed, is that of all documents.
    exact = [name for name in FEATURES if "word" not in name and "nearby" not in name and "PMI" not in name]
    for name in exact:
        column = FEATURES.index(name)
        np.testing.assert_allclose(ours[:, column], expected[:, column])
    np.testing.assert_allclose(ours - ours.mean(0), expected - expected.mean(0), atol=0.3)
    assert ours[:, FEATURES.index("unigram")] == pytest.approx(
        [math.log(1 + count) for count in (1, 2, 2)]  # with the summaries of the others
    )


def test_features_of_the_surface() -> None:
    rows = cloze_rows({"article": "He commits to it. Doing!", "options": ["commitment", "doing", "x y"]})
    features = NGramRegression(rows).features(rows)[0]
    by_name = dict(zip(FEATURES, features.T.tolist(), strict=True))
    assert by_name["length"] == [10, 5, 3]
    assert by_name["in the article"] == [0, 1, 0]
    assert Counter(by_name["stem in the article"]) == {0: 2, 1: 1}
    assert tokens("Don't, 3.5!") == ["don't", ",", "3", ".", "5", "!"]


def test_cosine(tmp_path: Path) -> None:
    rows = cloze_rows({}, {"options": ["happy", "new"]})
    scores = score_by_cosine(rows, str(save_encoder(tmp_path, "bert")))
    assert [len(values) for values in scores] == [3, 2]
    assert all(np.abs(values).max() <= 1 + 1e-6 for values in scores)


def test_baselines_and_ensembles_are_rows_of_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = write_recam(tmp_path / "train.jsonl", recam_rows(60, 0))
    test = ["--test_file", str(write_recam(tmp_path / "test.jsonl", recam_rows(20, 1)))]
    runs = [tmp_path / "ngrams", tmp_path / "longest"]
    learned = main(["--method", "ngrams", "--train_file", str(train), *test, *QUIET, "--output_dir", str(runs[0])])
    assert learned["scores"]["test"]["accuracy"]["mean"] > 80, f"the right options are always {RIGHT}"
    longest = main(["--method", "longest", *test, *QUIET, "--output_dir", str(runs[1])])
    members = ["--members", *map(str, runs), "--num_seeds", "2"]
    both = main(["--method", "ensemble", *members, *test, *QUIET, "--output_dir", str(tmp_path / "both")])
    assert both["scores"]["test"]["accuracy"]["runs"] == 2
    rows = load_recam(tmp_path / "test.jsonl")
    read = [json.loads((run / "probabilities_test.json").read_text()) for run in runs]
    expected = probabilities_of(rows, add_standardized(read, rows))
    assert json.loads((tmp_path / "both" / "seed-42" / "probabilities_test.json").read_text()) == expected
    capsys.readouterr()
    assert (
        command_line(["results", *(str(run / "results.json") for run in runs), str(tmp_path / "both/results.json")])
        == 0
    )
    table, score = capsys.readouterr().out, longest["scores"]["test"]["accuracy"]["mean"]
    assert f"| the longest option | – | options | {score:.2f}" in table
    assert "| ensemble | – | ngrams, longest |" in table
    assert "the right option never occurs in the article" in (tmp_path / "ngrams" / "README.md").read_text().replace(
        "\n  ", " "
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "cosine"], "--method cosine needs --model_name_or_path"),
        (["--method", "ensemble"], "--method ensemble needs --members"),
        (["--method", "ngrams"], "--method ngrams needs --train_file"),
        (["--method", "ensemble", "--members", "{folder}"], r"there is no .*probabilities_test\.json"),
    ],
)
def test_wrong_commands(arguments: list[str], message: str, tmp_path: Path) -> None:
    test = write_recam(tmp_path / "test.jsonl", recam_rows(3, 1))
    given = [argument.format(folder=tmp_path) for argument in arguments]
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        main([*given, "--test_file", str(test), *QUIET, "--output_dir", str(tmp_path / "run")])
