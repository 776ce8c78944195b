"""Definitions of words in WordNet, under the part of speech that they have in their sentence.

A dictionary is a folder with the files of the manual page wndb(5WN), or NLTK's zip archive of one. Sources: Miller
(1995), "WordNet: A Lexical Database for English"; Jiang et al., "XRJL-HKUST at SemEval-2021 Task 4", section 3.1.
"""

from __future__ import annotations

import io
import os
import re
import unicodedata
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from ..files import CorpusError
from ..text import check_text, truncate_repr
from ..words import plain, split_words
from .part_of_speech import Tagger, get_tagger, import_extra

INSTALL_HINT = (
    "`clozeformers wordnet install` copies it from the system's package, which `apt-get install wordnet-base "
    "wordnet-sense-index` installs, or downloads it as `python -m nltk.downloader wordnet` does"
)
DICTIONARY_FILES = (
    *(f"{kind}.{part}" for kind in ("index", "data") for part in ("noun", "verb", "adj", "adv")),
    *(f"{part}.exc" for part in ("noun", "verb", "adj", "adv")),
    "lexnames",
)
SYSTEM_FOLDERS = (
    *("/usr/share/wordnet", "/usr/share/wordnet/dict", "/usr/share/wordnet-3.0/dict"),  # the first is Debian's
    *("/usr/local/WordNet-3.0/dict", "/opt/local/share/WordNet-3.0/dict", "/opt/homebrew/opt/wordnet/dict"),
)
_REINSTALL = "delete the dictionary and install it again: clozeformers wordnet install"
_PARTS = {"noun": "n", "verb": "v", "adjective": "a", "adverb": "r"}  # in WordNet's own order


def data_folder() -> Path:
    """Return the data folder of this library: ``$CLOZEFORMERS_HOME``, or ``clozeformers`` in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.environ.get("CLOZEFORMERS_HOME") or Path(cache, "clozeformers")).expanduser()


def dictionary_places() -> list[Path]:
    """List where a dictionary may be: in this library's data folder, NLTK's, or where system packages install it."""
    folders = [data_folder(), *map(Path, filter(None, map(str, import_extra("nltk.data").path)))]
    in_folders = [folder / "corpora" / name for folder in folders for name in ("wordnet", "wordnet.zip")]
    return [*in_folders, *map(Path, SYSTEM_FOLDERS)]


def find_dictionary() -> Path:
    """Find a dictionary that has all files.

    Raises:
        FileNotFoundError: there is none; names incomplete ones, and the commands that install one.
        CorpusError: an archive is damaged.
        ImportError: NLTK is not installed.
    """
    incomplete = []
    for place in dictionary_places():
        missing = missing_files(place)
        if not missing:
            return place
        if len(missing) < len(DICTIONARY_FILES):
            incomplete.append(f"{place} lacks {', '.join(missing)}")
    found = f" ({'; '.join(incomplete)})" if incomplete else ""
    raise FileNotFoundError(f"WordNet is not installed{found}: {INSTALL_HINT}")


def missing_files(place: Path) -> list[str]:
    """List the files that a folder or archive lacks to be a dictionary."""
    if not place.exists():
        return list(DICTIONARY_FILES)
    root = dictionary_root(place)
    return [name for name in DICTIONARY_FILES if not (root / name).is_file()]


def dictionary_root(place: Path) -> Path | zipfile.Path:
    """Open a dictionary's folder, which may be in NLTK's zip archive."""
    try:
        return zipfile.Path(place, "wordnet/") if place.suffix == ".zip" else place
    except zipfile.BadZipFile as error:
        raise CorpusError(place, "at its end", f"the archive is damaged ({error}); {_REINSTALL}") from error


def _read_dictionary(place: Path) -> dict[str, bytes]:
    """Read all files; raise a CorpusError for one that is missing or truncated."""
    root = dictionary_root(place)
    files = {}
    for name in DICTIONARY_FILES:
        try:
            files[name] = (root / name).read_bytes()
        except (FileNotFoundError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise CorpusError(place, name, f"the file cannot be read ({error}); {_REINSTALL}") from error
        if not files[name].endswith(b"\n"):
            raise CorpusError(place, name, f"the file is empty or truncated; {_REINSTALL}")
    for part in ("noun", "verb", "adj", "adv"):
        offset = int(max(re.findall(rb" (\d{8})\b", files[f"index.{part}"]), default=b"0"))
        if offset >= len(files[f"data.{part}"]):
            problem = f"the file is truncated: the index names an entry at byte {offset}; {_REINSTALL}"
            raise CorpusError(place, f"data.{part}", problem)
    return files


def _nltk_reader(files: dict[str, bytes]) -> Any:
    """Make NLTK's reader of files in memory; from disk, it only reads NLTK's own data folders."""
    wordnet, data = import_extra("nltk.corpus.reader.wordnet"), import_extra("nltk.data")

    class Root(data.PathPointer):  # type: ignore[name-defined]
        open = file_size = join = None  # abstract methods, which the reader below does not call

    class Reader(wordnet.WordNetCorpusReader):  # type: ignore[name-defined]
        def open(self, file: str) -> io.TextIOWrapper:
            return io.TextIOWrapper(io.BytesIO(files[file]), "utf-8", newline="\n")

        def map_wn(self, version: str = "wordnet") -> None:
            """Skip the mapping to other versions of WordNet, which needs a copy in NLTK's data folder."""

    with warnings.catch_warnings():
        # Silence NLTK's warning about missing Open Multilingual WordNet data.
        warnings.filterwarnings("ignore", message="The multilingual functions", category=UserWarning)
        return Reader(Root(), omw_reader=None)


