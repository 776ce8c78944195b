"""Files are written atomically: whatever happens while one is written, the old one or the new one is there."""

from __future__ import annotations

import ast
import errno
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import clozeformers
from clozeformers.cli import main
from clozeformers.files import atomic_file, atomic_folder, remove_unfinished, write_json, write_text
from clozeformers.negation_scope.corpora.cd_sco import write_cd_sco
from clozeformers.negation_scope.corpora.jsonl import write_negation_jsonl

from .commands import WRITING_COMMANDS, contents, writing_command
from .tiny_tasks import save_word_encoder

GOLD = "c\t0\t0\tNo\tno\tX\t*\tNo\t_\t_\nc\t0\t1\tman\tman\tX\t*\t_\tman\t_\n\n"
ROW = {"tokens": ["no", "man"], "cue": [1, 0], "scope": [0, 1]}


def write_columns(folder: Path, version: int) -> None:
    gold = folder.with_name("gold.txt")
    gold.write_text(GOLD)
    write_cd_sco(gold, {"c/0#0": [0, version]}, folder / "a.txt")


WRITERS: dict[str, Callable[[Path, int], object]] = {
    "text": lambda folder, version: write_text(f"version {version}", folder / "a.txt"),
    "JSON": lambda folder, version: write_json({"version": version}, folder / "a.json"),
    "JSON lines": lambda folder, version: write_negation_jsonl([ROW] * (1 + version), folder / "a.jsonl"),
    "CD-SCO": write_columns,
}


@pytest.fixture(params=[*WRITERS, *WRITING_COMMANDS])
def write(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Path, int], object]:
    if request.param in WRITERS:
        return WRITERS[request.param]
    command = writing_command(request.param, tmp_path)
    return lambda folder, version: main(command(version, folder))


def test_a_full_disk_leaves_the_old_files(
    write: Callable[[Path, int], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    folder = tmp_path / "folder"
    write(folder, 0)
    before = contents(folder)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", is_full)
        with suppress(OSError):
            assert write(folder, 1) == 2  # a command prints the error
    assert contents(folder) == before
    assert not list(tmp_path.rglob("*.unfinished"))
    write(folder, 1)
    assert contents(folder).keys() == before.keys()
    assert contents(folder) != before


def test_a_file_keeps_its_links_and_rights(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    plain = tmp_path / "plain"
    plain.touch()
    write_text("text", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "text"
    assert (tmp_path / "file").stat().st_mode == plain.stat().st_mode


def test_a_new_folder_appears_with_all_of_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "model"
    with suppress(ZeroDivisionError), atomic_folder(folder) as unfinished:
        (unfinished / str(1 / 0)).touch()
    assert list((tmp_path / "a").iterdir()) == []
    with atomic_folder(folder) as unfinished:
        save_word_encoder(unfinished, "bert")
        assert not folder.exists()
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= contents(folder).keys()


def test_the_config_of_a_model_is_replaced_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["config.json", "model.safetensors", "sub/tokenizer.json"]
    (tmp_path / "config.json").write_text("old")
    moved: list[str] = []
    replace = Path.replace
    monkeypatch.setattr(Path, "replace", lambda self, target: (moved.append(self.name), replace(self, target)))
    with atomic_folder(tmp_path) as unfinished:
        (unfinished / "sub").mkdir()
        for name in names:
            (unfinished / name).write_text("new")
    assert moved == ["model.safetensors", "tokenizer.json", "config.json"]
    assert contents(tmp_path) == dict.fromkeys(names, b"new")


def test_what_a_killed_process_leaves_is_removed(tmp_path: Path) -> None:
    (tmp_path / "kept.json").touch()
    with atomic_file(tmp_path / "file") as file, atomic_folder(tmp_path) as folder:
        file.touch()
        (folder / "config.json").touch()
        remove_unfinished(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["kept.json"]
        file.touch()


def test_nothing_is_written_otherwise() -> None:
    """What copies WordNet and what copies sources write into temporary folders, which are renamed."""
    package = Path(clozeformers.__file__).parent
    written = {"write_text", "write_bytes", "to_csv", "to_json", "to_parquet", "dump", "copyfile", "copytree"}
    for path in package.rglob("*.py"):
        if path.name in ("files.py", "wordnet_install.py", "hub_export.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                assert node.func.attr not in written, f"{path}, line {node.lineno}"


def test_a_pipe_or_a_device_stays_one(tmp_path: Path) -> None:
    write_text("gone", os.devnull)
    assert Path(os.devnull).is_char_device()
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text("read", tmp_path / "pipe")
    assert os.read(reader, 9) == b"read"
    os.close(reader)
    code = "from clozeformers.files import write_text; print('a', flush=True); write_text('b', '/dev/stdout')"
    with (tmp_path / "out").open("w") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "a\nb"
