"""One call for every format of negation corpus."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clozeformers.files import CorpusError
from clozeformers.negation_scope import load_corpus
from clozeformers.negation_scope.corpora.jsonl import read_negation_jsonl, write_negation_jsonl
from clozeformers.negation_scope.corpora.schema import NEGATION_FEATURES, sentence_id

BIOSCOPE = (
    "<Annotation><DocumentSet><Document><DocID>1</DocID><DocumentPart>"
    '<sentence id="S1">It did <xcope id="X1"><cue type="negation" ref="X1">not</cue> grow</xcope></sentence>'
    '<sentence id="S2">It <xcope id="X2"><cue type="speculation" ref="X2">may</cue> grow</xcope></sentence>'
    "</DocumentPart></Document></DocumentSet></Annotation>"
)
SFU = (
    "<DOCUMENT><P>"
    '<SENTENCE><W>It</W><W>did</W><cue ID="0" type="negation"><W>not</W></cue>'
    '<xcope ID="1"><ref ID="2" SRC="0"/><W>grow</W></xcope></SENTENCE>'
    '<SENTENCE><W>It</W><cue ID="3" type="speculation"><W>may</W></cue>'
    '<xcope ID="4"><ref ID="5" SRC="3"/><W>grow</W></xcope></SENTENCE>'
    "</P></DOCUMENT>"
)
CD_SCO = "".join(
    f"story\t{sentence}\t{number}\t{word}\t{word}\tX\t*\t{rest}\n" + ("\n" if last else "")
    for sentence, number, word, rest, last in [
        (0, 0, "It", "_\tIt\t_", False),
        (0, 1, "did", "_\tdid\t_", False),
        (0, 2, "not", "not\t_\t_", False),
        (0, 3, "grow", "_\tgrow\tgrow", True),
        (1, 0, "Yes", "***", True),
    ]
)
JSONL = (
    '{"tokens": ["It", "did", "not", "grow"], "cue": [0, 0, 1, 0], "scope": [0, 0, 0, 1]}\n'
    '{"tokens": ["It", "may", "grow"], "cue": [0, 1, 0], "scope": [0, 0, 1], "kind": "speculation"}\n'
    '{"tokens": ["Yes"], "cue": [0], "scope": [0]}\n'
)
FILES = {
    "bioscope": ("abstracts.xml", BIOSCOPE),
    "sfu": ("BOOKS/no1.xml", SFU),
    "cd-sco": ("story.txt", CD_SCO),
    "jsonl": ("own.jsonl", JSONL),
}


@pytest.fixture
def corpus(tmp_path: Path) -> Callable[[str], Path]:
    """Write the small corpus of a format."""

    def write(format: str) -> Path:
        name, content = FILES[format]
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("format", FILES)
def test_every_format_gives_the_same_columns(corpus: Callable[[str], Path], format: Any) -> None:
    dataset = load_corpus(corpus(format), format=format)
    assert dataset.features == NEGATION_FEATURES
    (row,) = dataset
    assert row["corpus"] == ("own" if format == "jsonl" else format)
    assert row["kind"] == "negation"
    assert row["tokens"] == ["It", "did", "not", "grow"]
    assert row["cue"] == [0, 0, 1, 0]
    assert row["cue_text"] == "not"
    assert row["scope"][3] == 1
    assert row["id"].endswith("#0")
    assert dataset.cache_files == []


@pytest.mark.parametrize("format", FILES)
def test_sentences_without_cues(corpus: Callable[[str], Path], format: Any) -> None:
    rows = list(load_corpus(str(corpus(format)), format=format, without_cues=True))
    assert [sum(row["cue"]) for row in rows] == [1, 0]
    assert rows[1]["id"].endswith("#-")


@pytest.mark.parametrize("format", ["bioscope", "sfu", "jsonl"])
def test_speculation(corpus: Callable[[str], Path], format: Any) -> None:
    (row,) = load_corpus(corpus(format), format=format, kind="speculation")
    assert (row["kind"], row["cue_text"], row["cue"]) == ("speculation", "may", [0, 1, 0])


@pytest.mark.parametrize("format", ["bioscope", "sfu"])
def test_xml_corpora_are_read_from_their_folder_too(corpus: Callable[[str], Path], tmp_path: Path, format: Any) -> None:
    from_file = load_corpus(corpus(format), format=format)
    assert list(load_corpus(tmp_path, format=format)) == list(from_file)


def test_a_changed_file_is_read_anew(corpus: Callable[[str], Path]) -> None:
    path = corpus("jsonl")
    load_corpus(path, format="jsonl")
    path.write_text(JSONL.replace('"not"', '"never"'), encoding="utf-8")
    assert load_corpus(path, format="jsonl")[0]["cue_text"] == "never"


def test_a_dataset_can_be_written_and_read_again(corpus: Callable[[str], Path], tmp_path: Path) -> None:
    dataset = load_corpus(corpus("sfu"), format="sfu", without_cues=True)
    write_negation_jsonl(dataset, tmp_path / "sfu.jsonl")
    assert list(read_negation_jsonl(tmp_path / "sfu.jsonl")) == list(dataset)


def test_unknown_arguments_are_named(corpus: Callable[[str], Path]) -> None:
    path = corpus("sfu")
    with pytest.raises(ValueError, match="format is 'xml'; it must be one of 'cd-sco', 'bioscope', 'sfu', 'jsonl'"):
        load_corpus(path, format="xml")
    with pytest.raises(ValueError, match="kind is 'hedge'; it must be 'negation' or 'speculation'"):
        load_corpus(path, format="sfu", kind="hedge")


@pytest.mark.parametrize("format", FILES)
def test_a_path_that_does_not_exist(tmp_path: Path, format: Any) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        load_corpus(tmp_path / "nowhere", format=format)


@pytest.mark.parametrize("format", ["cd-sco", "jsonl"])
def test_a_folder_where_a_file_is_needed(tmp_path: Path, format: Any) -> None:
    with pytest.raises(IsADirectoryError, match=f"is a folder; format '{format}' reads one file"):
        load_corpus(tmp_path, format=format)


@pytest.mark.parametrize("format", ["bioscope", "sfu"])
def test_a_folder_without_xml(tmp_path: Path, format: Any) -> None:
    (tmp_path / "notes.txt").write_text("no corpus")
    with pytest.raises(FileNotFoundError, match=r"holds no \.xml file"):
        load_corpus(tmp_path, format=format)


@pytest.mark.parametrize("without_cues", [False, True])
@pytest.mark.parametrize("format", ["bioscope", "sfu", "jsonl"])
def test_a_corpus_without_a_cue_of_the_kind(corpus: Callable[[str], Path], format: Any, without_cues: bool) -> None:
    path = corpus(format)
    path.write_text(path.read_text().replace("speculation", "negation"), encoding="utf-8")
    with pytest.raises(ValueError, match="holds no speculation cue"):
        load_corpus(path, format=format, kind="speculation", without_cues=without_cues)


@pytest.mark.parametrize(
    ("written", "read_as", "tag"), [("sfu", "bioscope", "Annotation"), ("bioscope", "sfu", "DOCUMENT")]
)
def test_the_wrong_xml_format(corpus: Callable[[str], Path], written: str, read_as: Any, tag: str) -> None:
    with pytest.raises(CorpusError, match=f"its outermost element must be <{tag}>"):
        load_corpus(corpus(written), format=read_as)


def with_doctype(content: str, declarations: str) -> str:
    root = content[1:].partition(">")[0]
    return f'<?xml version="1.0"?>\n<!DOCTYPE {root} {declarations}>\n{content}'


BOMB = '[<!ENTITY a "aaaaaaaaaa">\n<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]'


@pytest.mark.parametrize("format", ["bioscope", "sfu"])
@pytest.mark.parametrize(
    "declarations",
    [BOMB, '[<!ENTITY a SYSTEM "file:///etc/hostname">]', '[<!ENTITY % a SYSTEM "http://localhost:1/a.dtd"> %a;]'],
    ids=["bomb", "external", "parameter"],
)
def test_entities_are_refused(corpus: Callable[[str], Path], format: Any, declarations: str) -> None:
    path = corpus(format)
    path.write_text(with_doctype(path.read_text(), declarations).replace("grow", "&a;"), encoding="utf-8")
    with pytest.raises(CorpusError, match="line 2: declares the entity 'a'; entities are refused"):
        load_corpus(path, format=format)


@pytest.mark.parametrize("format", ["bioscope", "sfu"])
def test_a_doctype_is_allowed_and_its_dtd_not_read(corpus: Callable[[str], Path], format: Any) -> None:
    path = corpus(format)
    content = path.read_text()
    (path.parent / "corpus.dtd").write_text('<!ENTITY word "grow">')
    path.write_text(with_doctype(content, 'SYSTEM "corpus.dtd"'), encoding="utf-8")
    assert len(load_corpus(path, format=format)) == 1
    path.write_text(with_doctype(content.replace("grow", "&word;"), 'SYSTEM "corpus.dtd"'), encoding="utf-8")
    with pytest.raises(CorpusError, match="undefined entity &word;"):
        load_corpus(path, format=format)


@pytest.mark.parametrize("format", ["bioscope", "sfu"])
@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda content: b"", "line 1: cannot be read as XML: no element found"),
        (lambda content: content[: len(content) // 2], "cannot be read as XML"),
        (lambda content: content.replace(b"grow", b"gr\xf6w"), "cannot be read as XML"),
        (lambda content: b'<?xml version="1.0" encoding="klingon"?>' + content, "line 1"),
        (lambda content: b'<?xml version="1.0" encoding="cp932"?>' + content, "line 1"),
        (lambda content: content.replace(b"grow", b"<a>" * 200 + b"</a>" * 200), "nest more than 100 deep"),
    ],
    ids=["empty", "truncated", "bad bytes", "unknown encoding", "unsupported encoding", "deep"],
)
def test_a_damaged_xml_file(
    corpus: Callable[[str], Path], format: Any, damage: Callable[[bytes], bytes], problem: str
) -> None:
    path = corpus(format)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(CorpusError) as caught:
        load_corpus(path, format=format)
    assert str(path) in str(caught.value)
    assert problem in str(caught.value)


def test_importing_the_package_does_not_import_datasets() -> None:
    code = "import sys, clozeformers.negation_scope; print('datasets' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "False"


def test_the_names_of_the_package() -> None:
    import clozeformers.negation_scope

    assert {"load_corpus", "NegationScopeTrainer"} <= set(clozeformers.negation_scope.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'load'"):
        _ = clozeformers.negation_scope.load


@pytest.mark.corpora
@pytest.mark.skipif("CLOZEFORMERS_CORPORA" not in os.environ, reason="CLOZEFORMERS_CORPORA is not set")
@pytest.mark.parametrize(
    ("name", "format", "counts"),
    [
        ("cd-sco/SEM-2012-SharedTask-CD-SCO-training-09032012.txt", "cd-sco", (3644, 848, 984, 887)),
        ("cd-sco/SEM-2012-SharedTask-CD-SCO-dev-09032012.txt", "cd-sco", (787, 144, 173, 168)),
        ("bioscope", "bioscope", (11871, 1597, 1719, 1719)),
        ("sfu", "sfu", (17263, 3119, 3528, 3346)),
    ],
)
def test_the_counts_of_the_real_corpora(name: str, format: Any, counts: tuple[int, int, int, int]) -> None:
    path = Path(os.environ["CLOZEFORMERS_CORPORA"]) / name
    rows = list(load_corpus(path, format=format, without_cues=True))
    cue_rows = [row for row in rows if any(row["cue"])]
    sentences = {sentence_id(row["id"]) for row in rows}
    with_cue = {sentence_id(row["id"]) for row in cue_rows}
    scopes = sum(any(row["scope"]) for row in cue_rows)
    assert (len(sentences), len(with_cue), len(cue_rows), scopes) == counts
    assert list(load_corpus(path, format=format)) == cue_rows
