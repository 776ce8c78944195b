"""The training scripts, for tests that run them."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]


def load_script(name: str) -> ModuleType:
    """A training script as a module."""
    return importlib.import_module(f"clozeformers.run_glue_style.{name}")
