"""The files of a WordNet dictionary, checked and handed to NLTK's reader.

A dictionary is a folder with the files that the manual page wndb(5WN) describes, or NLTK's zip archive of one.
"""

from __future__ import annotations

import io
import os
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ..files import CorpusError
from .part_of_speech import import_optional

_FILE_ENDINGS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
LEXNAMES = "lexnames"
_IN_ARCHIVE = "wordnet/"
DICTIONARY_FILES = tuple(
    [f"index.{end}" for end in _FILE_ENDINGS.values()]
    + [f"data.{end}" for end in _FILE_ENDINGS.values()]
    + [f"{end}.exc" for end in _FILE_ENDINGS.values()]
)
"""What every distribution of WordNet has. NLTK's reader asks for `LEXNAMES` as well, which some leave out."""
_REPLACE_IT = "it is damaged; delete the dictionary and install it again: clozeformers wordnet install"


def files_in(place: Path) -> set[str]:
    """The names of a dictionary's files: those in a folder, or in the folder of NLTK's zip archive.

    Returns:
        The names; none where the place does not exist.

    Raises:
        CorpusError: the zip archive is none, or is cut off.
    """
    if place.suffix == ".zip" and place.is_file():
        with _open_archive(place) as archive:
            return {name.removeprefix(_IN_ARCHIVE) for name in archive.namelist() if name.startswith(_IN_ARCHIVE)}
    return {path.name for path in place.iterdir() if path.is_file()} if place.is_dir() else set()


def missing_files(place: Path) -> list[str]:
    """Which of the files that NLTK's reader needs a folder or archive has not.

    Raises:
        CorpusError: as `files_in`.
    """
    found = files_in(place)
    return [name for name in (*DICTIONARY_FILES, LEXNAMES) if name not in found]


def open_dictionary_file(place: Path, name: str) -> BinaryIO:
    """Open a file of a dictionary.

    Raises:
        CorpusError: it is empty, or its last line has no end; or the zip archive is damaged.
        OSError: it cannot be read.
    """
    stream: BinaryIO
    if place.suffix == ".zip":
        with _open_archive(place) as archive:
            try:
                stream = io.BytesIO(archive.read(_IN_ARCHIVE + name))
            except (zipfile.BadZipFile, zlib.error, EOFError) as error:
                raise CorpusError(place, _IN_ARCHIVE + name, f"{_REPLACE_IT} ({error})") from None
    else:
        stream = (place / name).open("rb")
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(size - 1, 0))
    end = stream.read(1)
    if end != b"\n":
        stream.close()
        problem = "the last line has no end" if end else "the file is empty"
        raise CorpusError(place / name, "at its end", f"{problem}: {_REPLACE_IT}")
    stream.seek(0)
    return stream


def _open_archive(place: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(place)
    except zipfile.BadZipFile as error:
        raise CorpusError(place, "at its end", f"{_REPLACE_IT} ({error})") from None


class Dictionary:
    """A dictionary that is read by NLTK; not to be used from several threads at once.

    Args:
        place: a folder or a zip archive. Its index is read now, which takes some seconds; its data files stay open.

    Attributes:
        place: as it was given.
        reader: NLTK's ``WordNetCorpusReader``.

    Raises:
        ImportError: NLTK is not installed.
        CorpusError: a file is damaged: names it.
        OSError: a file is missing or cannot be read.
    """

    def __init__(self, place: Path) -> None:
        wordnet = import_optional("nltk.corpus.reader.wordnet", "WordNet is read with NLTK")
        self.place = place
        self._errors = (wordnet.WordNetError, ValueError, AssertionError, LookupError, StopIteration, AttributeError)
        opened = [LEXNAMES]
        try:
            self.reader = _reader_of(place, opened)
            _check_sizes(place)
        except CorpusError:
            raise
        except self._errors as error:
            raise CorpusError(place / opened[-1], "in a line of it", f"{_REPLACE_IT} ({error!r})") from error

    def base_form(self, form: str, part: str) -> str | None:
        """The word itself, if it has an entry under a part of speech, or else its base form that has one.

        Args:
            form: the word as WordNet writes it: lower case, ``_`` for a space.
            part: ``"n"``, ``"v"``, ``"a"`` or ``"r"``; adjective satellites are adjectives.
        """
        found: str | None = self.reader.morphy(form, part)
        return found

    @contextmanager
    def reading(self, form: str, file: str) -> Iterator[None]:
        """Make what NLTK raises on damaged entries a `CorpusError` that names the word and the file that it is from."""
        try:
            yield
        except CorpusError:
            raise
        except self._errors as error:
            problem = f"the entry of {form!r} cannot be read: {_REPLACE_IT} ({error!r})"
            raise CorpusError(self.place / file, "in a line of it", problem) from error

    def definitions(self, form: str, part: str) -> tuple[str, ...]:
        """The definitions of a word under a part of speech, without their examples; arguments as of `base_form`.

        Returns:
            Each definition once, in WordNet's order: those of the word as it stands, then those of its base forms
            (``found`` is an entry, and a form of ``find``). Empty where there is no entry.

        Raises:
            CorpusError: the entry is damaged.
        """
        with self.reading(form, f"data.{_FILE_ENDINGS[part]}"):
            return tuple(dict.fromkeys(synset.definition() for synset in self.reader.synsets(form, part)))


def _reader_of(place: Path, opened: list[str]) -> Any:
    """NLTK's reader of a dictionary; the names of the files that it opens are added to ``opened``."""
    wordnet = import_optional("nltk.corpus.reader.wordnet", "WordNet is read with NLTK")
    pointers = import_optional("nltk.data", "WordNet is read with NLTK")

    class Root(pointers.PathPointer):  # type: ignore[name-defined]
        """Where the dictionary stands; NLTK's own pointers refuse links and what is outside its data folders."""

        def __init__(self, name: str = "") -> None:
            self.name = name

        def open(self, encoding: str | None = None) -> io.TextIOWrapper:
            opened.append(self.name)
            # Offsets in the index count bytes, and so does seek() here: the files are ASCII.
            return io.TextIOWrapper(open_dictionary_file(place, self.name), encoding, newline="\n")

        def file_size(self) -> int:
            with open_dictionary_file(place, self.name) as stream:
                return stream.seek(0, os.SEEK_END)

        def join(self, fileid: str) -> Root:
            return Root(fileid)

    class Reader(wordnet.WordNetCorpusReader):  # type: ignore[name-defined]
        def open(self, file: str) -> io.TextIOWrapper:
            return Root(file).open("utf-8")

        def map_wn(self, version: str = "wordnet") -> None:
            """Make no table to other versions of WordNet: NLTK would need the copy in its own data folder for it."""

    with warnings.catch_warnings():
        # That there are no other languages is no news here.
        warnings.filterwarnings("ignore", message="The multilingual functions", category=UserWarning)
        return Reader(Root(), omw_reader=None)


def _check_sizes(place: Path) -> None:
    """Check that each data file reaches as far as its index says."""
    for end in _FILE_ENDINGS.values():
        with open_dictionary_file(place, f"data.{end}") as data:
            size = data.seek(0, os.SEEK_END)
        with open_dictionary_file(place, f"index.{end}") as index:
            # The licence stands before the entries, indented.
            last = max((int(line.split()[-1]) for line in index if not line.startswith(b" ")), default=0)
        if last >= size:
            problem = f"the index names an entry at byte {last}, but the file has {size} bytes: {_REPLACE_IT}"
            raise CorpusError(place / f"data.{end}", "at its end", problem)
