"""Where predictions are computed: in this process, in those of `accelerate launch`, or on a Ray cluster."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle
from math import inf
from typing import Any, NamedTuple

import torch
from accelerate import PartialState
from accelerate.utils import gather_object
from transformers.utils.logging import tqdm

from .predictor import ERROR, PREDICTION, Predictor
from .shards import Predicted, Shard, Shards
from .sources import Placed

_WAITING_PER_WORKER = 2  # shards: one that is read while the next is on its way
_RETRIES = 3
_PATIENCE = 60.0  # seconds


class Cluster(NamedTuple):
    """What to use of a Ray cluster.

    Attributes:
        workers: processes that hold the model; by default, as many as there is room for.
        cpus: of each; may be a fraction.
        gpus: of each; may be a fraction.
    """

    workers: int | None = None
    cpus: float = 1.0
    gpus: float = 0.0


def predict_here(
    rows: Iterable[Placed],
    shards: Shards,
    predictor: Callable[..., Predictor],
    *,
    device: str | None = None,
    on_error: str = "raise",
    bar: Callable[[], Any] | None = None,
) -> int:
    """Predict all rows; under `accelerate launch`, each process has its turn among the shards.

    Args:
        rows: of the source.
        shards: where they go.
        predictor: builds the unit of work, which skips rows that cannot be read, given a device.
        device: by default, that of the process, or of one process alone, what the pipeline chooses.
        on_error: `"raise"`, or `"skip"`.
        bar: makes what shows the progress, with the `update` and `close` of tqdm.

    Returns:
        The number of rows with an error, of all processes.

    Raises:
        ValueError: a row cannot be read; says which. The shards before are kept.
    """
    state = PartialState(cpu=not torch.accelerator.is_available())
    if state.is_main_process:
        shards.begin()
    state.wait_for_everyone()
    run = predictor(device=device or (state.device if state.num_processes > 1 else None))
    waiting = shards.waiting(rows, state.process_index, state.num_processes)
    predicted = ((shard, shard.known or run(shard.columns)) for shard in waiting)
    failed = sum(gather_object([_write(predicted, shards, on_error, bar if state.is_main_process else None)]))
    state.wait_for_everyone()
    if state.is_main_process:
        shards.finish()
    return failed


def predict_on_ray(
    rows: Iterable[Placed],
    shards: Shards,
    predictor: Callable[..., Predictor],
    *,
    cluster: Cluster,
    device: str | None = None,
    on_error: str = "raise",
    bar: Callable[[], Any] | None = None,
) -> int:
    """Predict all rows on a Ray cluster: the one in use, that of ``RAY_ADDRESS``, or a new one on this machine.

    This process reads the rows and writes the shards, a few at a time. The shards of a worker that dies are read again
    by the one that replaces it.

    Args:
        rows: as for `predict_here`, and so are `shards`, `on_error` and `bar`.
        shards: where they go.
        predictor: every worker builds its own.
        cluster: what to use of it.
        device: by default, that of the first GPU of a worker, or the CPU.
        on_error: `"raise"`, or `"skip"`.
        bar: makes what shows the progress.

    Returns:
        The number of rows with an error.

    Raises:
        ImportError: Ray is not installed.
        ConnectionError: no cluster answers at ``RAY_ADDRESS``.
        ValueError: there is no room for the workers, or a row cannot be read. The shards before are kept.
        ChildProcessError: a worker died again and again. The shards before are kept.
    """
    if not (cluster.cpus > 0 and 0 <= cluster.gpus < inf):
        raise ValueError(
            f"a worker of {cluster.cpus:g} CPUs and {cluster.gpus:g} GPUs cannot be; give cpus above 0, such as 0.5, "
            "and gpus of at least 0"
        )
    try:
        import ray
    except ImportError as error:
        raise ImportError(f'Ray is not installed; run: pip install "clozeformers[ray]" ({error})') from error
    shards.begin()
    is_in_use = ray.is_initialized()
    if not is_in_use:
        _connect(ray)
    try:
        count = _room(ray.available_resources(), cluster)
        options = {"num_cpus": cluster.cpus, "num_gpus": cluster.gpus, "max_restarts": _RETRIES}
        remote = ray.remote(**options, max_task_retries=_RETRIES)(_Worker)
        device = device or ("cuda" if cluster.gpus else "cpu")
        workers = [remote.remote(predictor, device, max(1, int(cluster.cpus))) for _ in range(count)]
        failed = _write(_in_turn(ray, cluster, workers, shards.waiting(rows)), shards, on_error, bar)
    except ray.exceptions.RayTaskError as error:
        raise error.cause if isinstance(error.cause, Exception) else error from None
    except ray.exceptions.RayError as error:
        why = str(error).splitlines()[0]
        raise ChildProcessError(f"a worker of Ray died {_RETRIES + 1} times: {why} The same command goes on") from None
    finally:
        if not is_in_use:
            ray.shutdown()
    shards.finish()
    return failed


def _connect(ray: Any) -> None:
    try:
        ray.init(log_to_driver=False, include_dashboard=False, logging_level=logging.ERROR)
    except ConnectionError as error:
        raise ConnectionError(
            f"{error}; check RAY_ADDRESS, and set RAY_AUTH_MODE=token if the cluster asks for a token"
        ) from None


class _Worker:
    """A process of the cluster; it builds its predictor when it has work, and again after it has died."""

    def __init__(self, predictor: Callable[..., Predictor], device: str, threads: int) -> None:
        torch.set_num_threads(threads)
        self.build, self.device = predictor, device
        self.run: Predictor | None = None

    def predict(self, columns: dict[str, list[Any]]) -> Predicted:
        self.run = self.run or self.build(device=self.device)
        predicted = self.run(columns)
        return {name: predicted[name] for name in (PREDICTION, ERROR)}


def _room(resources: dict[str, float], cluster: Cluster) -> int:
    """How many workers to start; never more than there is room for, which Ray would wait for without an end."""
    needs = {"CPU": cluster.cpus, "GPU": cluster.gpus}
    room = min(int(resources.get(name, 0.0) / need) for name, need in needs.items() if need)
    wanted = room if cluster.workers is None else cluster.workers
    if not 1 <= wanted <= room:
        held = ", ".join(f"{resources.get(name, 0.0):g} {name}s" for name in needs)
        raise ValueError(
            f"the Ray cluster offers {held}: room for {room} workers of {cluster.cpus:g} CPUs and {cluster.gpus:g} "
            f"GPUs, where {max(1, wanted)} are wanted; give other --ray workers=, cpus= or gpus="
        )
    return wanted


def _in_turn(
    ray: Any, cluster: Cluster, workers: list[Any], waiting: Iterator[Shard]
) -> Iterator[tuple[Shard, Predicted]]:
    """The shards in their order, with their predictions, while the next are on their way."""
    sent: deque[tuple[Shard, Any]] = deque()
    turns = cycle(workers)
    for shard in waiting:
        if len(sent) == _WAITING_PER_WORKER * len(workers):
            done, reference = sent.popleft()
            yield done, done.known or _result(ray, cluster, len(workers), reference)
        sent.append((shard, None if shard.known else next(turns).predict.remote(shard.columns)))
    for done, reference in sent:
        yield done, done.known or _result(ray, cluster, len(workers), reference)


def _result(ray: Any, cluster: Cluster, count: int, reference: Any) -> Predicted:
    """Wait for a result, as long as the cluster has room for the workers: a lost machine may not come back."""
    while not ray.wait([reference], timeout=_PATIENCE)[0]:
        _room(ray.cluster_resources(), cluster._replace(workers=count))
    predicted: Predicted = ray.get(reference)
    return predicted


def _write(
    predicted: Iterable[tuple[Shard, Predicted]], shards: Shards, on_error: str, bar: Callable[[], Any] | None
) -> int:
    """Write shards as they come, but those that are there; return the number of rows with an error."""
    failed = done = 0
    shown = tqdm(disable=True) if bar is None else bar()
    for shard, columns in predicted:
        first = shard.number * shards.rows_per_shard
        for number, error in enumerate(columns[ERROR]):
            if error and on_error == "raise":
                raise ValueError(f"{shard.rows[number].place}: {error} (--on_error skip goes on)")
        failed += sum(map(bool, columns[ERROR]))
        if shard.known is None:
            shards.write(shard, columns)
        reached = first + len(shard.rows)
        shown.update(reached - done)
        done = reached
    shown.close()
    return failed
