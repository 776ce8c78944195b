"""The command line of the training scripts: the task's options first, and suggestions for misspelt ones."""

from __future__ import annotations

import argparse
import copy
import re
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from transformers import HfArgumentParser, TrainingArguments
from transformers.hf_argparser import string_to_bool

from ..text import did_you_mean
from .arguments import DataArguments

_ALWAYS_SHOWN = ("output_dir", "resume_from_checkpoint", "run_name", "use_cpu")
_METAVARS = {int: "N", float: "X", string_to_bool: "true|false"}
_MOST_CHOICES = 6
_FIRST_SENTENCE = re.compile(r".*?\w\w(?=\.(?:\s|$))|.*")
_OTHER_SPELLING = re.compile(r"/--[\w-]+")


class ScriptParser(HfArgumentParser):
    """`HfArgumentParser` whose `--help` lists what a task's recipes use, and `--help-all` all of Trainer's options too.

    Args:
        argument_classes: as for `HfArgumentParser`.
        recipes: names of the task's recipes.
        recipe_fields: names of the fields that they have.

    Raises:
        ValueError: by all methods that parse, for a command line that is wrong.
    """

    def __init__(
        self, argument_classes: Sequence[type], recipes: Collection[str], recipe_fields: Collection[str]
    ) -> None:
        super().__init__(argument_classes, prog=Path(sys.argv[0]).name, add_help=False, allow_abbrev=False)
        self.recipes = recipes
        self.shown = {*recipe_fields, *_ALWAYS_SHOWN} | self._own_fields()
        for names in (("-h", "--help"), ("--help-all",)):
            self.add_argument(*names, action=_HelpAction, nargs=0, dest=argparse.SUPPRESS)

    @property
    def options(self) -> dict[str, argparse.Action]:
        """The options by the names of their fields; of a field with a `--no_` option, the other."""
        return {action.dest: action for action in reversed(self._actions) if action.dest != argparse.SUPPRESS}

    def _own_fields(self) -> set[str]:
        known = {field.name for field in fields(TrainingArguments)}
        return {field.name for own in self.dataclass_types for field in fields(own)} - known

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As `ArgumentParser.parse_known_args`, but there must be no unknown arguments."""
        for option in (word.split("=")[0] for word in args or () if word.startswith("--")):
            if option not in self._option_string_actions:
                suggested = did_you_mean(option[2:].replace("-", "_"), self.options, "--")
                self.error(f"there is no option {option}{suggested}")
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"the argument {unknown[0]!r} belongs to no option; a recipe comes first")
        return parsed, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            message = f"{error.message}{did_you_mean(str(value), map(str, action.choices or ()))}"
            raise argparse.ArgumentError(action, message) from None

    def error(self, message: str) -> Any:
        """Raise a ValueError, in place of an exit with the usage."""
        raise ValueError(f"{_OTHER_SPELLING.sub('', message)} (--help lists the options)")

    def format_help(self, everything: bool = False) -> str:
        """The help, in groups: model, data, training and, if `everything`, all other options of Trainer."""
        width = min(shutil.get_terminal_size().columns - 2, 118)
        formatter = argparse.RawDescriptionHelpFormatter(self.prog, max_help_position=36, width=width)
        formatter.add_usage("%(prog)s [RECIPE] [--option value ...]", [], [])
        recipes = f"A recipe is a YAML or JSON file, or one of: {', '.join(self.recipes)}."
        formatter.add_text(textwrap.fill(recipes, width, break_on_hyphens=False))
        for title, actions in self._groups(everything):
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        if not everything:
            formatter.add_text("--help-all lists the other options, which are those of transformers.TrainingArguments.")
        return formatter.format_help()

    def _groups(self, everything: bool) -> Iterator[tuple[str, list[argparse.Action]]]:
        others: list[argparse.Action] = []
        for own in self.dataclass_types:
            actions = [(field.name, _shortened(self.options[field.name])) for field in fields(own) if field.init]
            yield _title(own), [action for name, action in actions if name in self.shown]
            others += [action for name, action in actions if name not in self.shown]
        if everything:
            yield "other options of Trainer", others


class _HelpAction(argparse.Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        sys.stdout.write(parser.format_help(everything=option_string == "--help-all"))
        sys.exit()


def _title(own: type) -> str:
    return "training" if issubclass(own, TrainingArguments) else "data" if issubclass(own, DataArguments) else "model"


def _shortened(action: argparse.Action) -> argparse.Action:
    """An option with one spelling, the type of its value, the first sentence of its help, and its default."""
    short = copy.copy(action)
    short.option_strings = action.option_strings[:1]
    if action.choices is None or len(list(action.choices)) > _MOST_CHOICES:
        metavar = _METAVARS.get(action.type, "VALUE")
        short.metavar = f"{metavar} ..." if action.nargs == "+" else metavar
        short.nargs = None
    [sentence, *_] = _FIRST_SENTENCE.findall(" ".join((action.help or "").split()))
    default = getattr(action.default, "value", action.default)
    is_given = default not in (None, False, "") and not isinstance(default, (dict, list))
    short.help = sentence + (f" (default: {default})" if is_given else "")
    return short