class Glosses(NamedTuple):
    """Definitions of a word."""

    definitions: tuple[str, ...]  # without examples, the most frequent meaning first
    part_of_speech: str | None  # of the definitions; None if there are none


class WordNet:
    """Definitions by word and part of speech. Safe to use from several threads; another process reads its own copy.

    Args:
        place: the dictionary, a folder or NLTK's zip archive. Loading takes some seconds.

    Attributes:
        reader: NLTK's ``WordNetCorpusReader``, which is not thread-safe.

    Raises:
        ImportError: NLTK is not installed.
        CorpusError: a file of the dictionary is missing or damaged.
    """

    def __init__(self, place: str | Path) -> None:
        nltk_error = import_extra("nltk.corpus.reader.wordnet").WordNetError
        self.place = Path(place)
        self._errors = (nltk_error, ValueError, AssertionError, LookupError, StopIteration, AttributeError)
        self._lock = Lock()
        files = _read_dictionary(self.place)
        try:
            self.reader = _nltk_reader(files)
        except self._errors as error:
            raise CorpusError(self.place, "in an index", f"a line is damaged ({error!r}); {_REINSTALL}") from error

    def __reduce__(self) -> tuple[Callable[[Path], WordNet], tuple[Path]]:
        return _open_wordnet, (self.place,)

    @contextmanager
    def reading(self, word: str) -> Iterator[None]:
        """Turn NLTK's errors about a damaged entry of this word into a `CorpusError`."""
        try:
            yield
        except self._errors as error:
            problem = f"the entry of {word!r} cannot be read: it is damaged ({error!r}); {_REINSTALL}"
            raise CorpusError(self.place, "data files", problem) from error

    def look_up(self, word: str, part_of_speech: str | None) -> Glosses:
        """Look up a word or phrase, in any case and with any spaces, hyphens and apostrophes.

        An inflected form that is an entry itself (``found``) has its own definitions, then those of its base form.

        Args:
            word: the word or phrase.
            part_of_speech: ``"noun"``, ``"verb"``, ``"adjective"`` or ``"adverb"``; anything else for any of them.

        Returns:
            The definitions under the part of speech, if there are any; otherwise those under the first one, in the
            order above, that has some. An entry of the word itself comes before one of its base form.

        Raises:
            CorpusError: the entry in the dictionary is damaged.
        """
        own = [part_of_speech] if part_of_speech in _PARTS else []
        searches = [(own, True), (own, False), (_PARTS, True), (_PARTS, False)]
        forms = written_forms(word)
        with self._lock, self.reading(word):
            for part, exact, form in ((p, exact, form) for parts, exact in searches for p in parts for form in forms):
                base = self.reader.morphy(form, _PARTS[part])
                if base is not None and (base == form or not exact):
                    synsets = self.reader.synsets(form, _PARTS[part])
                    return Glosses(tuple(dict.fromkeys(synset.definition() for synset in synsets)), part)
        return Glosses((), None)


