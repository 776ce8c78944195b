"""Where WordNet is on this computer, and how it gets there.

It is looked for in the data folder of this library (``CLOZEFORMERS_HOME``, or ``clozeformers`` in the user's cache),
where `install` puts it; in NLTK's data folders (``NLTK_DATA`` and the usual ones); and where distributions of WordNet
put it (``WNSEARCHDIR``, ``WNHOME``, the system's package).
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from .part_of_speech import import_optional
from .wordnet_reader import DICTIONARY_FILES, LEXNAMES, Dictionary, files_in, missing_files, open_dictionary_file

INSTALL_COMMAND = "clozeformers wordnet install"
_IN_DATA_FOLDER = Path("corpora", "wordnet")
# NLTK's reader asks for them only for the frequencies and keys of senses, which nothing here does.
_MORE_FILES = ("index.sense", "cntlist.rev")
_SYSTEM_FOLDERS = (
    "/usr/share/wordnet",  # Debian, Ubuntu
    "/usr/share/wordnet/dict",
    "/usr/share/wordnet-3.0/dict",
    "/usr/local/WordNet-3.0/dict",  # WordNet's own installation
    "/opt/local/share/WordNet-3.0/dict",
    "/opt/homebrew/opt/wordnet/dict",
)
_HELP = (
    f"`{INSTALL_COMMAND}` takes it from the system's package, which `apt-get install wordnet-base wordnet-sense-index` "
    "installs, or downloads it, as `python -m nltk.downloader wordnet` does"
)
# Lexicographer files in the order of their numbers, and the numbers of their parts of speech: lexnames(5WN).
_LEXICOGRAPHER_FILES = {
    "adj": "all pert",
    "adv": "all",
    "noun": "Tops act animal artifact attribute body cognition communication event feeling food group location motive "
    "object person phenomenon plant possession process quantity relation shape state substance time",
    "verb": "body change cognition communication competition consumption contact creation emotion motion perception "
    "possession social stative weather",
}
_PART_NUMBERS = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}


class Installed(NamedTuple):
    """What `install` did.

    Attributes:
        place: the dictionary, a folder or NLTK's zip archive.
        done: what was done, in words.
    """

    place: Path
    done: str


def lexnames() -> str:
    """Write what Debian's package leaves out, the 45 rows of a file that a manual page of its own, lexnames, lists."""
    names = [f"{part}.{name}" for part, names in _LEXICOGRAPHER_FILES.items() for name in names.split()]
    names.append("adj.ppl")
    return "".join(f"{number:02}\t{name}\t{_PART_NUMBERS[name.split('.')[0]]}\n" for number, name in enumerate(names))


def data_folder() -> Path:
    """The data folder of this library: ``$CLOZEFORMERS_HOME``, or ``clozeformers`` in the user's cache folder."""
    if home := os.environ.get("CLOZEFORMERS_HOME"):
        return Path(home).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "clozeformers"


def dictionary_places() -> list[Path]:
    """The folders and archives where a dictionary may be, in the order in which they are looked at."""
    from_nltk = [place for folder in _nltk_folders() for place in _in_nltk_folder(folder)]
    return list(dict.fromkeys([data_folder() / _IN_DATA_FOLDER, *from_nltk, *system_folders()]))


def system_folders() -> list[Path]:
    """The folders where distributions of WordNet put their files."""
    named = [os.environ.get("WNSEARCHDIR", "")]
    if home := os.environ.get("WNHOME"):
        named.append(os.path.join(home, "dict"))
    return [Path(folder) for folder in (*named, *_SYSTEM_FOLDERS) if folder]


def _nltk_folders() -> list[Path]:
    try:
        from_nltk = import_optional("nltk.data", "").path
    except ImportError:  # what is found can be told without it, if not read
        from_nltk = os.environ.get("NLTK_DATA", "").split(os.pathsep)
    return [Path(folder) for folder in map(str, from_nltk) if folder]


def _in_nltk_folder(folder: Path) -> Iterator[Path]:
    yield folder / _IN_DATA_FOLDER
    yield folder / _IN_DATA_FOLDER.with_suffix(".zip")


