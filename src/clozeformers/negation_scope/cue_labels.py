"""Negation cues as one label a word, which a model with a cue head predicts.

The labels are those of NegBERT (Khandelwal & Sawant, 2020, section 3.1): a word is no cue, a cue, holds an affix cue,
or is a part of a cue of several words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..modeling.configuration_negation_scope import NUM_CUE_LABELS
from ..words import Word
from .cues import Span, affix_span
from .windows import NO_WORD

NO_CUE, CUE, AFFIX, PART = range(NUM_CUE_LABELS)

# A part of a cue that begins with the second goes on with the cue that the first began: "neither ... nor".
_CONTINUATIONS = {"nor": ("neither", "not", "no", "nor"), "or": ("neither",)}


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


def cues_of_windows(
    sentences: Sequence[Sequence[Word]],
    windows: Iterable[tuple[int, Sequence[int], Any]],
    affixes: Sequence[bool],
) -> list[list[tuple[Span, ...]]]:
    """The cues of sentences that were encoded in windows.

    Args:
        sentences: their words.
        windows: of each its sentence, the word of each piece, and the label probabilities ``[pieces or more, 4]`` of
            the pieces; what is beyond them is padding.
        affixes: for each sentence, whether affixes are cues in it.

    Returns:
        The cues of each sentence, see `cues_of_labels`.
    """
    own: list[list[tuple[Sequence[int], Any]]] = [[] for _ in sentences]
    for number, word_ids, probabilities in windows:
        own[number].append((word_ids, probabilities))
    found = []
    for words, parts, has_affixes in zip(sentences, own, affixes, strict=True):
        labels = _labels_of_pieces(len(words), parts)
        found.append(
            cues_of_labels(words, [NO_CUE if label == AFFIX and not has_affixes else label for label in labels])
        )
    return found


def _labels_of_pieces(num_words: int, windows: Sequence[tuple[Sequence[int], Any]]) -> list[int]:
    """The likeliest label of each word, by the mean of its pieces.

    Returns:
        One label a word, `NO_CUE` for a word that no window reaches or that has no pieces.
    """
    sums = np.zeros((num_words, NUM_CUE_LABELS))
    for word_ids, probabilities in windows:
        numbers = np.array(word_ids)
        is_word = numbers != NO_WORD
        np.add.at(sums, numbers[is_word], np.asarray(probabilities)[: len(numbers)][is_word])
    return [int(label) for label in sums.argmax(-1)]
