"""Sentences of a text, and those of an article that are similar to a question. Travels beside a checkpoint."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

# A sentence ends with its mark and closing quotes, and the next begins with a capital, a digit or an opening quote.
_BOUNDARY = re.compile(r"""(?<=[.!?])["'”’)]*\s+(?=["'“‘(]*[A-Z0-9])|\n+""")
_WORD = re.compile(r"\w+")


def sentence_starts(text: str) -> list[int]:
    """Return the characters at which the sentences of a text begin; the first is 0."""
    return [0, *(found.end() for found in _BOUNDARY.finditer(text) if found.end() < len(text))]


def split_sentences(text: str) -> list[str]:
    """Split a text into its sentences."""
    starts = sentence_starts(text)
    return [text[start:end].strip() for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def rank_by_similarity(sentences: Sequence[str], question: str) -> list[int]:
    """Order sentences by their similarity to a question, the most similar first; of equal ones, the first.

    The similarity is the sum of the inverse document frequencies of the shared words, a sentence being a document, over
    the square root of the sentence's length.
    """
    bags = [{word.lower() for word in _WORD.findall(sentence)} for sentence in sentences]
    frequency = Counter(word for bag in bags for word in bag)
    asked = {word.lower() for word in _WORD.findall(question)}

    def similarity(bag: set[str]) -> float:
        return math.fsum(math.log(1 + len(bags) / frequency[word]) for word in bag & asked) / math.sqrt(len(bag) or 1)

    return sorted(range(len(bags)), key=lambda number: -similarity(bags[number]))


def keep_pieces(sentences: Sequence[Sequence[int]], order: Sequence[int], room: int) -> list[int]:
    """Keep `room` word pieces of sentences, in the order of the text.

    Args:
        sentences: the pieces of each.
        order: which to keep first, as `rank_by_similarity` gives it; the last that fits in part is truncated.
        room: at least 0.
    """
    kept: dict[int, Sequence[int]] = {}
    for number in order:
        kept[number] = sentences[number][:room]
        room -= len(kept[number])
    return [piece for number in sorted(kept) for piece in kept[number]]