def find_dictionary() -> Path:
    """Find a dictionary with all files that are needed.

    Raises:
        FileNotFoundError: there is none; says what is there, and the commands that help.
        CorpusError: an archive is damaged.
    """
    incomplete = []
    for place in dictionary_places():
        missing = missing_files(place)
        if not missing:
            return place
        if files_in(place) & set(DICTIONARY_FILES):
            incomplete.append(f"{place} lacks {', '.join(missing)}")
    found = f" ({'; '.join(incomplete)})" if incomplete else ""
    raise FileNotFoundError(f"WordNet is not installed{found}: {_HELP}")


def install(folder: str | Path | None = None) -> Installed:
    """Make sure that there is a dictionary: find it, or copy the system's, or download it.

    A new dictionary is written aside and takes its name when it is whole.

    Args:
        folder: a data folder to have it in, as ``corpora/wordnet``; with this folder as ``CLOZEFORMERS_HOME`` or in
            ``NLTK_DATA`` it will be found. By default the library's own, and nothing is done where there is a
            dictionary already, wherever it is.

    Raises:
        FileExistsError: in the data folder there is something in its place that is not a whole dictionary.
        FileNotFoundError: the system has none and it cannot be downloaded; says why, and the commands that help.
        CorpusError: what is there, or would be copied, is damaged.
        OSError: it cannot be written.
    """
    place = (data_folder() if folder is None else Path(folder).expanduser()) / _IN_DATA_FOLDER
    if folder is None:
        with suppress(FileNotFoundError):
            place = find_dictionary()
    if not missing_files(place):
        _check(place)
        return Installed(place, f"WordNet is in {place} already; nothing was done")
    if place.exists():
        raise FileExistsError(
            f"{place} is there but lacks {', '.join(missing_files(place))}; delete it and install again: "
            f"{INSTALL_COMMAND}"
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=place.parent, prefix=".wordnet-") as aside:
        whole, done = _assemble(Path(aside))
        _check(whole)
        try:
            whole.rename(place)
        except OSError:
            if missing_files(place):  # otherwise another process was faster
                raise
    return Installed(place, f"{done} {place}")


def _check(place: Path) -> None:
    """Open every file, and read the indexes where NLTK is there to do it; raises an error where one is damaged."""
    for name in (*DICTIONARY_FILES, LEXNAMES):
        open_dictionary_file(place, name).close()
    with suppress(ImportError):
        Dictionary(place)


def _assemble(aside: Path) -> tuple[Path, str]:
    """Put a whole dictionary together in a folder, and tell from what."""
    source = next((folder for folder in system_folders() if set(missing_files(folder)) <= {LEXNAMES}), None)
    done = "WordNet was downloaded to" if source is None else f"WordNet was copied from {source} to"
    if source is None:
        source = _download(aside)
    whole = aside / "whole"
    whole.mkdir()
    # Copied and not linked: a package may be removed, and NLTK by itself follows no links.
    for name in sorted(files_in(source).intersection((*DICTIONARY_FILES, *_MORE_FILES, LEXNAMES))):
        with open_dictionary_file(source, name) as content, (whole / name).open("wb") as copy:
            shutil.copyfileobj(content, copy)
    if not (whole / LEXNAMES).exists():
        (whole / LEXNAMES).write_text(lexnames(), encoding="ascii", newline="\n")
    return whole, done


def _download(aside: Path) -> Path:
    """Let NLTK download the dictionary, to a folder or an archive."""
    messages = io.StringIO()
    try:
        nltk = import_optional("nltk", "WordNet is downloaded by NLTK")
        nltk.download("wordnet", download_dir=str(aside), quiet=True, raise_on_error=True, print_error_to=messages)
        for place in _in_nltk_folder(aside):
            if not missing_files(place):
                return place
        reason = messages.getvalue().strip() or "the download has not all of its files"
    except (ImportError, OSError, ValueError) as error:
        reason = str(error)
    raise FileNotFoundError(f"WordNet is in no package of the system, and was not downloaded: {reason}. {_HELP}")
