"""Part-of-speech tags of English sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

# Prefixes of Penn Treebank tags (Marcus et al., 1993, Table 2). Modal verbs, particles and question adverbs, which a
# dictionary does not define by their class, are "other".
_PARTS = {"NN": "noun", "VB": "verb", "JJ": "adjective", "RB": "adverb"}
_DETERMINERS = ("DT", "PRP$", "POS")
_MOSTLY_PRONOUNS = ("that", "this", "all")
_PREPOSITIONS = ("of", "in", "for", "with", "on", "from", "by", "at")
_BEFORE_VERBS = ("i", "you", "we", "they", "who", "not", "n't", "n’t")

Tagger = Callable[[Sequence[str]], list[str]]
"""A function from the words of a sentence to their parts of speech, as `part_of_penn_tag` names them."""


def part_of_penn_tag(tag: str) -> str:
    """Map a Penn Treebank tag to ``"noun"``, ``"verb"``, ``"adjective"``, ``"adverb"`` or ``"other"``."""
    return _PARTS.get(tag[:2], "other")


@lru_cache(maxsize=1)
def get_tagger() -> Tagger:
    """Load TextBlob's tagger, which looks each word up in a lexicon, and correct its tags by their context.

    The correction is in the manner of Brill (1992), "A Simple Rule-Based Part of Speech Tagger".

    Raises:
        ImportError: TextBlob is not installed.
    """
    tagger = import_extra("textblob.taggers").PatternTagger()
    tagger.tag("word", tokenize=False)  # TextBlob's lazy loading of its lexicon is not thread-safe

    def tag(words: Sequence[str]) -> list[str]:
        tags = [tag for _, tag in tagger.tag(" ".join(words), tokenize=False)] if words else []
        return [part_of_penn_tag(tag) for tag in _correct_by_context([word.lower() for word in words], tags)]

    return tag


def import_extra(name: str) -> Any:
    """Import a module that the extra ``wordnet`` installs."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(f'{package} is not installed; run: pip install "clozeformers[wordnet]" ({error})') from error


def _correct_by_context(words: Sequence[str], tags: Sequence[str]) -> list[str]:
    """Correct tags from left to right: *the run*, *to plan*, *will not plan*, *they plan*, *a beaten man*."""
    tags = list(tags)
    for here in range(1, len(tags)):
        tag, word_before = tags[here], words[here - 1]
        has_determiner = tags[here - 1] in _DETERMINERS and word_before not in _MOSTLY_PRONOUNS
        tag_before = tags[here - 2] if tags[here - 1] == "RB" and here > 1 else tags[here - 1]
        if tag in ("VB", "VBP", "VBZ") and (has_determiner or word_before in _PREPOSITIONS):
            tags[here] = "NN"
        elif tag == "NN" and (word_before in _BEFORE_VERBS or tag_before in ("TO", "MD")):
            tags[here] = "VB"
        elif tag in ("VBN", "VBG", "VBD") and has_determiner and "".join(tags[here + 1 : here + 2])[:2] in ("NN", "JJ"):
            tags[here] = "JJ"
    return tags
