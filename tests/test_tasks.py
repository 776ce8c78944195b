"""The table of tasks: a fourth task is one folder, one pipeline, one script and one row."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from transformers.models.auto.modeling_auto import MODEL_MAPPING

import clozeformers
from clozeformers.tasks import TASKS, task_named, task_of_model

from .conftest import build_tokenizer

TOY = Path(__file__).with_name("toy_task")
ROW = """
    Task(
        name="word_presence",
        pipeline_name="word-presence",
        pipeline=WordPresencePipeline,
        auto_model=AutoModelForSequenceClassification,
        models=(WordPresenceModel,),
        script="run_word_presence",
        tokenizer=BertTokenizer,
    ),
"""
IMPORTS = """
from transformers import AutoModelForSequenceClassification, BertTokenizer
from .pipelines.word_presence import WordPresencePipeline
from .word_presence.model import WordPresenceModel
"""
TRAIN = """
import json, sys
import clozeformers
from clozeformers.hub import save_with_code
from clozeformers.cli import main
from clozeformers.tasks import task_named
from transformers import pipeline

folder = sys.argv[1]
rows = f"{folder}/rows.jsonl"
arguments = ["--tokenizer", f"{folder}/tokenizer", "--train_file", rows, "--test_file", rows, "--max_steps", "1"]
arguments += ["--output_dir", f"{folder}/run", "--use_cpu", "true", "--save_strategy", "no"]
record = task_named("word-presence").main(arguments)
assert 0 <= record["scores"]["rows"]["accuracy"]["mean"] <= 100
assert main(["results", f"{folder}/run/results.json"]) == 0
assert "prints" in open(f"{folder}/run/README.md").read()
reader = pipeline("word-presence", model=f"{folder}/run", device="cpu")
assert type(reader.model).__module__ == "clozeformers.word_presence.model"
save_with_code(reader, f"{folder}/coded")
print("ANSWER" + json.dumps(reader([{"word": "cat", "text": "i see the cat"}, {"word": "cat", "text": "i see"}])))
"""
LOAD = """
import json, sys
sys.modules["clozeformers"] = None
from transformers import AutoModelForSequenceClassification, pipeline

place = sys.argv[1] + "/coded"
model = AutoModelForSequenceClassification.from_pretrained(place, trust_remote_code=True)
reader = pipeline("word-presence", model=place, trust_remote_code=True, device="cpu")
for thing in (model, reader):
    assert type(thing).__module__.startswith("transformers_modules."), type(thing)
print("ANSWER" + json.dumps(reader([{"word": "cat", "text": "i see the cat"}, {"word": "cat", "text": "i see"}])))
"""


def answer_of(code: str, folder: Path, library: Path) -> object:
    environment = {**os.environ, "PYTHONPATH": str(library), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    environment["HF_MODULES_CACHE"] = str(folder / "modules")
    command = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.rpartition("ANSWER")[2])


def test_a_fourth_task_is_one_folder_one_pipeline_one_script_and_one_row(tmp_path: Path) -> None:
    library = tmp_path / "library"
    package = library / "clozeformers"
    left_out = shutil.ignore_patterns("__pycache__", "models")
    shutil.copytree(Path(clozeformers.__file__).parent, package, ignore=left_out)
    shutil.copytree(TOY, package, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    table = (package / "tasks.py").read_text()
    before, row, after = table.partition("TASKS: tuple[Task, ...] = (\n")
    (package / "tasks.py").write_text(before + IMPORTS + row + ROW.lstrip("\n") + after)
    build_tokenizer().save_pretrained(tmp_path / "tokenizer")
    texts = [("cat", "i see the cat", 1), ("door", "i see the cat", 0)] * 4
    rows = [json.dumps({"word": word, "text": text, "labels": label}) for word, text, label in texts]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    trained = answer_of(TRAIN, tmp_path, library)
    assert [set(answer) for answer in trained] == [{"present", "score"}] * 2
    loaded = answer_of(LOAD, tmp_path, library)
    assert [answer["score"] for answer in loaded] == pytest.approx([answer["score"] for answer in trained])


def test_every_row_is_whole() -> None:
    package = Path(clozeformers.__file__).parent
    for task in TASKS:
        assert task.card.task == task.pipeline_name
        assert callable(task.main)
        assert (package / task.name).is_dir()
        assert list((package / "configs" / task.name).glob("*.yaml"))
        assert all(task_of_model(model) is task for model in task.models)
        assert all(MODEL_MAPPING[model.config_class] is model for model in task.models)
        assert task_named(task.name) is task_named(task.pipeline_name) is task
        if task.has_analysis:
            assert callable(task.analysis.analyze_files)
        assert callable(task.drawing.render)
    with pytest.raises(ValueError, match="results of 'negation-scope' cannot be drawn"):
        _ = replace(task_named("negation-scope"), has_drawing=False).drawing
    with pytest.raises(ValueError, match="there is no task 'sentiment'; there are negation-scope, extractive"):
        task_named("sentiment")
