"""The `clozeformers` command: one module a group of commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from ..errors import report_error
from . import demo, page, prediction, results, sharing, texts, training  # noqa: F401 - they add their commands
from .app import app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, that of the process by default.

    Returns:
        The exit status: 0, or 2 after an error of the user's, which is printed to stderr in one line.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    name = " ".join(["clozeformers", *(word for word in words[:1] if word in app.commands)])
    try:
        status: int | None = app.main(words, prog_name="clozeformers", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        print(f"{name}: error: {error.format_message()} ({name} --help)", file=sys.stderr)
        return error.exit_code
    except click.Abort:
        return 130  # as shells have it for an interrupted process
    except Exception as error:
        return report_error(error, name)
    return status or 0
