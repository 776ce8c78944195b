"""The SFU Review corpus's XML to rows."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from clozeformers.files import CorpusError
from clozeformers.negation_scope.corpora.schema import NegationRow, sentence_id
from clozeformers.negation_scope.corpora.sfu import read_sfu

# A reader's shorthand for the long tags: "[...]" is filled in by `xml`.
NOT = '<cue ID="0" type="negation">[not]</cue>'
OR = '<cue ID="5" type="speculation">[or]</cue>'


def xml(text: str) -> str:
    """Put a <W> around each [word]."""
    return re.sub(r"\[(.*?)\]", r"<W>\1</W>", text)


def scope(source: str, content: str) -> str:
    return f'<xcope ID="90{source[:1]}"><ref COMMENTS="" ID="80" SRC="{source}"></ref>{content}</xcope>'


def write(folder: Path, *sentences: str, name: str = "BOOKS/no1.xml") -> Path:
    """Write a review; sentence n stands on line n + 2."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    body = "".join(f"<SENTENCE>{xml(sentence)}</SENTENCE>\n" for sentence in sentences)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<DOCUMENT><DESC></DESC><TIME>580</TIME><P></P><P>\n'
    path.write_text(f"{head}{body}</P></DOCUMENT>", encoding="utf-8")
    return path


def marked(row: Any, field: str) -> list[str]:
    return [token for token, inside in zip(row["tokens"], row[field], strict=True) if inside]


def read_one(folder: Path, sentence: str, kind: Any = "negation") -> NegationRow:
    (row,) = read_sfu(write(folder, sentence), kind)
    return row


def test_a_row_in_full(tmp_path: Path) -> None:
    path = write(tmp_path, "[Fine][.]", f"[I][do]{NOT}{scope('0', '[like][it]')}[.]")
    assert list(read_sfu(path)) == [
        {
            "id": "BOOKS/no1/2#0",
            "corpus": "sfu",
            "kind": "negation",
            "tokens": ["I", "do", "not", "like", "it", "."],
            "cue": [0, 0, 1, 0, 0, 0],
            "cue_text": "not",
            "scope": [0, 0, 0, 1, 1, 0],
        }
    ]


def test_a_cue_of_several_words_in_groups(tmp_path: Path) -> None:
    row = read_one(
        tmp_path, f'[It]<C><cue ID="0" type="negation">[did]<C>[n\'t]</C></cue></C>{scope("0", "<C>[work]</C>")}'
    )
    assert row["cue"] == [0, 1, 1, 0]
    assert row["cue_text"] == "did n't"
    assert row["scope"] == [0, 0, 0, 1]


def test_a_scope_around_its_cue_leaves_the_cue_out(tmp_path: Path) -> None:
    row = read_one(tmp_path, scope("5", f"[red]{OR}[blue]"), "speculation")
    assert marked(row, "scope") == ["red", "blue"]


def test_the_words_of_another_cue_are_in_scope(tmp_path: Path) -> None:
    path = write(tmp_path, f"[if]{scope('0', f'[red]{OR}[blue]')}{NOT}")
    (row,) = read_sfu(path)
    assert marked(row, "scope") == ["red", "or", "blue"]
    (row,) = read_sfu(path, "speculation")
    assert marked(row, "cue") == ["or"]
    assert not any(row["scope"])


def test_several_scopes_of_one_cue_are_one_row(tmp_path: Path) -> None:
    row = read_one(tmp_path, f"{scope('5', '[tea]')}[,]{OR}{scope('5', '[milk]')}", "speculation")
    assert row["scope"] == [1, 0, 0, 1]


def test_a_ref_to_several_cues_gives_each_the_scope(tmp_path: Path) -> None:
    sentence = f'{scope("5 6", "[tea]")}{OR}[milk]<cue ID="6" type="speculation">[or]</cue>'
    first, second = read_sfu(write(tmp_path, sentence), "speculation")
    assert [first["id"], second["id"]] == ["BOOKS/no1/1#0", "BOOKS/no1/1#1"]
    assert (first["cue"], second["cue"]) == ([0, 1, 0, 0], [0, 0, 0, 1])
    assert first["scope"] == second["scope"] == [1, 0, 0, 0]


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
def test_what_no_scope_refers_to_is_a_cue_without_scope(tmp_path: Path, unattached: str) -> None:
    rows = list(read_sfu(write(tmp_path, f"{NOT}{unattached}")))
    assert marked(rows[0], "cue") == ["not"]
    assert all(row["scope"] == [0, 0, 0] for row in rows)


