"""The SFU Review corpus: product reviews with cues and scopes of negation and speculation, as XML.

Each ``SENTENCE`` holds its words as ``W``. ``<cue ID type>`` stands around the words of a cue, ``<xcope>`` around a
scope, and a ``<ref SRC>`` at the start of the scope names the ``ID`` of its cue. ``<C>`` groups words and means
nothing here. A scope excludes its cue. Source: Konstantinova, de Sousa, Cruz, Maña, Taboada and Mitkov (2012),
"A review corpus annotated for negation, speculation and their scope".
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ...files import CorpusError
from .schema import Kind, NegationRow
from .xml_lines import XmlElement, attribute, check_kind, cue_kind, parse_xml, xml_files

# The files write quotes, dashes and dots by their numbers in Windows-1252, which are control characters in Unicode.
# HTML reads them as the writers meant them (HTML standard, "numeric character reference end state"); so do we.
_WINDOWS_1252 = {number: bytes([number]).decode("cp1252", errors="replace") for number in range(0x80, 0xA0)}


class _Word(NamedTuple):
    text: str
    around: tuple[XmlElement, ...]


def read_sfu(path: str | Path, kind: Kind = "negation", without_cues: bool = False) -> Iterator[NegationRow]:
    """Read the SFU Review corpus as rows, one for each cue.

    A cue's scope is every word inside an ``xcope`` that refers to it, without the cue's own words; a cue can have
    several ``xcope`` elements, or none and then a scope of all 0. The corpus is read as annotated, so this has no
    part in any row:

    * an ``xcope`` without a ``ref``, or whose ``ref`` names no cue of its own sentence. Ids are looked up in the
      sentence alone, since some files use an ID twice;
    * a ``ref`` directly inside a ``cue``.

    One ``SRC`` can name several cues, and a cue inside another one is a row of its own. Words without any character
    are left out. The control characters U+0080 to U+009F are read as Windows-1252: quotes, dashes and dots.

    Args:
        path: an ``.xml`` file of the corpus, or a folder that holds some at any depth.
        kind: ``"negation"`` or ``"speculation"``.
        without_cues: also give the sentences without a cue of this kind, with cue and scope all 0, an empty
            ``cue_text`` and the id's end ``#-``.

    Yields:
        The rows in the order of the sorted files. Ids are ``"<folder>/<file without .xml>/<sentence number>#<k>"``,
        the sentence number from 1, k from 0.

    Raises:
        ValueError: an unknown kind.
        FileNotFoundError: no such path, or no ``.xml`` file in the folder.
        CorpusError: a file is not well-formed XML or declares entities; an ``ID``, ``SRC`` or ``type`` is missing or
            unknown; a sentence has two cues with one ID or text outside of words; a cue holds no word; two files
            would give the same ids.
    """
    check_kind(kind)
    seen: dict[str, Path] = {}
    for file in xml_files(path):
        file_id = f"{file.resolve().parent.name}/{file.stem}"
        root = parse_xml(file, "DOCUMENT", "the SFU Review corpus")
        if file_id in seen:
            raise CorpusError(file, root.where, f"would give the same ids, {file_id}/..., as {seen[file_id]}")
        seen[file_id] = file
        for number, sentence in enumerate(root.descendants("SENTENCE"), start=1):
            yield from _sentence_rows(file, sentence, f"{file_id}/{number}", kind, without_cues)


def _sentence_rows(
    file: Path, sentence: XmlElement, sentence_id: str, kind: Kind, without_cues: bool
) -> Iterator[NegationRow]:
    words = _words(file, sentence)
    scopes = _scopes(file, sentence)
    cues = [cue for cue in sentence.descendants("cue") if cue_kind(file, cue) == kind]
    for k, cue in enumerate(cues):
        if not any(cue in word.around for word in words):
            raise CorpusError(file, cue.where, "holds no word; a cue needs at least one")
        yield _row(f"{sentence_id}#{k}", kind, words, cue, scopes[cue.attributes["ID"]])
    if without_cues and words and not cues:
        yield _row(f"{sentence_id}#-", kind, words, None, [])


def _words(file: Path, sentence: XmlElement) -> list[_Word]:
    words: list[_Word] = []
    for text, around in sentence.pieces():
        parts = text.translate(_WINDOWS_1252).split()
        if parts and around[-1].tag != "W":
            raise CorpusError(file, around[-1].where, f"the text {' '.join(parts)!r} stands outside of a <W>")
        words.extend(_Word(part, around) for part in parts)
    return words


def _scopes(file: Path, sentence: XmlElement) -> dict[str, list[XmlElement]]:
    """Find the scopes of each cue of a sentence, by the cue's ID."""
    scopes: dict[str, list[XmlElement]] = {}
    for cue in sentence.descendants("cue"):
        cue_id = attribute(file, cue, "ID")
        if cue_id in scopes:
            raise CorpusError(file, cue.where, f"the ID {cue_id!r} stands twice in the sentence")
        scopes[cue_id] = []
    for scope in sentence.descendants("xcope"):
        for ref in scope.children("ref"):
            for source in attribute(file, ref, "SRC").split():
                if source in scopes:
                    scopes[source].append(scope)
    return scopes


def _row(row_id: str, kind: Kind, words: list[_Word], cue: XmlElement | None, scopes: list[XmlElement]) -> NegationRow:
    is_cue = [cue in word.around for word in words]
    return NegationRow(
        id=row_id,
        corpus="sfu",
        kind=kind,
        tokens=[word.text for word in words],
        cue=[int(inside) for inside in is_cue],
        cue_text=" ".join(word.text for word, inside in zip(words, is_cue, strict=True) if inside),
        scope=[
            int(not inside and any(scope in word.around for scope in scopes))
            for word, inside in zip(words, is_cue, strict=True)
        ],
    )
