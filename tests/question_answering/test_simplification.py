"""Passive and inverted questions in a simpler form."""

from __future__ import annotations

import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

from clozeformers.modeling.configuration_word_reader import QUESTION_WORDS
from clozeformers.question_answering.encoding import simplify_questions
from clozeformers.question_answering.simplification import is_inverted, simplify_question
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
        # The passive remains if its active form is uncertain.
        ("By whom is the law applied?", "Who is the law applied by?"),
        ("By whom was the United States attacked?", "Who attacked the United States?"),
        ("By whom was the retired king advised?", "Who was the retired king advised by?"),
        ("By whom was the city never ruled?", "Who was the city never ruled by?"),
        ("By what other name is the tower known?", "What other name is the tower known by?"),
        # A question word replaces the preposition.
        ("In what year was the tower founded?", "When was the tower founded?"),
        ("The tower was founded in what year?", "When was the tower founded?"),
        ("In what way do the two differ?", "How do the two differ?"),
        ("For what reason was the bridge built?", "Why was the bridge built?"),
        ("During which decade was it built near Rome?", "Which decade was it built near Rome?"),
        ("For how long did the city resist?", "How long did the city resist?"),
        ("By which year, had the city fallen?", "Which year had the city fallen by?"),
        # The preposition moves to the end.
        ("In what city was uranium discovered?", "What city was uranium discovered in?"),
        ("On what is the law based ?", "What is the law based on?"),
        ("With which god was Rome associated with?", "Which god was Rome associated with?"),
        ("From where do the Jutes come?", "Where do the Jutes come from?"),
        # The question word is not at the beginning.
        ("The Basilica is beside which structure?", "Which structure is the Basilica beside?"),
        ("Rome is named after whom?", "Who is Rome named after?"),
        ("Zen is divided into how many schools?", "How many schools is Zen divided into?"),
        ("The gate can be found in what part of the city?", "What part of the city can the gate be found in?"),
        # The adjunct moves to the end.
        ("In 1960, who ruled the city?", "Who ruled the city in 1960?"),
        ("According to Bede, what did the king fear?", "What did the king fear according to Bede?"),
        # Capital letters and final marks.
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
        "In what city exactly?",
        "Who wrote the letter?",
        "Is the tower old?",
        "Who stood by?",
        # Uncertain: another preposition, a clause, a second verb, a subject that may not be one.
        "In what city was uranium discovered in 1789 by Klaproth?",
        "To what extent was the city ruined?",
        "For whom did he say that the bell tolls?",
        "By whom was it said that the earth moves?",
        "About how many people live there?",
        "The man who was king wrote what?",
        "John said he was born where?",
        "The city was built and burned in what year?",
        "Dominic led what order?",
        "The city has which bank?",
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


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=9))
def test_simpler_form_begins_with_its_question_word(words):
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
    answers = {"text": ["Context"], "answer_start": [0]}
    rows = [
        {"id": f"q{number}", "title": "Rome", "context": "Context.", "question": question, "answers": answers}
        for number, question in enumerate(questions)
    ]
    return Dataset.from_list(rows, features=SQUAD_FEATURES)


def test_simpler_forms_are_appended_under_the_same_id():
    rows = rows_of("By whom was Rome ruled?", "Who ruled Rome?", "In what year did Rome fall?")
    rows = rows.add_column("weight", [0.5, 0.25, 0.125])
    more = simplify_questions(rows)
    assert more.features == rows.features
    simpler = [{**rows[0], "question": "Who ruled Rome?"}, {**rows[2], "question": "When did Rome fall?"}]
    assert more.to_list() == rows.to_list() + simpler
    assert simplify_questions(rows.select([1])).to_list() == [rows[1]]
