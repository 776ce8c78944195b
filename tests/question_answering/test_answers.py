"""From logits to answers, against every span of every window written out."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset

from clozeformers.question_answering.answers import NBest, answer_texts, predict_answers
from clozeformers.question_answering.encoding import qa_features
from tests.qa_models import CONTEXT, TOKENIZERS

SMALL = {"max_length": 20, "max_question_length": 6, "doc_stride": 5, "for_training": False, "no_answer": True}


def corpus() -> Dataset:
    contexts = [CONTEXT, "It sits.", CONTEXT * 2, "😀 Paris"]
    rows = [{"id": f"q{i}", "question": "who sits", "context": context} for i, context in enumerate(contexts)]
    return Dataset.from_list(rows)


def random_logits(features: Dataset, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Logits of every feature, padded with what no decoder may read."""
    generator = np.random.default_rng(seed)
    length = max(features["length"]) + 3
    logits = 3 * generator.standard_normal((2, len(features), length)).astype(np.float32)
    for number, own in enumerate(features["length"]):
        logits[:, number, own:] = 100 if number % 2 else -100
    return logits[0], logits[1]


def literal_log_softmax(logits: np.ndarray, slots: list[int]) -> dict[int, float]:
    total = sum(math.exp(logits[slot]) for slot in slots)
    return {slot: float(logits[slot]) - math.log(total) for slot in slots}


def literal_nbest(rows: Dataset, features: Dataset, logits: Any, longest: int, top_k: int) -> dict[str, NBest]:
    """Each window by itself: a softmax over its slots, every span, the best of equal characters."""
    spans: dict[int, dict[tuple[int, int], float]] = {}
    no_answer: dict[int, float] = {}
    for feature, *pair in zip(features, *logits, strict=True):
        offsets = np.reshape(feature["offsets"], (-1, 2)).tolist()
        cls = feature["cls_position"]
        inside = [place for place, (start, _) in enumerate(offsets) if start >= 0]
        starts, ends = (literal_log_softmax(values, [cls, *inside]) for values in pair)
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
                for (start, end), score in sorted(spans[number].items(), key=lambda item: -item[1])[:top_k]
            ],
            "no_answer_score": pytest.approx(no_answer[number], abs=1e-4),
        }
        for number, row in enumerate(rows)
    }


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("arguments", [{}, {"max_answer_length": 2, "top_k": 3, "batch_size": 2}])
def test_answers_are_the_best_of_all_spans(kind: str, arguments: dict[str, int]) -> None:
    rows = corpus()
    features, _ = qa_features(rows, TOKENIZERS[kind](), **SMALL)
    assert len(features) > len(rows)
    logits = random_logits(features)
    found = predict_answers(rows, features, *logits, **arguments)
    expected = literal_nbest(rows, features, logits, arguments.get("max_answer_length", 31), arguments.get("top_k", 20))
    # Word pieces of one character have the same span: a few of the last answers may differ by such a tie.
    for row_id, nbest in expected.items():
        sure = len(nbest["answers"]) // 2 + 1
        assert found[row_id]["answers"][:sure] == nbest["answers"][:sure]
        assert found[row_id]["no_answer_score"] == nbest["no_answer_score"]
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_neither_order_nor_batches_nor_tensors_change_anything() -> None:
    rows = corpus()
    features, _ = qa_features(rows, TOKENIZERS["word"](), **SMALL)
    logits = random_logits(features)
    expected = predict_answers(rows, features, *logits)
    order = np.arange(len(features))[::-1]
    assert predict_answers(rows, features.select(order), *(part[order] for part in logits)) == expected
    assert predict_answers(rows, features, *(torch.tensor(part) for part in logits), batch_size=1) == expected


def test_what_does_not_fit_together_is_named() -> None:
    rows = corpus()
    features, _ = qa_features(rows, TOKENIZERS["word"](), **SMALL)
    starts, ends = random_logits(features)
    with pytest.raises(ValueError, match=f"end_logits has 1 rows; there are {len(features)} features"):
        predict_answers(rows, features, starts, ends[:1])
    with pytest.raises(ValueError, match="the logits have 7 positions; feature lengths go up to 20"):
        predict_answers(rows, features, starts[:, :7], ends[:, :7])
    with pytest.raises(ValueError, match=r"3 rows have no feature, such as \['q1', 'q2', 'q3'\]"):
        predict_answers(rows, features.select([0]), starts[:1], ends[:1])
    with pytest.raises(ValueError, match="logits are no numbers"):
        predict_answers(rows, features, starts, np.full_like(ends, np.nan))


def test_a_context_without_words_has_no_answer() -> None:
    rows = Dataset.from_list([{"id": "empty", "question": "who", "context": " "}])
    features, _ = qa_features(rows, TOKENIZERS["word"](), **SMALL)
    found = predict_answers(rows, features, np.zeros((1, 9)), np.zeros((1, 9)))
    assert found == {"empty": {"answers": [], "no_answer_score": 0.0}}
    assert answer_texts(found) == {"empty": ""}


def test_the_threshold_decides() -> None:
    best = {"text": "mat", "start": 19, "end": 22, "score": -2.0}
    nbest: dict[str, NBest] = {"q": {"answers": [best, best | {"text": "cat"}], "no_answer_score": -1.5}}  # type: ignore[typeddict-item, list-item]
    assert answer_texts(nbest) == {"q": "mat"}
    assert answer_texts(nbest, 0.5) == {"q": "mat"}
    assert answer_texts(nbest, 0.25) == {"q": ""}
    assert answer_texts(nbest, -3.0) == {"q": ""}
