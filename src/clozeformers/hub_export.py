"""The library's source files, flattened so that they can travel beside a checkpoint.

transformers copies remote code file by file: it follows `from .name import ...` to `name.py` in the same folder, but
neither folders nor `from ..`. So each needed module is copied under its full name, with underscores for dots, and its
relative imports are rewritten to these names.
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
    """Name of a module's copy: `clozeformers.modeling.attention` becomes `clozeformers_modeling_attention`."""
    return module.replace(".", "_")


def needed_modules(modules: list[str]) -> list[str]:
    """Follow relative imports, those inside functions too.

    Args:
        modules: full names of modules of this package.

    Returns:
        The modules and all that they need, sorted by name.

    Raises:
        ValueError: one imports from a package rather than from a module of it.
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
    """Return a module's source with relative imports that work where all files lie side by side."""
    lines = _source(module).splitlines(keepends=True)
    for node, target in _relative_imports(module):
        line = lines[node.lineno - 1]
        # Only white space precedes an import on its line, so bytes (`col_offset`) are characters.
        rewritten = _RELATIVE_MODULE.sub(f"from .{flat_name(target)}", line[node.col_offset :], count=1)
        lines[node.lineno - 1] = line[: node.col_offset] + rewritten
    header = f"# Copied from {PACKAGE} {version(PACKAGE)} ({module}), licensed under Apache-2.0.\n"
    return header + "".join(lines)


def write_sources(modules: list[str], folder: Path) -> list[Path]:
    """Write modules, and all that they need, flat into a folder, and return the files."""
    files = {folder / f"{flat_name(module)}.py": flat_source(module) for module in needed_modules(modules)}
    for path, source in files.items():
        path.write_text(source, encoding="utf-8")
    return list(files)


def _relative_imports(module: str) -> list[tuple[ast.ImportFrom, str]]:
    """List the relative imports of a module, each with the full name of the module that it imports from."""
    parent = module.rpartition(".")[0]
    return [
        (node, resolve_name("." * node.level + (node.module or ""), parent))
        for node in ast.walk(ast.parse(_source(module)))
        if isinstance(node, ast.ImportFrom) and node.level
    ]


def _source(module: str) -> str:
    path = _ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py")
    if not path.is_file():
        raise ValueError(
            f"{module} cannot be copied beside a checkpoint: there is no file {path}. Where it is a package, "
            "import from the module in it that defines the name."
        )
    return path.read_text(encoding="utf-8")
