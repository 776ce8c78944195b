"""Pipelines that vote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from clozeformers.pipelines.question_answering_ensemble import ExtractiveQuestionAnsweringEnsemble
from clozeformers.voting import sum_vote
from tests.qa_models import tiny_reader

CONTEXT = "Ada wrote the poem. Hugo sold the map."
SPANS = {"Ada": (0, 3), "Hugo": (20, 24), "": (0, 0)}


def member(*answers: str, score: float = 0.5) -> Any:
    """A pipeline that gives these answers to the questions of a call, whatever they are."""

    def call(questions: Sequence[Any], **_: Any) -> Any:
        given = zip(questions, answers, strict=False)
        found = [
            {"error": "cannot be read"}
            if answer == "?"
            else dict(zip(("start", "end"), SPANS[answer], strict=True)) | {"answer": answer, "score": score}
            for _, answer in given
        ]
        return found if len(questions) > 1 else found[0]

    return call


def test_the_majority_wins_and_ties_go_by_weight() -> None:
    members = [member("Ada", "Ada"), member("Hugo", ""), member("Hugo", "Hugo")]
    plain = ExtractiveQuestionAnsweringEnsemble(members, [0.9, 0.3, 0.4])
    asked = [{"question": "Who?", "context": CONTEXT}] * 2
    assert plain(asked) == [
        {"answer": "Hugo", "start": 20, "end": 24, "score": pytest.approx(0.7 / 1.6), "votes": 2},
        {"answer": "Ada", "start": 0, "end": 3, "score": pytest.approx(0.9 / 1.6), "votes": 1},
    ]
    weighted = ExtractiveQuestionAnsweringEnsemble(members, [0.9, 0.3, 0.4], "weighted")
    assert weighted(question="Who?", context=CONTEXT)["answer"] == "Ada"
    assert weighted(question=["Who?", "Whom?"], context=CONTEXT)[1]["answer"] == "Ada"
    assert ExtractiveQuestionAnsweringEnsemble(members)(iter(asked))[0]["score"] == pytest.approx(2 / 3)


def test_it_is_called_as_its_members_are() -> None:
    member = tiny_reader("bert")
    asked = {"question": "Who?", "context": CONTEXT}
    ensemble, found = ExtractiveQuestionAnsweringEnsemble([member, member]), member(asked)
    expected = {**found, "score": 1, "votes": 2}
    assert ensemble("Who?", CONTEXT) == ensemble(asked) == ensemble([asked]) == expected
    assert ensemble(iter([asked])) == [expected]
    assert ensemble([asked, asked]) == [expected] * 2
    with pytest.raises(TypeError, match="got another positional argument 'x'"):
        ensemble(asked, "x")


def test_log_odds_and_summed_probabilities() -> None:
    asked = [{"question": "Who?", "context": CONTEXT}] * 2
    members = [member("Ada", "Ada"), member("Hugo", ""), member("Hugo", "Hugo")]
    assert ExtractiveQuestionAnsweringEnsemble(members, [0.9, 0.7, 0.7], "log-odds")(asked)[0]["answer"] == "Ada"
    readers = [tiny_reader("bert"), tiny_reader("word")]
    ensemble = ExtractiveQuestionAnsweringEnsemble(readers, [1.0, 3.0], "sum")
    nbests = [{(one["start"], one["end"]): one["score"] for one in reader(asked[0], top_k=20)} for reader in readers]
    (start, end), total = sum_vote(nbests, [1.0, 3.0], lambda one, other: max(one[0], other[0]) < min(one[1], other[1]))
    found = ensemble(asked[0])
    assert (found["start"], found["end"], found["score"]) == (start, end, pytest.approx(total / 4))
    assert found["answer"] == CONTEXT[start:end]
    assert ensemble(asked) == [found, found]


@pytest.mark.parametrize("order", [1, -1])
def test_ties_do_not_depend_on_the_order_of_the_members(order: int) -> None:
    members = [member("Ada", "Ada", score=0.5), member("Hugo", "Hugo", score=0.75)][::order]
    assert ExtractiveQuestionAnsweringEnsemble(members)(question="Who?", context=CONTEXT)["answer"] == "Hugo"
    equal = [member("Ada"), member("Hugo")][::order]
    assert ExtractiveQuestionAnsweringEnsemble(equal)(question="Who?", context=CONTEXT)["answer"] == "Ada"


def test_what_a_member_cannot_read_is_said() -> None:
    ensemble = ExtractiveQuestionAnsweringEnsemble([member("Ada", "?"), member("Ada", "?")])
    asked = [{"question": "Who?", "context": CONTEXT}, {"question": "", "context": CONTEXT}]
    assert ensemble(asked, on_error="skip")[1] == {"error": "cannot be read"}


def test_wrong_use() -> None:
    with pytest.raises(TypeError, match="models is the string 'reader'; pass a list"):
        ExtractiveQuestionAnsweringEnsemble.from_pretrained("reader")
    with pytest.raises(ValueError, match="no model to vote"):
        ExtractiveQuestionAnsweringEnsemble([])
    with pytest.raises(ValueError, match="2 weights for 1 models"):
        ExtractiveQuestionAnsweringEnsemble([member("Ada")], [1, 2])
    ensemble = ExtractiveQuestionAnsweringEnsemble([member("Ada")])
    with pytest.raises(ValueError, match="leave top_k out"):
        ensemble(question="Who?", context=CONTEXT, top_k=2)
    with pytest.raises(TypeError, match="inputs, not both"):
        ensemble([{}], question="Who?", context=CONTEXT)
