"""Token-level F1 of negation scope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import evaluate
from datasets import Features, List, Value

_DESCRIPTION = """\
Precision, recall and F1 of the label "in scope" over words, summed over all cues, and PCS, the percentage of correct
scopes.
"""
_INPUTS = """
Args:
    predictions: for each cue a list with 0 or 1 for each word of its sentence.
    references: the same for the gold scopes.

Returns:
    A dict: precision, recall, f1 and pcs in percent (0.0 where the denominator is 0); tp, fp and fn, numbers of
    words; cues, the number of cues.

Examples:
    >>> from clozeformers.metrics import NegationScope
    >>> NegationScope().compute(predictions=[[0, 1, 1, 0]], references=[[0, 1, 1, 1]])["f1"]
    80.0
"""
_CITATION = """\
@inproceedings{morante-blanco-2012-sem,
    title = "*{SEM} 2012 Shared Task: Resolving the Scope and Focus of Negation",
    author = "Morante, Roser and Blanco, Eduardo",
    booktitle = "*{SEM} 2012: The First Joint Conference on Lexical and Computational Semantics",
    year = "2012",
    pages = "265--274",
}
"""


class NegationScope(evaluate.Metric):
    """Precision, recall and F1 of "in scope" over words, and the percentage of correct scopes (PCS), in percent.

    The counts are summed over all cues before any division. A cue whose gold scope is empty is right for PCS when the
    predicted one is empty too.

    Raises:
        ValueError: from ``compute``, where a prediction and its reference differ in length, or hold a value other than
            0 and 1.
    """

    def _info(self) -> evaluate.MetricInfo:
        # Floats, because an integer feature would truncate 0.5 to 0 before it can be refused.
        labels = List(Value("float64"))
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=Features({"predictions": labels, "references": labels}),
        )

    def _compute(
        self, *, predictions: Sequence[Sequence[float]], references: Sequence[Sequence[float]], **_: Any
    ) -> dict[str, float]:
        tp = fp = fn = right = 0
        for index, (prediction, reference) in enumerate(zip(predictions, references, strict=True)):
            _check(index, prediction, reference)
            hits = sum(1 for pair in zip(prediction, reference, strict=True) if pair == (1, 1))
            tp += hits
            fp += int(sum(prediction)) - hits
            fn += int(sum(reference)) - hits
            right += prediction == reference
        return {
            "precision": _share(tp, tp + fp),
            "recall": _share(tp, tp + fn),
            "f1": _share(2 * tp, 2 * tp + fp + fn),
            "pcs": _share(right, len(references)),
            "tp": tp,
            "fp": fp,
            "fn": fn,
            "cues": len(references),
        }


def _check(index: int, prediction: Sequence[float], reference: Sequence[float]) -> None:
    if len(prediction) != len(reference):
        raise ValueError(
            f"predictions[{index}] has {len(prediction)} labels and references[{index}] has {len(reference)}; "
            "both need one label for each word of the sentence"
        )
    for name, labels in (("predictions", prediction), ("references", reference)):
        for word, label in enumerate(labels):
            if label not in (0, 1):
                raise ValueError(f"{name}[{index}][{word}] is {label}; a label is 1 (in scope) or 0")


def _share(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
