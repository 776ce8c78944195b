"""Models that onnxruntime runs in place of PyTorch: what `export onnx` writes, as the pipelines load it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers.utils import ModelOutput
from transformers.utils.hub import cached_file

# A model that finds cues has its encoder and the head for cues in the first, the head for scopes in the second.
MODEL_FILE, SCOPES_FILE = "model.onnx", "scopes.onnx"
_EXPORT = "export the PyTorch model with: clozeformers export onnx MODEL FOLDER"
# Entry of a file's metadata.
FIRST_POSITION = "clozeformers.first_position"


def import_onnx(name: str) -> Any:
    """Import a module that the extra ``onnx`` installs."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f'{name} is not installed; run: pip install "clozeformers[onnx]" ({error})') from error


def find_onnx(name: str, **source: Any) -> dict[str, Path]:
    """Find the files of an export in a folder or on the Hub.

    Args:
        name: the folder, or the name on the Hub.
        **source: `revision`, `token`, `cache_dir` and `local_files_only`, as for `from_pretrained`.

    Returns:
        Name of a file -> its path; empty if there is no export.
    """
    flags = dict.fromkeys(("_raise_exceptions_for_missing_entries", "_raise_exceptions_for_connection_errors"), False)
    found = {file: cached_file(name, file, **flags, **source) for file in (MODEL_FILE, SCOPES_FILE)}
    return {file: Path(path) for file, path in found.items() if path} if found[MODEL_FILE] else {}


class OnnxModel:
    """An exported model, as far as the pipelines need one; it runs on the CPU.

    onnxruntime has as many threads as torch has when the model is loaded.

    Args:
        config: of the model.
        files: as `find_onnx` returns them.
        class_name: of the PyTorch model.

    Raises:
        ImportError: onnxruntime is not installed.
        ValueError: a file is damaged, missing or of another model, or was not exported by this library.
    """

    device, dtype = torch.device("cpu"), torch.float32
    input_modalities = "text"

    def __init__(self, config: Any, files: Mapping[str, Path], class_name: str) -> None:
        self.config, self.files, self.class_name = config, dict(files), class_name
        self._sessions = {name: _session(path) for name, path in files.items()}
        metadata = self._sessions[MODEL_FILE].get_modelmeta().custom_metadata_map
        if FIRST_POSITION not in metadata:
            raise ValueError(f"{files[MODEL_FILE]} was not exported by clozeformers; {_EXPORT}")
        finds_cues = "hidden_states" in (each.name for each in self._sessions[MODEL_FILE].get_outputs())
        if finds_cues != (SCOPES_FILE in files):
            wrong = f"lacks {SCOPES_FILE}" if finds_cues else f"has {SCOPES_FILE} of another model"
            raise ValueError(f"the export {files[MODEL_FILE].parent} {wrong}; {_EXPORT}")
        self.first_position = int(metadata[FIRST_POSITION])

    def __reduce__(self) -> Any:
        """Sessions cannot be pickled or copied; they are opened again."""
        return type(self), (self.config, self.files, self.class_name)

    @property
    def name_or_path(self) -> str:
        """The folder of the export."""
        return str(self.files[MODEL_FILE].parent)

    def forward(
        self,
        *,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor | None = None,
        cue_mask: Tensor | None = None,
        char_ids: Tensor | None = None,
        option_mask: Tensor | None = None,
    ) -> ModelOutput:
        """The logits of the PyTorch model, which documents the arguments; those that it does not take are ignored."""
        if SCOPES_FILE in self._sessions:
            assert cue_mask is not None
            states = self.find_cues(input_ids, attention_mask)[1]
            return ModelOutput(logits=self.read_scopes(states, attention_mask, cue_mask)[0])
        given = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
        given |= {"cue_mask": cue_mask, "char_ids": char_ids, "option_mask": option_mask}
        return ModelOutput(**self.run(MODEL_FILE, given))

    __call__ = forward

    def find_cues(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """As `NegationScopeMixin.find_cues`."""
        found = self.run(MODEL_FILE, {"input_ids": input_ids, "attention_mask": attention_mask})
        return found["cue_logits"], found["hidden_states"]

    def read_scopes(self, hidden_states: Tensor, attention_mask: Tensor, cue_mask: Tensor) -> tuple[Tensor]:
        """The logits of `NegationScopeMixin.read_scopes`."""
        given = {"hidden_states": hidden_states, "attention_mask": attention_mask, "cue_mask": cue_mask}
        return (self.run(SCOPES_FILE, given)["logits"],)

    def run(self, file: str, given: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
        """Run one file's graph on the inputs that it takes; returns its outputs."""
        session = self._sessions[file]
        inputs = {each.name: given.get(each.name) for each in session.get_inputs()}
        if absent := [name for name, values in inputs.items() if values is None]:
            raise ValueError(f"{self.files[file]} takes {', '.join(absent)}: it is of another model; {_EXPORT}")
        arrays = {name: values.numpy() for name, values in inputs.items() if values is not None}
        names = [each.name for each in session.get_outputs()]
        return dict(zip(names, map(torch.from_numpy, session.run(names, arrays)), strict=True))

    def to(self, device: Any) -> None:
        """Refuse; a pipeline moves its model where it is on another device."""
        raise ValueError(f"an ONNX export runs on the CPU, not on {device}; leave out device, or use PyTorch's model")

    def can_generate(self) -> bool:
        """Whether it generates text."""
        return False

    def save_pretrained(self, folder: str | PathLike[str], **_: Any) -> None:
        """Copy the export."""
        self.config.save_pretrained(folder)
        for path in self.files.values():
            shutil.copy(path, folder)


def with_backend(model: Any, backend: str | None) -> Any:
    """The model that a pipeline is to run: with `backend="onnx"`, the export beside a PyTorch model in its place.

    Raises:
        ValueError: the folder holds none for this backend, or there is no such backend.
    """
    if backend not in (None, "torch", "onnx"):
        raise ValueError(f'backend is {backend!r}; it must be "torch" or "onnx"')
    is_onnx = isinstance(model, OnnxModel)
    if backend == "torch" and is_onnx:
        raise ValueError(f'{model.name_or_path} holds no PyTorch model but an ONNX export; leave out backend="torch"')
    if backend != "onnx" or is_onnx:
        return model
    files = find_onnx(model.name_or_path, revision=getattr(model.config, "_commit_hash", None))
    if not files:
        raise ValueError(
            f"{model.name_or_path or 'the model'} holds no {MODEL_FILE}; write one with: clozeformers export onnx "
            f"{model.name_or_path or 'MODEL'} FOLDER, and load FOLDER"
        )
    return OnnxModel(model.config, files, type(model).__name__)


def _session(path: Path) -> Any:
    runtime = import_onnx("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3  # errors
    try:
        return runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors have only this type in common
        raise ValueError(f"onnxruntime cannot read {path}: {error}") from error
