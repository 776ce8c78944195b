"""Export to ONNX, for `pipeline(..., backend="onnx")`."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .errors import is_own_error
from .files import atomic_file, atomic_folder
from .modeling.positions import first_position
from .pipelines.base import TextPipeline
from .pipelines.onnx_model import FIRST_POSITION, MODEL_FILE, SCOPES_FILE, OnnxModel, import_onnx

_TOLERANCE = 1e-4
# They turn the product with a transposed weight into a Gemm, see `_linear`.
_FUSIONS = ["GemmTransposeFusion", "MatMulAddFusion"]


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
        folder: is created, for `model.onnx`, config and tokenizer; of a model that finds cues, also `scopes.onnx`.
        int8: quantise the weights to eight bits, after the comparison; activations are quantised as they are computed.

    Raises:
        ImportError: onnx, onnxruntime or onnxscript is not installed.
        FileExistsError: the folder is not empty.
        NotADirectoryError: the folder is a file.
        ValueError: the model is an export itself, cannot be exported, or has outputs in onnxruntime that differ from
            PyTorch's by more than 1e-4.
    """
    for name in ("onnx", "onnxscript", "onnxruntime"):
        import_onnx(name)
    folder = Path(folder)
    if isinstance(pipeline.model, OnnxModel):
        raise ValueError(f"{pipeline.model.name_or_path} is an ONNX export already; give the PyTorch model")
    if folder.is_dir() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty; name a new folder: clozeformers export onnx MODEL FOLDER")
    model = deepcopy(pipeline.model).cpu().float().eval()
    config = deepcopy(model.config)
    config.architectures, config.dtype = [type(model).__name__], model.dtype
    with atomic_folder(folder) as unfinished, torch.no_grad(), _quiet(), _reporting(type(model).__name__):
        files = _export(model, pipeline, unfinished)
        config.save_pretrained(unfinished)
        pipeline.tokenizer.save_pretrained(unfinished)
        if int8:
            for path in files:
                quantise(path)


def _export(model: Any, pipeline: TextPipeline, folder: Path) -> list[Path]:
    """Write the graphs of a model, and compare them to it on batches of three sizes and two lengths."""
    features = pipeline.example_features()
    files = {}
    for graph in _graphs(model, pipeline.collate(features)):
        files[graph.file] = folder / graph.file
        _write(graph, files[graph.file], first_position(model))
    exported = OnnxModel(model.config, files, type(model).__name__)
    for rows in (features, features[-1:], features * 2):
        for graph in _graphs(model, pipeline.collate(rows)):
            _compare(graph, exported)
    return list(files.values())


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
    # onnxruntime optimises a graph when it loads it; the exporter's own optimisation does not end on recurrent layers.
    exported: Any = torch.onnx.export(
        program,
        dynamo=True,
        optimize=False,
        verbose=False,
        input_names=list(graph.inputs),
        output_names=list(graph.outputs),
        custom_translation_table={torch.ops.aten.linear.default: _linear},
    )
    for node in exported.model.graph.all_nodes():
        node.metadata_props.clear()  # stack traces, with the paths of this machine
    exported.model.metadata_props[FIRST_POSITION] = str(first)
    exported.save(path)


def _linear(inputs: Any, weight: Any, bias: Any = None) -> Any:
    """Translate a linear layer to a product with the transposed weight.

    The exporter writes one over two dimensions as a Gemm, whose weight the quantiser transposes in its place: once for
    each layer that shares it.
    """
    operators = import_onnx("onnxscript").opset18
    product = operators.MatMul(inputs, operators.Transpose(weight, perm=[1, 0]))
    return product if bias is None else operators.Add(product, bias)


def _compare(graph: _Graph, exported: OnnxModel) -> None:
    ours, theirs = exported.run(graph.file, graph.inputs), graph.module(graph.inputs)
    real = graph.inputs["attention_mask"].bool()
    real = real.any(-1) if real.dim() == 3 else real
    for name, expected in zip(graph.outputs, theirs, strict=True):
        if not torch.isclose(ours[name][real], expected[real], rtol=_TOLERANCE, atol=_TOLERANCE).all():
            largest = (ours[name] - expected)[real].abs().max()
            raise ValueError(
                f"{exported.class_name} cannot be exported: {name} of onnxruntime and PyTorch differ by {largest:.1e}"
            )


def quantise(path: Path) -> None:
    """Replace the file of a graph by one with weights of eight bits."""
    runtime, quantization = import_onnx("onnxruntime"), import_onnx("onnxruntime.quantization")
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 3  # errors
    with TemporaryDirectory() as folder, atomic_file(path) as small:
        # The quantiser sees only constants as weights, so that they are transposed first.
        options.optimized_model_filepath = f"{folder}/{path.name}"
        runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"], disabled_optimizers=_FUSIONS)
        model = import_onnx("onnx").load(options.optimized_model_filepath)
        # onnxruntime has a scale per channel for matrices only; weights of one matrix per head stay as they are.
        stacked = {weight.name for weight in model.graph.initializer if len(weight.dims) > 2}
        excluded = [node.name for node in model.graph.node if node.op_type == "MatMul" and node.input[1] in stacked]
        quantization.quantize_dynamic(
            model,
            small,
            per_channel=True,
            reduce_range=True,  # products of full eight bits overflow on processors without VNNI
            weight_type=quantization.QuantType.QInt8,
            nodes_to_exclude=excluded,
        )


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


@contextmanager
def _reporting(class_name: str) -> Iterator[None]:
    """Turn the errors of torch and onnxruntime, which have no type in common, into one line."""
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) or is_own_error(error):
            raise
        cause: BaseException = error
        while cause.__cause__ is not None:  # the exporter wraps an error in advice about itself
            cause = cause.__cause__
        reason = str(cause).strip().split("\n")[0]
        raise ValueError(f"{class_name} cannot be exported to ONNX: {reason}") from error
