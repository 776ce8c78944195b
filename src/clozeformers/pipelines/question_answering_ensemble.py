"""Question answering pipelines that vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transformers import pipeline

from ..question_answering.inputs import pair_inputs, pair_positional
from ..voting import check_weights, majority_vote
from .base import is_indexed, is_list_of_one, is_single, to_inputs
from .question_answering import ExtractiveQuestionAnsweringPipeline


class ExtractiveQuestionAnsweringEnsemble:
    """Pipelines that vote for answers (Jain & Dutta, section 3.2.1).

    Args:
        members: pipelines of `"extractive-question-answering"`.
        weights: one per member, such as its F1 on development data; equal if None.
        weighted: decide by the sums of weights, rather than by the number of votes, for which they only break ties.
            Ties that are left go to the answer with the higher sum of scores, and then to the first in the text.

    Raises:
        ValueError: without members, or for weights that do not match them.
    """

    def __init__(
        self,
        members: Sequence[ExtractiveQuestionAnsweringPipeline],
        weights: Sequence[float] | None = None,
        weighted: bool = False,
    ) -> None:
        self.members = list(members)
        self.weights = weights
        self.weighted = weighted
        check_weights(weights, len(self.members), weighted)

    @classmethod
    def from_pretrained(
        cls, models: Sequence[str], weights: Sequence[float] | None = None, weighted: bool = False, **kwargs: Any
    ) -> ExtractiveQuestionAnsweringEnsemble:
        """Load one pipeline per model, a folder or name on the Hub, with the arguments of `transformers.pipeline`.

        Raises:
            TypeError: for a string in place of a list.
        """
        if isinstance(models, str):
            raise TypeError(f"models is the string {models!r}; pass a list of names, such as [{models!r}]")
        members = [pipeline("extractive-question-answering", model=model, **kwargs) for model in models]
        return cls(members, weights, weighted)

    def __call__(self, inputs: Any = None, *args: Any, question: Any = None, context: Any = None, **kwargs: Any) -> Any:
        """Answer questions, given and parametrized as for the pipeline; a stream is read to its end.

        Returns:
            For one input, a mapping with `answer`, `start`, `end`, `votes` (how many members gave this answer) and
            `score` (their share of the weights); a list of these for several, as for the pipeline. With
            `on_error="skip"`, an input that is invalid for a member gives `{"error": "..."}`.

        Raises:
            TypeError, ValueError: as in the pipeline; for `top_k`.
        """
        if "top_k" in kwargs:
            raise ValueError("an ensemble votes for one answer; leave top_k out, or ask one of its `members`")
        inputs, *others = pair_positional(inputs, *args)
        inputs = to_inputs(pair_inputs(inputs, question, context))
        if is_single(inputs):
            return self([inputs], *others, **kwargs)
        questions = [inputs[number] for number in range(len(inputs))] if is_indexed(inputs) else list(inputs)
        answers = [member(questions, *others, **kwargs) for member in self.members]
        voted = [self._vote(given) for given in zip(*map(_as_list, answers), strict=True)]
        return voted[0] if is_list_of_one(inputs) else voted

    def _vote(self, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        failed = next((answer for answer in answers if "error" in answer), None)
        if failed is not None:
            return dict(failed)
        spans = [(answer["start"], answer["end"]) for answer in answers]
        scores: dict[Any, list[float]] = {}
        for span, answer in zip(spans, answers, strict=True):
            scores.setdefault(span, []).append(answer["score"])
        chosen = majority_vote(spans, self.weights, self.weighted, scores=scores)
        weights = [1.0] * len(spans) if self.weights is None else self.weights
        share = sum(weight for span, weight in zip(spans, weights, strict=True) if span == chosen)
        share /= sum(weights) or 1.0
        text = answers[spans.index(chosen)]["answer"]
        return {"answer": text, "start": chosen[0], "end": chosen[1], "score": share, "votes": spans.count(chosen)}


def _as_list(answers: Any) -> Any:
    """Put the answer to a list of one question into a list."""
    return [answers] if isinstance(answers, Mapping) else answers
