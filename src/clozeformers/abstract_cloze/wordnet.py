"""Definitions of words in WordNet, under the part of speech that they have in their sentence.

Source: Miller (1995), "WordNet: A Lexical Database for English"; as extra input to a reader of abstract words: WN-DUMA
(XRJL-HKUST at SemEval-2021 Task 4), Section 3.1.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple, get_args

from ..words import split_words
from .part_of_speech import PartOfSpeech, PartOfSpeechTagger, get_tagger
from .wordnet_install import find_dictionary
from .wordnet_reader import Dictionary

# In the order in which WordNet itself lists them.
_PARTS = {"noun": "n", "verb": "v", "adjective": "a", "adverb": "r"}
_MOST_REMEMBERED = 2**16
_APOSTROPHES = str.maketrans("‘’ʼ＇‐‑", "''''--")


class Glosses(NamedTuple):
    """What WordNet says of a word.

    Attributes:
        definitions: without examples, in WordNet's order.
        part_of_speech: that they are of, ``"noun"``, ``"verb"``, ``"adjective"`` or ``"adverb"``; None without any.
        found_by: ``"tag"``: the word itself has an entry under the part of speech that was asked for; ``"base form"``:
            its base form has; ``"any part of speech"``: it, or its base form, has one under another; ``"none"``.
    """

    definitions: tuple[str, ...]
    part_of_speech: str | None
    found_by: Literal["tag", "base form", "any part of speech", "none"]


NO_GLOSSES = Glosses((), None, "none")


class WordNet:
    """Definitions by word and part of speech; each is looked up once. May be used from several threads.

    Args:
        place: the dictionary, a folder or NLTK's zip archive; `find_wordnet` finds one. Reading its index takes some
            seconds.

    Attributes:
        place: as it was given.
        reader: NLTK's ``WordNetCorpusReader``, for all else that WordNet knows. Not safe in several threads.

    Raises:
        ImportError: NLTK is not installed.
        CorpusError: a file of the dictionary is damaged: names it.
        OSError: a file is missing or cannot be read.
    """

    def __init__(self, place: str | Path) -> None:
        self.place = Path(place)
        self._dictionary = Dictionary(self.place)
        self._lock = Lock()
        self._remembered = lru_cache(maxsize=_MOST_REMEMBERED)(self._look_up)

    @property
    def reader(self) -> Any:
        """NLTK's reader."""
        return self._dictionary.reader

    def reading(self, form: str) -> AbstractContextManager[None]:
        """While something is asked of the reader about a word: errors on damaged entries become a `CorpusError`."""
        return self._dictionary.reading(form, "data.*")

    def __reduce__(self) -> tuple[Callable[[Path], WordNet], tuple[Path]]:
        """Another process reads the dictionary itself, once."""
        return _open_wordnet, (self.place,)

    def look_up(self, word: str, part_of_speech: str | None) -> Glosses:
        """Look up a word.

        Its case does not matter, nor spaces, hyphens and apostrophes that WordNet writes otherwise (``White House``,
        ``well-known``, ``Jack's``). An inflected form that is an entry itself has its own definitions and then those of
        its base form, as NLTK gives them.

        Args:
            word: one word, or several that are one entry.
            part_of_speech: ``"noun"``, ``"verb"``, ``"adjective"`` or ``"adverb"``; ``"other"`` or None for any.

        Returns:
            The definitions under the part of speech; where there are none, those of the first part of speech, in the
            order above, that has some; where there are none at all, ``NO_GLOSSES``.

        Raises:
            TypeError: the word is no string.
            ValueError: another part of speech; or, a CorpusError, the entry in the dictionary is damaged.
        """
        if not isinstance(word, str):
            raise TypeError(f"word is {word!r:.80}; give a string")
        if part_of_speech is not None and part_of_speech not in get_args(PartOfSpeech):
            raise ValueError(
                f"part_of_speech is {part_of_speech!r}; it must be None or one of "
                f"{', '.join(map(repr, get_args(PartOfSpeech)))}"
            )
        return self._remembered(word, part_of_speech)

    def _look_up(self, word: str, part_of_speech: str | None) -> Glosses:
        forms = written_forms(word)
        with self._lock:
            for part, as_it_stands in _searches(part_of_speech):
                for form in forms:
                    base = self._dictionary.base_form(form, _PARTS[part])
                    if base is not None and (base == form or not as_it_stands):
                        definitions = self._dictionary.definitions(form, _PARTS[part])
                        if part != part_of_speech:
                            return Glosses(definitions, part, "any part of speech")
                        return Glosses(definitions, part, "tag" if base == form else "base form")
        return NO_GLOSSES


