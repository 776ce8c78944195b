"""What all text pipelines share: kinds of inputs, batches by length, errors of single inputs, worker processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain, groupby, islice
from operator import length_hint
from typing import Any, ClassVar, Literal

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset
from transformers import Pipeline
from transformers.utils.logging import tqdm

from ..modeling.positions import max_tokens
from ..text import did_you_mean, truncate_repr
from ..words import require_fast
from .checkpoints import check_checkpoint
from .onnx_model import OnnxModel, with_backend

# Batches are formed from this many times `batch_size` inputs, so that examples of similar length share a batch.
_BATCHES_PER_CHUNK = 16


class TextPipeline(Pipeline):
    """Base class of pipelines from text to text.

    A subclass implements

    * `_sanitize_parameters`, which hands its own parameters to `_group_parameters`;
    * `preprocess`, from one input to a mapping with `features`, one entry per row of a batch, and whatever
      `postprocess` needs; it raises a TypeError or ValueError for an invalid input;
    * `collate`, from features to the tensors of a batch, padded on the right;
    * `_forward`, from these to logits ``[B, L, ...]``;
    * `postprocess`, from the result of `preprocess` with `logits` added, one tensor ``[length, ...]`` per feature
      without the padding, to what the user gets.

    Args:
        on_error: `"raise"`, or `"skip"`: the result of an invalid input is `{"error": "..."}`.
        batch_size: rows in a forward pass, grouped by length.
        num_workers: processes that run `preprocess`; a stream takes at most one.
        progress_bar: show a progress bar over the inputs.
        backend: `"torch"` or `"onnx"`, which runs the model that `clozeformers export onnx` has saved; by default, what
            the folder holds.
    """

    _load_tokenizer = True
    _load_processor = False
    _load_image_processor = False
    _load_feature_extractor = False

    # For error messages: what an input is, the keywords of `__call__` that give one, and how to get a model.
    input_format = "a mapping"
    input_names: ClassVar[tuple[str, ...]] = ()
    # Inputs that are lists, and the beginning of the keys `..._0`, `..._1`, ... that may replace one in a mapping.
    numbered_inputs: ClassVar[Mapping[str, str]] = {}
    training_hint = "train one for the task"
    # Short inputs of different lengths, with which a model is exported.
    examples: ClassVar[tuple[Any, ...]] = ()

    def __init__(self, model: Any, *args: Any, backend: str | None = None, **kwargs: Any) -> None:
        model = with_backend(model, backend)
        if isinstance(model, OnnxModel):
            kwargs.setdefault("device", model.device)  # transformers' default is a GPU, if there is one
        super().__init__(model, *args, **kwargs)
        check_checkpoint(self.model, self.task, self.training_hint)
        require_fast(self.tokenizer)

    def _group_parameters(
        self,
        preprocess: dict[str, Any],
        postprocess: dict[str, Any],
        *,
        on_error: Literal["raise", "skip"] | None = None,
        progress_bar: bool | None = None,
        **unknown: Any,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Return the parameters of preprocessing, of the run and of postprocessing that are not None."""
        if unknown:
            inputs = [name for name in self.input_names if name not in unknown]
            known = [*inputs, *preprocess, *postprocess, "on_error", "progress_bar", "batch_size", "num_workers"]
            wrong, hints = ", ".join(unknown), "".join(did_you_mean(name, known) for name in unknown)
            raise TypeError(f"{type(self).__name__} has no parameter {wrong}; it has {', '.join(known)}{hints}")
        if on_error not in (None, "raise", "skip"):
            raise ValueError(f'on_error is {truncate_repr(on_error)}; it must be "raise" or "skip"')
        run = {"on_error": on_error, "progress_bar": progress_bar}
        preprocess, run, postprocess = (
            {name: value for name, value in group.items() if value is not None}
            for group in (preprocess, run, postprocess)
        )
        return preprocess, run, postprocess

    def _resolve_parameters(self, *_: Any, **parameters: Any) -> dict[str, Any]:
        """Fill in and check the parameters of `preprocess`, once per call."""
        return parameters

    def __call__(
        self,
        inputs: Any = None,
        *args: Any,
        batch_size: int | None = None,
        num_workers: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run the pipeline; parameters override those of the class for this call.

        Returns:
            The result of a single input; a list of results for a list, a tuple, an array or a pandas Series; an
            iterator over results for any other iterable, which is read as far as needed.

        Raises:
            TypeError, ValueError: for an invalid parameter; for an invalid input, unless `on_error="skip"`; for logits
                that are NaN or infinite.
        """
        if args:
            raise TypeError(
                f"{type(self).__name__} takes {self.input_format}, or a list of inputs; got another positional "
                f"argument {truncate_repr(args[0])}"
            )
        defaults = (self._preprocess_params, self._forward_params, self._postprocess_params)
        groups = zip(defaults, self._sanitize_parameters(**kwargs), strict=True)
        preprocess, run, postprocess = (own | given for own, given in groups)
        if batch_size is None:
            batch_size = 1 if self._batch_size is None else self._batch_size
        if num_workers is None:
            num_workers = 0 if self._num_workers is None else self._num_workers
        check_count("batch_size", batch_size)
        batch_size = min(batch_size, sys.maxsize // _BATCHES_PER_CHUNK)  # no iterator counts further
        check_count("num_workers", num_workers, at_least=0)
        preprocess = self._resolve_parameters(**preprocess)
        inputs = to_inputs(inputs)
        if is_single(inputs):
            return next(self._run([inputs], preprocess, postprocess, batch_size, 0, is_single=True, **run))
        results = self._run(inputs, preprocess, postprocess, batch_size, num_workers, **run)
        return list(results) if isinstance(inputs, (list, tuple)) else results

    def render(self, *inputs: Any, **parameters: Any) -> Any:
        """Run the pipeline on one input and draw the result.

        Args:
            inputs: what a call takes.
            parameters: of a call.

        Returns:
            A `clozeformers.drawings.rendering.Rendering`: HTML in a notebook, marked text for `print` and `rich.print`;
            its `save(path)` writes a page.

        Raises:
            ImportError: this is code of a checkpoint, and clozeformers, whose drawings it takes, is not installed.
            TypeError, ValueError: as for a call.
        """
        try:  # by name: the code of a checkpoint does without the drawings
            tasks = import_module("clozeformers.tasks")
        except ModuleNotFoundError as error:
            raise ImportError(
                "drawings need the package clozeformers; install it with: pip install clozeformers"
            ) from error
        return tasks.task_named(self.task).drawing.render(self, *inputs, **parameters | {"on_error": "raise"})

    def _run(
        self,
        inputs: Any,
        preprocess: dict[str, Any],
        postprocess: dict[str, Any],
        batch_size: int,
        num_workers: int,
        *,
        is_single: bool = False,
        on_error: str = "raise",
        progress_bar: bool = False,
    ) -> Iterator[Any]:
        loader = _loader(inputs, self.preprocess, preprocess, batch_size, num_workers)
        examples = enumerate(
            tqdm(chain.from_iterable(loader), total=length_hint(inputs) or None, disable=not progress_bar, unit="input")
        )
        while chunk := list(islice(examples, _BATCHES_PER_CHUNK * batch_size)):
            for number, example in chunk:
                if isinstance(example, Exception) and on_error == "raise":
                    if is_single:
                        raise example
                    kind = TypeError if isinstance(example, TypeError) else ValueError
                    raise kind(f"input {number}: {example}") from example
            valid = [example for _, example in chunk if isinstance(example, dict)]
            self._complete(valid, batch_size)
            logits = self._predict([row for example in valid for row in example["features"]], batch_size)
            for _, example in chunk:
                if isinstance(example, Exception):
                    yield {"error": str(example)}
                else:
                    own_logits = list(islice(logits, len(example["features"])))
                    yield self.postprocess({**example, "logits": own_logits}, **postprocess)

    def _complete(self, examples: list[dict[str, Any]], batch_size: int) -> None:
        """Complete the features of preprocessed inputs where that takes a forward pass."""

    def _predict(self, features: Sequence[Mapping[str, Any]], batch_size: int) -> Iterator[torch.Tensor]:
        """Return the logits of each row, in batches of similar length but in the order of the rows."""
        logits: dict[int, torch.Tensor] = {}
        order = sorted(range(len(features)), key=lambda number: self._batch_key(features[number]))
        for _, group in groupby(order, key=lambda number: self._batch_key(features[number])[0]):
            while batch := list(islice(group, batch_size)):
                rows = self.forward(self.collate([features[number] for number in batch]))
                for number, row in zip(batch, rows, strict=True):
                    logits[number] = row[: len(features[number]["input_ids"])]
                    if not logits[number].isfinite().all():
                        raise ValueError(
                            "the logits of the model are NaN or infinite; if it runs in half precision, load it with "
                            "dtype=torch.float32"
                        )
        return (logits[number] for number in range(len(features)))

    def _batch_key(self, features: Mapping[str, Any]) -> tuple[int, int]:
        """Rows of which the first number is the same may share a batch; the second is their length."""
        return 0, len(features["input_ids"])

    def collate(self, features: list[Any]) -> dict[str, torch.Tensor]:
        """Pad features to the tensors of a batch."""
        raise NotImplementedError

    def example_features(self, **parameters: Any) -> list[Any]:
        """Return the features of the examples; parameters override those of the class."""
        parameters = self._resolve_parameters(**self._preprocess_params | parameters)
        return [row for example in self.examples for row in self.preprocess(example, **parameters)["features"]]

    def save_pretrained(self, save_directory: str | os.PathLike[str], **kwargs: Any) -> None:
        """Save model and tokenizer; `save_with_code` saves the source of the pipeline with them."""
        self.model.save_pretrained(save_directory, **kwargs)
        self.tokenizer.save_pretrained(save_directory, **kwargs)

    def readable_length(self) -> int:
        """Return how many tokens both the tokenizer and the positions of the encoder allow."""
        limit = self.tokenizer.model_max_length
        return int(min(limit, max_tokens(self.model) or limit))


class _Examples(Dataset[Any]):
    """Inputs, preprocessed when read. The error of an invalid one is returned in place of its example."""

    def __init__(self, inputs: Any, preprocess: Callable[..., Any], parameters: dict[str, Any]) -> None:
        self.inputs = inputs
        self.preprocess = preprocess
        self.parameters = parameters

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> Any:
        return self.read(self.inputs[index])

    def read(self, input_: Any) -> Any:
        try:
            return self.preprocess(input_, **self.parameters)
        except (TypeError, ValueError) as error:
            return error


class _ExampleStream(_Examples, IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return map(self.read, self.inputs)


def _loader(
    inputs: Any, preprocess: Callable[..., Any], parameters: dict[str, Any], batch_size: int, num_workers: int
) -> DataLoader[Any]:
    if num_workers:  # as transformers does: tokenizers must not fork while their own threads run
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    examples: Dataset[Any]
    if is_indexed(inputs):
        examples = _Examples(inputs, preprocess, parameters)
    else:
        examples = _ExampleStream(inputs, preprocess, parameters)
        num_workers = min(num_workers, 1)  # each worker would read the whole stream
    return DataLoader(
        examples,
        batch_size=batch_size,
        num_workers=num_workers,
        collate_fn=list,
        generator=torch.Generator(),  # leaves the global random state alone
    )


def to_inputs(inputs: Any) -> Any:
    """Turn an array or a pandas Series into a list.

    Raises:
        TypeError: for a data frame.
    """
    if hasattr(inputs, "columns") and hasattr(inputs, "to_dict"):
        raise TypeError('a data frame is not supported; pass its rows, frame.to_dict("records"), or a column of texts')
    return inputs.tolist() if hasattr(inputs, "tolist") else inputs


def is_single(inputs: Any) -> bool:
    """Whether this is one input rather than a collection; an unsupported type counts as one (invalid) input."""
    return isinstance(inputs, (str, bytes, bytearray, Mapping)) or not isinstance(inputs, (Iterable, Dataset))


def is_list_of_one(inputs: Any) -> bool:
    """Whether this is a list or tuple that holds one input."""
    return isinstance(inputs, (list, tuple)) and len(inputs) == 1 and is_single(inputs[0])


def is_indexed(inputs: Any) -> bool:
    """Whether a collection has a length and numbered items; otherwise it is a stream."""
    return hasattr(inputs, "__len__") and hasattr(inputs, "__getitem__") and not isinstance(inputs, IterableDataset)


def check_flags(**flags: Any) -> None:
    """Raise a TypeError unless each is True, False or None."""
    for name, value in flags.items():
        if value is not None and not isinstance(value, bool):
            raise TypeError(f"{name} is {type(value).__name__} {truncate_repr(value)}; it must be True or False")


def check_count(name: str, value: Any, at_least: int = 1) -> None:
    """Raise a ValueError unless this is an integer of at least `at_least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < at_least:
        raise ValueError(f"{name} is {truncate_repr(value)}; it must be an integer of at least {at_least}")


def check_device(device: Any) -> None:
    """Raise a ValueError that names a device which this machine does not have."""
    if device not in (None, -1):
        try:
            torch.empty(0, device=device)
        except (AssertionError, RuntimeError, TypeError) as error:
            raise ValueError(f"the device {device} cannot be used: {str(error).splitlines()[0]}") from error