def written_forms(word: str) -> list[str]:
    """List the ways in which WordNet may write a word, the most faithful first: lower case, ``_`` for a space, ..."""
    forms = ["_".join(plain(unicodedata.normalize("NFKC", word)).lower().split())]
    changes: tuple[Callable[[str], str], ...] = (
        lambda form: re.sub(r"^[\W_]+|[\W_]+$", "", form),
        lambda form: form.removesuffix("'s"),
        lambda form: form.replace("-", "_"),
        lambda form: form.replace("_", "-"),
        lambda form: re.sub(r"[-_]", "", form),
        lambda form: "".join(c for c in unicodedata.normalize("NFKD", form) if not unicodedata.combining(c)),
    )
    for change in changes:
        forms = list(dict.fromkeys([*forms, *map(change, forms)]))
    return [form for form in forms if any(map(str.isalnum, form))]


def find_wordnet() -> WordNet:
    """Load the WordNet of this computer, once per process; for errors, see `find_dictionary` and `WordNet`."""
    return _open_wordnet(find_dictionary())


@lru_cache(maxsize=4)
def _open_wordnet(place: Path) -> WordNet:
    return WordNet(place)


class DefinitionLookup:
    """Looks up words under the part of speech that they have in their sentence.

    Args:
        wordnet: the dictionary; `find_wordnet` by default.
        tag: a function from the words of a sentence to their parts of speech; `get_tagger` by default.
    """

    def __init__(self, wordnet: WordNet | None = None, tag: Tagger | None = None) -> None:
        self.wordnet = wordnet or find_wordnet()
        self.tag = tag or get_tagger()

    def glosses(self, word: str, sentence: str, start: int) -> Glosses:
        """Look up a word at a character of a sentence; a phrase has its last part of speech that WordNet knows."""
        end = start + len(word)
        words = split_words(sentence)
        tags = zip(words, self.tag([each.text for each in words]), strict=True)
        own = [tag for each, tag in tags if each.start < end and start < each.end and tag in _PARTS]
        return self.wordnet.look_up(word, own[-1] if own else None)

    def many(self, words: Sequence[str], sentences: Sequence[str], starts: Sequence[int]) -> list[Glosses]:
        """Look up one word in each sentence; see `glosses`."""
        return [self.glosses(*each) for each in zip(words, sentences, starts, strict=True)]


def definitions(word: str, sentence: str) -> list[str]:
    """Look up a word under the part of speech that it has in a sentence.

    ```python
    >>> definitions("murdered", "Two men were murdered.")
    ["kill intentionally and with premeditation", "alter so as to make unrecognizable"]
    ```

    Args:
        word: a word or phrase, in any case.
        sentence: has the word; its first occurrence counts.

    Returns:
        The definitions in WordNet's order, without examples; empty if WordNet does not have the word.

    Raises:
        TypeError, ValueError: an argument is not text, or the word does not occur in the sentence as a whole word.
        FileNotFoundError, ImportError, CorpusError: see `find_wordnet` and `get_tagger`.
    """
    word, sentence = check_text(word, "word"), check_text(sentence, "sentence")
    found = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", sentence, re.IGNORECASE)
    if found is None:
        raise ValueError(f"{word!r} is not a word of {truncate_repr(sentence)}; give a word as the sentence has it")
    return list(DefinitionLookup().glosses(found[0], sentence, found.start()).definitions)
