"""Scores of found cues and their scopes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..words import Word, words_of_tokens
from .cues import CORPUS_HAS_AFFIXES, Span, find_cues, has_affixes
from .encoding import LabelledSentence

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


class Negation(NamedTuple):
    """A cue, and the numbers of the words in its scope."""

    cue: Cue
    scope: frozenset[int]


def negation_of_row(row: Mapping[str, Any]) -> Negation:
    """The cue and the scope of a corpus row, as in `NegationRow`."""
    return Negation(cue_of_row(row), frozenset(place for place, inside in enumerate(row["scope"]) if inside))


def found_scores(sentences: Iterable[tuple[Sequence[Negation], Sequence[Negation]]]) -> dict[str, float]:
    """Scores of found negations in percent, from the gold and the found ones of each sentence.

    A gold negation is paired with the first found one that is still free and whose cue shares a word with its own. As
    in the *SEM 2012 script, a cue that is not exactly the same is a missed cue and no wrong one; `cue_overlap_f1`
    counts it as found. The words of scopes are compared within pairs, and those of the others are missed or wrong.

    Returns:
        `cue_precision`, `cue_recall`, `cue_f1`, `cue_overlap_f1`, and `found_f1`, that of the words of scopes.
    """
    gold_count = found_count = pairs = same = hits = gold_words = found_words = 0
    for gold, found in sentences:
        free = list(found)
        gold_count, found_count = gold_count + len(gold), found_count + len(found)
        gold_words += sum(len(each.scope) for each in gold)
        found_words += sum(len(each.scope) for each in found)
        for cue, scope in gold:
            places = {place for place, _ in cue}
            partner = next((each for each in free if any(place in places for place, _ in each.cue)), None)
            if partner is not None:
                free.remove(partner)
                pairs += 1
                same += partner.cue == cue
                hits += len(scope & partner.scope)
    wrong = found_count - pairs
    precision, recall = _percent(same, same + wrong), _percent(same, gold_count)
    return {
        "cue_precision": precision,
        "cue_recall": recall,
        "cue_f1": _harmonic_mean(precision, recall),
        "cue_overlap_f1": _percent(2 * pairs, gold_count + found_count),
        "found_f1": _percent(2 * hits, gold_words + found_words),
    }


def lexicon_scores(
    sentences: Sequence[LabelledSentence], gold: Sequence[Sequence[Negation]], found: Sequence[Sequence[Negation]]
) -> dict[str, float]:
    """Scores of the lexicon on the same sentences, each under the convention of its corpus, beside those of a model.

    Returns:
        `lexicon_cue_f1`, and `both_cue_f1`, that of the model's cues and those of the lexicon that share no word with
        them.
    """
    lexicon = [[Negation(cue, frozenset()) for cue in lexicon_cues(sentence)] for sentence in sentences]
    both = [
        [*own, *(each for each in others if not any(_places(each) & _places(other) for other in own))]
        for own, others in zip(found, lexicon, strict=True)
    ]
    return {
        "lexicon_cue_f1": found_scores(zip(gold, lexicon, strict=True))["cue_f1"],
        "both_cue_f1": found_scores(zip(gold, both, strict=True))["cue_f1"],
    }


def lexicon_cues(sentence: LabelledSentence) -> list[Cue]:
    """The cues that the lexicon finds in a sentence, under the convention of its corpus if it is a known one."""
    words = words_of_tokens(sentence.tokens)
    convention = sentence.corpus if sentence.corpus in CORPUS_HAS_AFFIXES else None
    found = find_cues(words, affixes=has_affixes(convention), convention=convention)
    return [cue_of_parts(words, parts) for parts in found]


def _places(negation: Negation) -> set[int]:
    return {place for place, _ in negation.cue}


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _harmonic_mean(first: float, second: float) -> float:
    return 2 * first * second / (first + second) if first + second else 0.0
