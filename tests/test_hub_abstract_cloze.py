"""Abstract cloze checkpoints that carry their code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import AutoConfig, AutoModelForMultipleChoice, pipeline

from clozeformers import AlbertWithWNDuma, BertWithWNDuma, XLNetWithWNDuma
from clozeformers.cli import main as command_line
from clozeformers.hub import save_with_code

from .cloze_models import ARTICLE, tiny_wn_duma
from .wordnet_files import write_wordnet

INPUT = {"article": ARTICLE, "question": "The dog was @placeholder in the club .", "options": ["murdered", "secret"]}
MODELS = [AlbertWithWNDuma, BertWithWNDuma, XLNetWithWNDuma]
# Run where `clozeformers` cannot be imported.
FRESH = """
import json, sys
sys.modules["clozeformers"] = None
from transformers import AutoConfig, AutoModelForMultipleChoice, pipeline

answers = {}
for place in json.load(sys.stdin):
    things = [auto.from_pretrained(place, trust_remote_code=True) for auto in (AutoConfig, AutoModelForMultipleChoice)]
    cloze = pipeline("abstract-cloze", model=place, device="cpu", trust_remote_code=True)
    for thing in (*things, cloze):
        assert type(thing).__module__.startswith("transformers_modules."), type(thing)
    answers[place] = cloze(INPUT)
assert "datasets" not in sys.modules
print("ANSWERS" + json.dumps(answers))
"""


@pytest.fixture
def wordnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_wordnet(tmp_path / "home" / "corpora" / "wordnet")
    monkeypatch.setenv("CLOZEFORMERS_HOME", str(tmp_path / "home"))


def same(found: list[dict[str, object]]) -> list[dict[str, object]]:
    return [one | {"score": pytest.approx(one["score"], rel=1e-4)} for one in found]


def test_loads_where_the_library_is_not_installed(tmp_path: Path, wordnet: None) -> None:
    expected = {}
    for model in MODELS:
        cloze = tiny_wn_duma(model)
        save_with_code(cloze, tmp_path / model.__name__)
        expected[str(tmp_path / model.__name__)] = cloze(INPUT)
    done = subprocess.run(
        [sys.executable, "-c", f"{INPUT=}\n{FRESH}"],
        input=json.dumps(list(expected)),
        env=os.environ | {"HF_HUB_OFFLINE": "1", "HF_MODULES_CACHE": str(tmp_path / "modules"), "OMP_NUM_THREADS": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout.rpartition("ANSWERS")[2])
    for place, found in expected.items():
        assert answers[place] == same(found)
        assert sorted(len(one["definitions"]) for one in found) == [1, 2]


def test_the_command_exports_it(tmp_path: Path, wordnet: None) -> None:
    tiny_wn_duma(BertWithWNDuma).save_pretrained(tmp_path / "model")
    assert command_line(["export", str(tmp_path / "model"), str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "clozeformers_pipelines_abstract_cloze.py").exists()


@pytest.mark.parametrize("model", MODELS)
def test_the_librarys_own_classes_are_used_where_it_is_imported(model: type, tmp_path: Path, wordnet: None) -> None:
    cloze = tiny_wn_duma(model)
    for source in save_with_code(cloze, tmp_path / "model"):
        source.write_text("raise RuntimeError('code of the checkpoint was run')\n")
    assert type(AutoConfig.from_pretrained(tmp_path / "model")) is type(cloze.model.config)
    assert type(AutoModelForMultipleChoice.from_pretrained(tmp_path / "model")) is model
    loaded = pipeline("abstract-cloze", model=str(tmp_path / "model"), device="cpu")
    assert type(loaded) is type(cloze)
    assert loaded(INPUT) == same(cloze(INPUT))
