"""Arguments of a model's head and input: from the command line, from a model that has its head, or as in the paper."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from transformers import AutoConfig

Arguments = TypeVar("Arguments")

UNLIMITED = 10**6  # what tokenizers without a limit say is far above it


def check_model_folder(name: str) -> None:
    """Raise a ValueError where a model's name can only be a folder's, and there is none."""
    if (Path(name).is_absolute() or name.startswith(".")) and not Path(name).is_dir():
        raise ValueError(f"--model_name_or_path: there is no folder {name}; give a saved model's, or a name on the Hub")


def head_config(name: str, revision: str, config_class: type, is_trained: bool, kind: str) -> Any | None:
    """The config of a model that has its head; None for an encoder without one.

    Args:
        name: of the model, on the Hub or a folder.
        revision: on the Hub.
        config_class: what the configs of models with the head are instances of.
        is_trained: whether the run trains; if not, the model must have its head.
        kind: of the model with a head, for the error.

    Raises:
        ValueError: if there is no such folder, or neither head nor training.
    """
    check_model_folder(name)
    config = AutoConfig.from_pretrained(name, revision=revision)
    if isinstance(config, config_class):
        return config
    if not is_trained:
        raise ValueError(f"{name} is an encoder without a trained head: give --train_file, or {kind} model")
    return None


def filled_in(arguments: Arguments, own: Mapping[str, Any], model: str | None, free: Collection[str]) -> Arguments:
    """Fill in what was not given.

    Args:
        arguments: a dataclass, None where nothing was given.
        own: name of a field -> the model's own value, or that of a new head.
        model: name of the model that the values are of; None for a new head, whose values are only defaults.
        free: fields that may differ from the model's own.

    Raises:
        ValueError: if what was given contradicts the model.
    """
    filled = {}
    for spec in dataclasses.fields(arguments):  # type: ignore[arg-type]
        if spec.name in own:
            given, value = getattr(arguments, spec.name), own[spec.name]
            if model is not None and given not in (None, value) and spec.name not in free:
                raise ValueError(f"--{spec.name} {given}, but {model} was trained with {value}; leave the option out")
            filled[spec.name] = value if given is None else given
    return dataclasses.replace(arguments, **filled)  # type: ignore[type-var]
