"""Decode a model's logits over windows into the answers of questions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..modeling.span_decoding import best_spans

NBEST_SIZE = 20
_BATCH_SIZE = 256


class Answer(TypedDict):
    """A span, ``text == context[start:end]``; `score` is the log probability of its start and end."""

    text: str
    start: int
    end: int
    score: float


class NBest(TypedDict):
    """The answers to a question, best first, and the log probability that it has none."""

    answers: list[Answer]
    no_answer_score: float


class WindowSlots(NamedTuple):
    """The positions of a window where answers may start and end.

    Attributes:
        question: index of the question.
        offsets: ``[L, 2]``, start and end in the context's characters of an answer that begins, or ends, with each
            token; negative outside of the context.
        cls_position: the position that stands for no answer.
    """

    question: int
    offsets: NDArray[np.integer[Any]]
    cls_position: int


class AnswerCollector:
    """Collect the best spans of questions, window by window.

    Probabilities are over the context's tokens and the no-answer position of a window.

    Args:
        max_answer_length: maximum number of tokens of an answer.
        top_k: number of answers to keep for each question.
    """

    def __init__(self, max_answer_length: int, top_k: int) -> None:
        self.max_answer_length = max_answer_length
        self.top_k = top_k
        self._spans: dict[int, dict[tuple[int, int], float]] = {}
        self._no_answer: dict[int, float] = {}

    def add(self, windows: Sequence[WindowSlots], start_logits: Tensor, end_logits: Tensor) -> None:
        """Add windows of any questions, with their logits ``[windows, L]``; values at padding on the right are ignored.

        Raises:
            ValueError: logits are NaN, or all of a window's slots are minus infinity.
        """
        spans_of_tokens = [torch.as_tensor(window.offsets, dtype=torch.int64) for window in windows]
        offsets = pad_sequence(spans_of_tokens, batch_first=True, padding_value=-1)
        allowed = offsets[..., 0] >= 0
        examples = torch.arange(len(windows))
        cls_positions = torch.tensor([window.cls_position for window in windows])
        slots = allowed.index_put((examples, cls_positions), torch.tensor(True))
        starts, ends = (_log_probs(logits[:, : slots.shape[1]], slots) for logits in (start_logits, end_logits))
        # JSON has no minus infinity.
        no_answer = (starts + ends)[examples, cls_positions].clamp(min=torch.finfo(starts.dtype).min)
        found = self._best_answers(starts, ends, allowed, offsets)
        for window, answers, score_of_none in zip(windows, found, no_answer.tolist(), strict=True):
            self._no_answer[window.question] = min(self._no_answer.get(window.question, score_of_none), score_of_none)
            best = self._spans.setdefault(window.question, {})
            for span, score in answers.items():
                best[span] = max(score, best.get(span, score))

    def _best_answers(
        self, starts: Tensor, ends: Tensor, allowed: Tensor, offsets: Tensor
    ) -> list[dict[tuple[int, int], float]]:
        """Return the score of each window's best answers, at least `top_k` different ones if there are so many."""
        examples = torch.arange(len(offsets)).unsqueeze(1)
        count = min(self.top_k, starts.size(1) ** 2)  # no window has more spans
        while True:
            scores, first, last = best_spans(starts, ends, allowed, self.max_answer_length, count)
            characters = torch.stack([offsets[examples, first, 0], offsets[examples, last, 1]], dim=-1)
            # Different spans of tokens may be the same characters: the best comes first, so it is set last.
            found = [
                {
                    (start, end): score
                    for (start, end), score in [*zip(spans, row, strict=True)][::-1]
                    if score > -torch.inf
                }
                for spans, row in zip(characters.tolist(), scores.tolist(), strict=True)
            ]
            has_no_more = (scores[:, -1] == -torch.inf).tolist()
            if all(len(answers) >= self.top_k or ended for answers, ended in zip(found, has_no_more, strict=True)):
                return found
            count *= 2

    def nbest(self, question: int, context: str) -> NBest:
        """Return the answers to the question of this index, of which at least one window must have been added."""
        ordered = sorted(self._spans[question].items(), key=lambda found: (-found[1], found[0]))
        return {
            "answers": [
                {"text": context[start:end], "start": start, "end": end, "score": score}
                for (start, end), score in ordered[: self.top_k]
            ],
            "no_answer_score": self._no_answer[question],
        }


def _log_probs(logits: Tensor, slots: Tensor) -> Tensor:
    log_probs = logits.masked_fill(~slots, -torch.inf).log_softmax(dim=1)
    if log_probs.isnan().any():
        raise ValueError(
            "the model's logits are NaN or infinite; if it runs in half precision, load it with dtype=torch.float32"
        )
    return log_probs


def predict_answers(
    rows: Any, features: Any, start_logits: Any, end_logits: Any, *, max_answer_length: int
) -> dict[str, NBest]:
    """Decode a model's predictions for a corpus.

    Args:
        rows: the corpus, with the columns `id` and `context`.
        features: all features of the corpus, as `encode_questions` returns them for prediction.
        start_logits: ``[number of features, L]``, array or tensor; values at padding on the right are ignored.
        end_logits: likewise.
        max_answer_length: maximum number of tokens of an answer.

    Returns:
        For each id, its 20 best answers over all windows, and the lowest no-answer score of the windows.
    """
    collector = AnswerCollector(max_answer_length, NBEST_SIZE)
    as_arrays = features.with_format("numpy", columns=["row", "offsets", "cls_position"])
    for begin in range(0, len(features), _BATCH_SIZE):
        part = slice(begin, begin + _BATCH_SIZE)
        batch = as_arrays[part]
        windows = [
            WindowSlots(int(row), offsets.reshape(-1, 2), int(cls_position))
            for row, offsets, cls_position in zip(batch["row"], batch["offsets"], batch["cls_position"], strict=True)
        ]
        collector.add(windows, *(torch.as_tensor(logits[part]).float().cpu() for logits in (start_logits, end_logits)))
    return {
        row_id: collector.nbest(index, context)
        for index, (row_id, context) in enumerate(zip(rows["id"], rows["context"], strict=True))
    }


def best_score(found: NBest, no_answer: bool) -> float:
    """The log probability of the best answer, or of no answer if that may be predicted and is likelier."""
    scores = [answer["score"] for answer in found["answers"][:1]]
    return max([*scores, *([found["no_answer_score"]] if no_answer else [])], default=-math.inf)


def answer_texts(nbest: Mapping[str, NBest], no_answer_threshold: float | None = None) -> dict[str, str]:
    """Choose one answer for each question.

    Args:
        nbest: as `predict_answers` returns it.
        no_answer_threshold: predict no answer, ``""``, where the margin of no answer exceeds this; None to always
            answer where there is an answer.
    """
    threshold = math.inf if no_answer_threshold is None else no_answer_threshold
    margins = no_answer_margins(nbest)
    return {
        row_id: found["answers"][0]["text"] if found["answers"] and margins[row_id] <= threshold else ""
        for row_id, found in nbest.items()
    }


def no_answer_margins(nbest: Mapping[str, NBest]) -> dict[str, float]:
    """By how much each question's no-answer score exceeds its best answer's; infinite where there is no answer."""
    return {
        row_id: found["no_answer_score"] - found["answers"][0]["score"] if found["answers"] else math.inf
        for row_id, found in nbest.items()
    }
