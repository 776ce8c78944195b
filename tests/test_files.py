"""Data files of every task, in every format and state; and what is written."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset

from clozeformers.abstract_cloze import load_recam
from clozeformers.files import CorpusError, read_json, write_json
from clozeformers.negation_scope import load_corpus
from clozeformers.question_answering import load_squad
from clozeformers.question_answering.analysis import is_data_file

NEGATION = [
    {"tokens": ["No", 'pain, "NA"', "."], "cue": [1, 0, 0], "scope": [0, 1, 0], "id": "a#0"},
    {"tokens": ["null"] * 2, "cue": [0, 1], "scope": [1, 0], "id": "b#0"},
]
ANSWERS = {"text": ["Ada", "poem, the"], "answer_start": [0, 14]}
SQUAD = [
    {"id": "1", "title": "T", "context": "Ada wrote,\na poem, the 2nd.", "question": "Who?", "answers": ANSWERS},
    {"id": "02", "title": "T", "context": "Ada.", "question": "Why?", "answers": {"text": [], "answer_start": []}},
]
SQUAD[0]["answers"]["answer_start"] = [0, SQUAD[0]["context"].index("poem, the")]
RECAM = [
    {"id": "1", "article": "A cat,\nsat.", "question": "@placeholder!", "option_0": "nan", "option_1": "7", "label": 1},
    {"id": "2", "article": "A dog.", "question": "A @placeholder.", "option_0": "x", "option_1": "None"},
]
TASKS: dict[str, tuple[Callable[[Path], Dataset], list[dict[str, Any]]]] = {
    "negation scope": (load_corpus, NEGATION),
    "question answering": (load_squad, SQUAD),
    "abstract cloze": (load_recam, RECAM),
}


def json_lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_csv(rows: list[dict[str, Any]]) -> bytes:
    cells = [
        {name: value if isinstance(value, str) else json.dumps(value) for name, value in row.items()} for row in rows
    ]
    return b"\xef\xbb\xbf" + pd.DataFrame(cells).to_csv(index=False).encode()


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    return bytes(pd.DataFrame(rows).convert_dtypes().to_parquet())


FORMATS = {"jsonl": json_lines, "csv": as_csv, "parquet": as_parquet}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("task", TASKS)
def test_every_format_gives_the_same_rows(tmp_path: Path, task: str, ending: str, compressed: bool) -> None:
    load, rows = TASKS[task]
    (tmp_path / "rows.jsonl").write_bytes(json_lines(rows))
    expected = load(tmp_path / "rows.jsonl")
    content = FORMATS[ending](rows)
    path = tmp_path / (f"rows.{ending}" + ".gz" * compressed)
    path.write_bytes(gzip.compress(content) if compressed else content)
    loaded = load(path)
    assert (loaded.to_list(), loaded.features) == (expected.to_list(), expected.features)
    assert len(loaded) == 2


def test_flat_questions_are_those_of_the_nested_file(tmp_path: Path) -> None:
    def nested(row: dict[str, Any]) -> dict[str, Any]:
        pairs = zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True)
        answers = [{"text": text, "answer_start": start} for text, start in pairs]
        question = {"id": row["id"], "question": row["question"], "answers": answers}
        return {"title": row["title"], "paragraphs": [{"context": row["context"], "qas": [question]}]}

    (tmp_path / "flat.json").write_bytes(json_lines(SQUAD))
    (tmp_path / "nested.json.gz").write_bytes(gzip.compress(json.dumps({"data": list(map(nested, SQUAD))}).encode()))
    flat, original = load_squad(tmp_path / "flat.json"), load_squad(tmp_path / "nested.json.gz")
    assert flat.to_list() == original.to_list() == SQUAD
    (tmp_path / "recam.jsonl").write_bytes(json_lines(RECAM))
    names = ("flat.json", "nested.json.gz", "recam.jsonl")
    assert [is_data_file(tmp_path / name) for name in names] == [True, True, False]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"answers": {"text": ["Ada"], "answer_start": [1]}},
            r"answers\[0\]: the answer 'Ada' is not at answer_start, 1",
        ),
        ({"answers": {"text": ["Ada"], "answer_start": []}}, "answers: there are 1 texts and 0 answer_start"),
        ({"answers": ["Ada"]}, r"answers is \['Ada'\]; it must be an object"),
        ({"id": "1"}, "the id is a duplicate of line 1"),
    ],
)
def test_wrong_flat_questions(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(json_lines([SQUAD[0], SQUAD[1] | change]))
    with pytest.raises(CorpusError, match=f"rows.jsonl, line 2.*{problem}"):
        load_squad(path)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda lines: b"", "line 1: the file is empty"),
        (lambda lines: b" \n", "line 1: the file is empty"),
        (lambda lines: lines.decode().encode("utf-16"), "line 1: the file is UTF-16 text; convert it to UTF-8"),
        (lambda lines: lines.decode().encode("utf-16-le"), "line 1: the file is binary, or text in another encoding"),
        (lambda lines: b"PK\x03\x04" + lines, "line 1: the file is a zip archive; unpack it"),
        (lambda lines: bytes(range(256)), "line 1: the file is binary"),
        (lambda lines: gzip.compress(lines)[:-9], "gzip: the compressed file is truncated or damaged"),
        (
            lambda lines: b"[" + lines.replace(b"\n", b",")[:-1] + b"]",
            "line 1: the file is a JSON array, not JSON lines",
        ),
        (lambda lines: b"PAR1" + lines, "Parquet: cannot be read: "),
        (lambda lines: lines + b'{"a": "\xe9"}', r"line 3: the bytes b'\\xe9' are not UTF-8"),
    ],
    ids=["empty", "blank", "UTF-16", "UTF-16 without mark", "zip", "binary", "gzip", "array", "Parquet", "Latin-1"],
)
def test_damaged_files(tmp_path: Path, task: str, change: Callable[[bytes], bytes], problem: str) -> None:
    load, rows = TASKS[task]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(change(json_lines(rows)))
    with pytest.raises(CorpusError, match=rf"rows\.jsonl, {problem}"):
        load(path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"[1 0],[0],[1]", r"line 4: cue is '\[1 0\]'; in CSV, this column is JSON"),
        (b"[1]", "line 4: 1 cells; the header names 3: cue, tokens, scope"),
        (b'"[1]","a"b,c', "line 4: cannot be read as CSV: "),
        (b"[1],,[1]", "line 4: tokens is None; it must be a list"),
        (b'[1],"[""\xe9""]",[1]', r"line 4: the bytes b'\\xe9' are not UTF-8"),
    ],
)
def test_damaged_csv(tmp_path: Path, line: bytes, problem: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b'cue,tokens,scope\n"[1, 0]","[""No"",\n""x""]","[0, 1]"\n' + line + b"\n")
    with pytest.raises(CorpusError, match=rf"rows\.csv, {problem}"):
        load_corpus(path)


def test_a_column_occurs_once(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("cue,tokens,cue,scope\n")
    with pytest.raises(CorpusError, match=r"rows\.csv, line 1: the column 'cue' occurs twice; rename one"):
        load_corpus(tmp_path / "rows.csv")
    table = pa.Table.from_arrays([pa.array([1])] * 2, names=["cue", "cue"])
    pq.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(CorpusError, match=r"rows\.parquet, Parquet: the column 'cue' occurs twice; rename one"):
        load_corpus(tmp_path / "rows.parquet")


def test_json_has_no_nan(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    write_json({"loss": math.nan, "scores": [1.5, -math.inf, (math.inf, 2)], "name": "NaN"}, path)
    assert read_json(path) == {"loss": None, "scores": [1.5, None, [None, 2]], "name": "NaN"}
