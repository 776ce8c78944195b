"""The tasks that the tests of training run on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from ..tiny_tasks import TINY_TASKS, TinyTask


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], TinyTask]:
    """A tiny task by its name, made once."""
    return cache(lambda name: TINY_TASKS[name](tmp_path_factory.mktemp(name)))
