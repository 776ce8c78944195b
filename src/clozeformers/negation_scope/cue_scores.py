"""Scores of found cues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..words import Word
from .cues import Span

Cue = frozenset[tuple[int, str]]  # the words that hold a cue, by number, each with the part that belongs to it


def cue_of_row(row: Mapping[str, Any]) -> Cue:
    """The cue of a corpus row, as in `NegationRow`."""
    places = [place for place, is_cue in enumerate(row["cue"]) if is_cue]
    if len(places) == 1:
        return frozenset({(places[0], row["cue_text"])})
    return frozenset((place, row["tokens"][place]) for place in places)


def cue_of_parts(words: Sequence[Word], parts: Sequence[Span]) -> Cue:
    """A found cue, given by the character spans of its parts in the text of the words."""
    return frozenset(
        (place, word.text[max(start - word.start, 0) : end - word.start])
        for place, word in enumerate(words)
        for start, end in parts
        if start < word.end and word.start < end
    )


def cue_scores(sentences: Iterable[tuple[Sequence[Cue], Sequence[Cue]]]) -> dict[str, float]:
    """Precision, recall and F1 of cues in percent, from the gold and the found cues of each sentence.

    A gold cue is paired with the first found one that is still free and shares a word with it. As in the *SEM 2012
    script, a pair that is not exactly the same is a missed cue and no wrong one; `cue_overlap_f1` counts it as found.
    """
    gold_count = found_count = pairs = same = 0
    for gold, found in sentences:
        free = list(found)
        gold_count, found_count = gold_count + len(gold), found_count + len(found)
        for cue in gold:
            places = {place for place, _ in cue}
            partner = next((each for each in free if any(place in places for place, _ in each)), None)
            if partner is not None:
                free.remove(partner)
                pairs += 1
                same += partner == cue
    wrong = found_count - pairs
    precision, recall = _percent(same, same + wrong), _percent(same, gold_count)
    return {
        "cue_precision": precision,
        "cue_recall": recall,
        "cue_f1": _harmonic_mean(precision, recall),
        "cue_overlap_f1": _harmonic_mean(_percent(pairs, found_count), _percent(pairs, gold_count)),
    }


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _harmonic_mean(first: float, second: float) -> float:
    return 2 * first * second / (first + second) if first + second else 0.0
