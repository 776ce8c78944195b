"""Installation of WordNet into this library's data folder."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from ..files import CorpusError
from .part_of_speech import import_extra
from .wordnet import (
    DICTIONARY_FILES,
    INSTALL_HINT,
    SYSTEM_FOLDERS,
    WordNet,
    data_folder,
    dictionary_root,
    find_dictionary,
    missing_files,
)

_NLTK_FILES = ("index.sense", "cntlist.rev")  # which NLTK's own reader needs besides
# Lexicographer files in the order of their numbers, by part of speech: manual page lexnames(5WN).
_LEXICOGRAPHER_FILES = (
    "adj: all pert",
    "adv: all",
    "noun: Tops act animal artifact attribute body cognition communication event feeling food group location motive "
    "object person phenomenon plant possession process quantity relation shape state substance time",
    "verb: body change cognition communication competition consumption contact creation emotion motion perception "
    "possession social stative weather",
    "adj: ppl",
)
_PART_NUMBERS = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}


def lexnames() -> str:
    """Return the content of the file ``lexnames``, which Debian's package leaves out."""
    parts = [line.split(": ") for line in _LEXICOGRAPHER_FILES]
    rows = [(f"{part}.{name}", _PART_NUMBERS[part]) for part, names in parts for name in names.split()]
    return "".join(f"{row:02}\t{name}\t{number}\n" for row, (name, number) in enumerate(rows))


def install(folder: str | Path | None = None) -> Path:
    """Copy WordNet from the system's package, or download it with NLTK; check it, and return where it is.

    Args:
        folder: the data folder to install into, as ``corpora/wordnet``. By default, nothing is installed if
            `find_dictionary` finds a dictionary; otherwise it goes to this library's data folder.

    Raises:
        FileNotFoundError: the system has no dictionary, and the download failed.
        CorpusError: the dictionary is damaged.
        ImportError: NLTK is not installed.
    """
    place = Path(data_folder() if folder is None else folder).expanduser() / "corpora" / "wordnet"
    if folder is None:
        with suppress(FileNotFoundError):
            place = find_dictionary()
    if place.exists():
        WordNet(place)
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=place.parent, prefix=".wordnet-") as temporary:
        installed = (Path(system) for system in SYSTEM_FOLDERS if set(missing_files(Path(system))) <= {"lexnames"})
        source, copy = next(installed, None) or _download(Path(temporary)), Path(temporary, "copy")
        copy.mkdir()
        (copy / "lexnames").write_text(lexnames(), encoding="ascii", newline="\n")
        for file in (dictionary_root(source) / name for name in (*DICTIONARY_FILES, *_NLTK_FILES)):
            if file.is_file():
                (copy / file.name).write_bytes(file.read_bytes())
        try:
            WordNet(copy)
        except CorpusError as error:
            raise CorpusError(source, error.where, f"the file is damaged; replace it. {INSTALL_HINT}") from error
        copy.rename(place)
    return place


def _download(folder: Path) -> Path:
    nltk = import_extra("nltk")
    try:
        nltk.download("wordnet", download_dir=str(folder), quiet=True, raise_on_error=True)
    except (OSError, ValueError) as error:
        raise FileNotFoundError(f"WordNet could not be downloaded ({error}). {INSTALL_HINT}") from error
    unpacked = folder / "corpora" / "wordnet"
    return unpacked if unpacked.exists() else unpacked.with_suffix(".zip")
