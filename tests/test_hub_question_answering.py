"""QANet and BiDAF checkpoints that carry their code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForQuestionAnswering, AutoTokenizer, pipeline

from clozeformers import (
    BiDAFConfig,
    BiDAFForQuestionAnswering,
    ExtractiveQuestionAnsweringPipeline,
    QANetConfig,
    QANetForQuestionAnswering,
    WordCharTokenizer,
)
from clozeformers.hub import save_with_code

QUESTION, CONTEXT = "Who wrote the letter?", "The letter was written by Ada Lovelace in 1843, says Bruno."
SIZES = {"hidden_size": 16, "num_attention_heads": 2, "word_embedding_size": 8, "num_char_filters": 4}
KINDS: dict[str, Any] = {
    "qanet": (QANetForQuestionAnswering, QANetConfig, {"num_model_blocks": 1, "attention": "OA-EM"}),
    "bidaf": (BiDAFForQuestionAnswering, BiDAFConfig, {"attention": "combined", "span_rescoring": "window-max"}),
}
# Run where `clozeformers` cannot be imported.
FRESH = """
import json, sys
sys.modules["clozeformers"] = None
from transformers import AutoConfig, AutoModelForQuestionAnswering, AutoTokenizer, pipeline

answers = {}
for place in json.load(sys.stdin):
    autos = (AutoConfig, AutoModelForQuestionAnswering, AutoTokenizer)
    things = [auto.from_pretrained(place, trust_remote_code=True) for auto in autos]
    answer = pipeline("extractive-question-answering", model=place, device="cpu", trust_remote_code=True)
    for thing in (*things, answer):
        assert type(thing).__module__.startswith("transformers_modules."), type(thing)
    answers[place] = answer(question=QUESTION, context=CONTEXT)
print("ANSWERS" + json.dumps(answers))
"""


def tiny(kind: str) -> ExtractiveQuestionAnsweringPipeline:
    model_class, config_class, fields = KINDS[kind]
    tokenizer = WordCharTokenizer.train_from_texts([QUESTION, CONTEXT], model_max_length=60)
    torch.manual_seed(0)
    config = config_class(vocab_size=len(tokenizer), char_vocab_size=tokenizer.character_vocab_size, **(SIZES | fields))
    return ExtractiveQuestionAnsweringPipeline(
        model=model_class(config).eval(), tokenizer=tokenizer, task="extractive-question-answering", device="cpu"
    )


def test_loads_where_the_library_is_not_installed(tmp_path: Path) -> None:
    expected = {}
    for kind in KINDS:
        answer = tiny(kind)
        save_with_code(answer, tmp_path / kind)
        expected[str(tmp_path / kind)] = answer(question=QUESTION, context=CONTEXT)
    environment = os.environ | {
        "HF_HUB_OFFLINE": "1",
        "HF_MODULES_CACHE": str(tmp_path / "modules"),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", f"{QUESTION=}\n{CONTEXT=}\n{FRESH}"],
        input=json.dumps(list(expected)),
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout.rpartition("ANSWERS")[2])
    for place, answer in expected.items():
        assert answers[place] == answer | {"score": pytest.approx(answer["score"], rel=1e-4)}


@pytest.mark.parametrize("kind", KINDS)
def test_the_librarys_own_classes_are_used_where_it_is_imported(kind: str, tmp_path: Path) -> None:
    answer = tiny(kind)
    for source in save_with_code(answer, tmp_path):
        source.write_text("raise RuntimeError('code of the checkpoint was run')\n")
    assert type(AutoConfig.from_pretrained(tmp_path)) is type(answer.model.config)
    assert type(AutoModelForQuestionAnswering.from_pretrained(tmp_path)) is type(answer.model)
    assert type(AutoTokenizer.from_pretrained(tmp_path)) is WordCharTokenizer
    loaded = pipeline("extractive-question-answering", model=str(tmp_path), device="cpu")
    assert type(loaded) is type(answer)
    same = answer(question=QUESTION, context=CONTEXT)
    assert loaded(question=QUESTION, context=CONTEXT) == same | {"score": pytest.approx(same["score"], rel=1e-4)}


@pytest.mark.parametrize("kind", KINDS)
def test_saving_and_loading_changes_no_logit(kind: str, tmp_path: Path) -> None:
    answer = tiny(kind)
    answer.save_pretrained(tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} <= {".json", ".safetensors"}
    model = AutoModelForQuestionAnswering.from_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    inputs = tokenizer(QUESTION, CONTEXT, return_tensors="pt")
    assert inputs.keys() == {"input_ids", "attention_mask", "token_type_ids", "char_ids"}
    with torch.no_grad():
        # Equal but for the last bits, which depend on how memory is aligned.
        torch.testing.assert_close(model(**inputs).start_logits, answer.model(**inputs).start_logits, atol=1e-5, rtol=0)
    trained = {name for name, value in model.named_parameters() if value.requires_grad}
    assert "embeddings.word_vectors.weight" not in trained
