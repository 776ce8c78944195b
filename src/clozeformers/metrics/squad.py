"""Exact match and token F1 of extracted answers, equal to the official SQuAD 1.1 and 2.0 scripts.

Sources: Rajpurkar et al. (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text", section 6.1; Rajpurkar
et al. (2018), "Know What You Don't Know: Unanswerable Questions for SQuAD", section 5.
"""

from __future__ import annotations

import logging
import math
import re
import reprlib
import string
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import evaluate
from datasets import Features, List, Value

logger = logging.getLogger(__name__)

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)

_DESCRIPTION = """\
Exact match and token F1 of predicted answers, in percent, as the official scripts of SQuAD 1.1 and 2.0 compute them;
for 2.0 also over answerable and over unanswerable questions, AvNA, and the best no-answer thresholds.
"""
_INPUTS = """
Args:
    predictions: one dict per question with id, prediction_text ("" for no answer) and optionally
        no_answer_probability.
    references: one dict per question with id and answers, a dict with the list text, as in the Hub's squad and
        squad_v2; the list is empty for an unanswerable question.
    version_2: whether to score as SQuAD 2.0; by default inferred from the inputs.
    no_answer_threshold: a no_answer_probability above it counts as no answer.

Returns:
    A dict, see clozeformers.metrics.squad.squad_scores.

Examples:
    >>> from clozeformers.metrics import Squad
    >>> predictions = [{"id": "1", "prediction_text": "the Rhine"}]
    >>> references = [{"id": "1", "answers": {"text": ["Rhine", "river Rhine"], "answer_start": [4, 0]}}]
    >>> Squad().compute(predictions=predictions, references=references)
    {'exact_match': 100.0, 'f1': 100.0, 'total': 1}
"""
_CITATION = """\
@inproceedings{rajpurkar-etal-2016-squad,
    title = "{SQ}u{AD}: 100,000+ Questions for Machine Comprehension of Text",
    author = "Rajpurkar, Pranav and Zhang, Jian and Lopyrev, Konstantin and Liang, Percy",
    booktitle = "Proceedings of EMNLP 2016", year = "2016", pages = "2383--2392",
}
@inproceedings{rajpurkar-etal-2018-know,
    title = "Know What You Don't Know: Unanswerable Questions for {SQ}u{AD}",
    author = "Rajpurkar, Pranav and Jia, Robin and Liang, Percy",
    booktitle = "Proceedings of ACL 2018", year = "2018", pages = "784--789",
}
"""


