"""Custom corpora as JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clozeformers.files import CorpusError
from clozeformers.negation_scope.corpora.jsonl import HINT, read_negation_jsonl, write_negation_jsonl
from clozeformers.negation_scope.corpora.schema import NegationRow

LINE: dict[str, Any] = {"tokens": ["No", "pain", "."], "cue": [1, 0, 0], "scope": [0, 1, 0]}
ROW: dict[str, Any] = {"id": "a#0", "corpus": "notes", "kind": "negation", "cue_text": "No", **LINE}


def write_lines(folder: Path, *lines: Any) -> Path:
    path = folder / "notes.jsonl"
    texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"\n".join(texts) + b"\n")
    return path


def test_defaults(tmp_path: Path) -> None:
    none = {"tokens": ["Fine"], "cue": [0], "scope": [0]}
    parts = {"tokens": ["neither", "a", "nor", "b"], "cue": [1, 0, 1, 0], "scope": [0, 1, 0, 1]}
    rows = list(read_negation_jsonl(write_lines(tmp_path, LINE, b"", none, parts)))
    assert rows[0] == {"id": "notes/1#0", "corpus": "notes", "kind": "negation", "cue_text": "No", **LINE}
    assert (rows[1]["id"], rows[1]["cue_text"]) == ("notes/3#-", "")
    assert (rows[2]["id"], rows[2]["cue_text"]) == ("notes/4#0", "neither nor")


@st.composite
def rows_of_text(draw: st.DrawFn) -> list[NegationRow]:
    words = st.text(min_size=1).filter(lambda text: text.strip() != "")
    rows = []
    for number in range(draw(st.integers(1, 3))):
        tokens = draw(st.lists(words, min_size=1, max_size=4))
        marks = st.lists(st.integers(0, 1), min_size=len(tokens), max_size=len(tokens))
        cue = draw(marks)
        rows.append(
            NegationRow(
                id=f"{draw(st.text())}#{number}",
                corpus=draw(st.text()),
                kind=draw(st.sampled_from(["negation", "speculation"])),
                tokens=tokens,
                cue=cue,
                cue_text=draw(st.text()),
                scope=draw(marks) if any(cue) else [0] * len(tokens),
            )
        )
    return rows


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=rows_of_text())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list[NegationRow]) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "rows.jsonl"
    write_negation_jsonl(rows, path)
    assert list(read_negation_jsonl(path)) == rows
    assert path.read_bytes().count(b"\n") == len(rows)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"tokens": ["No"', '\'{"tokens": ["No"\' is not JSON'),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"id": ' + b"1" * 5000 + b"}", "Exceeds the limit (4300 digits)"),
        (b'["No"]', "['No'] is not a JSON object"),
        ({"tokens": ["No"], "cue": [1]}, "scope is None; it must be a list"),
        (LINE | {"cues": []}, "unknown field 'cues'; the fields are id, corpus, kind, tokens, cue, cue_text, scope"),
        (LINE | {"tokens": []}, "tokens is []"),
        (LINE | {"tokens": ["No", " ", "."]}, "a token is ' '"),
        (LINE | {"tokens": ["No", 5, "."]}, "a token is int 5"),
        (LINE | {"tokens": ["No", "\ud800", "."]}, "half of a surrogate pair"),
        (LINE | {"cue": [0]}, "cue is [0]; it must have 0 or 1 for each of 3 tokens"),
        (LINE | {"cue": [2, 0, 0]}, "cue is [2, 0, 0]"),
        (LINE | {"cue": [True, 0, 0]}, "cue is [True, 0, 0]"),
        (LINE | {"scope": [0, 1.0, 0]}, "scope is [0, 1.0, 0]"),
        (LINE | {"cue": [0, 0, 0]}, "scope has a 1 but cue has none"),
        (LINE | {"id": 7}, "id is int 7; it must be a string"),
        (LINE | {"id": "seven"}, "id is 'seven'; it must be '<sentence>#<number>'"),
        (LINE | {"kind": "doubt"}, "kind is 'doubt'; it must be 'negation' or 'speculation'"),
        (LINE | {"cue_text": None}, "cue_text is NoneType None"),
    ],
)
def test_wrong_lines(tmp_path: Path, line: Any, problem: str) -> None:
    path = write_lines(tmp_path, LINE, line)
    with pytest.raises(CorpusError) as caught:
        list(read_negation_jsonl(path))
    message = str(caught.value)
    assert message.startswith(f"{path}, line 2: ")
    assert problem in message
    assert HINT in message
    assert len(message) < 700


@pytest.mark.parametrize(
    ("bad", "problem"), [({"tokens": ["No"]}, "cue is None"), (ROW, "the id 'a#0' is also in line 1")]
)
def test_writing_a_wrong_row_writes_nothing(tmp_path: Path, bad: dict[str, Any], problem: str) -> None:
    path = tmp_path / "out.jsonl"
    with pytest.raises(CorpusError, match=f"line 2: {problem}"):
        write_negation_jsonl([ROW, bad], path)
    assert not path.exists()
