"""What a saved model says of the cues that it was trained on, and what the pipeline makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoConfig, pipeline

from clozeformers import BertNegationScopeOAConfig
from clozeformers.negation_scope.corpora.jsonl import write_negation_jsonl

from ..tiny_tasks import LAST, TinyTask, tiny_negation_scope

WORDS = {"tokens": ["it", "is", "not", "here"], "cue": [0, 0, 1, 0], "scope": [1, 1, 0, 1]}
AFFIX = {"tokens": ["it", "is", "impossible"], "cue": [0, 0, 1], "cue_text": "im", "scope": [1, 1, 1]}
TEXT = "it is impossible , and it is not here"


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> TinyTask:
    return tiny_negation_scope(tmp_path_factory.mktemp("task"))


def train(task: TinyTask, folder: Path, *rows: dict[str, Any], kind: str = "negation") -> dict[str, Any]:
    write_negation_jsonl([{**row, "kind": kind} for row in rows], folder / "mine.jsonl")
    files = ["--train_file", str(folder / "mine.jsonl"), "--test_file", str(folder / "mine.jsonl")]
    return task.run(folder / "run", *files, *LAST, "--max_steps", "1", "--kind", kind)


def cues(folder: Path, given: Any = TEXT, **options: Any) -> list[str]:
    negation = pipeline("negation-scope", model=str(folder / "run"), device="cpu")
    return [found["cue"]["text"] for found in negation(given, **options)]


@pytest.mark.parametrize(
    ("rows", "conventions", "affixes"),
    [
        ([WORDS], [], False),
        ([WORDS, AFFIX], [], True),
        ([WORDS | {"corpus": "cd-sco"}], ["cd-sco"], True),
        ([WORDS | {"corpus": "sfu"}, AFFIX | {"corpus": "bioscope"}], ["bioscope", "sfu"], False),
    ],
)
def test_the_config_says_what_the_corpora_mark(
    rows: list[dict[str, Any]], conventions: list[str], affixes: bool, task: TinyTask, tmp_path: Path
) -> None:
    train(task, tmp_path, *rows)
    config = AutoConfig.from_pretrained(tmp_path / "run")
    assert (config.kind, config.conventions, config.affixes) == ("negation", conventions, affixes)
    assert cues(tmp_path) == (["im", "not"] if affixes else ["not"])
    assert cues(tmp_path, affixes=not affixes) == (["not"] if affixes else ["im", "not"])


def test_a_model_of_speculation_does_not_look_for_negation(task: TinyTask, tmp_path: Path) -> None:
    record = train(task, tmp_path, WORDS, kind="speculation")
    assert AutoConfig.from_pretrained(tmp_path / "run").kind == "speculation"
    assert '"cues": ["may"]' in (tmp_path / "run" / "README.md").read_text()
    with pytest.raises(ValueError, match=r'cues of speculation, .* give "cues" with the text'):
        cues(tmp_path)
    assert cues(tmp_path, {"text": TEXT, "cues": ["impossible"]}) == ["impossible"]
    assert cues(tmp_path, cue_detector=lambda text: [{"start": 0, "end": 2}]) == ["it"]
    scoring = ["--model_name_or_path", str(tmp_path / "run"), "--test_file", str(tmp_path / "mine.jsonl")]
    again = TinyTask("negation_scope", {}, []).run(tmp_path / "again", *scoring)
    assert (again["data"]["kind"], again["scores"]) == ("speculation", record["scores"])
    with pytest.raises(ValueError, match=r"--kind negation, but .* was trained with speculation; leave the option out"):
        TinyTask("negation_scope", {}, []).run(tmp_path / "other", *scoring, "--kind", "negation")


def test_a_config_that_does_not_say_is_read_as_before(tiny_model_folder: Path) -> None:
    fields = json.loads((tiny_model_folder / "config.json").read_text())
    assert [fields.get(name) for name in ("kind", "conventions", "affixes")] == [None] * 3
    found = pipeline("negation-scope", model=str(tiny_model_folder), device="cpu")(TEXT)
    assert [each["cue"]["text"] for each in found] == ["im", "not"]
    with pytest.raises(ValueError, match="kind is 'none'; it must be 'negation', 'speculation' or None"):
        BertNegationScopeOAConfig(kind="none")
