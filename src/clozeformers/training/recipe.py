"""Recipes: one YAML or JSON file holds a run's arguments, and the command line overrides them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from transformers import HfArgumentParser


def parse_recipe(argument_classes: Sequence[type], arguments: Sequence[str]) -> tuple[Any, ...]:
    """Parse a command line whose first argument may be a recipe.

    Args:
        argument_classes: dataclasses, as for `HfArgumentParser`.
        arguments: ``[recipe.yaml] [--field value ...]``; what stands after the recipe overrides it.

    Returns:
        One instance of each class.

    Raises:
        ValueError: if the recipe is not a mapping or has a field that no class knows; names the file and the field.
    """
    parser = HfArgumentParser(argument_classes)
    arguments = list(arguments)
    if arguments and arguments[0].endswith((".yaml", ".yml", ".json")):
        arguments = recipe_arguments(Path(arguments[0]), known_fields(parser)) + arguments[1:]
    return tuple(parser.parse_args_into_dataclasses(args=arguments))


def known_fields(parser: HfArgumentParser) -> set[str]:
    """Names of all fields that the parser takes."""
    return {action.dest for action in parser._actions}


def recipe_arguments(path: Path, known: set[str]) -> list[str]:
    """Read a recipe as the command line that would say the same."""
    try:
        text = path.read_text(encoding="utf-8")
        recipe = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (UnicodeDecodeError, json.JSONDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"{path}: cannot be read: {error}") from error
    if not isinstance(recipe, dict) or not all(isinstance(field, str) for field in recipe):
        raise ValueError(f"{path}: a recipe is a mapping of field to value, such as `learning_rate: 3.0e-5`")
    unknown = sorted(set(recipe) - known)
    if unknown:
        raise ValueError(f"{path}: unknown fields {', '.join(unknown)}; `--help` lists the known ones")
    line: list[str] = []
    for field, value in recipe.items():
        if value is None:
            continue
        values = value if isinstance(value, list) else [value]
        line += [f"--{field}", *(json.dumps(item) if isinstance(item, dict) else str(item) for item in values)]
    return line
