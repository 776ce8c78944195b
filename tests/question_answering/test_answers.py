"""From logits to answers, compared with an enumeration of every span of every window."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset

from clozeformers.question_answering import answers
from clozeformers.question_answering.answers import NBest, answer_texts, predict_answers
from clozeformers.question_answering.encoding import encode_questions
from tests.qa_models import CONTEXT, TOKENIZERS

SMALL = {"max_length": 20, "max_question_length": 6, "doc_stride": 5, "for_training": False, "no_answer": True}


def corpus() -> Dataset:
    contexts = [CONTEXT, "It sits.", CONTEXT * 2, "😀 Paris"]
    rows = [{"id": f"q{i}", "question": "who sits", "context": context} for i, context in enumerate(contexts)]
    return Dataset.from_list(rows)


def random_logits(features: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Random logits; the values at padding are extreme, and must be ignored."""
    length = max(features["length"]) + 3
    logits = 3 * np.random.default_rng(0).standard_normal((2, len(features), length)).astype(np.float32)
    for number, own in enumerate(features["length"]):
        logits[:, number, own:] = 100 if number % 2 else -100
    return logits[0], logits[1]


def log_softmax(logits: np.ndarray, slots: list[int]) -> dict[int, float]:
    total = sum(math.exp(logits[slot]) for slot in slots)
    return {slot: float(logits[slot]) - math.log(total) for slot in slots}


def enumerated_nbest(rows: Dataset, features: Dataset, logits: Any, longest: int) -> dict[str, NBest]:
    spans: dict[int, dict[tuple[int, int], float]] = {}
    no_answer: dict[int, float] = {}
    for feature, *pair in zip(features, *logits, strict=True):
        offsets = np.reshape(feature["offsets"], (-1, 2)).tolist()
        cls = feature["cls_position"]
        inside = [place for place, (start, _) in enumerate(offsets) if start >= 0]
        starts, ends = (log_softmax(values, [cls, *inside]) for values in pair)
        row = feature["row"]
        no_answer[row] = min(no_answer.get(row, math.inf), starts[cls] + ends[cls])
        found = spans.setdefault(row, {})
        for first in inside:
            for last in inside:
                if 0 <= last - first < longest:
                    key = (offsets[first][0], offsets[last][1])
                    found[key] = max(found.get(key, -math.inf), starts[first] + ends[last])
    return {
        row["id"]: {
            "answers": [
                {"text": row["context"][start:end], "start": start, "end": end, "score": pytest.approx(score, abs=1e-4)}
                for (start, end), score in sorted(spans[number].items(), key=lambda item: -item[1])[:20]
            ],
            "no_answer_score": pytest.approx(no_answer[number], abs=1e-4),
        }
        for number, row in enumerate(rows)
    }


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("longest", [2, 31])
def test_answers_are_the_best_of_all_spans(kind: str, longest: int) -> None:
    rows = corpus()
    features, _ = encode_questions(rows, TOKENIZERS[kind](), **SMALL)
    assert len(features) > len(rows)
    logits = random_logits(features)
    found = predict_answers(rows, features, *logits, max_answer_length=longest)
    # Word pieces of one character have the same span: a few of the last answers may differ by such a tie.
    for row_id, nbest in enumerated_nbest(rows, features, logits, longest).items():
        sure = len(nbest["answers"]) // 2 + 1
        assert found[row_id]["answers"][:sure] == nbest["answers"][:sure]
        assert found[row_id]["no_answer_score"] == nbest["no_answer_score"]
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_order_batch_size_and_tensors_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = corpus()
    features, _ = encode_questions(rows, TOKENIZERS["word"](), **SMALL)
    logits = random_logits(features)
    expected = predict_answers(rows, features, *logits, max_answer_length=9)
    order = np.arange(len(features))[::-1]
    shuffled = [part[order] for part in logits]
    assert predict_answers(rows, features.select(order), *shuffled, max_answer_length=9) == expected
    monkeypatch.setattr(answers, "_BATCH_SIZE", 1)
    assert predict_answers(rows, features, *map(torch.tensor, logits), max_answer_length=9) == expected
    with pytest.raises(ValueError, match="logits are NaN or infinite"):
        predict_answers(rows, features, logits[0], np.full_like(logits[1], np.nan), max_answer_length=9)


def test_context_without_words_has_no_answer() -> None:
    rows = Dataset.from_list([{"id": "empty", "question": "who", "context": " "}])
    features, _ = encode_questions(rows, TOKENIZERS["word"](), **SMALL)
    found = predict_answers(rows, features, np.zeros((1, 9)), np.zeros((1, 9)), max_answer_length=9)
    assert found == {"empty": {"answers": [], "no_answer_score": 0.0}}
    assert answer_texts(found) == {"empty": ""}


@pytest.mark.parametrize(("threshold", "text"), [(None, "mat"), (0.5, "mat"), (0.25, ""), (-3.0, "")])
def test_no_answer_threshold(threshold: float | None, text: str) -> None:
    best = {"text": "mat", "start": 19, "end": 22, "score": -2.0}
    nbest: Any = {"q": {"answers": [best, best | {"text": "cat"}], "no_answer_score": -1.5}}
    assert answer_texts(nbest, threshold) == {"q": text}
