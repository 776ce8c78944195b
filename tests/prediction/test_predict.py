"""Whole data sets: every kind of source and format, rows that fail, commands that are killed."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from datasets import Dataset

from clozeformers import BertWithWNDuma
from clozeformers.cli import main
from clozeformers.prediction.predictor import Predictor
from clozeformers.prediction.sources import count_rows, read_source

from ..cloze_models import tiny_wn_duma
from ..hub_models import save_tiny, tiny_word_reader

TEXTS = ["I do not know the answer.", "All is well.", "Nobody came, and it is not here."]
ROWS = [{"id": number, "text": text} for number, text in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny(tmp_path_factory.mktemp("model")))


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    frame = pd.DataFrame(rows)
    if ".txt" in path.name:
        text = "".join(f"{row['text']}\n\n" for row in rows)
    elif ".csv" in path.name:
        text = frame.to_csv(index=False)
    elif ".jsonl" in path.name:
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
    content = frame.to_parquet() if ".parquet" in path.name else text.encode()
    path.write_bytes(gzip.compress(content) if path.name.endswith(".gz") else content)
    return str(path)


def read(folder: Path) -> list[dict[str, Any]]:
    """The rows of all shards, with predictions as Python has them."""
    rows: list[dict[str, Any]] = []
    for path in sorted(folder.glob("part-*")):
        if ".jsonl" in path.name:
            content = path.read_bytes()
            lines = (gzip.decompress(content) if path.name.endswith(".gz") else content).decode().splitlines()
            rows += map(json.loads, lines)
            continue
        frame = pd.read_csv(path, keep_default_na=False) if ".csv" in path.name else pd.read_parquet(path)
        found = frame.to_dict("records")
        rows += [row | {"prediction": json.loads(row["prediction"]) if row["prediction"] else None} for row in found]
    return rows


@pytest.mark.parametrize("ending", ["txt", "txt.gz", "jsonl", "jsonl.gz", "csv", "csv.gz", "parquet", "parquet.gz"])
def test_every_kind_of_file(ending: str, model: str, tmp_path: Path) -> None:
    source = write(tmp_path / f"texts.{ending}", ROWS)
    format = {"txt": "jsonl", "txt.gz": "jsonl", "parquet.gz": "parquet"}.get(ending, ending)
    options = ["--model", model, "--format", format, "--rows_per_shard", "2"]
    assert main(["predict", "negation-scope", source, str(tmp_path / "out"), *options]) == 0
    rows = read(tmp_path / "out")
    expected = [{"text": row["text"]} for row in ROWS] if "txt" in ending else ROWS
    if "csv" in ending:
        expected = [row | {"id": int(row["id"])} for row in expected]
    assert [{name: row[name] for name in expected[0]} for row in rows] == expected
    together = Predictor("negation-scope", model)({"text": TEXTS})["prediction"]
    for row, expected_json in zip(rows, together, strict=True):
        for found, cue in zip(row["prediction"], json.loads(expected_json), strict=True):
            assert found == cue | {"score": pytest.approx(cue["score"])}
    assert {row["error"] for row in rows} == {""}
    assert count_rows(source) == 3
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["finished"]
    assert manifest["files"] == [f"part-0000{number}.{format}" for number in (0, 1)]


def test_folders_and_the_standard_input(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "b.jsonl", ROWS[1:])
    write(tmp_path / "in" / "a.txt", ROWS[:1])
    assert [row["text"] for row in read_source(str(tmp_path / "in"))] == TEXTS
    monkeypatch.setattr("sys.stdin", io.StringIO(f'{TEXTS[0]}\n{{"text": "{TEXTS[1]}"}}\n\n{TEXTS[2]}\n'))
    assert [row["text"] for row in read_source("-")] == TEXTS
    with pytest.raises(ValueError, match=r"holds no file that ends in \.txt"):
        count_rows(str(Path(model)))
    with pytest.raises(FileNotFoundError, match=r"rows\.docx does not exist; give a file"):
        count_rows("rows.docx")
    (tmp_path / "rows.docx").touch()
    with pytest.raises(ValueError, match=r"rows\.docx does not end in \.txt"):
        count_rows(str(tmp_path / "rows.docx"))
    with pytest.raises(ConnectionError, match="name of a dataset on the Hub"):
        next(read_source("owner/name"))


def test_rows_that_cannot_be_read_are_kept_with_the_reason(model: str, tmp_path: Path, capsys: Any) -> None:
    rows: list[dict[str, Any]] = [*ROWS[:1], {"id": 7, "text": 5}, *ROWS[1:]]
    source, out = write(tmp_path / "rows.jsonl", rows), tmp_path / "out"
    command = ["predict", "negation-scope", source, str(out), "--model", model, "--rows_per_shard", "1"]
    assert main(command) == 2
    assert "clozeformers predict: error: row 2: " in capsys.readouterr().err
    assert [row["id"] for row in read(out)] == [0], "what was finished stays"
    assert main([*command, "--on_error", "skip"]) == 0
    assert "; 1 row has an error" in capsys.readouterr().out
    found = read(out)
    assert [row["id"] for row in found] == [0, 7, 1, 2]
    assert [bool(row["error"]) for row in found] == [False, True, False, False]
    assert found[1]["prediction"] is None


@pytest.mark.usefixtures("wordnet_home")
@pytest.mark.parametrize(
    ("task", "rows", "renamed"),
    [
        ("extractive-question-answering", {"q": "Who came?", "context": "Ada came."}, ["--column", "question=q"]),
        ("abstract-cloze", {"article": "It is wet.", "question": "It is @placeholder.", "options": ["a", "b"]}, []),
    ],
)
def test_the_other_tasks(task: str, rows: dict[str, Any], renamed: list[str], tmp_path: Path) -> None:
    build = tiny_wn_duma(BertWithWNDuma) if task == "abstract-cloze" else tiny_word_reader("bidaf")
    build.save_pretrained(tmp_path / "model")
    source = write(tmp_path / "rows.jsonl", [rows, rows])
    command = ["predict", task, source, str(tmp_path / "out"), "--model", str(tmp_path / "model"), *renamed]
    assert main([*command, "--set", "top_k=1"] if task != "abstract-cloze" else command) == 0
    first, second = read(tmp_path / "out")
    assert first["prediction"] == second["prediction"]
    assert first["prediction"]


def test_it_is_what_datasets_maps(model: str) -> None:
    rows = Dataset.from_list(ROWS).map(Predictor("negation-scope", model), batched=True, batch_size=2)
    assert rows.column_names == ["id", "text", "prediction", "error"]
    assert [cue["cue"]["text"] for cue in json.loads(rows[0]["prediction"])] == ["not"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--column", "txt=a"], "has no input 'txt'; did you mean text?"),
        (["--column", "text=sentence"], "there is no column sentence; there are id, text"),
        (["--set", "a"], "give --set NAME=VALUE"),
        (["--set", "convention=klingon"], "klingon"),
        (["--set", "device=meta:x"], "the device meta:x cannot be used: "),
    ],
)
def test_wrong_options(arguments: list[str], message: str, model: str, tmp_path: Path, capsys: Any) -> None:
    source = write(tmp_path / "rows.jsonl", ROWS)
    assert main(["predict", "negation-scope", source, str(tmp_path / "out"), "--model", model, *arguments]) == 2
    assert message in capsys.readouterr().err
    assert main(["predict", "negation-scope", source, str(tmp_path / "out"), "--model", model]) == 0


def test_parts_of_other_settings_or_rows_are_left(model: str, tmp_path: Path, capsys: Any) -> None:
    source, out = write(tmp_path / "rows.jsonl", ROWS), str(tmp_path / "out")
    command = ["predict", "negation-scope", source, out, "--model", model]
    assert main(command) == 0
    before = read(tmp_path / "out")
    assert main([*command, "--rows_per_shard", "1"]) == 2
    assert "another command, whose rows_per_shard differed; give another folder" in capsys.readouterr().err
    write(tmp_path / "rows.jsonl", ROWS * 2)
    assert main(command) == 2
    assert "whose sizes of files differed" in capsys.readouterr().err
    assert read(tmp_path / "out") == before
    (tmp_path / "out" / "manifest.json").write_text('{"settings": 5}')
    assert main(command) == 2
    assert "manifest.json is damaged: it has no settings; give another folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"one\n\xff\n", "a.txt, line 2: the bytes b'\\xff' are not UTF-8"),
        ("a.jsonl", b'{"text": "x"}\n{"text"\n', "a.jsonl, line 2: "),
        ("a.parquet", b"PAR1", "a.parquet, Parquet: cannot be read"),
        ("a.csv", None, "a.csv does not exist; give a file, a folder"),
        ("-", b'one\n{"text"\n', "the standard input, line 2: "),
    ],
)
def test_sources_that_cannot_be_read(
    name: str,
    content: bytes | None,
    message: str,
    model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
) -> None:
    source = name if name == "-" else str(tmp_path / name)
    if name == "-":
        monkeypatch.setattr("sys.stdin", io.StringIO((content or b"").decode()))
    elif content is not None:
        Path(source).write_bytes(content)
    assert main(["predict", "negation-scope", source, str(tmp_path / "out"), "--model", model]) == 2
    error = capsys.readouterr().err.splitlines()[-1]  # after the bars of loading the model
    assert error.startswith("clozeformers predict: error: ")
    assert message in error


def test_parquet_needs_columns_of_one_type(model: str, tmp_path: Path, capsys: Any) -> None:
    source = write(tmp_path / "rows.jsonl", [ROWS[0], ROWS[1] | {"id": "one"}])
    options = ["--model", model, "--format", "parquet"]
    assert main(["predict", "negation-scope", source, str(tmp_path / "out"), *options]) == 2
    assert "values of several types" in capsys.readouterr().err


def test_parts_of_another_command_are_left(model: str, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "part-00000.jsonl").write_text("{}\n")
    source = write(tmp_path / "rows.jsonl", ROWS)
    assert main(["predict", "negation-scope", source, str(tmp_path), "--model", model]) == 2
    assert "manifest.json does not exist; give another folder" in capsys.readouterr().err
    assert (tmp_path / "part-00000.jsonl").read_text() == "{}\n"


def test_columns_of_the_rows_are_not_replaced(model: str, tmp_path: Path, capsys: Any) -> None:
    source = write(tmp_path / "rows.jsonl", [row | {"error": 3} for row in ROWS])
    assert main(["predict", "negation-scope", source, str(tmp_path / "out"), "--model", model]) == 2
    assert "the rows have a column error already; rename it" in capsys.readouterr().err


def test_processes_share_the_shards(model: str, tmp_path: Path) -> None:
    source = write(tmp_path / "rows.jsonl", ROWS)
    words = ["predict", "negation-scope", source]
    options = ["--model", model, "--rows_per_shard", "1"]
    assert main([*words, str(tmp_path / "one"), *options]) == 0
    launch = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
    launch += ["--mixed_precision", "no", "--dynamo_backend", "no", "--module", "clozeformers.cli"]
    command = [sys.executable, *launch, *words, str(tmp_path / "two"), *options]
    subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=True, capture_output=True)
    assert read(tmp_path / "two") == read(tmp_path / "one")
    assert json.loads((tmp_path / "two" / "manifest.json").read_text())["finished"]


def test_a_killed_command_goes_on(model: str, tmp_path: Path) -> None:
    source = write(tmp_path / "rows.jsonl", [{"id": n, "text": TEXTS[n % 3]} for n in range(120)])
    options = ["--model", model, "--rows_per_shard", "4", "--format", "jsonl.gz"]
    words = ["predict", "negation-scope", source]
    assert main([*words, str(tmp_path / "whole"), *options]) == 0
    command = [sys.executable, "-m", "clozeformers.cli", *words, str(tmp_path / "killed"), *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while len(list((tmp_path / "killed").glob("part-*"))) < 3:
        assert process.poll() is None, "killed too late"
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert main([*words, str(tmp_path / "killed"), *options]) == 0
    whole, killed = (
        {path.name: path.read_bytes() for path in (tmp_path / name).glob("part-*")} for name in ("whole", "killed")
    )
    assert killed == whole
