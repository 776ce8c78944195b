"""The group that the modules of commands add to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from .. import __version__


class _Path(click.Path):
    """A path; not an empty one, which would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("an empty path; give . for the current folder", param, ctx)
        return super().convert(value, param, ctx)


PATH = _Path(path_type=Path)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="clozeformers")
def app() -> None:
    """Train query-aware reading models, run them on text, and print what was measured."""


def pairs(option: str, given: Sequence[str], hint: str = "") -> dict[str, str]:
    """The values of an option that is given as NAME=VALUE, any number of times.

    Raises:
        ValueError: one has no equals sign; `hint` ends the error.
    """
    for pair in given:
        if "=" not in pair:
            raise ValueError(f"{option} {pair}: give {option} NAME=VALUE{hint}")
    return {name: value for name, _, value in (pair.partition("=") for pair in given)}
