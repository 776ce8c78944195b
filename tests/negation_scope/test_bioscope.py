"""BioScope's XML to rows."""

from __future__ import annotations

import os
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from clozeformers.files import CorpusError
from clozeformers.negation_scope.corpora.bioscope import read_bioscope
from clozeformers.negation_scope.corpora.schema import NegationRow, sentence_id

HEAD = (
    '<?xml version="1.0" encoding="utf-8"?>\n'
    '<!DOCTYPE Annotation PUBLIC "-//BIOSCOPE//DTD  SCOPE ANNOTATION 1.0//EN" "BioScope.dtd">\n'
    '<Annotation created="1/1/2020" creator="tests"><DocumentSet>\n'
)
TAIL = "</DocumentSet></Annotation>\n"
NOT = '<cue type="negation" ref="X1">not</cue>'


def document(*sentences: str, doc_id: str = "1001") -> str:
    """A document; sentence n of it stands on its own line, with the id S1.n."""
    lines = [f'<sentence id="S1.{number}">{text}</sentence>' for number, text in enumerate(sentences, start=1)]
    part = "\n".join(lines)
    start = f'<Document type="Biological_abstract"><DocID type="PMID">{doc_id}</DocID>'
    return f'{start}<DocumentPart type="AbstractText">\n{part}\n</DocumentPart></Document>\n'


def write(folder: Path, *documents: str, name: str = "abstracts.xml") -> Path:
    path = folder / name
    path.write_text(HEAD + "".join(documents) + TAIL, encoding="utf-8")
    return path


def marked(row: Any, field: str) -> list[str]:
    return [token for token, inside in zip(row["tokens"], row[field], strict=True) if inside]


def read_one(folder: Path, sentence: str, kind: Any = "negation") -> NegationRow:
    (row,) = read_bioscope(write(folder, document(sentence)), kind)
    return row


def test_a_row_in_full(tmp_path: Path) -> None:
    row = read_one(tmp_path, f'The drug did <xcope id="X1">{NOT} reach the liver</xcope>.')
    assert row == {
        "id": "1001/S1.1#0",
        "corpus": "bioscope",
        "kind": "negation",
        "tokens": ["The", "drug", "did", "not", "reach", "the", "liver", "."],
        "cue": [0, 0, 0, 1, 0, 0, 0, 0],
        "cue_text": "not",
        "scope": [0, 0, 0, 1, 1, 1, 1, 0],
    }


NESTED = (
    'We <xcope id="X2"><cue type="speculation" ref="X2">suggest</cue> that it does <xcope id="X1">'
    f'{NOT} bind <xcope id="X3">zinc <cue type="speculation" ref="X3">or</cue> iron</xcope></xcope></xcope>.'
)


def test_nested_scopes_are_rows_of_their_own(tmp_path: Path) -> None:
    path = write(tmp_path, document(NESTED))
    (negation,) = read_bioscope(path, "negation")
    assert marked(negation, "scope") == ["not", "bind", "zinc", "or", "iron"]
    outer, inner = read_bioscope(path, "speculation")
    assert [outer["id"], inner["id"]] == ["1001/S1.1#0", "1001/S1.1#1"]
    assert {outer["kind"], inner["kind"]} == {"speculation"}
    assert marked(outer, "scope") == ["suggest", "that", "it", "does", "not", "bind", "zinc", "or", "iron"]
    assert marked(inner, "scope") == ["zinc", "or", "iron"]
    assert marked(inner, "cue") == ["or"]
    assert negation["tokens"] == outer["tokens"] == inner["tokens"]


def test_cues_that_share_a_ref_are_one_discontinuous_cue(tmp_path: Path) -> None:
    row = read_one(
        tmp_path,
        '<xcope id="X1"><cue type="negation" ref="X1">Neither</cue> copper <cue type="negation" ref="X1">nor</cue>'
        " lead</xcope> was found",
    )
    assert row["cue"] == [1, 0, 1, 0, 0, 0]
    assert row["cue_text"] == "Neither nor"
    assert row["scope"] == [1, 1, 1, 1, 0, 0]


def test_rows_are_numbered_by_first_cue_not_by_scope(tmp_path: Path) -> None:
    sentence = (
        '<xcope id="X1">A was <xcope id="X2"><cue type="negation" ref="X2">never</cue> seen</xcope>'
        f" and {NOT} lost</xcope>"
    )
    first, second = read_bioscope(write(tmp_path, document(sentence)))
    assert (first["id"], first["cue_text"]) == ("1001/S1.1#0", "never")
    assert (second["id"], second["cue_text"]) == ("1001/S1.1#1", "not")


def test_a_cue_outside_its_scope_is_read_as_annotated(tmp_path: Path) -> None:
    row = read_one(tmp_path, f'<xcope id="X1">the cause</xcope> is {NOT} clear')
    assert marked(row, "cue") == ["not"]
    assert marked(row, "scope") == ["the", "cause"]


def test_an_annotation_that_begins_or_ends_inside_a_word_cuts_it(tmp_path: Path) -> None:
    row = read_one(
        tmp_path, 'in <xcope id="X1"><cue type="negation" ref="X1">non</cue>responding cells</xcope>only, can\'t'
    )
    assert row["tokens"] == ["in", "non", "responding", "cells", "only", ",", "ca", "n't"]
    assert row["scope"] == [0, 1, 1, 1, 0, 0, 0, 0]


def test_a_cue_of_several_words_keeps_its_text(tmp_path: Path) -> None:
    row = read_one(tmp_path, '<xcope id="X1"><cue type="negation" ref="X1">can\n  not</cue> grow</xcope>')
    assert row["cue"] == [1, 1, 0]
    assert row["cue_text"] == "can not"


