"""Export to ONNX, for `pipeline(..., backend="onnx")`."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .files import atomic_file, atomic_folder
from .pipelines.base import TextPipeline
from .pipelines.onnx_model import FIRST_POSITION, MODEL_FILE, SCOPES_FILE, OnnxModel, first_position, import_onnx

_TOLERANCE = 1e-4
_ARTICLE = "The letter was written in May. It is in the museum now."
_QUESTION = {"article": _ARTICLE, "question": "The @placeholder was found.", "options": ["letter", "old coin", "cat"]}
# By pipeline: inputs of different lengths, which every model reads.
_INPUTS: dict[str, list[dict[str, Any]]] = {
    "negation-scope": [
        {"tokens": ["I", "do", "not", "know", "the", "answer", "."], "cues": [2]},
        {"tokens": ["It", "was", "never", "found", "."], "cues": [2]},
        {"tokens": ["No", "one", "came", "."], "cues": [0]},
    ],
    "extractive-question-answering": [
        {"question": "Who wrote the letter?", "context": "The letter was written by Ada in 1843."},
        {"question": "Who wrote it?", "context": "Ada wrote it."},
        {"question": "When?", "context": "In the summer of 1843, says Bruno."},
    ],
    "abstract-cloze": [_QUESTION, {**_QUESTION, "article": "A coin was found."}],
}
# Definitions are only text to a model; WordNet need not be installed.
_PARAMETERS: dict[str, dict[str, Any]] = {"abstract-cloze": {"use_definitions": False}}


class _Method(torch.nn.Module):
    """A method of a model, from a dictionary of inputs to a tuple of outputs."""

    def __init__(self, model: torch.nn.Module, method: Callable[..., tuple[Tensor, ...]]) -> None:
        super().__init__()
        self.model = model
        self.method = method

    def forward(self, inputs: dict[str, Tensor]) -> tuple[Tensor, ...]:
        return self.method(**inputs)


class _Graph(NamedTuple):
    """What becomes one file: a module with an example of its inputs and the names of its outputs."""

    file: str
    module: _Method
    inputs: dict[str, Tensor]
    outputs: tuple[str, ...]


def save_as_onnx(pipeline: TextPipeline, folder: str | Path, *, int8: bool = False) -> None:
    """Save a pipeline's model for onnxruntime, for batches of any size and length.

    `transformers.pipeline(task, model=folder, backend="onnx")` loads it. The outputs are compared to those of the
    PyTorch model before the files are put in place.

    Args:
        pipeline: of one of the library's tasks.
        folder: gets `model.onnx`, config and tokenizer; of a model that finds cues, also `scopes.onnx`.
        int8: quantise the weights to eight bits, after the comparison; activations are quantised as they are computed.

    Raises:
        ImportError: onnx, onnxruntime or onnxscript is not installed.
        ValueError: the outputs differ by more than 1e-4, or the model is an export itself.
        NotADirectoryError: the folder is a file.
    """
    for name in ("onnx", "onnxscript", "onnxruntime"):
        import_onnx(name)
    if isinstance(pipeline.model, OnnxModel):
        raise ValueError(f"{pipeline.model.name_or_path} is an ONNX export already; give the PyTorch model")
    model = deepcopy(pipeline.model).cpu().float().eval()
    config = deepcopy(model.config)
    config.architectures, config.dtype = [type(model).__name__], model.dtype
    features = example_features(pipeline)
    with atomic_folder(folder) as unfinished, torch.no_grad(), _quiet():
        for graph in _graphs(model, pipeline.collate(features)):
            _write(graph, unfinished / graph.file, first_position(model))
        config.save_pretrained(unfinished)
        pipeline.tokenizer.save_pretrained(unfinished)
        files = {path.name: path for path in unfinished.glob("*.onnx")}
        exported = OnnxModel(config, files, type(model).__name__)
        for rows in (features, features[-1:]):
            for graph in _graphs(model, pipeline.collate(rows)):
                _compare(graph, exported)
        if int8:
            for path in files.values():
                quantise(path)


def example_features(pipeline: TextPipeline) -> list[dict[str, Any]]:
    """What the model reads of three short inputs, or of two questions with three options."""
    given = pipeline._preprocess_params | _PARAMETERS.get(pipeline.task, {})
    parameters = pipeline._resolve_parameters(**given)
    return [row for each in _INPUTS[pipeline.task] for row in pipeline.preprocess(each, **parameters)["features"]]


def _graphs(model: Any, batch: dict[str, Tensor]) -> Iterator[_Graph]:
    if not getattr(model.config, "finds_cues", False):
        output = model(**batch)
        names = tuple(name for name in ("logits", "start_logits", "end_logits") if name in output)
        whole = _Method(model, lambda **inputs: tuple(model(**inputs)[name] for name in names))
        yield _Graph(MODEL_FILE, whole, batch, names)
        return
    cue_mask = batch.pop("cue_mask")
    yield _Graph(MODEL_FILE, _Method(model, model.find_cues), batch, ("cue_logits", "hidden_states"))
    states = {"hidden_states": model.find_cues(**batch)[1], "attention_mask": batch["attention_mask"]}
    scopes = _Method(model, lambda **inputs: model.read_scopes(**inputs)[:1])
    yield _Graph(SCOPES_FILE, scopes, states | {"cue_mask": cue_mask}, ("logits",))


def _write(graph: _Graph, path: Path, first: int) -> None:
    dimensions = {
        name: dict.fromkeys(range(values.dim()), torch.export.Dim.AUTO) for name, values in graph.inputs.items()
    }
    program = torch.export.export(graph.module, (graph.inputs,), dynamic_shapes=(dimensions,))
    exported: Any = torch.onnx.export(
        program, dynamo=True, verbose=False, input_names=list(graph.inputs), output_names=list(graph.outputs)
    )
    for node in exported.model.graph.all_nodes():
        node.metadata_props.clear()  # stack traces, with the paths of this machine
    exported.model.metadata_props[FIRST_POSITION] = str(first)
    exported.save(path)


def _compare(graph: _Graph, exported: OnnxModel) -> None:
    ours, theirs = exported.run(graph.file, graph.inputs), graph.module(graph.inputs)
    real = graph.inputs["attention_mask"].bool()
    real = real.any(-1) if real.dim() == 3 else real
    for name, expected in zip(graph.outputs, theirs, strict=True):
        differences = (ours[name] - expected)[real].abs()
        if not torch.isclose(ours[name][real], expected[real], rtol=_TOLERANCE, atol=_TOLERANCE).all():
            raise ValueError(
                f"{exported.class_name} cannot be exported: {name} in onnxruntime and in PyTorch differ by "
                f"{differences.max():.1e}"
            )


def quantise(path: Path) -> None:
    """Replace the file of a graph by one with weights of eight bits."""
    quantization, model = import_onnx("onnxruntime.quantization"), import_onnx("onnx").load(path)
    # The exporter's shapes of transposed weights are those before the transposition; they are inferred again.
    del model.graph.value_info[:]
    with atomic_file(path) as small:
        quantization.quantize_dynamic(model, small, per_channel=True, weight_type=quantization.QuantType.QInt8)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings of the exporters, which are about their own code."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
