"""Negation cues as one label a word, which a model with a cue head predicts.

The labels are those of NegBERT (Khandelwal & Sawant, 2020, section 3.1): a word is no cue, a cue, holds an affix cue,
or is a part of a cue of several words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..words import Word
from .corpora.schema import sentence_id
from .cues import Span, affix_span

NO_CUE, CUE, AFFIX, PART = range(4)

# A part of a cue that begins with the second goes on with the cue that the first began: "neither ... nor".
_CONTINUATIONS = {"nor": ("neither", "not", "no", "nor"), "or": ("neither",)}


class LabelledSentence(NamedTuple):
    """A sentence, its words and a label for each, and the numbers of the rows that annotate its cues."""

    id: str
    corpus: str
    tokens: list[str]
    labels: list[int]
    rows: list[int]


def label_sentences(rows: Iterable[Mapping[str, Any]]) -> list[LabelledSentence]:
    """Gather the rows of each sentence, as in `NegationRow`, and label its words, in the order of the corpus.

    A word that holds parts of two cues has the label of the first.
    """
    sentences: dict[str, LabelledSentence] = {}
    for number, row in enumerate(rows):
        tokens = list(row["tokens"])
        empty = LabelledSentence(sentence_id(row["id"]), row["corpus"], tokens, [NO_CUE] * len(tokens), [])
        sentence = sentences.setdefault(empty.id, empty)
        places = [place for place, is_cue in enumerate(row["cue"]) if is_cue]
        if places:
            sentence.rows.append(number)
        whole = len(places) == 1 and row["cue_text"] == tokens[places[0]]
        label = PART if len(places) > 1 else CUE if whole else AFFIX
        for place in places:
            sentence.labels[place] = sentence.labels[place] or label
    return list(sentences.values())


def cues_of_labels(words: Sequence[Word], labels: Sequence[int]) -> list[tuple[Span, ...]]:
    """The cues that labels stand for, as `find_cues` returns them.

    Adjacent parts are one cue; *nor* goes on with the cue that *neither*, *not* or *no* began. Of a word with an affix
    cue, the cue is the part that the lexicon takes for the affix, or else the whole word.

    Args:
        words: of a sentence, with their character spans.
        labels: one a word.

    Returns:
        For each cue the character spans of its parts; the cues are in the order of their first parts.
    """
    found: list[list[Span]] = []
    begun: dict[str, int] = {}  # first word of parts -> the last cue that has such parts
    current = -1  # the cue that the word before belongs to, if it is a part
    for word, label in zip(words, labels, strict=True):
        if label == PART and current >= 0:
            start, _ = found[current].pop()
            found[current].append((start, word.end))
            continue
        if label == PART:
            low = word.text.lower()
            current = max((begun[first] for first in _CONTINUATIONS.get(low, ()) if first in begun), default=len(found))
            begun[low] = current
            if current < len(found):
                found[current].append((word.start, word.end))
                continue
        else:
            current = -1
        if label != NO_CUE:
            found.append([(label == AFFIX and affix_span(word)) or (word.start, word.end)])
    return [tuple(parts) for parts in found]
