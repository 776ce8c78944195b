"""Question answering pipelines that vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transformers import pipeline

from ..question_answering.answers import NBEST_SIZE
from ..question_answering.ensemble import Candidate, elect_answer
from ..question_answering.inputs import pair_inputs, pair_positional
from ..voting import Ballot, VoteMethod, model_weights
from .base import is_indexed, is_list_of_one, is_single, to_inputs
from .question_answering import ExtractiveQuestionAnsweringPipeline


class ExtractiveQuestionAnsweringEnsemble:
    """Pipelines that vote for answers (Jain & Dutta, section 3.2.1).

    Args:
        members: pipelines of `"extractive-question-answering"`.
        weights: one per member, such as its F1 on development data; equal if None.
        method: `"majority"`, in which weights only break ties; `"weighted"`, in which their sums decide; `"log-odds"`:
            the same with the log odds of accuracies; or `"sum"`, of the probabilities of each member's best answers,
            where those that overlap are one. Ties that are left go to the answer with the higher sum of scores, and
            then to the first in the text.

    Raises:
        ValueError: without members, or for weights that do not match them.
    """

    def __init__(
        self,
        members: Sequence[ExtractiveQuestionAnsweringPipeline],
        weights: Sequence[float] | None = None,
        method: VoteMethod = "majority",
    ) -> None:
        self.members = list(members)
        self.method = method
        self.weights = model_weights(weights, len(self.members), method)

    @classmethod
    def from_pretrained(
        cls,
        models: Sequence[str],
        weights: Sequence[float] | None = None,
        method: VoteMethod = "majority",
        **kwargs: Any,
    ) -> ExtractiveQuestionAnsweringEnsemble:
        """Load one pipeline per model, a folder or name on the Hub, with the arguments of `transformers.pipeline`.

        Raises:
            TypeError: for a string in place of a list.
        """
        if isinstance(models, str):
            raise TypeError(f"models is the string {models!r}; pass a list of names, such as [{models!r}]")
        members = [pipeline("extractive-question-answering", model=model, **kwargs) for model in models]
        return cls(members, weights, method)

    def __call__(self, inputs: Any = None, *args: Any, question: Any = None, context: Any = None, **kwargs: Any) -> Any:
        """Answer questions, given and parametrized as for the pipeline; a stream is read to its end.

        Returns:
            For one input, a mapping with `answer`, `start`, `end`, `votes` (how many members gave this answer) and
            `score` (their share of the weights; for `"sum"`, the mean of their probabilities); a list of these for
            several, as for the pipeline. With `on_error="skip"`, an input that is invalid for a member gives
            `{"error": "..."}`.

        Raises:
            TypeError, ValueError: as in the pipeline; for `top_k`.
        """
        if "top_k" in kwargs:
            raise ValueError("an ensemble votes for one answer; leave top_k out, or ask one of its `members`")
        inputs, *others = pair_positional(inputs, *args)
        inputs = to_inputs(pair_inputs(inputs, question, context))
        if is_single(inputs):
            return self([inputs], *others, **kwargs)
        if self.method == "sum":
            kwargs["top_k"] = NBEST_SIZE
        questions = [inputs[number] for number in range(len(inputs))] if is_indexed(inputs) else list(inputs)
        answers = [member(questions, *others, **kwargs) for member in self.members]
        if len(questions) == 1:  # members answer a list of one as they answer its element
            answers = [[found] for found in answers]
        voted = [self._vote(given) for given in zip(*answers, strict=True)]
        return voted[0] if is_list_of_one(inputs) else voted

    def _vote(self, answers: Sequence[Any]) -> dict[str, Any]:
        failed = next((answer for answer in answers if "error" in answer), None)
        if failed is not None:
            return dict(failed)
        ballots = []
        for found in map(_as_list, answers):
            candidates = [Candidate((answer["start"], answer["end"]), answer["answer"]) for answer in found]
            scores = [answer["score"] for answer in found]
            ballots.append(Ballot(candidates[0], dict(zip(candidates, scores, strict=True))))
        chosen, share = elect_answer(ballots, self.weights, self.method)
        votes = sum(ballot.vote == chosen for ballot in ballots)
        return {"answer": chosen.text, "start": chosen.span[0], "end": chosen.span[1], "score": share, "votes": votes}


def _as_list(answers: Any) -> Any:
    """Put the only answer to a question into a list."""
    return [answers] if isinstance(answers, Mapping) else answers
