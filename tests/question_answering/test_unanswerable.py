"""Questions paired with paragraphs that do not answer them."""

from __future__ import annotations

import logging
import random

import pytest
from datasets import Dataset, concatenate_datasets

from clozeformers.question_answering.squad import SQUAD_FEATURES
from clozeformers.question_answering.unanswerable import ID_SUFFIX, pair_unanswerable


def row(number: int | str, title: str, context: str, *answers: str) -> dict:
    return {
        "id": f"q{number}",
        "title": title,
        "context": context,
        "question": f"Question {number}?",
        "answers": {"text": list(answers), "answer_start": [context.index(answer) for answer in answers]},
    }


def dataset(*rows: dict) -> Dataset:
    return Dataset.from_list(list(rows), features=SQUAD_FEATURES)


WORDS = [f"word{number}" for number in range(12)]


def random_rows(seed: int) -> Dataset:
    """Articles of short paragraphs over few words, so that answers often stand in other paragraphs too."""
    generator = random.Random(seed)
    rows = []
    for number in range(60):
        title = f"title{generator.randrange(6)}"
        context = " ".join(generator.choices(WORDS, k=4))
        answers = generator.sample(context.split(), generator.randint(0, 2))
        rows.append(row(number, title, context, *answers))
    return dataset(*rows)


@pytest.mark.parametrize("seed", range(2))
def test_every_question_that_can_be_paired_is(seed):
    rows = random_rows(seed)
    made = pair_unanswerable(rows, 1.0, seed)
    assert made.features == SQUAD_FEATURES
    by_id = {one["id"]: one for one in made}
    assert made["id"][:] == [new_id for one in rows["id"] if (new_id := one + ID_SUFFIX) in by_id]
    assert 0 < len(made) < len(rows)
    for original in rows:
        texts = original["answers"]["text"]
        others = {other["context"] for other in rows if other["title"] == original["title"]} - {original["context"]}
        suitable = {context for context in others if texts and not any(text in context for text in texts)}
        one = by_id.get(original["id"] + ID_SUFFIX)
        assert (one is not None) is bool(suitable)
        if one is not None:
            assert one["answers"] == {"text": [], "answer_start": []}
            assert (one["question"], one["title"]) == (original["question"], original["title"])
            assert one["context"] in suitable


def test_answers_are_compared_as_the_metric_normalizes_them():
    rows = dataset(
        row(0, "Rhine", "It is 1,233 km long.", "1,233 km"),
        row(1, "Rhine", "Some say 1233 KM, others less."),
        row(2, "Rhine", "It runs past Bonn."),
        row(3, "Main", "A shorter river."),
    )
    assert pair_unanswerable(rows, 1.0, 0)["context"][:] == ["It runs past Bonn."]
    assert len(pair_unanswerable(rows.select([0, 1, 3]), 1.0, 0)) == 0
    # An answer that normalizes to nothing is in every paragraph.
    assert len(pair_unanswerable(dataset(row(0, "T", "The A.", "The"), row(1, "T", "Other text.")), 1.0, 0)) == 0


def many() -> Dataset:
    return dataset(*(row(number, "T", f"Here stands x{number:03}.", f"x{number:03}") for number in range(40)))


@pytest.mark.parametrize(("fraction", "number"), [(0.01, 0), (0.1, 4), (0.5, 20), (0.55, 22), (1, 40)])
def test_fraction_and_seed_decide(fraction, number):
    rows = concatenate_datasets([many(), dataset(row("x", "T", "No answer here."))])
    first, again, other = (pair_unanswerable(rows, fraction, seed).to_list() for seed in (1, 1, 2))
    assert len(first) == len(other) == number
    assert first == again
    assert (first == other) == (number == 0)


def test_warning_about_questions_that_cannot_be_paired(caplog):
    rows = concatenate_datasets([many().select(range(3)), dataset(row("lonely", "U", "One paragraph.", "One"))])
    with caplog.at_level(logging.WARNING):
        assert len(pair_unanswerable(rows, 1.0, 0)) == 3
    assert "1 of 4 unanswerable questions cannot be made" in caplog.text
    caplog.clear()
    assert len(pair_unanswerable(rows, 0.75, 0)) == 3
    assert not caplog.text


def test_no_id_is_made_twice():
    doubled = concatenate_datasets([many().select(range(3))] * 2)
    made = pair_unanswerable(doubled, 1.0, 0)
    assert len(made) == len(set(made["id"])) == 3
    assert len(pair_unanswerable(concatenate_datasets([many().select(range(3)), made]), 1.0, 0)) == 0


@pytest.mark.parametrize("fraction", [0, -0.5, 1.5, float("nan")])
def test_fractions_out_of_range(fraction):
    with pytest.raises(ValueError, match=r"unanswerable_fraction is .*; it must be above 0 and at most 1"):
        pair_unanswerable(many(), fraction, 0)
