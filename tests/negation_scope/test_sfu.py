"""Reader of the SFU Review corpus."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from clozeformers.files import CorpusError
from clozeformers.negation_scope.corpora.schema import NegationRow
from clozeformers.negation_scope.corpora.sfu import read_sfu

# `write` expands "[word]" to "<W>word</W>".
NOT = '<cue ID="0" type="negation">[not]</cue>'
OR = '<cue ID="5" type="speculation">[or]</cue>'


def scope(source: str, content: str) -> str:
    return f'<xcope ID="90{source[:1]}"><ref COMMENTS="" ID="80" SRC="{source}"></ref>{content}</xcope>'


def write(folder: Path, *sentences: str, name: str = "BOOKS/no1.xml") -> Path:
    """Write a review; sentence n stands on line n + 2."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    body = "".join(f"<SENTENCE>{sentence}</SENTENCE>\n" for sentence in sentences)
    body = re.sub(r"\[(.*?)\]", r"<W>\1</W>", body)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<DOCUMENT><DESC></DESC><TIME>580</TIME><P></P><P>\n'
    path.write_text(f"{head}{body}</P></DOCUMENT>", encoding="utf-8")
    return path


def marked(row: Any, field: str) -> list[str]:
    return [token for token, inside in zip(row["tokens"], row[field], strict=True) if inside]


def read_one(folder: Path, sentence: str, kind: Any = "negation") -> NegationRow:
    (row,) = read_sfu(write(folder, sentence), kind)
    return row


def test_row(tmp_path: Path) -> None:
    assert read_one(tmp_path, f"[I][do]{NOT}{scope('0', '[like][it]')}[.]") == {
        "id": "BOOKS/no1/1#0",
        "corpus": "sfu",
        "kind": "negation",
        "tokens": ["I", "do", "not", "like", "it", "."],
        "cue": [0, 0, 1, 0, 0, 0],
        "cue_text": "not",
        "scope": [0, 0, 0, 1, 1, 0],
    }


def test_groups(tmp_path: Path) -> None:
    row = read_one(
        tmp_path, f'[It]<C><cue ID="0" type="negation">[did]<C>[n\'t]</C></cue></C>{scope("0", "<C>[work]</C>")}'
    )
    assert row["cue"] == [0, 1, 1, 0]
    assert row["cue_text"] == "did n't"
    assert row["scope"] == [0, 0, 0, 1]


def test_words_of_another_cue_are_in_scope(tmp_path: Path) -> None:
    path = write(tmp_path, f"[if]{scope('0', f'[red]{OR}[blue]')}{NOT}")
    (row,) = read_sfu(path)
    assert marked(row, "scope") == ["red", "or", "blue"]
    (row,) = read_sfu(path, "speculation")
    assert marked(row, "cue") == ["or"]
    assert not any(row["scope"])


def test_several_scopes_and_several_cues(tmp_path: Path) -> None:
    sentence = f'{scope("5 6", "[tea]")}{OR}{scope("5", "[milk]")}<cue ID="6" type="speculation">[or]</cue>'
    first, second = read_sfu(write(tmp_path, sentence), "speculation")
    assert [first["id"], second["id"]] == ["BOOKS/no1/1#0", "BOOKS/no1/1#1"]
    assert (first["cue"], second["cue"]) == ([0, 1, 0, 0], [0, 0, 0, 1])
    assert (first["scope"], second["scope"]) == ([1, 0, 1, 0], [1, 0, 0, 0])


def test_nested_scopes_and_nested_cues(tmp_path: Path) -> None:
    sentence = (
        f'[I]<cue ID="1" type="speculation"><cue ID="2" type="negation">[not]</cue>[sure]</cue>'
        f"{scope('1', '[it]' + scope('2', '[works]'))}"
    )
    path = write(tmp_path, sentence)
    (outer,) = read_sfu(path, "speculation")
    assert (marked(outer, "cue"), marked(outer, "scope")) == (["not", "sure"], ["it", "works"])
    (inner,) = read_sfu(path, "negation")
    assert (marked(inner, "cue"), marked(inner, "scope")) == (["not"], ["works"])


