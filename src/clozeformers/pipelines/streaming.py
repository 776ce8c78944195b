"""What every pipeline does with its inputs: one, many, or a stream of them, each of which may be unreadable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from torch.utils.data import Dataset as TorchDataset
from torch.utils.data import IterableDataset
from transformers.utils.logging import tqdm

# Inputs in memory at once, for each that goes into a batch: enough to put like lengths together.
_INPUTS_AT_ONCE = 16


class Unreadable(NamedTuple):
    """Stands for an input that was passed over."""

    error: str


def is_single(inputs: Any) -> bool:
    """Whether this is one input; what is neither an input nor a collection counts as one, which then cannot be read."""
    return isinstance(inputs, (str, bytes, bytearray, Mapping)) or not isinstance(inputs, (Iterable, TorchDataset))


def iterate(inputs: Any) -> Iterable[Any]:
    """Iterate over a collection of inputs."""
    # A map-style torch dataset has no end when iterated: only its length says where to stop.
    is_indexed = isinstance(inputs, TorchDataset) and not isinstance(inputs, IterableDataset)
    return (inputs[number] for number in range(len(inputs))) if is_indexed else inputs


def number_of(inputs: Any) -> int | None:
    """How many inputs there are, None where only reading would tell."""
    try:
        return len(inputs)
    except TypeError:
        return None


def prepared_chunks(
    inputs: Any, prepare: Callable[[Any], Any], batch_size: int, on_error: str, progress_bar: bool
) -> Iterator[list[Any]]:
    """Prepare inputs, so many at a time that batches of like lengths can be formed of them.

    Args:
        inputs: one input, or a collection or stream of them, which is read no further than it has to be.
        prepare: makes of an input what is read.
        batch_size: of the model.
        on_error: `"raise"`, or `"skip"`: an input that `prepare` refuses becomes an `Unreadable`.
        progress_bar: show one.

    Yields:
        For each input of a chunk what was made of it.

    Raises:
        TypeError, ValueError: what `prepare` raised, with the number of the input.
    """
    single = is_single(inputs)
    stream = tqdm(
        enumerate([inputs] if single else iterate(inputs)),
        total=number_of(inputs),
        disable=not progress_bar,
        desc="Reading",
        unit="input",
    )
    stream = iter(stream)
    while chunk := list(islice(stream, _INPUTS_AT_ONCE * batch_size)):
        prepared = []
        for number, given in chunk:
            try:
                prepared.append(prepare(given))
            except (TypeError, ValueError) as error:
                if on_error == "raise":
                    kind = TypeError if isinstance(error, TypeError) else ValueError
                    raise error if single else kind(f"input {number}: {error}") from error
                prepared.append(Unreadable(str(error)))
        yield prepared
