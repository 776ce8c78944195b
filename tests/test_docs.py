"""The code of the pages in docs runs, on tiny models and data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from transformers import pipeline

from clozeformers.negation_scope.corpora.jsonl import write_negation_jsonl

from .cloze_corpora import recam_rows, save_encoder, write_recam
from .hub_models import save_tiny, tiny_word_reader
from .negation_rows import negation_rows
from .qa_corpora import write_squad

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with what the pages name."""
    monkeypatch.chdir(tmp_path)
    save_tiny(tmp_path / "negation-model")
    write_negation_jsonl(negation_rows(16, seed=0), tmp_path / "negations.jsonl")
    reader = tiny_word_reader("bidaf")
    reader.tokenizer.model_max_length = 253
    reader.save_pretrained(tmp_path / "reader")
    save_encoder(tmp_path / "encoder", "bert")
    for number, part in enumerate(("train", "dev")):
        write_squad(tmp_path / f"squad-{part}.json", 8, number)
        write_recam(tmp_path / f"recam-{part}.jsonl", recam_rows(4, number))
    return tmp_path


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")  # in peft
def test_training(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```", (DOCS / "training.md").read_text(), re.MULTILINE | re.DOTALL):
        exec(compile(code, "docs/training.md", "exec"), names)
    printed = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("{'")]
    assert len(printed) == 3
    assert all(0 <= float(score) <= 100 for score in printed)
    assert 1e-5 <= names["best"].hyperparameters["learning_rate"] <= 1e-3
    for model in ("my-negation-model", "my-adapter"):
        found = pipeline("negation-scope", model=model)("I do not know the answer.")
        assert [negation["cue"]["text"] for negation in found] == ["not"]
    adapter, model = Path("my-adapter/adapter_model.safetensors"), Path("my-negation-model/model.safetensors")
    assert adapter.stat().st_size < model.stat().st_size
