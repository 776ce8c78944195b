"""Processes that are killed at random moments: at a random time, or just after a random one of their writes."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from clozeformers.cli import main as command_line
from clozeformers.tasks import TASKS, task_named

_WRITES = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir"}
_LONGEST_WRITE = 0.003  # seconds


def run(task: str, arguments: list[str]) -> None:
    """Run a task's script, or the command line if there is no task."""
    if task:
        task_named(task).main(arguments)
    elif command_line(arguments):
        raise SystemExit(1)


def _run_watched(
    folder: Path, environment: dict[str, str], count: Any, write: int | None, delay: float, *command: Any
) -> None:
    """Run a command; count its writes in and beside a folder and, `delay` seconds after one, kill the process."""

    def watch(event: str, given: tuple[Any, ...]) -> None:
        if event not in _WRITES or not str(given[0]).startswith(str(folder.parent)):
            return
        if event == "open" and not given[2] & (os.O_WRONLY | os.O_RDWR):
            return
        if count.value == write:
            threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()
        count.value += 1

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.environ.update(environment)
    sys.addaudithook(watch)
    run(*command)


@dataclass
class Killer:
    """Starts processes that write into a folder, and kills them.

    Attributes:
        command: task and arguments, given the folder.
        environment: variables that the processes need.
        seconds, writes: how long a process takes, and how often it writes, if it is not killed.
    """

    command: Callable[[Path], tuple[str, list[str]]]
    environment: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    writes: int = 0

    def __post_init__(self) -> None:
        self._context: ForkServerContext = multiprocessing.get_context("forkserver")
        # Imported once: a process starts in milliseconds.
        self._context.set_forkserver_preload([f"clozeformers.run_glue_style.{task.script}" for task in TASKS])

    def start(self, folder: Path, write: int | None = None, delay: float = 0.0) -> tuple[Any, Any]:
        """Start a process; returns it, and the number of its writes so far."""
        count = self._context.Value("i", 0, lock=False)
        given = (folder, self.environment, count, write, delay, *self.command(folder))
        process = self._context.Process(target=_run_watched, args=given)
        process.start()
        return process, count

    def finish(self, folder: Path) -> None:
        """Run a process to its end, and remember how long it took."""
        start = time.monotonic()
        process, count = self.start(folder)
        process.join()
        assert process.exitcode == 0
        self.seconds, self.writes = time.monotonic() - start, count.value

    def kill(self, folder: Path, moment: random.Random, at_a_write: bool) -> None:
        """Kill a process at a random time, or just after a random write."""
        if at_a_write:
            process, _ = self.start(folder, moment.randrange(self.writes), moment.uniform(0, _LONGEST_WRITE))
        else:
            process, _ = self.start(folder)
            process.join(moment.uniform(0, self.seconds))
            process.kill()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)

    def moments(self, number: int, seed: str) -> Iterator[tuple[int, random.Random, bool]]:
        """Numbered random moments, every other one at a write."""
        for kill in range(number):
            yield kill, random.Random(f"{seed}-{kill}"), kill % 2 == 0
