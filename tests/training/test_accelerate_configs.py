"""The config files of `accelerate launch`, as accelerate itself reads them."""

from __future__ import annotations

import pytest
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils.launch import prepare_multi_gpu_env

from clozeformers.training.recipe import RECIPES

PLANS = {  # options of the command, processes in all, and what torchrun starts on this machine
    "eight-gpus": ([], 8, {"nproc_per_node": "8"}),
    "two-nodes": (
        ["--main_process_ip", "first", "--machine_rank", "1"],
        16,
        {"nproc_per_node": "8", "nnodes": "2", "node_rank": 1, "rdzv_endpoint": "first:29500"},
    ),
}


def test_every_file_has_a_plan() -> None:
    assert {path.stem for path in (RECIPES / "accelerate").glob("*.yaml")} == set(PLANS)


@pytest.mark.parametrize("name", PLANS)
def test_processes(name: str) -> None:
    options, processes, started = PLANS[name]
    path = RECIPES / "accelerate" / f"{name}.yaml"
    given = launch_command_parser().parse_args(["--config_file", str(path), *options, "script.py", "recipe"])
    args, *_ = _validate_launch_command(given)
    assert (args.num_processes, args.multi_gpu, args.use_cpu) == (processes, True, False)
    prepare_multi_gpu_env(args)
    assert {key: getattr(args, key) for key in started} == started


@pytest.mark.parametrize("name", PLANS)
def test_its_command_is_the_one_at_its_head(name: str) -> None:
    text = (RECIPES / "accelerate" / f"{name}.yaml").read_text()
    assert f"accelerate launch --config_file configs/accelerate/{name}.yaml" in text
