"""Questions paired with paragraphs that do not answer them."""

from __future__ import annotations

import logging
import random

import pytest
from datasets import Dataset, concatenate_datasets

from clozeformers.question_answering.squad import SQUAD_FEATURES, normalize_answer
from clozeformers.question_answering.unanswerable import ID_ENDING, pair_unanswerable


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


@pytest.mark.parametrize("seed", range(8))
def test_made_questions_keep_every_promise(seed):
    rows = random_rows(seed)
    by_id = {one["id"]: one for one in rows}
    made = pair_unanswerable(rows, 1.0, seed)
    assert made.features == SQUAD_FEATURES
    assert 0 < len(made) < len(rows)
    assert len({one["id"] for one in made}) == len(made)
    assert made["id"][:] == [f"{one}{ID_ENDING}" for one in rows["id"] if f"{one}{ID_ENDING}" in made["id"]]
    for one in made:
        original = by_id[one["id"].removesuffix(ID_ENDING)]
        assert one["answers"] == {"text": [], "answer_start": []}
        assert (one["question"], one["title"]) == (original["question"], original["title"])
        assert original["answers"]["text"]
        assert one["context"] != original["context"]
        assert one["context"] in {other["context"] for other in rows if other["title"] == one["title"]}
        assert not any(
            normalize_answer(text) in normalize_answer(one["context"]) for text in original["answers"]["text"]
        )


@pytest.mark.parametrize("seed", range(8))
def test_a_question_is_left_out_only_where_no_paragraph_suits(seed):
    rows = random_rows(seed)
    made = set(pair_unanswerable(rows, 1.0, seed)["id"])
    for one in rows:
        others = {other["context"] for other in rows if other["title"] == one["title"]} - {one["context"]}
        texts = one["answers"]["text"]
        possible = texts and any(not any(text in context for text in texts) for context in others)
        assert (one["id"] + ID_ENDING in made) is bool(possible)


def test_answers_are_compared_as_the_scores_do():
    rows = dataset(
        row(0, "Rhine", "It is 1,233 km long.", "1,233 km"),
        row(1, "Rhine", "Some say 1233 KM, others less."),
        row(2, "Rhine", "It runs past Bonn."),
        row(3, "Main", "A shorter river."),
    )
    assert pair_unanswerable(rows, 1.0, 0)["context"][:] == ["It runs past Bonn."]
    assert len(pair_unanswerable(rows.select([0, 1, 3]), 1.0, 0)) == 0


def test_an_answer_that_normalises_to_nothing_stands_everywhere():
    rows = dataset(row(0, "T", "The A.", "The"), row(1, "T", "Other text."))
    assert len(pair_unanswerable(rows, 1.0, 0)) == 0


def test_a_question_never_keeps_its_paragraph_even_where_its_answer_does_not_stand_there():
    wrong = row(0, "T", "Only paragraph.") | {"answers": {"text": ["elsewhere"], "answer_start": [0]}}
    assert len(pair_unanswerable(dataset(wrong), 1.0, 0)) == 0


def many() -> Dataset:
    return dataset(*(row(number, "T", f"Here stands x{number:03}.", f"x{number:03}") for number in range(40)))


def test_the_seed_decides():
    first, again, other = (pair_unanswerable(many(), 0.5, seed).to_list() for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == len(other) == 20


@pytest.mark.parametrize(("fraction", "number"), [(0.01, 0), (0.1, 4), (0.55, 22), (1, 40)])
def test_the_fraction_is_of_the_answerable_questions(fraction, number):
    rows = concatenate_datasets([many(), dataset(row("x", "T", "No answer here."))])
    assert len(pair_unanswerable(rows, fraction, 0)) == number


def test_what_could_not_be_made_is_told(caplog):
    rows = concatenate_datasets([many().select(range(3)), dataset(row("lonely", "U", "One paragraph.", "One"))])
    with caplog.at_level(logging.WARNING):
        assert len(pair_unanswerable(rows, 1.0, 0)) == 3
    assert "1 of 4 unanswerable questions could not be made" in caplog.text
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
    with pytest.raises(ValueError, match=r"fraction is .*; it must be above 0 and at most 1"):
        pair_unanswerable(many(), fraction, 0)


def test_columns_that_are_missing():
    with pytest.raises(ValueError, match="rows has no column title"):
        pair_unanswerable(many().remove_columns("title"), 0.5, 0)
