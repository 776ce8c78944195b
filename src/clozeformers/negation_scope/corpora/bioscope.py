"""The BioScope corpus: biomedical text with cues and scopes of negation and speculation, as XML.

``Document`` holds a ``DocID`` and, in its ``DocumentPart`` elements, each ``sentence`` as running text. In it,
``<xcope id>`` encloses a scope and ``<cue type ref>`` a cue; ``ref`` names the cue's scope. Scopes nest.
Cues with the same ``ref``, such as *neither ... nor*, are one discontinuous cue. Source: Vincze, Szarvas, Farkas,
Móra and Csirik (2008), "The BioScope corpus: biomedical texts annotated for uncertainty, negation and their scopes".
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...files import CorpusError
from ...words import split_words
from .schema import Annotation, Kind, NegationRow, sentence_rows
from .xml_corpus import XmlElement, XmlWord, attribute, cue_kind, mark_cues, mark_words, parse_xml, texts, xml_files


def read_bioscope(path: str | Path, kind: Kind = "negation") -> Iterator[NegationRow]:
    """Read BioScope.

    Sentences are split with `split_words`; where an annotation begins or ends, a word ends too. A scope is every word
    inside the ``xcope``, which includes the cue's own words except for a few cues outside their scope.

    Args:
        path: an ``.xml`` file of the corpus, or a folder that holds some.
        kind: ``"negation"`` or ``"speculation"``.

    Yields:
        A row for each cue, or for a sentence without a cue, in the order of the sorted files. Ids are
        ``"<DocID>/<sentence id>#<k>"``.

    Raises:
        FileNotFoundError: no such path, or no ``.xml`` file in the folder.
        CorpusError: a file is not well-formed XML or declares entities; an id, ``ref`` or ``type`` is missing or
            unknown; a ``ref`` names no ``xcope`` of its sentence; a cue holds no word; an id is not unique.
    """
    seen: set[str] = set()
    for file in xml_files(path):
        root: Any = parse_xml(file, "Annotation", "BioScope")
        for document in root.iter("Document"):
            document_id = (document.findtext("DocID") or "").strip()
            if not document_id:
                raise CorpusError(file, document.where, "has no <DocID>; each document needs one with its id")
            for sentence in document.iter("sentence"):
                sentence_id = f"{document_id}/{attribute(file, sentence, 'id')}"
                if sentence_id in seen:
                    raise CorpusError(file, sentence.where, f"the id {sentence_id!r} is not unique in the corpus")
                seen.add(sentence_id)
                words = [
                    XmlWord(word.text, around) for text, around in texts(file, sentence) for word in split_words(text)
                ]
                annotations = _annotations(file, sentence, words, kind)
                yield from sentence_rows(sentence_id, "bioscope", kind, [word.text for word in words], annotations)


def _annotations(file: Path, sentence: Any, words: list[XmlWord], kind: Kind) -> list[Annotation]:
    scopes: dict[str, XmlElement] = {}
    for scope in sentence.iter("xcope"):
        scope_id = attribute(file, scope, "id")
        if scope_id in scopes:
            raise CorpusError(file, scope.where, f"the id {scope_id!r} is not unique in the sentence")
        scopes[scope_id] = scope
    cues: dict[str, list[XmlElement]] = {}
    for cue in sentence.iter("cue"):
        ref = attribute(file, cue, "ref")
        if ref not in scopes:
            raise CorpusError(file, cue.where, f"ref is {ref!r}; it must be the id of an <xcope> of its sentence")
        if cue_kind(file, cue) == kind:
            cues.setdefault(ref, []).append(cue)
    return [
        Annotation(
            cue=mark_cues(file, words, parts),
            cue_text=" ".join(" ".join("".join(part.itertext()).split()) for part in parts),
            scope=mark_words(words, [scopes[ref]]),
        )
        for ref, parts in cues.items()
    ]
