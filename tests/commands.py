"""The commands that write files, each in two versions that write different contents into the same files."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import TrainerState

from .hub_models import tiny_pipeline
from .qa_corpora import write_squad

WRITING_COMMANDS = ("ensemble", "analyze", "curves", "export")


def writing_command(name: str, inputs: Path) -> Callable[[int, Path], list[str]]:
    """Prepare the inputs of a command; returns its command line, given the version, 0 or 1, and the folder to write."""
    data = write_squad(inputs / "data.json", 8, 0)
    articles = json.loads(data.read_text())["data"]
    ids = [qa["id"] for article in articles for paragraph in article["paragraphs"] for qa in paragraph["qas"]]
    for version in (0, 1):
        (inputs / f"predictions-{version}.json").write_text(json.dumps(dict.fromkeys(ids, ["Ada", "Bruno"][version])))
        (inputs / f"run-{version}").mkdir()
        log = [{"eval_f1": 0.3 + 0.5 * version, "epoch": 1.0, "step": 10}]
        TrainerState(log_history=log).save_to_json(str(inputs / f"run-{version}" / "trainer_state.json"))
        if name == "export":
            model = tiny_pipeline("bert")
            with torch.no_grad():
                next(model.model.parameters()).fill_(version)
            model.save_pretrained(inputs / f"model-{version}")

    def command(version: int, folder: Path) -> list[str]:
        predictions = inputs / f"predictions-{version}.json"
        words: dict[str, list[str | Path]] = {
            "ensemble": [data, predictions, "--output", folder / "chosen.json"],
            "analyze": [data, predictions, folder],
            "curves": ["eval_f1", inputs / f"run-{version}", "--output", folder],
            "export": ["code", inputs / f"model-{version}", folder],
        }
        return [name, *map(str, words[name])]

    return command


def send(monkeypatch: pytest.MonkeyPatch, text: str | bytes) -> None:
    """Put text on the standard input."""
    content = text.encode() if isinstance(text, str) else text
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder, without those that are not finished."""
    files = (path for path in folder.rglob("*") if path.is_file() and ".unfinished" not in str(path))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