def normalize_answer(text: str) -> str:
    """Lowercase an answer, remove ASCII punctuation and the words *a*, *an* and *the*, and collapse white space."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split())


def exact_match(prediction: str, reference: str) -> bool:
    """Whether two answers are equal after normalization."""
    return normalize_answer(prediction) == normalize_answer(reference)


def token_f1(prediction: str, reference: str, *, version_2: bool = True) -> float:
    """F1 of the words of two normalized answers, in [0, 1].

    Args:
        prediction: the predicted answer.
        reference: one gold answer.
        version_2: score two answers without words as 1, as in SQuAD 2.0, rather than 0, as in SQuAD 1.1.
    """
    predicted, gold = normalize_answer(prediction).split(), normalize_answer(reference).split()
    # Integers remain int, as in the scripts: since Python 3.12 `sum` rounds ints and floats differently.
    if not predicted or not gold:
        return int(version_2 and predicted == gold)
    shared = sum((Counter(predicted) & Counter(gold)).values())
    if not shared:
        return 0
    precision, recall = shared / len(predicted), shared / len(gold)
    return 2 * precision * recall / (precision + recall)


def question_scores(
    predictions: Mapping[str, str], references: Mapping[str, Sequence[str]], *, version_2: bool
) -> dict[str, tuple[float, float]]:
    """Score each question by its best reference.

    Args:
        predictions: question id -> answer, ``""`` for no answer.
        references: question id -> texts of the gold answers, empty for an unanswerable question.
        version_2: score as SQuAD 2.0: gold answers that normalize to nothing are ignored, and if none is left the right
            answer is ``""``.

    Returns:
        Question id -> (exact match, F1), each in [0, 1], for the questions with a prediction.

    Raises:
        ValueError: a question without gold answers, scored as SQuAD 1.1.
    """
    scores: dict[str, tuple[float, float]] = {}
    for question, texts in references.items():
        gold = [text for text in texts if not version_2 or normalize_answer(text)]
        if not gold and not version_2:
            raise ValueError(f"question {question!r} has no answers; score unanswerable questions with version_2=True")
        if question in predictions:
            answer = predictions[question]
            scores[question] = (
                max(exact_match(answer, text) for text in gold or [""]),
                max(token_f1(answer, text, version_2=version_2) for text in gold or [""]),
            )
    return scores


def squad_scores(
    predictions: Mapping[str, str],
    references: Mapping[str, Sequence[str]],
    *,
    version_2: bool | None = None,
    no_answer_probabilities: Mapping[str, float] | None = None,
    no_answer_threshold: float = 1.0,
) -> dict[str, float]:
    """Score answers as the official script does, to the last digit.

    Args:
        predictions: question id -> answer, ``""`` for no answer. Ids that are not in ``references`` are ignored.
        references: question id -> texts of all gold answers, empty for an unanswerable question.
        version_2: True for the script of SQuAD 2.0, False for that of 1.1. None: 2.0 if a question is unanswerable or
            probabilities are given.
        no_answer_probabilities: question id -> the model's score for no answer, on any scale. Ties in the search for
            the best threshold are broken by their order.
        no_answer_threshold: a probability above it counts as no answer.

    Returns:
        ``exact_match`` and ``f1`` in percent, and ``total``, the number of questions. For SQuAD 2.0 also ``avna``, the
        percentage of questions for which answering, or not answering, was right; ``HasAns_exact``, ``HasAns_f1`` and
        ``HasAns_total`` over answerable questions and the same with ``NoAns_`` over unanswerable ones, if there are
        any; and, with probabilities, ``best_exact`` and ``best_f1`` with the thresholds that give them,
        ``best_exact_thresh`` and ``best_f1_thresh``.

    Raises:
        ValueError: no questions; an unanswerable question or probabilities with ``version_2=False``; for SQuAD 2.0 a
            question without a prediction (1.1 counts it as wrong, with a warning) or a probability.
    """
    if not references:
        raise ValueError("there is no question to score: references is empty")
    if version_2 is None:
        version_2 = no_answer_probabilities is not None or not all(references.values())
    scores = question_scores(predictions, references, version_2=version_2)
    missing = [question for question in references if question not in predictions]
    if not version_2:
        if no_answer_probabilities is not None:
            raise ValueError("no-answer probabilities belong to SQuAD 2.0; leave them out, or pass version_2=True")
        if missing:
            logger.warning("%s without a prediction, counted as wrong", _questions(missing))
        return _version_1(scores, len(references))
    if missing:
        raise ValueError(f"{_questions(missing)} without a prediction; give every question one, '' for no answer")
    answerable = {question: bool(texts) for question, texts in references.items()}
    if no_answer_probabilities is None:
        return _version_2(predictions, scores, answerable, dict.fromkeys(references, 0.0), no_answer_threshold)
    known = dict.fromkeys(references, math.nan) | dict(no_answer_probabilities)
    unknown = [question for question, probability in known.items() if math.isnan(probability)]
    if unknown:
        raise ValueError(f"{_questions(unknown)} without a no-answer probability; give one for every question, or none")
    report = _version_2(predictions, scores, answerable, no_answer_probabilities, no_answer_threshold)
    for place, name in enumerate(("exact", "f1")):
        values = {question: pair[place] for question, pair in scores.items()}
        best, threshold = _best_threshold(predictions, values, answerable, no_answer_probabilities)
        report |= {f"best_{name}": best, f"best_{name}_thresh": threshold}
    return report


def _version_1(scores: Mapping[str, tuple[float, float]], total: int) -> dict[str, float]:
    exact = sum(pair[0] for pair in scores.values())
    f1 = 0.0
    for pair in scores.values():  # as in the script of 1.1: since Python 3.12 `sum` differs in the last digit
        f1 += pair[1]
    return {"exact_match": 100.0 * exact / total, "f1": 100.0 * f1 / total, "total": total}


def _version_2(
    predictions: Mapping[str, str],
    scores: Mapping[str, tuple[float, float]],
    answerable: Mapping[str, bool],
    probabilities: Mapping[str, float],
    threshold: float,
) -> dict[str, float]:
    exact, f1, avna = {}, {}, {}
    for question, pair in scores.items():
        is_answered = probabilities[question] <= threshold
        right = float(not answerable[question])
        exact[question], f1[question] = pair if is_answered else (right, right)
        avna[question] = (bool(predictions[question]) and is_answered) == answerable[question]
    report = {"exact_match": _percent(exact, exact), "f1": _percent(f1, f1), "total": len(f1)}
    report["avna"] = _percent(avna, avna)
    for name, wanted in (("HasAns", True), ("NoAns", False)):
        part = [question for question in scores if answerable[question] is wanted]
        if part:
            report |= {f"{name}_exact": _percent(exact, part), f"{name}_f1": _percent(f1, part)}
            report[f"{name}_total"] = len(part)
    return report


def _best_threshold(
    predictions: Mapping[str, str],
    scores: Mapping[str, float],
    answerable: Mapping[str, bool],
    probabilities: Mapping[str, float],
) -> tuple[float, float]:
    """Find the highest score in percent that a no-answer threshold can give, and the first threshold that gives it.

    The search starts with no question answered. Like the script's, it may stop between questions of equal probability,
    and counts an unanswerable question as lost only if the predicted text is not empty.
    """
    score: float = sum(not one for one in answerable.values())
    best, threshold = score, 0.0
    for question in sorted(probabilities, key=lambda question: probabilities[question]):
        if question not in scores:
            continue
        score += scores[question] if answerable[question] else -bool(predictions[question])
        if score > best:
            best, threshold = score, probabilities[question]
    return 100.0 * best / len(scores), threshold


def _percent(scores: Mapping[str, float], questions: Collection[str]) -> float:
    return 100.0 * sum(scores[question] for question in questions) / len(questions)


class Squad(evaluate.Metric):
    """Exact match and F1 of extracted answers: the official numbers of SQuAD 1.1 and 2.0.

    ``compute(predictions=..., references=...)`` takes one prediction ``{"id", "prediction_text"}`` per question,
    optionally with ``"no_answer_probability"``, and one reference ``{"id", "answers": {"text", ...}}``, matched by id.
    ``version_2``, ``no_answer_threshold``, the scores and errors are those of `squad_scores`.
    """

    def _info(self) -> evaluate.MetricInfo:
        prediction = {name: Value("string") for name in ("id", "prediction_text")}
        prediction["no_answer_probability"] = Value("float64")
        reference = {"id": Value("string"), "answers": {"text": List(Value("string"))}}
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=Features({"predictions": prediction, "references": reference}),
        )

    def add_batch(
        self, *, predictions: Sequence[Any] | None = None, references: Sequence[Any] | None = None, **kwargs: Any
    ) -> None:
        """Add questions."""
        predictions = [_prediction(index, item) for index, item in enumerate(predictions or ())]
        references = [_reference(index, item) for index, item in enumerate(references or ())]
        super().add_batch(predictions=predictions, references=references, **kwargs)

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Add one question."""
        self.add_batch(predictions=[prediction], references=[reference], **kwargs)

    def _compute(
        self,
        *,
        predictions: Sequence[Mapping[str, Any]],
        references: Sequence[Mapping[str, Any]],
        version_2: bool | None = None,
        no_answer_threshold: float = 1.0,
    ) -> dict[str, float]:
        values = {one["id"]: one["no_answer_probability"] for one in predictions}
        probabilities = {question: value for question, value in values.items() if value is not None}
        return squad_scores(
            _by_id("prediction", ((one["id"], one["prediction_text"]) for one in predictions)),
            _by_id("reference", ((one["id"], one["answers"]["text"]) for one in references)),
            version_2=version_2,
            no_answer_probabilities=probabilities or None,
            no_answer_threshold=no_answer_threshold,
        )


