"""From a model's logits over windows to the answers of questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..modeling.span_decoding import best_spans

# The official predictions' n-best files hold as many.
NBEST_SIZE = 20


class Answer(TypedDict):
    """One answer: ``text == context[start:end]``; `score` is the log probability of its start and end."""

    text: str
    start: int
    end: int
    score: float


class NBest(TypedDict):
    """What is known of one question: answers, best first, and the log probability that there is none."""

    answers: list[Answer]
    no_answer_score: float


class WindowSlots(NamedTuple):
    """Where in a window answers may begin and end.

    Attributes:
        question: number of the question.
        offsets: ``[L, 2]``, start and end in the context's characters of each token, negative where it is none of the
            context's.
        cls_position: the no-answer slot.
    """

    question: int
    offsets: NDArray[np.integer[Any]]
    cls_position: int


class AnswerCollector:
    """Gathers the best spans of questions, window by window.

    A window's probabilities are shared out among its slots: the context's tokens and the no-answer slot. So neither
    padding nor, with models that have logits there too, the question takes any.

    Args:
        max_answer_length: most tokens of an answer.
        top_k: answers to keep for a question.
    """

    def __init__(self, max_answer_length: int, top_k: int) -> None:
        self.max_answer_length = max_answer_length
        self.top_k = top_k
        self._spans: dict[int, dict[tuple[int, int], float]] = {}
        self._no_answer: dict[int, float] = {}

    def add(self, windows: Sequence[WindowSlots], start_logits: Tensor, end_logits: Tensor) -> None:
        """Add windows.

        Args:
            windows: of any questions.
            start_logits: ``[number of windows, L]``, padded on the right with anything.
            end_logits: likewise.

        Raises:
            ValueError: if logits are NaN, or none of a window's is above minus infinity.
        """
        longest = max(len(window.offsets) for window in windows)
        padded = np.full((len(windows), longest, 2), -1, dtype=np.int64)
        for window, row in zip(windows, padded, strict=True):
            row[: len(window.offsets)] = window.offsets
        offsets = torch.from_numpy(padded)
        allowed = offsets[..., 0] >= 0
        examples = torch.arange(len(windows))
        cls_positions = torch.tensor([window.cls_position for window in windows])
        slots = allowed.index_put((examples, cls_positions), torch.tensor(True))
        starts, ends = (_log_probs(logits[:, :longest], slots) for logits in (start_logits, end_logits))
        # Minus infinity has no place in a JSON file.
        no_answer = (starts + ends)[examples, cls_positions].clamp(min=torch.finfo(starts.dtype).min)
        found = best_spans(starts, ends, allowed, self.max_answer_length, self.top_k)
        characters = torch.stack([offsets[examples[:, None], found[1], 0], offsets[examples[:, None], found[2], 1]], -1)
        for window, scores, spans, nothing in zip(
            windows, found[0].tolist(), characters.tolist(), no_answer.tolist(), strict=True
        ):
            least = self._no_answer.get(window.question, nothing)
            self._no_answer[window.question] = min(least, nothing)
            best = self._spans.setdefault(window.question, {})
            for (start, end), score in zip(spans, scores, strict=True):
                if score > best.get((start, end), -torch.inf):
                    best[start, end] = score

    def nbest(self, question: int, context: str) -> NBest:
        """Sum up a question.

        Args:
            question: its number; a window of it must have been added.
            context: its whole context.
        """
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
            "the model's logits are no numbers (NaN or infinite); if it runs in half precision, load it with "
            "dtype=torch.float32"
        )
    return log_probs


def predict_answers(
    rows: Any,
    features: Any,
    start_logits: Any,
    end_logits: Any,
    *,
    max_answer_length: int = 31,
    top_k: int = NBEST_SIZE,
    batch_size: int = 256,
) -> dict[str, NBest]:
    """Turn what a model predicted for a corpus into answers.

    Args:
        rows: the corpus, with the columns `id` and `context`.
        features: of the corpus, as `qa_features` returns them for prediction.
        start_logits: ``[number of features, L]``, in the order of the features, array or tensor, padded on the right
            with anything.
        end_logits: likewise.
        max_answer_length: most words or pieces of an answer.
        top_k: most answers of a question.
        batch_size: windows that are decoded together.

    Returns:
        For each id, its answers over all windows, best first (the best score counts where several windows give the same
        characters), and the smallest score of the no-answer slot among its windows.

    Raises:
        ValueError: if features and logits do not belong together, a row has no feature, or logits are NaN.
    """
    for name, logits in (("start_logits", start_logits), ("end_logits", end_logits)):
        if len(logits) != len(features):
            raise ValueError(f"{name} has {len(logits)} rows; there are {len(features)} features, and each has one")
    collector = AnswerCollector(max_answer_length, top_k)
    as_arrays = features.with_format("numpy", columns=["row", "offsets", "cls_position"])
    for begin in range(0, len(features), batch_size):
        part = as_arrays[begin : begin + batch_size]
        windows = [
            WindowSlots(int(row), offsets.reshape(-1, 2), int(cls_position))
            for row, offsets, cls_position in zip(part["row"], part["offsets"], part["cls_position"], strict=True)
        ]
        logits = [
            torch.as_tensor(values[begin : begin + batch_size]).float().cpu() for values in (start_logits, end_logits)
        ]
        longest = max(len(window.offsets) for window in windows)
        if logits[0].shape[1] < longest:
            raise ValueError(f"the logits have {logits[0].shape[1]} positions; feature lengths go up to {longest}")
        collector.add(windows, *logits)
    answered = set(features["row"])
    missing = [row_id for number, row_id in enumerate(rows["id"]) if number not in answered]
    if missing:
        raise ValueError(
            f"{len(missing)} rows have no feature, such as {missing[:3]!r}; make the features with "
            "qa_features(rows, ..., for_training=False)"
        )
    return {
        row_id: collector.nbest(number, context)
        for number, (row_id, context) in enumerate(zip(rows["id"], rows["context"], strict=True))
    }


def answer_texts(nbest: Mapping[str, NBest], no_answer_threshold: float | None = None) -> dict[str, str]:
    """Choose one answer a question.

    Args:
        nbest: as `predict_answers` returns it.
        no_answer_threshold: answer nothing where the no-answer score is greater than the best answer's by more than
            this; None to always answer.

    Returns:
        For each id the answer, empty for none.
    """
    texts = {}
    for row_id, found in nbest.items():
        best = found["answers"][0] if found["answers"] else None
        excess = found["no_answer_score"] - best["score"] if best else 0.0
        is_answered = best and (no_answer_threshold is None or excess <= no_answer_threshold)
        texts[row_id] = best["text"] if best and is_answered else ""
    return texts
