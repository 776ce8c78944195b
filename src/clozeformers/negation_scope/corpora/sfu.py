"""The SFU Review corpus: product reviews with cues and scopes of negation and speculation, as XML.

Each ``SENTENCE`` holds its words as ``W``. ``<cue ID type>`` encloses the words of a cue, ``<xcope>`` a scope, and a
``<ref SRC>`` at the start of the scope names the ``ID`` of its cue. ``<C>`` groups words and is ignored. A scope
excludes its cue. Source: Konstantinova, de Sousa, Cruz, Maña, Taboada and Mitkov (2012), "A review corpus annotated
for negation, speculation and their scope".
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...files import CorpusError, data_name
from .schema import Annotation, Kind, NegationRow, sentence_rows
from .xml_corpus import XmlElement, XmlWord, attribute, cue_kind, mark_cues, mark_words, parse_xml, texts, xml_files

# The files write quotes, dashes and dots by their numbers in Windows-1252, which are control characters in Unicode.
# They are read as HTML does (HTML standard, "numeric character reference end state").
_WINDOWS_1252 = {number: bytes([number]).decode("cp1252", errors="replace") for number in range(0x80, 0xA0)}


def read_sfu(path: str | Path, kind: Kind = "negation") -> Iterator[NegationRow]:
    """Read the SFU Review corpus.

    A cue's scope is every word inside an ``xcope`` that refers to it, without the cue's own words; a cue can have
    several ``xcope`` elements, or none and then a scope of all 0. Ignored are an ``xcope`` without a ``ref`` or whose
    ``ref`` names no cue of its own sentence (some files use an ID twice, so ids are looked up in the sentence), and a
    ``ref`` directly inside a ``cue``. One ``SRC`` can name several cues. Empty words are left out.

    Args:
        path: an ``.xml`` file of the corpus, or a folder that holds some at any depth.
        kind: ``"negation"`` or ``"speculation"``.

    Yields:
        A row for each cue, or for a sentence without a cue, in the order of the sorted files. Ids are
        ``"<folder>/<file without .xml>/<sentence number>#<k>"``, the sentence number from 1.

    Raises:
        FileNotFoundError: no such path, or no ``.xml`` file in the folder.
        CorpusError: a file is not well-formed XML or declares entities; an ``ID``, ``SRC`` or ``type`` is missing or
            unknown; a sentence has two cues with one ID or text outside of words; a cue holds no word; two files
            would give the same ids.
    """
    seen: dict[str, Path] = {}
    for file in xml_files(path):
        file_id = f"{file.resolve().parent.name}/{data_name(file)}"
        root: Any = parse_xml(file, "DOCUMENT", "the SFU Review corpus")
        if file_id in seen:
            raise CorpusError(file, root.where, f"would give the same ids, {file_id}/..., as {seen[file_id]}")
        seen[file_id] = file
        for number, sentence in enumerate(root.iter("SENTENCE"), start=1):
            words = _words(file, sentence)
            annotations = _annotations(file, sentence, words, kind)
            tokens = [word.text for word in words]
            yield from sentence_rows(f"{file_id}/{number}", "sfu", kind, tokens, annotations)


def _words(file: Path, sentence: XmlElement) -> list[XmlWord]:
    words: list[XmlWord] = []
    for text, around in texts(file, sentence):
        parts = text.translate(_WINDOWS_1252).split()
        if parts and around[-1].tag != "W":
            raise CorpusError(file, around[-1].where, f"the text {' '.join(parts)!r} is outside of a <W>")
        words.extend(XmlWord(part, around) for part in parts)
    return words


def _annotations(file: Path, sentence: Any, words: list[XmlWord], kind: Kind) -> Iterator[Annotation]:
    scopes: dict[str, list[XmlElement]] = {}
    for cue in sentence.iter("cue"):
        cue_id = attribute(file, cue, "ID")
        if cue_id in scopes:
            raise CorpusError(file, cue.where, f"the ID {cue_id!r} is not unique in the sentence")
        scopes[cue_id] = []
    for scope in sentence.iter("xcope"):
        for ref in scope.findall("ref"):
            for source in attribute(file, ref, "SRC").split():
                scopes.get(source, []).append(scope)
    for cue in sentence.iter("cue"):
        if cue_kind(file, cue) == kind:
            marks = mark_cues(file, words, [cue])
            in_scope = mark_words(words, scopes[cue.get("ID")])
            yield Annotation(
                cue=marks,
                cue_text=" ".join(word.text for word, is_cue in zip(words, marks, strict=True) if is_cue),
                scope=[int(inside and not is_cue) for inside, is_cue in zip(in_scope, marks, strict=True)],
            )
