"""How commands end after an error of the user's: with one line, where a bug ends with a traceback."""

from __future__ import annotations

import dis
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from huggingface_hub.errors import StrictDataclassError

_RAISE = dis.opmap["RAISE_VARARGS"]
_SECONDS_FOR_THE_MAIN_PROCESS = 5


def run_script(main: Callable[[list[str]], Any]) -> int:
    """Run the `main` of a script with the command line of the process; return the exit status."""
    try:
        main(sys.argv[1:])
    except Exception as error:
        return report_error(error, Path(sys.argv[0]).name)
    return 0


def report_error(error: Exception, command: str) -> int:
    """Print an error of the user's as one line on stderr and return the exit status, 2; raise any other again."""
    if not is_user_error(error):
        raise error
    if os.environ.get("LOCAL_RANK", "0") != "0":
        # The main process has most likely the same error, and what has started the processes stops them all then.
        time.sleep(_SECONDS_FOR_THE_MAIN_PROCESS)
    print(f"{command}: error: {' '.join(str(error).split())}", file=sys.stderr, flush=True)
    return 2


def is_user_error(error: Exception) -> bool:
    """Whether an error is about what the user gave: files, the Hub, arguments, packages to install.

    A TypeError or ValueError is where a `raise` statement of this library, or of one that checks names on the Hub, has
    raised it; where Python or torch has, it is a bug.
    """
    if isinstance(error, (OSError, StrictDataclassError, UnicodeError)):
        return True
    raised_in = _raised_in(error)
    if isinstance(error, ImportError):
        return raised_in is not None
    return isinstance(error, (TypeError, ValueError)) and raised_in in ("clozeformers", "huggingface_hub")


def is_own_error(error: Exception) -> bool:
    """Whether an error occurred in code of this library."""
    frame, _ = _place(error)
    return frame is not None and _package(frame) == "clozeformers"


def _raised_in(error: Exception) -> str | None:
    """Name of the package whose `raise` statement has raised an error; None if no such statement has."""
    frame, instruction = _place(error)
    return _package(frame) if frame is not None and frame.f_code.co_code[instruction] == _RAISE else None


def _place(error: Exception) -> tuple[FrameType | None, int]:
    """Where an error occurred: the innermost frame, and the instruction in it."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return (None, 0) if traceback is None else (traceback.tb_frame, traceback.tb_lasti)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__package__")).partition(".")[0]