def _searches(part_of_speech: str | None) -> Iterator[tuple[str, bool]]:
    """In which part of speech to look, and whether for the word as it stands only; one search after the other."""
    if part_of_speech in _PARTS:
        yield part_of_speech, True
        yield part_of_speech, False
    yield from ((part, True) for part in _PARTS)
    yield from ((part, False) for part in _PARTS)


def written_forms(word: str) -> list[str]:
    """How WordNet may write a word: in lower case, with ``_`` for spaces, then without what it may leave out.

    Returns:
        Different forms, the most faithful first; none for a string without letters and digits.
    """
    plain = unicodedata.normalize("NFKC", word).translate(_APOSTROPHES).lower()
    forms = ["_".join(plain.split())]
    changes: tuple[Callable[[str], str], ...] = (
        lambda form: re.sub(r"^[\W_]+|[\W_]+$", "", form),
        lambda form: form.removesuffix("'s"),
        lambda form: form.replace("-", "_"),
        lambda form: form.replace("_", "-"),
        lambda form: re.sub(r"[-_]", "", form),
        _without_accents,
    )
    for change in changes:
        forms = list(dict.fromkeys([*forms, *map(change, forms)]))
    return [form for form in forms if any(map(str.isalnum, form))]


def _without_accents(form: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFKD", form) if not unicodedata.combining(letter))


class OptionReader:
    """Looks up words under the part of speech that they have in their sentence.

    Args:
        wordnet: the dictionary.
        tagger: tells the part of speech; `get_tagger` gives the default one.
    """

    def __init__(self, wordnet: WordNet, tagger: PartOfSpeechTagger) -> None:
        self.wordnet = wordnet
        self.tagger = tagger

    def glosses(self, word: str, sentence: str, start: int) -> Glosses:
        """Look up a word of a sentence.

        Args:
            word: one word, or several, as they stand in the sentence.
            sentence: the sentence.
            start: the word's place in it, in characters.

        Returns:
            What :meth:`WordNet.look_up` finds. Of several words, the last that is a noun, verb, adjective or adverb
            gives the part of speech.

        Raises:
            ValueError: the word does not stand there.
        """
        end = start + len(word)
        if start < 0 or sentence[start:end] != word:
            raise ValueError(f"{word!r} does not stand at character {start} of {sentence!r:.200}; give its place there")
        words = split_words(sentence)
        tags = self.tagger.tag([each.text for each in words])
        own = [tag for each, tag in zip(words, tags, strict=True) if each.start < end and start < each.end]
        part = next((tag for tag in reversed(own) if tag in _PARTS), "other")
        return self.wordnet.look_up(word, part)

    def many(self, words: Sequence[str], sentences: Sequence[str], starts: Sequence[int]) -> list[Glosses]:
        """Look up one word in each of several sentences, as :meth:`glosses`.

        Raises:
            ValueError: as :meth:`glosses`, or the three are not of one length.
        """
        if not len(words) == len(sentences) == len(starts):
            raise ValueError(
                f"there are {len(words)} words, {len(sentences)} sentences and {len(starts)} starts; give one each"
            )
        return [self.glosses(*each) for each in zip(words, sentences, starts, strict=True)]


def find_wordnet() -> WordNet:
    """Find WordNet on this computer, and read its index; it is read once a process.

    Raises:
        FileNotFoundError: it is not there; says which commands would install it.
        ImportError, CorpusError: as `WordNet`.
    """
    return _open_wordnet(find_dictionary())


@lru_cache(maxsize=4)
def _open_wordnet(place: Path) -> WordNet:
    return WordNet(place)


def definitions(word: str, sentence: str) -> list[str]:
    """Look up a word under the part of speech that it has in a sentence.

    ```python
    >>> definitions("murdered", "Two men were murdered.")
    ["kill intentionally and with premeditation", "alter so as to make unrecognizable"]
    ```

    Args:
        word: one word, or several; its case does not matter.
        sentence: where it stands; its first place in it counts.

    Returns:
        The definitions in WordNet's order, without examples; none where WordNet has not the word.

    Raises:
        TypeError: word or sentence is no string.
        ValueError: the word is not in the sentence, as a whole word.
        FileNotFoundError, ImportError, CorpusError: as `find_wordnet` and `get_tagger`.
    """
    for value in (word, sentence):
        if not isinstance(value, str):
            raise TypeError(f"{value!r:.80} is no string; give a word and the sentence that it stands in")
    found = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", sentence, re.IGNORECASE) if word.strip() else None
    if found is None:
        raise ValueError(f"{word!r} is no word of {sentence!r:.200}; give a word as it stands in the sentence")
    reader = OptionReader(find_wordnet(), get_tagger())
    return list(reader.glosses(found[0], sentence, found.start()).definitions)
