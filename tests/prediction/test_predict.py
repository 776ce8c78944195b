"""Whole data sets: every kind of source and format, rows that fail, commands that are killed."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset

from clozeformers import BertWithWNDuma
from clozeformers.cli import main
from clozeformers.files import read_json
from clozeformers.prediction.formats import FORMATS
from clozeformers.prediction.predictor import ERROR, PREDICTION, Predictor
from clozeformers.prediction.shards import Shards
from clozeformers.prediction.sources import Placed, check_folder, count_rows, read_source
from clozeformers.rows import read_rows, read_whole_rows

from ..cloze_models import tiny_wn_duma
from ..commands import send
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
    assert manifest["files"] == [f"part-000000{number}.{format}" for number in (0, 1)]


def test_folders_and_the_standard_input(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "b.jsonl", ROWS[1:])
    write(tmp_path / "in" / "a.txt", ROWS[:1])
    assert [row["text"] for _, row in read_source(str(tmp_path / "in"))] == TEXTS
    send(monkeypatch, f'\ufeff{{"text": "{TEXTS[0]}"}}\n{TEXTS[1]}\n\n{TEXTS[2]}\n')
    assert list(read_source("-")) == [
        (f"the standard input, line {line}", {"text": text}) for line, text in zip((1, 2, 4), TEXTS, strict=True)
    ]
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
    assert f"clozeformers predict: error: {source}, line 2: " in capsys.readouterr().err
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
    if task == "abstract-cloze":  # as ReCAM writes it, in CSV too
        numbered = {"article": rows["article"], "question": rows["question"], "option_0": "a", "option_1": "b"}
        for ending in ("jsonl", "csv"):
            command[2:4] = write(tmp_path / f"numbered.{ending}", [numbered, numbered]), str(tmp_path / ending)
            assert main(command) == 0
            assert read(tmp_path / ending)[1]["prediction"] == second["prediction"]
        command[2] = source
    # A part of one row, which some pipelines answer by itself, and one that cannot be read.
    write(tmp_path / "rows.jsonl", [rows, rows | {next(iter(rows)): 5}])
    command[3] = str(tmp_path / "single")
    assert main([*command, "--rows_per_shard", "1", "--on_error", "skip"]) == 0
    one, wrong = read(tmp_path / "single")
    assert one["error"] == "" != wrong["error"]
    assert one["prediction"]
    assert wrong["prediction"] is None


def test_it_is_what_datasets_maps(model: str) -> None:
    rows = Dataset.from_list(ROWS).map(Predictor("negation-scope", model), batched=True, batch_size=2)
    assert rows.column_names == ["id", "text", "prediction", "error"]
    assert [cue["cue"]["text"] for cue in json.loads(rows[0]["prediction"])] == ["not"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--column", "txt=a"], "has no input 'txt'; did you mean text?"),
        (["--column", "text=sentence"], "there is no column sentence; there are id, text: give --column text=NAME"),
        (["--set", "a"], "give --set NAME=VALUE"),
        (["--set", "batch_size=8"], "--set batch_size: there is no such parameter; give --batch_size"),
        (["--set", "trust_remote_code=true"], "no such parameter; there are affixes, convention, cue_detector, "),
        (["--set", "convetnion=sfu"], "no such parameter; did you mean convention?"),
        (["--set", "dtype=int8"], "--set dtype=int8: no model has such numbers; give auto, float32"),
        (["--set", "device=1.5"], "the device 1.5 cannot be used: "),
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
    assert "part-0000000.jsonl holds other rows than the source has now; give another folder" in capsys.readouterr().err
    assert read(tmp_path / "out") == before
    (tmp_path / "out" / "manifest.json").write_text('{"settings": 5}')
    assert main(command) == 2
    assert "manifest.json is damaged: it has no settings; give another folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"one\n\xff\n", "a.txt, line 2: the bytes b'\\xff' are not UTF-8"),
        ("a.txt", "one".encode("utf-16-le"), "a.txt, line 1: the file is binary, or text in another encoding"),
        ("a.jsonl", b'{"text": "x"}\n{"text"\n', "a.jsonl, line 2: "),
        ("a.csv", b"text,id,text\na,1,b\n", "a.csv, line 1: the column 'text' occurs twice; rename one"),
        ("-", b"one\n\xe9\n", "the standard input, line 2: the bytes b'\\xe9' are not UTF-8"),
        (
            "-",
            gzip.compress(b"one", mtime=0),
            "the standard input, line 1: the file is compressed with gzip; unpack it",
        ),
        pytest.param("-", b'{"a":' * 100_000, "the standard input, line 1: the JSON is nested too deeply", id="deep"),
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
        send(monkeypatch, content or b"")
    elif content is not None:
        Path(source).write_bytes(content)
    assert main(["predict", "negation-scope", source, str(tmp_path / "out"), "--model", model]) == 2
    error = capsys.readouterr().err.splitlines()[-1]  # after the bars of loading the model
    assert error.startswith("clozeformers predict: error: ")
    assert message in error


def test_parts_of_another_command_are_left(model: str, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "part-0000000.jsonl").write_text("{}\n")
    source = write(tmp_path / "rows.jsonl", ROWS)
    assert main(["predict", "negation-scope", source, str(tmp_path), "--model", model]) == 2
    assert "manifest.json does not exist; give another folder" in capsys.readouterr().err
    assert (tmp_path / "part-0000000.jsonl").read_text() == "{}\n"


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


ODD_ROWS: list[dict[str, Any]] = [
    {"id": None, "note": 'a\r\nb,"c"', "list": [1, None, "x"], "half": "\ud800", "text": TEXTS[0]},
    {"id": 1.5, "note": "", "list": [], "half": None, "text": TEXTS[1]},
    {"id": float("nan"), "note": "\u2028\ufeff", "list": None, "text": TEXTS[2]},
]


def predicted(shards: Shards, rows: list[dict[str, Any]], error: str = "") -> list[int]:
    """Write what is waiting; returns the numbers of these shards."""
    shards.begin()
    written = []
    for shard in shards.waiting(Placed("here", row) for row in rows):
        if shard.known is None:
            shards.write(shard, {PREDICTION: ["[]"] * len(shard.rows), ERROR: [error] * len(shard.rows)})
            written.append(shard.number)
    return written


@pytest.mark.parametrize("format", FORMATS)
def test_rows_are_known_again_in_every_format(format: str, tmp_path: Path) -> None:
    rows = [dict(row) for row in ODD_ROWS * 2]
    if format == "parquet":  # values of one type; the last shard has none of some types
        rows = [row | {"id": 1, "list": [{"a": "x"}] if number < 4 else []} for number, row in enumerate(rows)]
    assert predicted(Shards(tmp_path, {}, format, 4), rows) == [0, 1]
    assert predicted(Shards(tmp_path, {}, format, 4), rows) == []
    changed = [*rows[:5], rows[5] | {"note": "another"}]
    for other in (changed, rows[:4], rows[:1], [row | {"error": "x"} for row in rows]):
        with pytest.raises(ValueError, match=r"part-000000[01]\.\w+(\.gz)? holds other rows than the source has now"):
            predicted(Shards(tmp_path, {}, format, 4), other)
    first = Shards(tmp_path, {}, format, 4).path(0)
    first.unlink()
    with pytest.raises(ValueError, match="holds other rows"):
        predicted(Shards(tmp_path, {}, format, 4), changed)
    assert not first.exists(), "what the refused command has written is removed"
    assert predicted(Shards(tmp_path, {}, format, 4), rows) == [0]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_parts_of_a_table_have_the_same_columns(format: str, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"a": None, "b": [1]}, {"a": "x"}, {"b": [2]}]
    predicted(Shards(tmp_path, {}, format, 1), rows)
    files = sorted(tmp_path.glob("part-*"))
    if format == "parquet":
        assert len({str(pq.read_schema(file)) for file in files}) == 1
    else:
        assert len({file.read_text().splitlines()[0] for file in files}) == 1
    found = [row for file in files for _, row in read_rows(file, json_columns=["b"])]
    assert [{name: row[name] for name in ("a", "b") if name in row} for row in found] == [{"b": [1]}, *rows[1:]]
    with pytest.raises(ValueError, match=r"here: none of the first 1 rows has the column 'c'.*--format jsonl"):
        predicted(Shards(tmp_path, {}, format, 1), [*rows, {"c": 1}])


@pytest.mark.parametrize(
    ("later", "message"),
    [
        ({"a": "x"}, "several types"),
        ({"a": 2**70}, "several types"),
        ({"b": [{"new": 1}]}, "b has new in some rows only"),
    ],
)
def test_parquet_leaves_nothing_out(later: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"{message}.*; give --format jsonl"):
        predicted(Shards(tmp_path, {}, "parquet", 1), [{"a": 1, "b": [{"known": "y"}]}, later])


def test_parquet_keeps_its_types(model: str, tmp_path: Path) -> None:
    columns: dict[str, tuple[pa.DataType, list[Any]]] = {
        "text": (pa.string(), TEXTS[:2]),
        "sparse": (pa.int64(), [None, 5]),
        "price": (pa.decimal128(10, 2), [Decimal("1.50"), Decimal("100.00")]),
        "time": (pa.timestamp("ns", tz="UTC"), [1, 1_600_000_000_000_000_001]),
        "huge": (pa.uint64(), [2**64 - 1, 0]),
        "small": (pa.int8(), [1, 2]),
        "tags": (pa.list_(pa.string()), [[], ["a"]]),
        "nested": (pa.struct([("a", pa.int32()), ("b", pa.string())]), [{"a": None, "b": None}, {"a": 1, "b": "x"}]),
        "map": (pa.map_(pa.string(), pa.int8()), [[("a", 1)], []]),
    }
    table = pa.table({name: pa.array(values, kind) for name, (kind, values) in columns.items()})
    pq.write_table(table, tmp_path / "rows.parquet")
    source, options = str(tmp_path / "rows.parquet"), ["--model", model, "--rows_per_shard", "1"]
    for _ in range(2):
        assert main(["predict", "negation-scope", source, str(tmp_path / "out"), *options, "--format", "parquet"]) == 0
    written = pa.concat_tables(pq.read_table(file) for file in sorted((tmp_path / "out").glob("part-*")))
    assert written.drop_columns(["prediction", "error"]) == table
    for _ in range(2):
        assert main(["predict", "negation-scope", source, str(tmp_path / "csv"), *options, "--format", "csv"]) == 0
    cells = pd.read_csv(tmp_path / "csv" / "part-0000000.csv", dtype=str)
    assert (cells["price"][0], cells["tags"][0], cells["huge"][0]) == ("1.50", "[]", str(2**64 - 1))


def test_csv_keeps_its_columns_and_line_ends(model: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(b'id,note,none,text\n1,,,"I do\rnot know."\n2,x,,\n3,"a\r\nb\nc",,No.\n')
    command = ["predict", "negation-scope", str(tmp_path / "rows.csv"), str(tmp_path / "out"), "--model", model]
    for _ in range(2):
        assert main([*command, "--format", "csv", "--rows_per_shard", "1", "--on_error", "skip"]) == 0
    found = [row for file in sorted((tmp_path / "out").glob("part-*")) for _, row in read_whole_rows(file)]
    assert [list(row)[:4] for row in found] == [["id", "note", "none", "text"]] * 3
    assert [(row["note"], row["none"], row["text"]) for row in found] == [
        *((None, None, "I do\rnot know."), ("x", None, None)),
        ("a\r\nb\nc", None, "No."),
    ]


def test_a_model_that_has_changed_is_another(model: str, tmp_path: Path, capsys: Any) -> None:
    source, own = write(tmp_path / "rows.jsonl", ROWS), tmp_path / "model"
    shutil.copytree(model, own)
    command = ["predict", "negation-scope", source, str(tmp_path / "out"), "--model", str(own)]
    assert main(command) == 0
    below = [*command[:3], str(own / "predictions"), *command[4:]]
    assert main(below) == main(below) == 0, "what lies below the model is not the model"
    config = json.loads((own / "config.json").read_text())
    (own / "config.json").write_text(json.dumps(config | {"note": 1}))
    assert main(command) == 2
    assert "another command, whose contents of the model differed" in capsys.readouterr().err


def test_errors_are_not_forgotten(model: str, tmp_path: Path, capsys: Any) -> None:
    source = write(tmp_path / "rows.jsonl", [*ROWS, {"id": 9, "text": 5}])
    command = ["predict", "negation-scope", source, str(tmp_path / "out"), "--model", model]
    for _ in range(2):
        assert main([*command, "--on_error", "skip"]) == 0
        assert "finished; 1 row has an error" in capsys.readouterr().out
    assert main(command) == 2
    assert f"{source}, line 4: " in capsys.readouterr().err


def test_the_standard_input_is_not_taken_for_another(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    command = ["predict", "negation-scope", "-", str(tmp_path / "out"), "--model", model]
    for texts, code in ((TEXTS, 0), (TEXTS, 0), (TEXTS[::-1], 2)):
        send(monkeypatch, "\n".join(texts))
        assert main(command) == code
    assert "holds other rows than the source has now" in capsys.readouterr().err
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="several processes cannot share the standard input"):
        next(read_source("-"))


def test_nothing_in_a_folder_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for number, folder in enumerate((inside / "b", inside / "a" / "deep", outside)):
        folder.mkdir(parents=True)
        write(folder / "rows.jsonl", [ROWS[number]])
    (inside / "c").symlink_to(outside)
    assert [row["id"] for _, row in read_source(str(inside))] == [1, 0, 2]
    with pytest.raises(ValueError, match=r"b lies in .*, whose rows its parts would become"):
        check_folder(str(inside), inside / "b")
    with pytest.raises(ValueError, match="whose rows its parts would become"):
        check_folder(str(inside), outside / "new")
    check_folder(str(inside), tmp_path / "new")
    (outside / "round").symlink_to(inside)
    with pytest.raises(OSError, match=r"in/c/round is a link to a folder that holds it"):
        next(read_source(str(inside)))
    (outside / "round").unlink()
    scan = os.scandir

    def scandir(path: Any) -> Any:
        if Path(path) == inside / "b":
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr("os.scandir", scandir)
    with pytest.raises(PermissionError, match="in/b"):
        next(read_source(str(inside)))


def test_a_pipe_is_no_source(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.jsonl")
    with pytest.raises(ValueError, match="is a pipe or a device; give - as the source"):
        next(read_source(str(tmp_path / "rows.jsonl")))
    with pytest.raises(ValueError, match="is a pipe or a device, which can be read only once"):
        read_json(tmp_path / "rows.jsonl")


def test_rows_of_other_kinds_fail_by_themselves(model: str, tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_text(f'{json.dumps(ROWS[0])}\n{{"id": 1}}\n{{"id": 2, "text": "\\ud800"}}\n')
    command = [
        "predict",
        "negation-scope",
        str(source),
        str(tmp_path / "out"),
        "--model",
        model,
        "--rows_per_shard",
        "1",
    ]
    assert main([*command, "--on_error", "skip", "--format", "parquet"]) == 0
    assert [bool(row["error"]) for row in read(tmp_path / "out")] == [False, True, True]
