"""Recipes: a YAML or JSON file holds a command's arguments, and the command line overrides them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ..text import did_you_mean
from .parser import ScriptParser

RECIPES = Path(__file__).parents[1] / "configs"

_only_checking: ContextVar[bool] = ContextVar("_only_checking", default=False)


class _CommandIsRight(Exception):  # noqa: N818 - no error
    """Ends a script after its command line has been parsed."""


def parse_recipe(task: str, argument_classes: Sequence[type], arguments: Sequence[str]) -> tuple[Any, ...]:
    """Parse a command line whose first argument may be a recipe.

    Args:
        task: name of the task, the folder of its recipes.
        argument_classes: dataclasses, as for `HfArgumentParser`.
        arguments: ``[recipe] [--field value ...]``. The recipe is a file, or the name of one that the package has.

    Returns:
        One instance of each class.

    Raises:
        FileNotFoundError: no such recipe; names similar ones.
        ValueError: the recipe is not a mapping, has a field that no class has, or extends itself; or an option is
            unknown, misspelt, missing, or contradicts another.
    """
    parser = ScriptParser(argument_classes, recipe_files(task), _recipe_fields(task))
    arguments, source = list(arguments), ""
    if arguments and not arguments[0].startswith("-"):
        path = find_recipe(task, arguments[0])
        recipe = load_recipe(path)
        for field in recipe:
            if field not in parser.options:
                suggested = did_you_mean(field, parser.options)
                raise ValueError(f"{path}: there is no field {field!r}{suggested} (--help lists the options)")
        arguments, source = as_arguments(recipe) + arguments[1:], f" (with the recipe {path})"
    try:
        parsed = tuple(parser.parse_args_into_dataclasses(args=arguments))
    except (ImportError, ValueError) as error:  # of TrainingArguments, which checks more than types
        raise ValueError(f"{error}{source}") from error
    if _only_checking.get():
        raise _CommandIsRight
    return parsed


def check_command(main: Callable[[list[str]], Any], arguments: Sequence[str]) -> None:
    """Parse a command line as a script's `main` does, and run nothing; raises as `parse_recipe`."""
    token = _only_checking.set(True)
    try:
        main(list(arguments))
    except _CommandIsRight:
        return
    finally:
        _only_checking.reset(token)


def find_recipe(task: str, name: str) -> Path:
    """The file of a recipe: `name` itself, or the recipe of that name in the package."""
    if Path(name).is_file():
        return Path(name)
    known = recipe_files(task)
    if name in known:
        return known[name]
    owner = next((folder.name for folder in RECIPES.iterdir() if name in recipe_files(folder.name)), None)
    if owner is not None:
        raise FileNotFoundError(f"{name} is a recipe of {owner}, not of {task}")
    suggested = did_you_mean(Path(name).stem, known) or f"; give a file, or one of {', '.join(known)}"
    raise FileNotFoundError(f"there is no recipe {name!r}{suggested}")


def recipe_files(task: str) -> dict[str, Path]:
    """The recipes that the package has for a task, by name."""
    return {path.stem: path for path in sorted((RECIPES / task).glob("*.yaml"))}


@cache
def _recipe_fields(task: str) -> frozenset[str]:
    return frozenset(field for path in recipe_files(task).values() for field in load_recipe(path))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field occurs twice")
    return fields


class _Loader(yaml.SafeLoader):
    """YAML as far as JSON has it: dates are strings, and a field occurs once."""

    def compose_mapping_node(self, anchor: Any) -> Any:
        node = super().compose_mapping_node(anchor)
        names: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in names:
                raise yaml.composer.ComposerError(None, None, f"the field {key.value!r} occurs twice", key.start_mark)
            names.add(key.value)
        return node


_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load_recipe(path: Path) -> dict[str, Any]:
    """Read a recipe, with the fields of the one that it names by `extends`: a path relative to its own, or a name.

    A field that is a mapping extends the mapping of that name; any other replaces it, and null removes it.
    """
    return _load(path, ())


def _load(path: Path, extending: tuple[Path, ...]) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        recipe = json.loads(text, object_pairs_hook=_unique) if path.suffix == ".json" else yaml.load(text, _Loader)
    except (ValueError, RecursionError, yaml.YAMLError) as error:  # YAML's own errors are no ValueErrors
        raise ValueError(f"{path}: cannot be read: {error}") from error
    if not isinstance(recipe, dict) or not all(isinstance(field, str) for field in recipe):
        raise ValueError(f"{path}: a recipe is a mapping of field to value, such as `learning_rate: 3.0e-5`")
    extended = recipe.pop("extends", None)
    if extended is None:
        return recipe
    base_path = extended_file(path, str(extended))
    if base_path.resolve() in (*extending, path.resolve()):
        raise ValueError(f"{path} extends {extended}, which extends it in turn")
    return merge_fields(_load(base_path, (*extending, path.resolve())), recipe)


def extended_file(path: Path, extended: str) -> Path:
    """The file that a recipe or an experiment extends: beside it, or one that the package has, by its name."""
    if (path.parent / extended).is_file():
        return path.parent / extended
    known = {own.stem: own for own in sorted(RECIPES.rglob("*.yaml"))}
    if extended not in known:
        suggested = did_you_mean(Path(extended).stem, known)
        raise FileNotFoundError(f"{path} extends {extended}, which is neither a file beside it nor a recipe{suggested}")
    return known[extended]


def merge_fields(base: dict[str, Any], recipe: dict[str, Any]) -> dict[str, Any]:
    """The fields of a recipe that extends another; see `load_recipe`."""
    merged = dict(base)
    for field, value in recipe.items():
        own = merged.get(field)
        merged[field] = merge_fields(own, value) if isinstance(own, dict) and isinstance(value, dict) else value
    return {field: value for field, value in merged.items() if value is not None}


def as_arguments(recipe: dict[str, Any]) -> list[str]:
    """The command line that says the same as a recipe."""
    line: list[str] = []
    for field, value in recipe.items():
        if value is not None:
            values = value if isinstance(value, list) else [value]
            line += [f"--{field}", *(json.dumps(item) if isinstance(item, dict) else str(item) for item in values)]
    return line


def recipe_name(arguments: Sequence[str]) -> str | None:
    """Name of the recipe that a command line begins with, if it does."""
    return Path(arguments[0]).name.removesuffix(".yaml") if arguments and not arguments[0].startswith("-") else None
