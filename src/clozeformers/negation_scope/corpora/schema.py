"""The row format of all negation corpora."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypedDict

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
        id: ``"<sentence>#<number>"``; the cues of a sentence are numbered from 0, a sentence without a cue has ``"-"``.
        corpus: ``"cd-sco"``, ``"bioscope"``, ``"sfu"``, or the name that a JSON-lines row gives.
        kind: ``"negation"`` or ``"speculation"``.
        tokens: the words of the sentence.
        cue: 1 at each word that holds the cue or a part of it, else 0.
        cue_text: the cue as it stands in the text, the parts of a discontinuous one joined by a space; for an affix
            the affix alone (``"im"`` for *impossible*); empty without a cue.
        scope: 1 at each word in scope, else 0. A word with an affix cue is in scope when the rest of it is.
    """

    id: str
    corpus: str
    kind: str
    tokens: list[str]
    cue: list[int]
    cue_text: str
    scope: list[int]


class Annotation(NamedTuple):
    """A cue and its scope, as in `NegationRow`."""

    cue: list[int]
    cue_text: str
    scope: list[int]


def sentence_rows(
    sentence: str, corpus: str, kind: Kind, tokens: Sequence[str], annotations: Iterable[Annotation]
) -> Iterator[NegationRow]:
    """Yield a row for each annotation of a sentence, or, for one with words but no cue, a row with cue and scope 0."""
    numbered = [(str(k), annotation) for k, annotation in enumerate(annotations)]
    if tokens and not numbered:
        numbered = [("-", Annotation([0] * len(tokens), "", [0] * len(tokens)))]
    for k, (cue, cue_text, scope) in numbered:
        yield NegationRow(
            id=f"{sentence}#{k}",
            corpus=corpus,
            kind=kind,
            tokens=list(tokens),
            cue=cue,
            cue_text=cue_text,
            scope=scope,
        )


def sentence_id(row_id: str) -> str:
    """Return the part of a row's id that all rows of the same sentence share."""
    return row_id.rpartition("#")[0]
