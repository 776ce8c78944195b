"""Reader of the BioScope corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clozeformers.files import CorpusError
from clozeformers.negation_scope.corpora.bioscope import read_bioscope
from clozeformers.negation_scope.corpora.schema import NegationRow

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


def test_row(tmp_path: Path) -> None:
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


def test_nested_scopes(tmp_path: Path) -> None:
    path = write(tmp_path, document(NESTED))
    (negation,) = read_bioscope(path, "negation")
    assert marked(negation, "scope") == ["not", "bind", "zinc", "or", "iron"]
    outer, inner = read_bioscope(path, "speculation")
    assert [outer["id"], inner["id"]] == ["1001/S1.1#0", "1001/S1.1#1"]
    assert marked(outer, "scope") == ["suggest", "that", "it", "does", "not", "bind", "zinc", "or", "iron"]
    assert marked(inner, "scope") == ["zinc", "or", "iron"]
    assert marked(inner, "cue") == ["or"]


def test_discontinuous_cue(tmp_path: Path) -> None:
    row = read_one(
        tmp_path,
        '<xcope id="X1"><cue type="negation" ref="X1">Neither</cue> copper <cue type="negation" ref="X1">nor</cue>'
        " lead</xcope> was found",
    )
    assert row["cue"] == [1, 0, 1, 0, 0, 0]
    assert row["cue_text"] == "Neither nor"
    assert row["scope"] == [1, 1, 1, 1, 0, 0]


def test_cue_of_several_words_outside_its_scope(tmp_path: Path) -> None:
    row = read_one(tmp_path, '<xcope id="X1">the cause</xcope> is <cue type="negation" ref="X1">can\n  not</cue> clear')
    assert (marked(row, "cue"), row["cue_text"]) == (["can", "not"], "can not")
    assert marked(row, "scope") == ["the", "cause"]


def test_word_boundaries(tmp_path: Path) -> None:
    """An annotation splits a word; entities and comments do not."""
    sentence = f'0.<!-- five -->05 na&#239;ve <xcope id="X1">{NOT.replace("not", "non")}responding B&amp;C</xcope>only'
    row = read_one(tmp_path, sentence)
    assert row["tokens"] == ["0.05", "naïve", "non", "responding", "B", "&", "C", "only"]
    assert row["scope"] == [0, 0, 1, 1, 1, 1, 1, 0]


def test_without_cues(tmp_path: Path) -> None:
    path = write(tmp_path, document("All grew.", NESTED, " ", f'<xcope id="X1">{NOT} one</xcope>'))
    rows = list(read_bioscope(path, "speculation"))
    assert [row["id"] for row in rows] == ["1001/S1.1#-", "1001/S1.2#0", "1001/S1.2#1", "1001/S1.4#-"]
    assert (rows[0]["kind"], rows[0]["tokens"], rows[0]["cue_text"]) == ("speculation", ["All", "grew", "."], "")
    assert rows[0]["cue"] == rows[0]["scope"] == [0, 0, 0]


@pytest.mark.parametrize(
    ("sentence", "where", "problem"),
    [
        (f"<xcope>{NOT} a</xcope>", "line 6, <xcope>", "no attribute id"),
        ('<xcope id="X1"><cue type="negation">no</cue> a</xcope>', "line 6, <cue>", "no attribute ref"),
        ('<xcope id="X1"><cue type="speculation" ref="X9">may</cue> a</xcope>', "line 6, <cue>", "ref is 'X9'"),
        (f'<xcope id="X1">{NOT} a</xcope><xcope id="X1">b</xcope>', "line 6, <xcope>", "'X1' is not unique"),
        ('<xcope id="X1"><cue type="negation" ref="X1"> </cue> a</xcope>', "line 6, <cue>", "holds no word"),
        (f'\n\n<xcope id="X1">{NOT} a', "line 8", "mismatched tag"),
        (f'<xcope id="X1">{NOT} a < b</xcope>', "line 6", "not well-formed"),
        ("5 &micro;g", "line 6", "undefined entity"),
    ],
)
def test_errors_name_file_line_and_element(tmp_path: Path, sentence: str, where: str, problem: str) -> None:
    path = write(tmp_path, document("All grew.", sentence))
    with pytest.raises(CorpusError) as caught:
        list(read_bioscope(path))
    for part in (str(path), where, problem):
        assert part in str(caught.value)


def test_duplicate_ids_across_files(tmp_path: Path) -> None:
    write(tmp_path, document("One"), document("Two", doc_id="2"), name="a.xml")
    write(tmp_path, document("Three"), name="b.xml")
    with pytest.raises(CorpusError, match=r"b\.xml, line 5, <sentence>: the id '1001/S1\.1' is not unique"):
        list(read_bioscope(tmp_path))


@pytest.mark.parametrize(
    ("old", "problem"),
    [(">1001<", "line 4, <Document>: has no <DocID>"), (' id="S1.1"', "line 5, <sentence>: has no attribute id")],
)
def test_missing_ids(tmp_path: Path, old: str, problem: str) -> None:
    path = write(tmp_path, document("One").replace(old, "> <" if old == ">1001<" else ""))
    with pytest.raises(CorpusError, match=problem):
        list(read_bioscope(path))
