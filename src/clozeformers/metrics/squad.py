"""Exact match and token-level F1 of extracted answers, equal to the official SQuAD 1.1 and 2.0 scripts.

Sources: Rajpurkar et al. (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text", section 6.1; Rajpurkar
et al. (2018), "Know What You Don't Know: Unanswerable Questions for SQuAD", section 5.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import evaluate
from datasets import Features, List, Value

from ..question_answering.squad import normalize_answer
from ..text import join_names, truncate_repr

# `normalize_answer` is found here too, beside the scores; it is defined with the data, which imports no metric.
__all__ = ["Squad", "exact_match", "normalize_answer", "question_scores", "squad_scores", "token_f1"]

logger = logging.getLogger(__name__)


_DESCRIPTION = """\
Exact match and token-level F1 of predicted answers, in percent, as the official scripts of SQuAD 1.1 and 2.0 compute
them; for 2.0 also over answerable and over unanswerable questions, AvNA, and the best no-answer thresholds.
"""
_INPUTS = """
Args:
    predictions: for each question a dict with id, prediction_text ("" for no answer) and, if known,
        no_answer_probability.
    references: for each question a dict with id and answers, a dict with the list text, as in the Hub's squad and
        squad_v2; empty for an unanswerable question.
    version_2: whether to score as SQuAD 2.0; left out, the inputs say.
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
CITATION = """\
@inproceedings{rajpurkar-etal-2016-squad,
    title = "{SQ}u{AD}: 100,000+ Questions for Machine Comprehension of Text",
    author = "Rajpurkar, Pranav and Zhang, Jian and Lopyrev, Konstantin and Liang, Percy",
    booktitle = "Proceedings of EMNLP 2016",
    year = "2016",
    pages = "2383--2392",
}
@inproceedings{rajpurkar-etal-2018-know,
    title = "Know What You Don't Know: Unanswerable Questions for {SQ}u{AD}",
    author = "Rajpurkar, Pranav and Jia, Robin and Liang, Percy",
    booktitle = "Proceedings of ACL 2018",
    year = "2018",
    pages = "784--789",
}
"""


def exact_match(prediction: str, reference: str) -> bool:
    """Whether two answers are the same once normalised."""
    return normalize_answer(prediction) == normalize_answer(reference)


def token_f1(prediction: str, reference: str, *, version_2: bool = True) -> float:
    """F1 of the words that two normalised answers share, between 0 and 1.

    Args:
        prediction: the predicted answer.
        reference: one gold answer.
        version_2: two answers without any word agree: 1, as in SQuAD 2.0. The script of SQuAD 1.1 gives them 0.
    """
    predicted, gold = normalize_answer(prediction).split(), normalize_answer(reference).split()
    # Whole numbers are left as int, as the scripts leave them: since Python 3.12 `sum` rounds ints and floats apart.
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
    """Score each question by the reference that suits it best.

    Args:
        predictions: question id -> answer, ``""`` for none.
        references: question id -> texts of the gold answers, none for an unanswerable question.
        version_2: score as SQuAD 2.0: gold answers that normalise to nothing are left out, and where none is left the
            right answer is ``""``.

    Returns:
        Question id -> (exact match, F1), each between 0 and 1, in the order of ``references``; questions without a
        prediction are left out.

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
        predictions: question id -> answer, ``""`` for none. Other ids than those of ``references`` are ignored.
        references: question id -> texts of all gold answers, none for an unanswerable question.
        version_2: True for the script of SQuAD 2.0, False for that of 1.1. None: 2.0 if a question is unanswerable or
            probabilities are given.
        no_answer_probabilities: question id -> how sure the model is that there is no answer; any scale. Best
            thresholds are searched in their order, so that it decides between equal ones.
        no_answer_threshold: a probability above it counts as no answer.

    Returns:
        ``exact_match`` and ``f1`` in percent, and ``total``, the number of questions. For SQuAD 2.0 also ``avna``, the
        percentage of questions where answering, or not answering, was right; ``HasAns_exact``, ``HasAns_f1`` and
        ``HasAns_total`` over answerable questions and the same with ``NoAns_`` over unanswerable ones, where there are
        any; and, with probabilities, ``best_exact`` and ``best_f1`` with ``best_exact_thresh`` and ``best_f1_thresh``,
        the thresholds that give them.

    Raises:
        ValueError: no question at all; an unanswerable question or probabilities where ``version_2`` is False; with
            version 2 a question without prediction (1.1 counts it as wrong, with a warning), or with probabilities a
            question without one, or with NaN.
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
            logger.warning("%s without a prediction, counted as wrong", join_names(missing))
        return _version_1(scores, len(references))
    if missing:
        raise ValueError(f"{join_names(missing)} without a prediction; give every question one, '' for no answer")
    answerable = {question: bool(texts) for question, texts in references.items()}
    if no_answer_probabilities is None:
        return _version_2(predictions, scores, answerable, dict.fromkeys(references, 0.0), no_answer_threshold)
    _check_probabilities(no_answer_probabilities, references)
    report = _version_2(predictions, scores, answerable, no_answer_probabilities, no_answer_threshold)
    for place, name in enumerate(("exact", "f1")):
        values = {question: pair[place] for question, pair in scores.items()}
        best, threshold = _best_threshold(predictions, values, answerable, no_answer_probabilities)
        report |= {f"best_{name}": best, f"best_{name}_thresh": threshold}
    return report


def _version_1(scores: Mapping[str, tuple[float, float]], total: int) -> dict[str, float]:
    exact: float = 0
    f1: float = 0
    # Added one by one, as the script of 1.1 does: since Python 3.12 `sum` is more exact, and differs in the last digit.
    for one_exact, one_f1 in scores.values():
        exact += one_exact
        f1 += one_f1
    return {"exact_match": 100.0 * exact / total, "f1": 100.0 * f1 / total, "total": total}


def _version_2(
    predictions: Mapping[str, str],
    scores: Mapping[str, tuple[float, float]],
    answerable: Mapping[str, bool],
    probabilities: Mapping[str, float],
    threshold: float,
) -> dict[str, float]:
    exact, f1, decided = {}, {}, {}
    for question, (one_exact, one_f1) in scores.items():
        silent = probabilities[question] > threshold
        exact[question] = float(not answerable[question]) if silent else one_exact
        f1[question] = float(not answerable[question]) if silent else one_f1
        decided[question] = (bool(predictions[question]) and not silent) == answerable[question]
    everything = list(scores)
    report = {
        "exact_match": _percent(exact, everything),
        "f1": _percent(f1, everything),
        "total": len(everything),
        "avna": _percent(decided, everything),
    }
    for name, wanted in (("HasAns", True), ("NoAns", False)):
        part = [question for question in everything if answerable[question] is wanted]
        if part:
            report[f"{name}_exact"] = _percent(exact, part)
            report[f"{name}_f1"] = _percent(f1, part)
            report[f"{name}_total"] = len(part)
    return report


def _best_threshold(
    predictions: Mapping[str, str],
    scores: Mapping[str, float],
    answerable: Mapping[str, bool],
    probabilities: Mapping[str, float],
) -> tuple[float, float]:
    """Find the highest score in percent that a no-answer threshold can give, and the first threshold that gives it.

    The walk begins with silence on every question. Like the script's, it may stop between questions of equal
    probability, and takes an unanswerable question for lost only where the predicted text is not empty.
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


