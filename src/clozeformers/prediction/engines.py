"""Where predictions are computed: in this process, or in several that `accelerate launch` has started."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from accelerate import PartialState
from transformers.utils.logging import tqdm

from .predictor import ERROR, Predictor
from .shards import Shards, columns_of
from .sources import Row


def predict_here(
    rows: Iterable[Row],
    shards: Shards,
    predictor: Callable[..., Predictor],
    *,
    device: str | None = None,
    on_error: str = "raise",
    total: int | None = None,
    progress: bool = False,
) -> int:
    """Predict all rows; under `accelerate launch`, each process has its turn among the shards.

    Args:
        rows: of the source.
        shards: where they go.
        predictor: builds the unit of work, which skips rows that cannot be read, given a device.
        device: by default, that of the process.
        on_error: `"raise"`, or `"skip"`.
        total: number of rows, if it is known.
        progress: show a bar.

    Returns:
        The number of rows with an error, of this process.

    Raises:
        ValueError: a row cannot be read; says which. The shards before are kept.
    """
    state = PartialState(cpu=not torch.accelerator.is_available())
    if state.is_main_process:
        shards.begin()
    state.wait_for_everyone()
    failed, run = 0, predictor(device=device or state.device)
    bar = tqdm(total=total, unit="row", disable=not (progress and state.is_main_process))
    done = 0
    for shard in shards.waiting(rows, state.process_index, state.num_processes):
        predicted = run(columns_of(shard.rows))
        first = shard.number * shards.rows_per_shard
        for number, error in enumerate(predicted[ERROR]):
            if error and on_error == "raise":
                raise ValueError(f"row {first + number + 1}: {error} (--on_error skip goes on)")
        failed += shards.write(shard, predicted)
        reached = first + len(shard.rows)
        bar.update(reached - done)
        done = reached
    bar.close()
    state.wait_for_everyone()
    if state.is_main_process:
        shards.finish()
    return failed
