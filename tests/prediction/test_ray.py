"""The command on a Ray cluster of this machine: the same bytes, though a worker dies, and no wait without end."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clozeformers.cli import main
from clozeformers.prediction import engines
from clozeformers.prediction.predictor import Predictor

from ..hub_models import save_tiny

LINES = [f"I do not know answer {number}." for number in range(40)]
RAY = ["--engine", "ray", "--ray", "workers=2", "--ray", "cpus=0.5"]


class DiesOnce(Predictor):
    """Kills its process at the line of number 20, unless one has done so before."""

    def __call__(self, batch: Any) -> dict[str, Any]:
        mark = Path(os.environ["TEST_MARK"])
        if LINES[20] in batch["text"] and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(batch)


class Dies(Predictor):
    """Kills its process whatever it is given."""

    def __call__(self, batch: Any) -> dict[str, Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(batch)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Ray on two CPUs; a file that its workers know by the name TEST_MARK."""
    import ray

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")  # at Ray's own, 15, a busy machine hardly runs it
        mark = tmp_path_factory.mktemp("ray") / "mark"
        patch.setenv("TEST_MARK", str(mark))
        ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False, logging_level=logging.ERROR)
        yield mark
        ray.shutdown()


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    (tmp_path / "lines.txt").write_text("\n".join(LINES))
    model = str(save_tiny(tmp_path / "model"))
    return ["predict", "negation-scope", str(tmp_path / "lines.txt"), "--rows_per_shard", "8", "--model", model]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
def test_a_worker_that_dies_loses_nothing(
    cluster: Path, command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([*command, str(tmp_path / "here")]) == 0
    monkeypatch.setattr("clozeformers.prediction.predictor.Predictor", DiesOnce)
    assert main([*command, str(tmp_path / "there"), *RAY]) == 0
    assert cluster.exists()
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


@pytest.mark.slow
def test_a_worker_that_always_dies_is_told_in_one_line(
    cluster: Path,
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("clozeformers.prediction.predictor.Predictor", Dies)
    monkeypatch.setattr(engines, "_RETRIES", 0)
    assert main([*command, str(tmp_path / "out"), *RAY]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert "error: a worker of Ray died 1 times: The actor died" in told


@pytest.mark.slow
def test_a_folder_without_a_model_is_told_in_one_line(
    cluster: Path, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model" / "config.json").write_text("{}")
    assert main([*command, str(tmp_path / "out"), *RAY]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert "cannot be loaded: Unrecognized model in" in told


@pytest.mark.slow
def test_more_workers_than_there_is_room_for(
    cluster: Path, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, str(tmp_path / "out"), *RAY, "--ray", "gpus=1000"]) == 2
    told = "0 GPUs: room for 0 workers of 0.5 CPUs and 1000 GPUs, where 2 are wanted"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ray", "cpus=1"], "--ray is for --engine ray"),
        (["--engine", "ray", "--ray", "cpu=1"], "--ray cpu=1: give workers=, cpus= or gpus=, and a number"),
        (["--engine", "ray", "--ray", "cpus=0"], "a worker of 0 CPUs and 0 GPUs cannot be; give cpus above 0"),
        (["--engine", "ray", "--ray", "cpus=nan"], "a worker of nan CPUs and 0 GPUs cannot be; give cpus above 0"),
        (["--engine", "ray", "--ray", "gpus=-1"], "a worker of 1 CPUs and -1 GPUs cannot be; give cpus above 0"),
        (["--engine", "ray", "--ray", "cpus=x"], "--ray cpus=x: give workers=, cpus= or gpus=, and a number"),
    ],
)
def test_wrong_options(
    options: list[str], message: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, str(tmp_path / "out"), *options]) == 2
    assert message in capsys.readouterr().err


def test_without_ray(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main([*command, str(tmp_path / "out"), *RAY]) == 2
    assert 'Ray is not installed; run: pip install "clozeformers[ray]"' in capsys.readouterr().err


def test_a_cluster_that_does_not_answer(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import ray

    def refuse(**_: Any) -> None:
        raise ConnectionError("Failed to connect to Ray cluster at head:6379")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refuse)
    assert main([*command, str(tmp_path / "out"), *RAY]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert "Failed to connect to Ray cluster at head:6379; check RAY_ADDRESS, and set RAY_AUTH_MODE=token" in told


class LostMachine:
    """A cluster whose results never come."""

    def __init__(self, cpus: float) -> None:
        self.cpus, self.waits = cpus, 0

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": self.cpus}

    def wait(self, references: list[Any], timeout: float) -> tuple[list[Any], list[Any]]:
        self.waits += 1
        return (references, []) if self.waits == 3 else ([], references)

    def get(self, reference: Any) -> Any:
        return reference


def test_a_lost_machine_is_not_waited_for() -> None:
    cluster = engines.Cluster(cpus=1.0)
    assert engines._result(LostMachine(2.0), cluster, 2, "result") == "result"
    with pytest.raises(ValueError, match="room for 1 workers of 1 CPUs and 0 GPUs, where 2 are wanted"):
        engines._result(LostMachine(1.0), cluster, 2, "result")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.data.context")
def test_ray_data_takes_the_unit_of_work(cluster: Path, command: list[str]) -> None:
    import ray

    rows = ray.data.from_items([{"text": line} for line in LINES[:4]])
    options = {"fn_constructor_args": ("negation-scope", command[-1]), "num_cpus": 0.5, "concurrency": 1}
    found = rows.map_batches(Predictor, batch_size=2, **options).take_all()
    expected = Predictor("negation-scope", command[-1])({"text": LINES[:4]})["prediction"]

    def rounded(prediction: str) -> Any:
        """Workers may compute with other threads, which round otherwise."""
        return json.loads(prediction, parse_float=lambda digits: round(float(digits), 5))

    read = {row["text"]: rounded(row["prediction"]) for row in found}
    assert read == dict(zip(LINES[:4], map(rounded, expected), strict=True))
