"""The library's source files, flattened so that they can travel beside a checkpoint.

transformers copies remote code file by file: it follows `from .name import ...` with a regular expression and finds
`name.py` in the same folder, but neither folders nor `from ..`. So each needed module is copied under a name made of
its whole path, which nothing else can have, and its relative imports are rewritten to those names.
"""

from __future__ import annotations

import ast
import re
from importlib.metadata import version
from importlib.util import resolve_name
from pathlib import Path

PACKAGE = __package__
_ROOT = Path(__file__).parent
_RELATIVE_MODULE = re.compile(r"from\s+\.[\w.]*")


def flat_name(module: str) -> str:
    """Name of a module's copy: `clozeformers.words` becomes `clozeformers_data_words`."""
    return module.replace(".", "_")


def needed_modules(modules: list[str]) -> list[str]:
    """Follow relative imports, those inside functions too.

    Args:
        modules: full names of modules of this package.

    Returns:
        The modules and all that they need, sorted by name.

    Raises:
        ValueError: if one imports from a package rather than from a module of it.
    """
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += [target for _, target in _relative_imports(module)]
    return sorted(found)


def flat_source(module: str) -> str:
    """A module's source with relative imports that work where all files lie side by side."""
    lines = _source_file(module).read_text(encoding="utf-8").splitlines(keepends=True)
    for node, target in _relative_imports(module):
        line = lines[node.lineno - 1]
        # What stands before an import on its line is white space, so bytes (`col_offset`) are characters here.
        rewritten = _RELATIVE_MODULE.sub(f"from .{flat_name(target)}", line[node.col_offset :], count=1)
        lines[node.lineno - 1] = line[: node.col_offset] + rewritten
    header = f"# Copied from {PACKAGE} {version(PACKAGE)} ({module}), licensed under Apache-2.0.\n"
    return header + "".join(lines)


def write_sources(modules: list[str], folder: Path) -> list[Path]:
    """Write modules, and all that they need, flat into a folder.

    Args:
        modules: full names of modules of this package.
        folder: an existing folder.

    Returns:
        The files written.
    """
    written = []
    for module in needed_modules(modules):
        path = folder / f"{flat_name(module)}.py"
        path.write_text(flat_source(module), encoding="utf-8")
        written.append(path)
    return written


def _relative_imports(module: str) -> list[tuple[ast.ImportFrom, str]]:
    """Each relative import of a module, with the full name of the module that it names."""
    parent = module.rpartition(".")[0]
    tree = ast.parse(_source_file(module).read_text(encoding="utf-8"))
    return [
        (node, resolve_name("." * node.level + (node.module or ""), parent))
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]


def _source_file(module: str) -> Path:
    path = _ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py")
    if not path.is_file():
        raise ValueError(
            f"{module} cannot be copied beside a checkpoint: there is no file {path}. Where it is a package, "
            "import from the module in it that defines the name."
        )
    return path
