"""Models whose parameters are sharded over two processes (FSDP2) learn as one process does.

Accelerate shards on GPUs only; `fully_shard`, which it calls, also works between processes on the CPU.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, multiprocessing, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from clozeformers.tasks import TASKS

from .common import Case
from .test_common import CASES

PROCESSES, STEPS = 2, 2


def cases() -> dict[str, Case]:
    """Every model class, by name."""
    return {model.__name__: CASES[task.name][0](task, model) for task in TASKS for model in task.models}


def batches(case: Case) -> list[dict[str, Tensor]]:
    """A batch a process."""
    both = case.inputs | case.labels
    return [{name: value[rank : rank + 1] for name, value in both.items()} for rank in range(PROCESSES)]


def shard(model: Any) -> None:
    """Shard what the model says must not be split, and the rest."""
    mesh = init_device_mesh("cpu", (PROCESSES,))
    inner = [module for module in model.modules() if type(module).__name__ in model._no_split_modules]
    assert inner
    for module in inner:
        fully_shard(module, mesh=mesh)
    fully_shard(model, mesh=mesh)


def learn(model: nn.Module, given: list[dict[str, Tensor]]) -> list[float]:
    """The mean loss of each step over the batches."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(STEPS):
        loss = torch.stack([model(**batch).loss for batch in given]).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def whole(tensor: Tensor) -> Tensor:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def work(rank: int, folder: Path) -> None:
    """One process: shard every model, train it on the batch of this process, and save what came of it."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=PROCESSES)
    results = {}
    for name, case in cases().items():
        model = case.build()
        shard(model)
        assert all(isinstance(parameter, DTensor) for parameter in model.parameters())
        losses = learn(model, batches(case)[rank : rank + 1])
        results[name] = losses, {key: whole(value) for key, value in model.state_dict().items()}
    torch.save(results, folder / f"{rank}.pt")
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("sharded")
    multiprocessing.spawn(work, (folder,), nprocs=PROCESSES)
    return [torch.load(folder / f"{rank}.pt") for rank in range(PROCESSES)]


@pytest.mark.parametrize("name", cases())
def test_sharded_models_learn_as_one_process_does(name: str, sharded: list[dict[str, Any]]) -> None:
    case = cases()[name]
    model = case.build()
    losses = learn(model, batches(case))
    assert losses[0] != losses[-1]
    of_processes = [results[name][0] for results in sharded]
    assert [sum(pair) / PROCESSES for pair in zip(*of_processes, strict=True)] == pytest.approx(losses, abs=1e-5)
    for key, value in model.state_dict().items():
        for results in sharded:
            torch.testing.assert_close(results[name][1][key], value, atol=1e-5, rtol=1e-4)
