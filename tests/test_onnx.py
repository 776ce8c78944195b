"""Pipelines run by onnxruntime, beside PyTorch."""

from __future__ import annotations

import pickle
import shutil
import sys
from collections.abc import Callable
from copy import copy, deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import pipeline

from clozeformers import BertWithWNDuma, onnx_export, save_as_onnx
from clozeformers.cli import main
from clozeformers.onnx_export import example_features, quantise
from clozeformers.pipelines.base import TextPipeline
from clozeformers.pipelines.onnx_model import OnnxModel

from .cloze_models import ARTICLE, FakeReader, tiny_cloze, tiny_wn_duma
from .hub_models import QUESTION, TEXTS, tiny_pipeline, tiny_word_reader
from .qa_models import CONTEXT, tiny_reader

QUESTIONS = [
    QUESTION,
    {"question": "Who?", "context": CONTEXT},
    {"question": "Who sits on it?", "context": CONTEXT * 3},
]
CLOZES = [
    {"article": article, "question": "The cat is @placeholder .", "options": options}
    for article, options in (
        (ARTICLE, ["happy", "very new"]),
        ("A dog sat.", ["in", "was", "on"]),
        (ARTICLE * 2, ["a", "it"]),
    )
]
GAP = {"option_features": "gap", "num_co_attention_layers": 0, "use_definitions": False, "mask_token_id": 4}
CUES = {"finds_cues": True, "num_attention_blocks": 1}
# Name -> how to build a pipeline, its inputs, and parameters of the call.
CASES: dict[str, tuple[Callable[[], TextPipeline], list[Any], dict[str, Any]]] = {
    "scopes": (lambda: tiny_pipeline("roberta", cue_token="[CUE]"), TEXTS, {"return_words": True}),
    "cues and scopes": (lambda: tiny_pipeline("bert", **CUES), TEXTS, {"return_words": True}),
    "bidaf": (lambda: tiny_word_reader("bidaf"), QUESTIONS, {"top_k": 3}),
    "definitions": (lambda: tiny_wn_duma(BertWithWNDuma), CLOZES, {"option_reader": FakeReader()}),
    "gap": (lambda: tiny_wn_duma(BertWithWNDuma, **GAP), CLOZES, {}),
    "multiple choice": (lambda: tiny_cloze("roberta"), CLOZES, {}),
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[TextPipeline, str]]:
    """Export a case, once."""

    @cache
    def export(name: str) -> tuple[TextPipeline, str]:
        torch_pipeline, folder = CASES[name][0](), tmp_path_factory.mktemp("export") / "model"
        save_as_onnx(torch_pipeline, folder)
        return torch_pipeline, str(folder)

    return export


def numbers(results: Any) -> list[float]:
    """All scores and probabilities, in order of their places."""
    if isinstance(results, dict):
        return [one for key in sorted(results) for one in numbers(results[key])]
    if isinstance(results, list):
        return [one for each in results for one in numbers(each)]
    return [results] if isinstance(results, (int, float)) else []


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_pytorch(name: str, exported: Any) -> None:
    torch_pipeline, folder = exported(name)
    _, inputs, parameters = CASES[name]
    onnx = pipeline(torch_pipeline.task, model=folder, backend="onnx")
    assert isinstance(onnx.model, OnnxModel)
    expected = torch_pipeline(inputs, **parameters)
    for batch_size in (1, 3):
        assert numbers(onnx(inputs, batch_size=batch_size, **parameters)) == pytest.approx(numbers(expected), abs=1e-4)
    assert onnx.readable_length() == torch_pipeline.readable_length()


@pytest.mark.parametrize("name", ["cues and scopes", "bidaf", "definitions"])
def test_eight_bits_are_close(name: str, exported: Any, tmp_path: Path) -> None:
    torch_pipeline, folder = exported(name)
    _, inputs, parameters = CASES[name]
    shutil.copytree(folder, tmp_path / "small")
    for path in (tmp_path / "small").glob("*.onnx"):
        quantise(path)
    onnx = pipeline(torch_pipeline.task, model=str(tmp_path / "small"))
    features = example_features(torch_pipeline)
    pairs = list(zip(onnx._predict(features, 3), torch_pipeline._predict(features, 3), strict=True))
    differences = [(ours - theirs).abs().max() for ours, theirs in pairs]
    assert 0 < max(differences) < 0.2
    assert len(onnx(inputs, **parameters)) == len(inputs)