def _prediction(index: int, item: Any) -> dict[str, Any]:
    if not isinstance(item, Mapping) or not all(isinstance(item.get(name), str) for name in ("id", "prediction_text")):
        problem = f"predictions[{index}] is {reprlib.repr(item)}"
        raise ValueError(f"{problem}; it must be a dict with the strings id and prediction_text")
    return {name: item.get(name) for name in ("id", "prediction_text", "no_answer_probability")}


def _reference(index: int, item: Any) -> dict[str, Any]:
    answers = item.get("answers") if isinstance(item, Mapping) else None
    texts = answers.get("text") if isinstance(answers, Mapping) else None
    if not isinstance(texts, Iterable) or isinstance(texts, str) or not isinstance(item.get("id"), str):
        problem = f"references[{index}] is {reprlib.repr(item)}"
        raise ValueError(f'{problem}; it must be a dict with the string id and answers, {{"text": [...]}}')
    return {"id": item["id"], "answers": {"text": list(texts)}}


def _questions(ids: Sequence[str]) -> str:
    """Count questions and list the first six: ``"7 questions ('a', 'b', 'c', 'd', 'e', 'f', ...)"``."""
    return f"{len(ids)} question{'s' * (len(ids) != 1)} ({reprlib.repr(ids)[1:-1]})"


def _by_id(name: str, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for question, value in pairs:
        if question in found:
            raise ValueError(f"there is more than one {name} with the id {question!r}; ids must be unique")
        found[question] = value
    return found
