"""Parts of speech of the words of a sentence, by any tagger of English."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal, Protocol

PartOfSpeech = Literal["noun", "verb", "adjective", "adverb", "other"]

# How the tags of the Penn Treebank begin (Marcus et al., 1993, Table 2). Modal verbs (MD), particles (RP) and question
# adverbs (WRB) are words that a dictionary does not define by their class, and so are "other".
_PENN_TAGS: tuple[tuple[str, PartOfSpeech], ...] = (
    ("NN", "noun"),
    ("VB", "verb"),
    ("JJ", "adjective"),
    ("RB", "adverb"),
)


_DETERMINERS = frozenset(["DT", "PRP$", "POS"])
_OFTEN_PRONOUNS = frozenset(["that", "this", "all"])
_PREPOSITIONS = frozenset(["of", "in", "for", "with", "on", "from", "by", "at"])
_BEFORE_VERBS = frozenset(["i", "you", "we", "they", "who", "not", "n't", "n’t"])
_NOMINAL = frozenset(["NN", "JJ"])


class PartOfSpeechTagger(Protocol):
    """What tells the part of speech of words in their sentence."""

    def tag(self, words: Sequence[str]) -> list[str]:
        """Tag the words of one sentence.

        Args:
            words: words and signs in order.

        Returns:
            For each of them ``"noun"``, ``"verb"``, ``"adjective"``, ``"adverb"`` or ``"other"``.
        """
        ...


class PennTagger:
    """A tagger made of a function that gives tags of the Penn Treebank, such as ``nltk.pos_tag``.

    Args:
        tag_words: from the words of a sentence to pairs of a word and its tag (``"NN"``, ``"VBD"`` ...), one a word and
            in their order.
    """

    def __init__(self, tag_words: Callable[[list[str]], Iterable[tuple[str, str]]]) -> None:
        self.tag_words = tag_words

    def tag(self, words: Sequence[str]) -> list[str]:
        """Tag the words of one sentence, as :meth:`PartOfSpeechTagger.tag`.

        Raises:
            TypeError: ``words`` is one string.
            ValueError: the function gives more or fewer tags than there are words.
        """
        if isinstance(words, str):
            raise TypeError(f"words is one string, {words!r:.80}; give a list of words")
        if not words:
            return []
        tags = [tag for _, tag in self.tag_words(list(words))]
        if len(tags) != len(words):
            raise ValueError(
                f"the tagger gave {len(tags)} tags for the {len(words)} words {' '.join(words)!r:.80}; it must give "
                "one a word, and split none"
            )
        return [part_of_penn_tag(tag) for tag in tags]


def part_of_penn_tag(tag: str) -> PartOfSpeech:
    """The part of speech that a tag of the Penn Treebank stands for."""
    return next((part for beginning, part in _PENN_TAGS if tag.startswith(beginning)), "other")


@lru_cache(maxsize=1)
def get_tagger() -> PennTagger:
    """The default tagger: TextBlob's, which has its lexicon and rules in its package and needs no download.

    That lexicon has the most frequent tag of each word. The words around it correct it here, by a few rules of the kind
    of Brill (1992, "A Simple Rule-Based Part of Speech Tagger"): of the nouns, verbs, adjectives and adverbs of
    CD-SCO's development set, more than 93 % are then tagged as in the corpus.

    It is made once a process, and gives the same tags to the same words.

    Raises:
        ImportError: TextBlob is not installed.
    """
    pattern = import_optional("textblob.taggers", "words are tagged with TextBlob").PatternTagger()

    def tag_words(words: list[str]) -> list[tuple[str, str]]:
        tagged = pattern.tag(" ".join(words), tokenize=False)
        return in_context([(word, tag) for word, tag in tagged])

    tagger = PennTagger(tag_words)
    tagger.tag(["word"])  # reads the lexicon now, and not in several threads at once
    return tagger


def in_context(tagged: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Correct the most frequent tags of words by the words around them, from left to right.

    A verb becomes a noun (*the run*, *of murder*), a noun a verb (*to plan*, *will not plan*, *they plan*), a
    participle an adjective (*a beaten man*).

    Args:
        tagged: the words of a sentence, each with its tag of the Penn Treebank.

    Returns:
        The same words with their tags.
    """
    words = [word.lower() for word, _ in tagged]
    tags = [tag for _, tag in tagged]
    for here in range(1, len(tags)):
        tag, word_before = tags[here], words[here - 1]
        is_determined = tags[here - 1] in _DETERMINERS and word_before not in _OFTEN_PRONOUNS
        if tag in ("VB", "VBP", "VBZ") and (is_determined or word_before in _PREPOSITIONS):
            tags[here] = "NN"
        elif tag == "NN" and (word_before in _BEFORE_VERBS or _asks_for_verb(tags[:here])):
            tags[here] = "VB"
        elif tag in ("VBN", "VBG", "VBD") and is_determined and "".join(tags[here + 1 : here + 2])[:2] in _NOMINAL:
            tags[here] = "JJ"
    return [(word, tag) for (word, _), tag in zip(tagged, tags, strict=True)]


def _asks_for_verb(tags_before: Sequence[str]) -> bool:
    """Whether there is *to* or a modal verb before, perhaps with an adverb between."""
    near = tags_before[-2:-1] if tags_before[-1] == "RB" else tags_before[-1:]
    return list(near) in (["TO"], ["MD"])


def import_optional(name: str, purpose: str) -> Any:
    """Import a module that the extra ``wordnet`` installs.

    Args:
        name: of the module.
        purpose: what it is needed for, as a sentence without its stop.

    Raises:
        ImportError: it is not installed; says how to install it.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f'{purpose}; install it with: pip install "clozeformers[wordnet]" ({error})') from error
