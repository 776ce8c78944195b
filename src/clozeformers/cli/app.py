"""The group that the modules of commands add to."""

from __future__ import annotations

from pathlib import Path

import click

from .. import __version__

PATH = click.Path(path_type=Path)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="clozeformers")
def app() -> None:
    """Train query-aware reading models, run them on text, and print what was measured."""