def test_ids_are_looked_up_in_the_sentence(tmp_path: Path) -> None:
    again = '<cue ID="0" type="speculation">[may]</cue>'
    path = write(tmp_path, f"{NOT}{scope('0', '[a]')}{scope('5', '[c]')}", f"{again}{scope('0', '[b]')}", OR)
    (negation,) = read_sfu(path)
    assert marked(negation, "scope") == ["a"]
    may, other = read_sfu(path, "speculation")
    assert marked(may, "scope") == ["b"]
    assert other["tokens"] == ["or"]


def test_windows_characters_and_odd_words(tmp_path: Path) -> None:
    row = read_one(tmp_path, f"[][it&#146;s][&#133;][mind\u0085at]{NOT}[ good][New York][B&amp;<!-- and -->B]")
    assert row["tokens"] == ["it’s", "…", "mind…at", "not", "good", "New", "York", "B&B"]
    assert row["cue"] == [0, 0, 0, 1, 0, 0, 0, 0]


def test_sentences_without_a_cue_of_the_kind(tmp_path: Path) -> None:
    path = write(tmp_path, "[Good]", "[]", f"[a]{OR}", NOT)
    rows = list(read_sfu(path, without_cues=True))
    assert [row["id"] for row in rows] == ["BOOKS/no1/1#-", "BOOKS/no1/3#-", "BOOKS/no1/4#0"]
    assert rows[1] == {
        "id": "BOOKS/no1/3#-",
        "corpus": "sfu",
        "kind": "negation",
        "tokens": ["a", "or"],
        "cue": [0, 0],
        "cue_text": "",
        "scope": [0, 0],
    }


def test_folders_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("MUSIC/yes1.xml", "BOOKS/no2.xml", "BOOKS/no10.xml"):
        write(tmp_path, NOT, name=name)
    (tmp_path / "README.txt").write_text("not read")
    wanted = ["BOOKS/no10/1#0", "BOOKS/no2/1#0", "MUSIC/yes1/1#0"]
    assert [row["id"] for row in read_sfu(tmp_path)] == wanted
    assert [row["id"] for row in read_sfu(tmp_path / "BOOKS")] == wanted[:2]


def test_the_id_of_a_file_without_a_folder_in_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(tmp_path, NOT).parent)
    assert [row["id"] for row in read_sfu("no1.xml")] == ["BOOKS/no1/1#0"]


def test_two_files_that_would_give_the_same_ids(tmp_path: Path) -> None:
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
        (f"{NOT}{NOT}", "line 4, <cue>", "'0' stands twice"),
        ('<cue ID="0" type="negation">[]</cue>', "line 4, <cue>", "holds no word"),
        (f"{NOT}<C>stray text</C>", "line 4, <C>", "'stray text' stands outside"),
        (f"\n\n{NOT}<xcope>[a]", "line 6, inside the <xcope> of line 6", "mismatched tag"),
    ],
)
def test_damage_is_named_with_file_line_and_element(tmp_path: Path, sentence: str, where: str, problem: str) -> None:
    path = write(tmp_path, "[Fine]", sentence)
    with pytest.raises(CorpusError) as caught:
        list(read_sfu(path))
    for part in (str(path), where, problem):
        assert part in str(caught.value)


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="kind is 'cue'; it must be 'negation' or 'speculation'"):
        list(read_sfu(write(tmp_path, NOT), "cue"))


@pytest.mark.corpora
@pytest.mark.skipif("CLOZEFORMERS_CORPORA" not in os.environ, reason="CLOZEFORMERS_CORPORA is not set")
def test_the_counts_of_the_real_reviews() -> None:
    rows = list(read_sfu(Path(os.environ["CLOZEFORMERS_CORPORA"]) / "sfu", without_cues=True))
    sentences = {sentence_id(row["id"]) for row in rows}
    assert len({sentence.rpartition("/")[0] for sentence in sentences}) == 400
    assert len(sentences) == 17263
    assert len({row["id"] for row in rows}) == len(rows)
    with_cue = [row for row in rows if any(row["cue"])]
    assert len(with_cue) == 3528
    assert len({sentence_id(row["id"]) for row in with_cue}) == 3119
    # 3,354 xcope elements refer to a negation cue of their sentence; eight cues have two of them. (3,352 comes out
    # if ids are looked up in the whole file, where four of them stand for a negation and a speculation cue.)
    assert sum(any(row["scope"]) for row in with_cue) == 3354 - 8