def test_entities_and_comments_do_not_cut_words(tmp_path: Path) -> None:
    row = read_one(tmp_path, f'p &lt; 0.<!-- five -->05 na&#239;ve <xcope id="X1">{NOT} B&amp;C</xcope>')
    assert row["tokens"] == ["p", "<", "0.05", "naïve", "not", "B", "&", "C"]


def test_sentences_without_a_cue_of_the_kind(tmp_path: Path) -> None:
    path = write(tmp_path, document("All grew.", NESTED, " ", f'<xcope id="X1">{NOT} one</xcope>'))
    assert [row["id"] for row in read_bioscope(path, "speculation")] == ["1001/S1.2#0", "1001/S1.2#1"]
    rows = list(read_bioscope(path, "speculation", without_cues=True))
    assert [row["id"] for row in rows] == ["1001/S1.1#-", "1001/S1.2#0", "1001/S1.2#1", "1001/S1.4#-"]
    assert rows[0] == {
        "id": "1001/S1.1#-",
        "corpus": "bioscope",
        "kind": "speculation",
        "tokens": ["All", "grew", "."],
        "cue": [0, 0, 0],
        "cue_text": "",
        "scope": [0, 0, 0],
    }


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    write(tmp_path, document("Two", doc_id="2"), name="b.xml")
    write(tmp_path, document("One", doc_id="1"), name="a.xml")
    (tmp_path / "BioScope.dtd").write_text("not read")
    assert [row["id"] for row in read_bioscope(tmp_path, without_cues=True)] == ["1/S1.1#-", "2/S1.1#-"]


@pytest.mark.parametrize(
    ("sentence", "where", "problem"),
    [
        (f"<xcope>{NOT} a</xcope>", "line 6, <xcope>", "no attribute id"),
        ('<xcope id="X1"><cue type="negation">no</cue> a</xcope>', "line 6, <cue>", "no attribute ref"),
        ('<xcope id="X1"><cue ref="X1">no</cue> a</xcope>', "line 6, <cue>", "no attribute type"),
        ('<xcope id="X1"><cue type="doubt" ref="X1">no</cue> a</xcope>', "line 6, <cue>", "type is 'doubt'"),
        ('<xcope id="X1"><cue type="speculation" ref="X9">may</cue> a</xcope>', "line 6, <cue>", "ref is 'X9'"),
        (f'<xcope id="X1">{NOT} a</xcope><xcope id="X1">b</xcope>', "line 6, <xcope>", "'X1' stands twice"),
        ('<xcope id="X1"><cue type="negation" ref="X1"> </cue> a</xcope>', "line 6, <cue>", "holds no word"),
        (f'\n\n<xcope id="X1">{NOT} a', "line 8", "mismatched tag"),
        (f'<xcope id="X1">{NOT} a < b</xcope>', "inside the <xcope> of line 6", "not well-formed"),
        ("5 &micro;g", "line 6, inside the <sentence> of line 6", "undefined entity"),
    ],
)
def test_damage_is_named_with_file_line_and_element(tmp_path: Path, sentence: str, where: str, problem: str) -> None:
    path = write(tmp_path, document("All grew.", sentence))
    with pytest.raises(CorpusError) as caught:
        list(read_bioscope(path))
    for part in (str(path), where, problem):
        assert part in str(caught.value)


def test_ids_must_be_unique_across_documents_and_files(tmp_path: Path) -> None:
    write(tmp_path, document("One"), document("Two", doc_id="2"), name="a.xml")
    path = write(tmp_path, document("Three"), name="b.xml")
    with pytest.raises(CorpusError, match=r"b\.xml, line 5, <sentence>: the id '1001/S1\.1' stands twice"):
        list(read_bioscope(tmp_path))
    assert list(read_bioscope(path)) == []


def test_ids_must_be_there(tmp_path: Path) -> None:
    path = write(tmp_path, document("One", doc_id=" "))
    with pytest.raises(CorpusError, match="line 4, <Document>: has no <DocID>"):
        list(read_bioscope(path))
    path = write(tmp_path, document("One").replace(' id="S1.1"', ""))
    with pytest.raises(CorpusError, match="line 5, <sentence>: has no attribute id"):
        list(read_bioscope(path))


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="kind is 'negations'; it must be 'negation' or 'speculation'"):
        list(read_bioscope(write(tmp_path, document("One")), "negations"))


@pytest.mark.corpora
@pytest.mark.skipif("CLOZEFORMERS_CORPORA" not in os.environ, reason="CLOZEFORMERS_CORPORA is not set")
@pytest.mark.parametrize(
    ("kind", "scopes", "cues", "sentences_with_cue"),
    # Cues count the parts of a discontinuous one: no two parts of one cue touch, so each is a run of cue words.
    [("negation", 1719, 1757, 1597), ("speculation", 2659, 2694, 2101)],
)
def test_the_counts_of_the_real_abstracts(kind: Any, scopes: int, cues: int, sentences_with_cue: int) -> None:
    path = Path(os.environ["CLOZEFORMERS_CORPORA"]) / "bioscope" / "abstracts.xml"
    rows = list(read_bioscope(path, kind, without_cues=True))
    sentences = {sentence_id(row["id"]) for row in rows}
    assert len({sentence.split("/")[0] for sentence in sentences}) == 1273
    assert len(sentences) == 11871
    assert len({row["id"] for row in rows}) == len(rows)
    with_cue = [row for row in rows if any(row["cue"])]
    assert sum(inside for row in with_cue for inside, _ in groupby(row["cue"])) == cues
    assert sum(any(row["scope"]) for row in with_cue) == len(with_cue) == scopes
    assert len({sentence_id(row["id"]) for row in with_cue}) == sentences_with_cue
