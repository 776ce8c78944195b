"""Several question answering models read the same questions, and vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transformers import pipeline

from ..question_answering.ensemble import vote_spans
from ..question_answering.inputs import paired_inputs
from .question_answering import ExtractiveQuestionAnsweringPipeline
from .streaming import is_single, iterate

_TASK = "extractive-question-answering"


class ExtractiveQuestionAnsweringEnsemble:
    """Pipelines whose answers are put to the vote (Jain & Dutta, section 3.2.1).

    Args:
        members: pipelines of `"extractive-question-answering"`.
        weights: one a member, such as its F1 on development data; None gives all the same.
        weighted: whether the sum of the weights decides, rather than the number of votes.

    Raises:
        ValueError: for no members, or weights that do not suit.
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
        vote_spans(range(len(self.members)), weights, weighted)  # raises what is wrong with them

    @classmethod
    def from_pretrained(
        cls, models: Sequence[str], weights: Sequence[float] | None = None, weighted: bool = False, **kwargs: Any
    ) -> ExtractiveQuestionAnsweringEnsemble:
        """Load one pipeline a model.

        Args:
            models: folders or names on the Hub.
            weights: as of the class.
            weighted: as of the class.
            **kwargs: of `transformers.pipeline`, such as `device`.

        Raises:
            TypeError: for one name in place of a list.
        """
        if isinstance(models, str):
            raise TypeError(f"models is the one name {models!r}; give a list of names, such as [{models!r}]")
        return cls([pipeline(_TASK, model=model, **kwargs) for model in models], weights, weighted)

    def __call__(self, inputs: Any = None, *, question: Any = None, context: Any = None, **kwargs: Any) -> Any:
        """Answer questions.

        Args:
            inputs: as of the pipeline; everything is read before the first answer is returned.
            question: as of the pipeline.
            context: as of the pipeline.
            **kwargs: parameters of the pipeline, but for `top_k`.

        Returns:
            For one input, a mapping with `answer`, `start`, `end`, `votes` (how many members gave this answer) and
            `score` (their share of the weights); for several, a list of these. An input that a member cannot read gives
            its `{"error": ...}`, with `on_error="skip"`.

        Raises:
            TypeError, ValueError: as the pipeline; and for `top_k`, of which a vote knows nothing.
        """
        if "top_k" in kwargs:
            raise ValueError("an ensemble votes for one answer; leave top_k out, or ask one of its `members`")
        if question is not None or context is not None:
            if inputs is not None:
                raise TypeError("pass either question=... and context=..., or inputs")
            inputs = paired_inputs(question, context)
        single = is_single(inputs)
        questions = [inputs] if single else list(iterate(inputs))
        answers = [member(questions, **kwargs) for member in self.members]
        results = [self._vote(given) for given in zip(*answers, strict=True)]
        return results[0] if single else results

    def _vote(self, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        failed = next((answer for answer in answers if "error" in answer), None)
        if failed is not None:
            return dict(failed)
        spans = [(answer["start"], answer["end"]) for answer in answers]
        chosen = vote_spans(spans, self.weights, self.weighted)
        weights = [1.0] * len(spans) if self.weights is None else list(self.weights)
        share = sum(weight for span, weight in zip(spans, weights, strict=True) if span == chosen)
        share /= sum(weights) or 1.0
        text = answers[spans.index(chosen)]["answer"]
        return {"answer": text, "start": chosen[0], "end": chosen[1], "score": share, "votes": spans.count(chosen)}