@pytest.mark.parametrize(
    "unattached",
    [
        '<xcope ID="9">[a][b]</xcope>',
        scope("77", "[a][b]"),
        f'{scope("9", "[a]")}<cue ID="3" type="negation"><ref ID="4" SRC="0"></ref>[b]</cue>',
    ],
    ids=["no ref", "ref to nothing", "ref in a cue"],
)
def test_cue_without_scope(tmp_path: Path, unattached: str) -> None:
    rows = list(read_sfu(write(tmp_path, f"{NOT}{unattached}")))
    assert marked(rows[0], "cue") == ["not"]
    assert all(row["scope"] == [0, 0, 0] for row in rows)


def test_ids_are_local_to_the_sentence(tmp_path: Path) -> None:
    again = '<cue ID="0" type="speculation">[may]</cue>'
    path = write(tmp_path, f"{NOT}{scope('0', '[a]')}{scope('5', '[c]')}", f"{again}{scope('0', '[b]')}", OR)
    negation, *_ = read_sfu(path)
    assert marked(negation, "scope") == ["a"]
    _, may, other = read_sfu(path, "speculation")
    assert marked(may, "scope") == ["b"]
    assert other["tokens"] == ["or"]


def test_windows_characters_and_odd_words(tmp_path: Path) -> None:
    row = read_one(tmp_path, f"[][it&#146;s][&#133;][mind\u0085at]{NOT}[ good][New York][B&amp;<!-- and -->B]")
    assert row["tokens"] == ["it’s", "…", "mind…at", "not", "good", "New", "York", "B&B"]
    assert row["cue"] == [0, 0, 0, 1, 0, 0, 0, 0]


def test_without_cues(tmp_path: Path) -> None:
    path = write(tmp_path, "[Good]", "[]", f"[a]{OR}", NOT)
    rows = list(read_sfu(path))
    assert [row["id"] for row in rows] == ["BOOKS/no1/1#-", "BOOKS/no1/3#-", "BOOKS/no1/4#0"]
    assert (rows[1]["kind"], rows[1]["tokens"], rows[1]["cue_text"]) == ("negation", ["a", "or"], "")
    assert rows[1]["cue"] == rows[1]["scope"] == [0, 0]


def test_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MUSIC/yes1.xml", "BOOKS/no2.xml", "BOOKS/no10.xml"):
        write(tmp_path, NOT, name=name)
    (tmp_path / "README.txt").write_text("not read")
    wanted = ["BOOKS/no10/1#0", "BOOKS/no2/1#0", "MUSIC/yes1/1#0"]
    assert [row["id"] for row in read_sfu(tmp_path)] == wanted
    monkeypatch.chdir(tmp_path / "MUSIC")
    assert [row["id"] for row in read_sfu("yes1.xml")] == wanted[2:]


def test_two_files_with_the_same_ids(tmp_path: Path) -> None:
    first = write(tmp_path, NOT, name="a/BOOKS/no1.xml")
    write(tmp_path, NOT, name="b/BOOKS/no1.xml")
    with pytest.raises(CorpusError, match="the same ids") as caught:
        list(read_sfu(tmp_path))
    assert str(first) in str(caught.value)


@pytest.mark.parametrize(
    ("sentence", "where", "problem"),
    [
        ('<cue type="negation">[no]</cue>', "line 4, <cue>", "no attribute ID"),
        ('<cue ID="0">[no]</cue>', "line 4, <cue>", "no attribute type"),
        ('<cue ID="0" type="irony">[no]</cue>', "line 4, <cue>", "type is 'irony'"),
        (f'{NOT}<xcope ID="1"><ref ID="2"></ref>[a]</xcope>', "line 4, <ref>", "no attribute SRC"),
        (f"{NOT}{NOT}", "line 4, <cue>", "'0' is not unique"),
        ('<cue ID="0" type="negation">[]</cue>', "line 4, <cue>", "holds no word"),
        (f"{NOT}<C>stray text</C>", "line 4, <C>", "'stray text' is outside"),
        (f"\n\n{NOT}<xcope>[a]", "line 6", "mismatched tag"),
    ],
)
def test_errors_name_file_line_and_element(tmp_path: Path, sentence: str, where: str, problem: str) -> None:
    path = write(tmp_path, "[Fine]", sentence)
    with pytest.raises(CorpusError) as caught:
        list(read_sfu(path))
    for part in (str(path), where, problem):
        assert part in str(caught.value)
