"""load_corpus, over all formats."""

from __future__ import annotations

import codecs
import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import clozeformers.negation_scope
from clozeformers.files import CorpusError
from clozeformers.negation_scope import load_corpus
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
def test_formats_give_the_same_columns(corpus: Callable[[str], Path], format: Any) -> None:
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
def test_xml_folder(corpus: Callable[[str], Path], tmp_path: Path, format: Any) -> None:
    from_file = load_corpus(corpus(format), format=format)
    assert list(load_corpus(tmp_path)) == list(from_file)


@pytest.mark.parametrize("format", FILES)
def test_format_is_detected(corpus: Callable[[str], Path], format: Any) -> None:
    path = corpus(format)
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    assert load_corpus(path)[0]["tokens"] == ["It", "did", "not", "grow"]


@pytest.mark.parametrize("format", FILES)
def test_compressed_corpora(corpus: Callable[[str], Path], format: Any) -> None:
    path = corpus(format)
    expected = load_corpus(path)
    packed = path.rename(path.with_name(path.name + ".gz"))
    packed.write_bytes(gzip.compress(packed.read_bytes()))
    for place in (packed, packed.parent) if format in ("bioscope", "sfu") else (packed,):
        assert load_corpus(place).to_list() == expected.to_list()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "line 1: the file is empty"),
        ("plain text", "cd-sco, bioscope, sfu and jsonl; name it with format="),
        ("[1, 2]", "line 1: the file is a JSON array, not JSON lines; write one object a line"),
    ],
)
def test_format_that_cannot_be_detected(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / "corpus").write_text(content)
    with pytest.raises(ValueError, match=problem):
        load_corpus(tmp_path / "corpus")
    with pytest.raises(FileNotFoundError, match=r"holds no \.xml file"):
        load_corpus(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"format": "xml"}, "format is 'xml'; it must be one of 'cd-sco', 'bioscope', 'sfu', 'jsonl'"),
        ({"format": "sfu", "kind": "hedge"}, "kind is 'hedge'; it must be 'negation' or 'speculation'"),
        ({"format": "cd-sco", "kind": "speculation"}, "CD-SCO has no speculation.*kind='negation'"),
    ],
)
def test_wrong_arguments(corpus: Callable[[str], Path], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_corpus(corpus("sfu"), **arguments)


@pytest.mark.parametrize("format", [*FILES, None])
def test_wrong_paths(tmp_path: Path, format: Any) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere'? does not exist"):
        load_corpus(tmp_path / "nowhere", format=format)
    (tmp_path / "notes.txt").write_text("no corpus")
    if format is not None:
        with pytest.raises(OSError, match=r"is a folder; give the path of a file|holds no \.xml file"):
            load_corpus(tmp_path, format=format)


@pytest.mark.parametrize("without_cues", [False, True])
def test_corpus_without_a_cue(corpus: Callable[[str], Path], without_cues: bool) -> None:
    path = corpus("sfu")
    path.write_text(path.read_text().replace("speculation", "negation"), encoding="utf-8")
    with pytest.raises(ValueError, match="holds no speculation cue"):
        load_corpus(path, kind="speculation", without_cues=without_cues)


@pytest.mark.parametrize(
    ("written", "read_as", "tag"), [("sfu", "bioscope", "Annotation"), ("bioscope", "sfu", "DOCUMENT")]
)
def test_wrong_xml_format(corpus: Callable[[str], Path], written: str, read_as: Any, tag: str) -> None:
    with pytest.raises(CorpusError, match=f"its outermost element must be <{tag}>"):
        load_corpus(corpus(written), format=read_as)


def with_doctype(content: str, declarations: str) -> str:
    root = content[1:].partition(">")[0]
    return f'<?xml version="1.0"?>\n<!DOCTYPE {root} {declarations}>\n{content}'


@pytest.mark.parametrize(
    "declarations",
    [
        '[<!ENTITY a "aaaaaaaaaa">\n<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]',
        '[<!ENTITY a SYSTEM "file:///etc/hostname">]',
        '[<!ENTITY % a SYSTEM "http://localhost:1/a.dtd"> %a;]',
    ],
    ids=["bomb", "external", "parameter"],
)
def test_entities_are_refused(corpus: Callable[[str], Path], declarations: str) -> None:
    path = corpus("sfu")
    path.write_text(with_doctype(path.read_text(), declarations).replace("grow", "&a;"), encoding="utf-8")
    with pytest.raises(CorpusError, match="line 2: declares the entity 'a'; entities are refused"):
        load_corpus(path, format="sfu")


def test_dtd_is_not_read(corpus: Callable[[str], Path]) -> None:
    path = corpus("bioscope")
    content = path.read_text()
    (path.parent / "corpus.dtd").write_text('<!ENTITY word "grow">')
    path.write_text(with_doctype(content, 'SYSTEM "corpus.dtd"'), encoding="utf-8")
    assert len(load_corpus(path)) == 1
    path.write_text(with_doctype(content.replace("grow", "&word;"), 'SYSTEM "corpus.dtd"'), encoding="utf-8")
    with pytest.raises(CorpusError, match="undefined entity &word;"):
        load_corpus(path)


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
def test_damaged_xml_file(corpus: Callable[[str], Path], damage: Callable[[bytes], bytes], problem: str) -> None:
    path = corpus("sfu")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(CorpusError) as caught:
        load_corpus(path, format="sfu")
    assert str(path) in str(caught.value)
    assert problem in str(caught.value)


def test_lazy_names() -> None:
    """A pipeline imports the package, and must not pay for `datasets`."""
    assert clozeformers.negation_scope.load_corpus is load_corpus
    assert not set(clozeformers.negation_scope.__all__) & set(vars(clozeformers.negation_scope))
    with pytest.raises(AttributeError, match="has no attribute 'load'"):
        _ = clozeformers.negation_scope.load


@pytest.mark.corpora
@pytest.mark.skipif("CLOZEFORMERS_CORPORA" not in os.environ, reason="CLOZEFORMERS_CORPORA is not set")
@pytest.mark.parametrize(
    ("name", "kind", "counts"),
    [
        ("cd-sco/SEM-2012-SharedTask-CD-SCO-training-09032012.txt", "negation", (3644, 848, 984, 887)),
        ("cd-sco/SEM-2012-SharedTask-CD-SCO-dev-09032012.txt", "negation", (787, 144, 173, 168)),
        ("bioscope", "negation", (11871, 1597, 1719, 1719)),
        ("bioscope", "speculation", (11871, 2101, 2659, 2659)),
        # 3,354 xcope elements refer to a negation cue of their sentence; eight cues have two of them.
        ("sfu", "negation", (17263, 3119, 3528, 3346)),
    ],
)
def test_published_counts(name: str, kind: Any, counts: tuple[int, int, int, int]) -> None:
    """Sentences, sentences with a cue, cues and scopes."""
    path = Path(os.environ["CLOZEFORMERS_CORPORA"]) / name
    rows = list(load_corpus(path, kind=kind, without_cues=True))
    cue_rows = [row for row in rows if any(row["cue"])]
    sentences = {sentence_id(row["id"]) for row in rows}
    with_cue = {sentence_id(row["id"]) for row in cue_rows}
    scopes = sum(any(row["scope"]) for row in cue_rows)
    assert (len(sentences), len(with_cue), len(cue_rows), scopes) == counts
    assert len({row["id"] for row in rows}) == len(rows)


@pytest.mark.corpora
@pytest.mark.skipif("CLOZEFORMERS_CORPORA" not in os.environ, reason="CLOZEFORMERS_CORPORA is not set")
def test_contractions_that_sfu_review_leaves_out() -> None:
    """As RESULTS.md says, a third of the words that end in *n't* is in no cue, most of them in some folders."""
    sentences: dict[str, list[str]] = {}
    cues: dict[str, set[int]] = {}
    for kind in ("negation", "speculation"):
        path = Path(os.environ["CLOZEFORMERS_CORPORA"]) / "sfu"
        for row in load_corpus(path, kind=kind, without_cues=True):
            name = sentence_id(row["id"])
            sentences[name] = row["tokens"]
            cues.setdefault(name, set()).update(place for place, is_cue in enumerate(row["cue"]) if is_cue)
    counts: dict[str, list[int]] = {}  # folder -> contractions, and those that are in no cue
    for name, tokens in sentences.items():
        for place, token in enumerate(tokens):
            if token.lower().replace("’", "'").endswith("n't"):
                count = counts.setdefault(name.split("/")[0], [0, 0])
                count[0] += 1
                count[1] += place not in cues[name]
    assert [sum(column) for column in zip(*counts.values(), strict=True)] == [1581, 493]
    assert (counts["BOOKS"], counts["CARS"]) == ([187, 6], [192, 107])
