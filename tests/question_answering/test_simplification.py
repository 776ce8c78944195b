"""Passive and inverted questions in a simpler form."""

from __future__ import annotations

import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

from clozeformers.question_answering.simplification import (
    QUESTION_WORDS,
    is_inverted,
    simplify_question,
    simplify_questions,
)
from clozeformers.question_answering.squad import SQUAD_FEATURES


@pytest.mark.parametrize(
    ("question", "simpler"),
    [
        # By whom: active, where the past tense is certain.
        ("By whom was the letter written?", "Who wrote the letter?"),
        ("By whom was he killed in 1801?", "Who killed him in 1801?"),
        ("By what group was the coast originally settled?", "What group originally settled the coast?"),
        ("By whom has the tower been rebuilt?", "Who has rebuilt the tower?"),
        ("By which companies have the trams been run?", "Which companies have run the trams?"),
        ("Who was the bridge designed by?", "Who designed the bridge?"),
        ("The bridge was quickly taken by whom?", "Who quickly took the bridge?"),
        ("The bridge was finished in 1894 by which company?", "Which company finished the bridge in 1894?"),
        # The passive stays where its active would be a guess.
        ("By whom is the law applied?", "Who is the law applied by?"),
        ("By whom was the United States attacked?", "Who attacked the United States?"),
        ("By whom was the retired king advised?", "Who was the retired king advised by?"),
        ("By whom was the city never ruled?", "Who was the city never ruled by?"),
        ("By what other name is the tower known?", "What other name is the tower known by?"),
        # Prepositions that a question word holds.
        ("In what year was the tower founded?", "When was the tower founded?"),
        ("On which date did the war end?", "When did the war end?"),
        ("The tower was founded in what year?", "When was the tower founded?"),
        ("In what place did they meet?", "Where did they meet?"),
        ("In what way do the two differ?", "How do the two differ?"),
        ("For what reason was the bridge built?", "Why was the bridge built?"),
        ("During which decade was it built near Rome?", "Which decade was it built near Rome?"),
        ("For how long did the city resist?", "How long did the city resist?"),
        ("By which year, had the city fallen?", "Which year had the city fallen by?"),
        # Prepositions that go to the end.
        ("In what city was uranium discovered?", "What city was uranium discovered in?"),
        ("To whom was the order attractive?", "Who was the order attractive to?"),
        ("On what is the law based ?", "What is the law based on?"),
        ("With which god was Rome associated with?", "Which god was Rome associated with?"),
        ("From where do the Jutes come?", "Where do the Jutes come from?"),
        # The question word in its place.
        ("The Basilica is beside which structure?", "Which structure is the Basilica beside?"),
        ("Rome is named after whom?", "Who is Rome named after?"),
        ("The fashion capital is what?", "What is the fashion capital?"),
        ("Zen is divided into how many schools?", "How many schools is Zen divided into?"),
        ("The first child was named what?", "What was the first child named?"),
        ("The gate can be found in what part of the city?", "What part of the city can the gate be found in?"),
        # The adjunct last.
        ("In 1960, who ruled the city?", "Who ruled the city in 1960?"),
        ("According to Bede, what did the king fear?", "What did the king fear according to Bede?"),
        # Capital letters and ends of sentences.
        ("In which city is the largest bank of the U.S.?", "Which city is the largest bank of the U.S. in?"),
        ("in what year did she die", "When did she die?"),
    ],
)
def test_rewritten(question, simpler):
    assert simplify_question(question) == simpler


@pytest.mark.parametrize(
    "question",
    [
        "",
        "?",
        "In what?",
        "Who wrote the letter?",
        "What is the law based on?",
        "Is the tower old?",
        "Name the first king.",
        "Who stood by?",
        # Not certain: another preposition, a clause, a second verb, a subject that may not be one.
        "In what city was uranium discovered in 1789 by Klaproth?",
        "To what extent was the city ruined?",
        "For whom did he say that the bell tolls?",
        "By whom was it said that the earth moves?",
        "About how many people live there?",
        "The man who was king wrote what?",
        "John said he was born where?",
        "The king fled and was crowned where?",
        "The city was built and burned in what year?",
        "Dominic led what order?",
        "The city has which bank?",
        "Each tradition has its own core what?",
        "In 1900 the city was named what?",
        "Due to the trees the park is called what?",
        "If the input is even, what is the output?",
        "In 1960, who said that the war would end?",
        "In 1960, in Rome, who ruled?",
        "What? In what year was it founded?",
    ],
)
def test_left_alone(question):
    assert simplify_question(question) is None


FRAGMENTS = [
    *("By", "In", "by", "in", "of", "whom", "what", "which", "who?", "when", "year", "king", "the", "The", "1900,"),
    *("was", "were", "is", "has", "been", "did", "written", "ruled", "and", "that", "U.S.", "?", ",", "“how", "many”"),
]


@given(
    st.lists(
        st.sampled_from(FRAGMENTS),
        max_size=9,
    )
)
def test_a_simpler_form_begins_with_its_question_word_and_is_simple(words):
    question = " ".join(words)
    simpler = simplify_question(question)
    if simpler is not None:
        assert not is_inverted(simpler)
        assert simpler.split()[0].lower().rstrip("?") in QUESTION_WORDS
        assert simpler.endswith("?")
        assert simpler.count("?") == 1
        assert simpler != question
        # A passive may be in it still, but not a word that the question did not have.
        new = {word.lower().strip("?,") for word in simpler.split()} - {word.lower().strip("?,") for word in words}
        assert new <= {"who", "when", "wrote", "have", "has"}


@pytest.mark.parametrize(
    ("question", "inverted"),
    [
        ("Who wrote it?", False),
        (" “What’s the name?”", False),
        ("who's there", False),
        ("Whatever was it?", True),
        ("By whom was it written?", True),
        ("It was written when?", True),
        ("Is it old?", True),
        ("", True),
    ],
)
def test_inverted(question, inverted):
    assert is_inverted(question) is inverted


def rows_of(*questions: str) -> Dataset:
    rows = [
        {
            "id": f"q{number}",
            "title": "Rome",
            "context": f"Context {number}.",
            "question": question,
            "answers": {"text": ["Context"], "answer_start": [0]} if number else {"text": [], "answer_start": []},
        }
        for number, question in enumerate(questions)
    ]
    return Dataset.from_list(rows, features=SQUAD_FEATURES)


def test_simpler_forms_are_added_under_the_same_id():
    rows = rows_of("By whom was Rome ruled?", "Who ruled Rome?", "In what year did Rome fall?")
    more = simplify_questions(rows)
    assert more.features == rows.features
    assert more.select(range(3)).to_list() == rows.to_list()
    assert more.select(range(3, 5)).to_list() == [
        {**rows[0], "question": "Who ruled Rome?"},
        {**rows[2], "question": "When did Rome fall?"},
    ]


def test_nothing_to_simplify():
    rows = rows_of("Who ruled Rome?")
    assert simplify_questions(rows).to_list() == rows.to_list()


def test_columns_of_ones_own_are_kept():
    rows = rows_of("By whom was Rome ruled?").add_column("weight", [0.5])
    assert simplify_questions(rows)["weight"][:] == [0.5, 0.5]


def test_columns_that_are_missing():
    with pytest.raises(ValueError, match="rows has no column context"):
        simplify_questions(rows_of("Who?").remove_columns("context"))