def test_threads_are_those_of_torch(exported: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    torch_pipeline, folder = exported("definitions")
    onnx = pipeline(torch_pipeline.task, model=folder)
    for model in (onnx.model, pickle.loads(pickle.dumps(onnx.model))):
        [session] = model._sessions.values()
        assert session.get_session_options().intra_op_num_threads == 3


def test_an_export_beside_its_model(exported: Any, tmp_path: Path) -> None:
    torch_pipeline, folder = exported("definitions")
    torch_pipeline.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=f"{tmp_path} holds no model.onnx; write one with: clozeformers export onnx"):
        pipeline(torch_pipeline.task, model=str(tmp_path), backend="onnx")
    pipeline(torch_pipeline.task, model=folder).save_pretrained(tmp_path)
    assert type(pipeline(torch_pipeline.task, model=str(tmp_path)).model) is BertWithWNDuma
    assert type(pipeline(torch_pipeline.task, model=str(tmp_path), backend="onnx").model) is OnnxModel


def test_what_cannot_be_loaded(exported: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch_pipeline, folder = exported("definitions")
    task = torch_pipeline.task
    with pytest.raises(ValueError, match="backend is 'tensorflow'"):
        pipeline(task, model=folder, backend="tensorflow")
    with pytest.raises(ValueError, match="leave out backend"):
        pipeline(task, model=folder, backend="torch")
    with pytest.raises(ValueError, match="runs on the CPU, not on meta"):
        pipeline(task, model=folder, device="meta")
    with pytest.raises(ValueError, match="is an ONNX export already"):
        save_as_onnx(pipeline(task, model=folder), tmp_path)
    with pytest.raises(ValueError, match='is a model for "abstract-cloze", not for "negation-scope"'):
        pipeline("negation-scope", model=folder)
    pipeline(task, model=folder).save_pretrained(tmp_path / "damaged")
    torch_pipeline.tokenizer.save_pretrained(tmp_path / "damaged")
    (tmp_path / "damaged" / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(ValueError, match="onnxruntime cannot read"):
        pipeline(task, model=str(tmp_path / "damaged"))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r'onnxruntime is not installed; run: pip install "clozeformers\[onnx\]"'):
        pipeline(task, model=folder)
    with pytest.raises(ImportError, match=r"clozeformers\[onnx\]"):
        save_as_onnx(torch_pipeline, tmp_path / "new")


def test_another_output_than_pytorchs_is_not_saved(
    exported: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch_pipeline, folder = exported("definitions")
    changed = copy(torch_pipeline)
    changed.model = deepcopy(torch_pipeline.model)
    changed.model.option_classifier.bias.data += 2e-3
    monkeypatch.setattr(onnx_export, "_write", lambda graph, path, first: shutil.copy(Path(folder) / path.name, path))
    with pytest.raises(ValueError, match=r"BertWithWNDuma cannot be exported: logits .* differ by 2\.0e-03"):
        save_as_onnx(changed, tmp_path / "new")
    assert not list(tmp_path.iterdir())


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny_reader("bert").save_pretrained(tmp_path / "model")
    capsys.readouterr()
    assert main(["export", "onnx", str(tmp_path / "model"), str(tmp_path / "onnx"), "--int8"]) == 0
    captured = capsys.readouterr()
    assert 'backend="onnx"' in captured.out
    assert captured.err == ""
    assert b".py" not in (tmp_path / "onnx" / "model.onnx").read_bytes(), "stack traces are exported"
    names = {"model.onnx", "config.json", "tokenizer.json", "tokenizer_config.json"}
    assert {path.name for path in (tmp_path / "onnx").iterdir()} == names
    assert main(["answer", "Who sits?", CONTEXT, "--model", str(tmp_path / "onnx")]) == 0
    assert '"score"' in capsys.readouterr().out
    with pytest.raises(ValueError, match=r'is not trained for "negation-scope": it is a BertForQuestionAnswering'):
        pipeline("negation-scope", model=str(tmp_path / "onnx"))
