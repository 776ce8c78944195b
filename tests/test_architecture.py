"""The laws of imports, read from the source."""

from __future__ import annotations

import ast
import re
import sys
from importlib.util import resolve_name
from pathlib import Path

import pytest

import clozeformers
from clozeformers.tasks import TASKS

from .scripts import ROOT

PACKAGE = Path(clozeformers.__file__).parent
ROOMS = {task.name for task in TASKS}
SHARED = {
    "training",
    "analysis",
    "drawings",
    "metrics",
    "digest",
    "errors",
    "files",
    "lazy",
    "rows",
    "text",
    "voting",
    "words",
}
ALLOWED = {
    "modeling": {"modeling"},
    "pipelines": {"modeling", "pipelines", "files", "text", "words", "voting", *ROOMS},
    "page": {"page", "drawings", "errors", "text", *ROOMS},
    **{room: {"modeling", *SHARED, room} for room in ROOMS},
    **{shared: SHARED | {"modeling"} for shared in SHARED},
}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports_of(module: str) -> set[str]:
    """All modules that a module imports, inside functions too: full names, those of this package as modules."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            target = resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module or ""
            own = {f"{target}.{alias.name}" for alias in node.names} & MODULES.keys()
            found |= own or {target}
    return found


IMPORTS = {module: imports_of(module) for module in MODULES}


def place_of(module: str) -> str:
    """The folder, or file, of this package that a module belongs to."""
    return module.split(".")[1] if "." in module else ""


@pytest.mark.parametrize("place", sorted(ALLOWED))
def test_a_room_imports_what_it_may(place: str) -> None:
    for module, imported in IMPORTS.items():
        if place_of(module) == place:
            own = {name for name in imported if name.startswith("clozeformers.")}
            foreign = {name for name in own if place_of(name) not in ALLOWED[place]}
            assert not foreign, f"{module} imports {foreign}"


def test_a_pipeline_knows_one_task() -> None:
    for module, imported in IMPORTS.items():
        if place_of(module) == "pipelines":
            assert len({place_of(name) for name in imported} & ROOMS) <= 1, module


def test_modeling_knows_torch_and_transformers_only() -> None:
    known = {"torch", "numpy", "transformers", "tokenizers", "huggingface_hub", "clozeformers"}
    for module, imported in IMPORTS.items():
        if place_of(module) == "modeling":
            assert {name.split(".")[0] for name in imported} <= known | sys.stdlib_module_names, module


def test_there_are_no_circles() -> None:
    waiting = {module: {name for name in found if name in MODULES} for module, found in IMPORTS.items()}
    # A package's __init__ names its modules for lazy import only.
    waiting = {module: found for module, found in waiting.items() if MODULES[module].name != "__init__.py"}
    while waiting:
        free = {module for module, found in waiting.items() if not found & waiting.keys()}
        assert free, f"these import each other: {sorted(waiting)}"
        waiting = {module: found for module, found in waiting.items() if module not in free}


def test_no_file_is_too_long() -> None:
    for path in MODULES.values():
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 500, path


def test_a_training_is_read_in_ten_files() -> None:
    text = (
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## From a script to the loss")[1].split("## ")[0]
    )
    rows = [re.findall(r"`([^`]+\.py)`", line) for line in text.splitlines() if line.startswith("| `")]
    for task, files in zip(TASKS, zip(*rows, strict=True), strict=True):
        assert len(files) <= 10
        assert all((PACKAGE / file).is_file() for file in files)
        assert (files[0], files[-1]) == (f"run_glue_style/{task.script}.py", "modeling/losses.py")