def _percent(scores: Mapping[str, float], questions: Sequence[str]) -> float:
    return 100.0 * sum(scores[question] for question in questions) / len(questions)


def _check_probabilities(probabilities: Mapping[str, float], questions: Iterable[str]) -> None:
    missing = [question for question in questions if question not in probabilities]
    if missing:
        raise ValueError(f"{join_names(missing)} without a no-answer probability; give every question one, or none any")
    unusable = [question for question, value in probabilities.items() if math.isnan(value)]
    if unusable:
        raise ValueError(f"{join_names(unusable)} with the no-answer probability NaN; it must be a number")


class Squad(evaluate.Metric):
    """Exact match and F1 of extracted answers: the official numbers of SQuAD 1.1 and 2.0.

    ``compute(predictions=..., references=...)`` takes for each question a prediction ``{"id", "prediction_text"}``,
    with ``"no_answer_probability"`` or without, and a reference ``{"id", "answers": {"text", ...}}``, in any order: ids
    say what belongs together. ``version_2`` and ``no_answer_threshold`` may be passed with them; they, and what is
    returned, are those of :func:`squad_scores`.

    Raises:
        ValueError: a prediction or reference without id or text; from ``compute``, an id that stands twice, and what
            :func:`squad_scores` raises.
    """

    def _info(self) -> evaluate.MetricInfo:
        prediction = {
            "id": Value("string"),
            "prediction_text": Value("string"),
            "no_answer_probability": Value("float64"),
        }
        reference = {"id": Value("string"), "answers": {"text": List(Value("string"))}}
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=CITATION,
            inputs_description=_INPUTS,
            features=Features({"predictions": prediction, "references": reference}),
        )

    def add_batch(
        self, *, predictions: Sequence[Any] | None = None, references: Sequence[Any] | None = None, **kwargs: Any
    ) -> None:
        """Add questions; of each prediction and reference only what is scored is kept."""
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
        predicted = _by_id("prediction", predictions)
        probabilities = {question: one["no_answer_probability"] for question, one in predicted.items()}
        known = {question: value for question, value in probabilities.items() if value is not None}
        return squad_scores(
            {question: one["prediction_text"] for question, one in predicted.items()},
            {question: one["answers"]["text"] for question, one in _by_id("reference", references).items()},
            version_2=version_2,
            no_answer_probabilities=known or None,
            no_answer_threshold=no_answer_threshold,
        )


def _prediction(index: int, item: Any) -> dict[str, Any]:
    if not isinstance(item, Mapping) or not all(isinstance(item.get(name), str) for name in ("id", "prediction_text")):
        raise ValueError(
            f"predictions[{index}] is {truncate_repr(item)}; it must be a dict with the strings id and prediction_text, "
            "'' for no answer"
        )
    names = ("id", "prediction_text", "no_answer_probability")
    return {name: item.get(name) for name in names}


def _reference(index: int, item: Any) -> dict[str, Any]:
    answers = item.get("answers") if isinstance(item, Mapping) else None
    texts = answers.get("text") if isinstance(answers, Mapping) else None
    if not isinstance(texts, Iterable) or isinstance(texts, str) or not isinstance(item.get("id"), str):
        raise ValueError(
            f"references[{index}] is {truncate_repr(item)}; it must be a dict with the string id and answers, "
            '{"text": [...]}, as in the Hub\'s squad and squad_v2'
        )
    return {"id": item["id"], "answers": {"text": list(texts)}}


def _by_id(name: str, items: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for item in items:
        question = item["id"]
        if question in found:
            raise ValueError(f"the {name} of {question!r} stands there twice; ids must be unique")
        found[question] = item
    return found
