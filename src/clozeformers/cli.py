"""The `clozeformers` command: results tables, scopes of raw text, and models with their code beside them."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TextIO

_CUE, _SCOPE = "cue", "scope"
_COLOURS = {_CUE: ("\x1b[1;31m", "\x1b[0m"), _SCOPE: ("\x1b[4;32m", "\x1b[0m")}
_BRACKETS = {_CUE: ("[", "]"), _SCOPE: ("{", "}")}
USER_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: the command line without the command's own name; None for that of the process.

    Returns:
        The exit status: 0, or 2 after an error of the user's, which is told on stderr.
    """
    options = _parser().parse_args(arguments)
    try:
        for line in options.command(options):
            print(line)
    except BrokenPipeError:  # whoever read the output has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, TypeError, ValueError) as error:
        print(f"clozeformers {options.name}: error: {error}", file=sys.stderr)
        return USER_ERROR
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="clozeformers", description=__doc__)
    commands = parser.add_subparsers(dest="name", required=True, metavar="COMMAND")
    results = commands.add_parser("results", help="print results files as one Markdown table")
    results.add_argument("files", nargs="+", type=Path, metavar="FILE", help="results.json of a training script")
    results.set_defaults(command=_results)
    scope = commands.add_parser("scope", help="show the negation cues of a text and what they negate")
    scope.add_argument("texts", nargs="+", metavar="TEXT", help='a text; "-" for each line of the standard input')
    scope.add_argument("--model", required=True, help="a negation scope model: a folder or a name on the Hub")
    scope.add_argument("--json", action="store_true", help="one JSON object a text, in place of marked text")
    scope.set_defaults(command=_scope)
    export = commands.add_parser("export", help="save a model with the code that it needs to load without this library")
    export.add_argument("model", metavar="MODEL", help="a negation scope model: a folder or a name on the Hub")
    export.add_argument("folder", type=Path, metavar="FOLDER", help="where to save it")
    export.set_defaults(command=_export)
    return parser


# ------------------------------------------------------------------------------------------------------------ commands


def _results(options: argparse.Namespace) -> Iterator[str]:
    from .training.model_card import results_table

    yield results_table([_read_record(path) for path in options.files])


def _read_record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON file: {error}") from None
    if not isinstance(record, dict) or not {"model", "data", "scores", "environment"} <= record.keys():
        raise ValueError(f"{path} holds no results; give the results.json that run_negation_scope.py writes")
    return record


def _scope(options: argparse.Namespace) -> Iterator[str]:
    negation = _load_pipeline(options.model)
    colour = terminal_has_colour()
    for text in _texts(options.texts):
        found = negation(text)
        yield (
            json.dumps({"text": text, "cues": found}, ensure_ascii=False)
            if options.json
            else show_scopes(text, found, colour)
        )


def _texts(given: Iterable[str]) -> Iterator[str]:
    for text in given:
        if text == "-":
            yield from (line.rstrip("\r\n") for line in sys.stdin if line.strip())
        else:
            yield text


def _export(options: argparse.Namespace) -> Iterator[str]:
    from .hub import save_with_code

    save_with_code(_load_pipeline(options.model), options.folder)
    yield f"saved in {options.folder}; where clozeformers is not installed, load it with trust_remote_code=True"


def _load_pipeline(model: str) -> Any:
    import transformers

    if (Path(model).is_absolute() or model.startswith(".")) and not Path(model).is_dir():
        raise FileNotFoundError(f"there is no folder {model}; give a saved model's folder, or owner/name on the Hub")
    # Only results and errors are of interest here, not the progress of loading.
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    # Without a plain no, transformers asks on the standard input, where the texts may come from.
    return transformers.pipeline("negation-scope", model=model, trust_remote_code=False)


# ------------------------------------------------------------------------------------------------------------- drawing


def terminal_has_colour(stream: TextIO | None = None) -> bool:
    """Whether a stream (the standard output) is a terminal that shows colours, and NO_COLOR does not forbid them."""
    stream = stream or sys.stdout
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def show_scopes(text: str, results: Sequence[Mapping[str, Any]], colour: bool) -> str:
    """Draw a text once for each of its cues, with cue and scope marked.

    Args:
        text: what the pipeline was given.
        results: what `pipeline("negation-scope")` returned for it.
        colour: mark the cue bold red and the scope green and underlined; without, ``[cue]`` and ``{scope}``.

    Returns:
        One line a cue; the text as it is, on one line, where there is none. A character in both is shown as the cue's.
    """
    marks = _COLOURS if colour else _BRACKETS
    # Line breaks would break "one line a cue", and other control characters could steer the terminal.
    shown = "".join(character if character.isprintable() else " " for character in text)
    return "\n".join(_draw(shown, result, marks) for result in results) if results else shown


def _draw(text: str, result: Mapping[str, Any], marks: Mapping[str, tuple[str, str]]) -> str:
    kinds: list[str | None] = [None] * len(text)
    for kind, spans in ((_SCOPE, result["scope"]), (_CUE, result["cue"].get("parts", [result["cue"]]))):
        for span in spans:
            kinds[span["start"] : span["end"]] = [kind] * (span["end"] - span["start"])
    drawn = []
    for key, group in groupby(range(len(text)), key=kinds.__getitem__):
        before, after = marks[key] if key else ("", "")
        drawn.append(before + "".join(text[place] for place in group) + after)
    return "".join(drawn)


if __name__ == "__main__":
    sys.exit(main())
