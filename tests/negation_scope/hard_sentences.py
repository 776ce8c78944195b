"""Sentences whose cues or scopes are hard to find, written for this project: `tests/data/hard_negation.jsonl`.

Each row has a `domain`, a `text`, and a string for each of its `negations`: the text with the cue in brackets and the
words of its scope in braces, by the guidelines of CD-SCO.

    python -m tests.negation_scope.hard_sentences hard-sentences.jsonl     # as corpus rows, for a training script
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from clozeformers.negation_scope.corpora.jsonl import write_negation_jsonl
from clozeformers.negation_scope.corpora.schema import NegationRow
from clozeformers.negation_scope.cue_scores import Negation, cue_of_parts
from clozeformers.words import Word, split_words

PATH = Path(__file__).parents[1] / "data" / "hard_negation.jsonl"
_MARKS = re.compile(r"[\[\]{}]")


class HardSentence(NamedTuple):
    """A sentence, its words, and its negations."""

    domain: str
    text: str
    words: list[Word]
    negations: list[Negation]


def hard_sentences() -> Iterator[HardSentence]:
    """Read the file; raises a ValueError where a negation's text differs, or its marks do not match."""
    for number, line in enumerate(PATH.read_text(encoding="utf-8").splitlines(), start=1):
        row = json.loads(line)
        words = split_words(row["text"])
        try:
            negations = [parse(marked, row["text"], words) for marked in row["negations"]]
        except ValueError as error:
            raise ValueError(f"{PATH}, line {number}: {error}") from None
        yield HardSentence(row["domain"], row["text"], words, negations)


def parse(marked: str, text: str, words: Sequence[Word]) -> Negation:
    """The negation that a marked text stands for."""
    if _MARKS.sub("", marked) != text:
        raise ValueError(f"{marked!r} is not {text!r} with marks")
    spans: dict[str, list[tuple[int, int]]] = {"[": [], "{": []}
    place, opened = 0, ("", 0)
    for character in marked:
        if character in "[{":
            if opened[0]:
                raise ValueError(f"a mark inside another one in {marked!r}")
            opened = (character, place)
        elif character in "]}":
            if "[{".find(opened[0] or "-") != "]}".find(character):
                raise ValueError(f"{character} without its partner in {marked!r}")
            spans[opened[0]].append((opened[1], place))
            opened = ("", 0)
        else:
            place += 1
    if opened[0] or not spans["["]:
        raise ValueError(f"no cue, or a mark that is not closed, in {marked!r}")
    scope = (k for k, word in enumerate(words) for start, end in spans["{"] if start < word.end and word.start < end)
    return Negation(cue_of_parts(words, spans["["]), frozenset(scope))


def hard_rows() -> Iterator[NegationRow]:
    """The sentences as corpus rows, one a cue or a sentence without any."""
    for number, sentence in enumerate(hard_sentences(), start=1):
        for count, (cue, scope) in enumerate(sentence.negations or [Negation(frozenset(), frozenset())]):
            own = dict(cue)
            places = range(len(sentence.words))
            yield NegationRow(
                id=f"hard/{number}#{count if cue else '-'}",
                corpus="cd-sco",
                kind="negation",
                tokens=[word.text for word in sentence.words],
                cue=[int(place in own) for place in places],
                cue_text=" ".join(own[place] for place in sorted(own)),
                scope=[int(place in scope) for place in places],
            )


if __name__ == "__main__":
    write_negation_jsonl(hard_rows(), sys.argv[1])
