"""How far two words are from each other in WordNet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .wordnet import WordNet

_SATELLITE = "s"


class WordNetSteps:
    """Counts the steps between words; what leads up from a word is looked up once. Not safe in several threads.

    A step leads from a meaning to a more general one, or from an adjective to the one that its cluster stands around.
    Two words are as far apart as the closest of their meanings: the steps that lead from both to a meaning in common,
    taken together, 0 for synonyms. NLTK's path similarity is ``1 / (1 + steps)`` for nouns; it knows no steps between
    adjectives, and joins all verbs at a root that WordNet has not.

    Args:
        wordnet: the dictionary.
    """

    def __init__(self, wordnet: WordNet) -> None:
        self._wordnet = wordnet
        self._above: dict[str, dict[str, int]] = {}

    def between(self, first: str, second: str) -> int | None:
        """Steps between two words; None where no meaning is above both, or WordNet has not one of them.

        Raises:
            CorpusError: an entry of the dictionary is damaged.
        """
        above, also_above = self._meanings_above(first), self._meanings_above(second)
        return min((steps + also_above[name] for name, steps in above.items() if name in also_above), default=None)

    def _meanings_above(self, word: str) -> dict[str, int]:
        """Each meaning that a step or more lead to from one of the word's, and its own; with the fewest steps."""
        if word not in self._above:
            # Breadth first: a meaning is reached on the shortest way first.
            found: dict[str, int] = {}
            with self._wordnet.reading(word):
                level, steps = self._meanings(word), 0
                while level:
                    new = {_name(meaning): meaning for meaning in level if _name(meaning) not in found}
                    found |= dict.fromkeys(new, steps)
                    level, steps = [one for meaning in new.values() for one in _one_step_up(meaning)], steps + 1
            self._above[word] = found
        return self._above[word]

    def _meanings(self, word: str) -> list[Any]:
        from .wordnet import written_forms

        return next(filter(None, map(self._wordnet.reader.synsets, written_forms(word))), [])


def _name(meaning: Any) -> str:
    """What tells a meaning from all others; satellites are adjectives like the rest."""
    return f"{meaning.pos().replace(_SATELLITE, 'a')}{meaning.offset()}"


def _one_step_up(meaning: Any) -> list[Any]:
    if meaning.pos() == _SATELLITE:
        return [head for head in meaning.similar_tos() if head.pos() != _SATELLITE]
    above: list[Any] = meaning.hypernyms() + meaning.instance_hypernyms()
    return above
