"""The BioScope corpus: biomedical text with cues and scopes of negation and speculation, as XML.

``Document`` holds a ``DocID`` and, in its ``DocumentPart`` elements, each ``sentence`` as running text. In it
``<xcope id>`` stands around a scope and ``<cue type ref>`` around a cue; ``ref`` names the cue's scope. Scopes nest.
Cues with the same ``ref``, such as *neither ... nor*, are one discontinuous cue. Source: Vincze, Szarvas, Farkas,
Móra and Csirik (2008), "The BioScope corpus: biomedical texts annotated for uncertainty, negation and their scopes".
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ...files import CorpusError
from ...words import split_words
from .schema import Kind, NegationRow
from .xml_lines import XmlElement, attribute, check_kind, cue_kind, parse_xml, xml_files


class _Word(NamedTuple):
    text: str
    around: tuple[XmlElement, ...]


def read_bioscope(path: str | Path, kind: Kind = "negation", without_cues: bool = False) -> Iterator[NegationRow]:
    """Read BioScope as rows, one for each scope.

    The sentences are split with :func:`~clozeformers.words.split_words`; where an annotation begins or ends, a
    word ends too. Scope is 1 on every word inside the ``xcope``, as annotated: that includes the cue's own words,
    save for a few cues that the corpus puts outside their scope.

    Args:
        path: an ``.xml`` file of the corpus, or a folder that holds some.
        kind: ``"negation"`` or ``"speculation"``.
        without_cues: also give the sentences without a cue of this kind, with cue and scope all 0, an empty
            ``cue_text`` and the id's end ``#-``.

    Yields:
        The rows in the order of the files. Ids are ``"<DocID>/<sentence id>#<k>"``, k from 0. A cue of several
        ``cue`` elements is one row.

    Raises:
        ValueError: an unknown kind.
        FileNotFoundError: no such path, or no ``.xml`` file in the folder.
        CorpusError: a file is not well-formed XML or declares entities; an id, ``ref`` or ``type`` is missing or
            unknown; a ``ref`` names no ``xcope`` of its sentence; a cue holds no word; an id stands twice.
    """
    check_kind(kind)
    seen: set[str] = set()
    for file in xml_files(path):
        for document in parse_xml(file, "Annotation", "BioScope").descendants("Document"):
            document_id = _document_id(file, document)
            for sentence in document.descendants("sentence"):
                sentence_id = f"{document_id}/{attribute(file, sentence, 'id')}"
                if sentence_id in seen:
                    raise CorpusError(file, sentence.where, f"the id {sentence_id!r} stands twice in the corpus")
                seen.add(sentence_id)
                yield from _sentence_rows(file, sentence, sentence_id, kind, without_cues)


def _document_id(file: Path, document: XmlElement) -> str:
    for element in document.children("DocID"):
        if element.text:
            return element.text
    raise CorpusError(file, document.where, "has no <DocID>; each document needs one with its id")


def _sentence_rows(
    file: Path, sentence: XmlElement, sentence_id: str, kind: Kind, without_cues: bool
) -> Iterator[NegationRow]:
    words = [_Word(word.text, around) for text, around in sentence.pieces() for word in split_words(text)]
    annotations = _annotations(file, sentence, kind)
    for k, (scope, cues) in enumerate(annotations):
        for cue in cues:
            if not any(cue in word.around for word in words):
                raise CorpusError(file, cue.where, "holds no word; a cue needs at least one")
        yield _row(f"{sentence_id}#{k}", kind, words, cues, scope)
    if without_cues and words and not annotations:
        yield _row(f"{sentence_id}#-", kind, words, [], None)


def _annotations(file: Path, sentence: XmlElement, kind: Kind) -> list[tuple[XmlElement, list[XmlElement]]]:
    """Pair each scope of this kind with its cues, in the order of the cues."""
    scopes: dict[str, XmlElement] = {}
    for scope in sentence.descendants("xcope"):
        scope_id = attribute(file, scope, "id")
        if scope_id in scopes:
            raise CorpusError(file, scope.where, f"the id {scope_id!r} stands twice in the sentence")
        scopes[scope_id] = scope
    cues: dict[str, list[XmlElement]] = {}
    for cue in sentence.descendants("cue"):
        ref = attribute(file, cue, "ref")
        if ref not in scopes:
            raise CorpusError(file, cue.where, f"ref is {ref!r}; it must be the id of an <xcope> of its sentence")
        if cue_kind(file, cue) == kind:
            cues.setdefault(ref, []).append(cue)
    return [(scopes[ref], parts) for ref, parts in cues.items()]


def _row(row_id: str, kind: Kind, words: list[_Word], cues: list[XmlElement], scope: XmlElement | None) -> NegationRow:
    return NegationRow(
        id=row_id,
        corpus="bioscope",
        kind=kind,
        tokens=[word.text for word in words],
        cue=[int(any(cue in word.around for cue in cues)) for word in words],
        cue_text=" ".join(cue.text for cue in cues),
        scope=[int(scope in word.around) for word in words],
    )
