"""The one row format that every negation corpus is read into."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypedDict

from datasets import Features, List, Value

Kind = Literal["negation", "speculation"]
KINDS: tuple[Kind, ...] = ("negation", "speculation")

NEGATION_FEATURES = Features(
    {
        "id": Value("string"),
        "corpus": Value("string"),
        "kind": Value("string"),
        "tokens": List(Value("string")),
        "cue": List(Value("int8")),
        "cue_text": Value("string"),
        "scope": List(Value("int8")),
    }
)


class NegationRow(TypedDict):
    """One cue in its sentence.

    Attributes:
        id: ``"<sentence>#<number>"``; rows of one sentence share what stands before the ``#``.
        corpus: ``"cd-sco"``, ``"bioscope"``, ``"sfu"``, or the name a JSON-lines row gives.
        kind: ``"negation"`` or ``"speculation"``.
        tokens: the words of the sentence, never empty strings.
        cue: 1 at each word that holds the cue or a part of it; all 0 in a sentence without one.
        cue_text: the cue as it stands in the text, the words of a discontinuous one joined by a space; for an affix
            the affix alone (``"im"`` for *impossible*).
        scope: 1 at each word in scope. A word with an affix cue is in scope when the rest of it is.
    """

    id: str
    corpus: str
    kind: str
    tokens: list[str]
    cue: list[int]
    cue_text: str
    scope: list[int]


def sentence_id(row_id: str) -> str:
    """The part of a row's id that all rows of the same sentence share."""
    return row_id.rpartition("#")[0]


Rows = Iterator[NegationRow]
