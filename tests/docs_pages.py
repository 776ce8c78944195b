"""The snippets of the documentation, and how they are run: `python -m tests.docs_pages` counts them."""

from __future__ import annotations

import importlib
import io
import json
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from accelerate.commands.launch import launch_command_parser
from packaging.requirements import Requirement

from clozeformers.cli import main as clozeformers

from .test_packaging import ROOT, tomllib

DOCS = ROOT / "docs"
RUN = ("python", "bash")
_FENCE = re.compile(r"^( *)```(\w+)?([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r' title="([^"]+)"')
_ENVIRONMENT = re.compile(r"[A-Z_]+=")
QUIET = ["--use_cpu", "true", "--disable_tqdm", "true", "--report_to", "none"]


class Block(NamedTuple):
    """A fenced block: language, the file that its title names, text, place, and whether one is just above."""

    kind: str
    title: str | None
    code: str
    line: int
    follows: bool


def pages() -> list[str]:
    """The pages, as paths in docs."""
    return sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found: list[Block] = []
    end = 0
    for match in _FENCE.finditer(text):
        indent, kind, info, code = match.groups()
        follows, end = bool(found) and not text[end : match.start()].strip(), match.end()
        line = text[: match.start()].count("\n") + 1
        assert not indent, f"{page}, line {line}: an indented block is not run"
        title = _TITLE.fullmatch(info)
        assert title or not info, f"{page}, line {line}: {info}"
        found.append(Block(kind or "text", title and title[1], code, line, follows))
    return found


def snippets(page: str) -> list[Block]:
    """The blocks of a page that run."""
    return [block for block in blocks(page) if block.kind in RUN]


@dataclass
class Reader:
    """Does what a page says, in the working folder: writes its files, and runs its code and its commands in order.

    Attributes:
        page: the page.
        options: added to the commands that train; the model only where they name none.
        left_out: a block with one of these texts is not run.
        not_compared: nor is the output in a block with one of these compared.
        replaced: texts that commands have in place of others.
        names: the variables of the page's Python code.
        printed: by each block that was run, in order.
    """

    page: str
    options: Sequence[str] = ()
    left_out: Sequence[str] = ()
    not_compared: Sequence[str] = ()
    replaced: Mapping[str, str] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    printed: list[str] = field(default_factory=list)

    def read(self) -> None:
        """Go through the page."""
        was_run = False
        for block in blocks(self.page):
            place = f"docs/{self.page}, line {block.line}"
            if block.title:
                Path(block.title).write_text(block.code, encoding="utf-8")
            if block.kind == "text" and was_run and block.follows and block.code not in self.not_compared:
                assert self.printed[-1] == block.code, f"{place}: {self.printed[-1]}"
            was_run = block.kind in RUN and not any(text in block.code for text in self.left_out)
            if was_run:
                self._run(block, place)

    def _run(self, block: Block, place: str) -> None:
        printed = io.StringIO()
        with redirect_stdout(printed):
            if block.kind == "python":
                exec(compile("\n" * block.line + block.code, place, "exec"), self.names)
            else:
                code = block.code.replace("\\\n", "")
                for text, other in self.replaced.items():
                    code = code.replace(text, other)
                for line in code.splitlines():
                    if words := shlex.split(line, comments=True):
                        self._command(words, f"{place}: {line}")
        self.printed.append(printed.getvalue())

    def _command(self, words: list[str], place: str) -> None:
        while _ENVIRONMENT.match(words[0]):
            words = words[1:]
        if words[0] == "clozeformers":
            trains = words[1] == "train" and "--help" not in words
            assert clozeformers([*words[1:], *(self._options(words) if trains else ())]) == 0, place
        elif words[:2] == ["accelerate", "launch"]:
            # In this process: that of `clozeformers predict` and of the scripts in several has tests of its own.
            launched = launch_command_parser().parse_args(words[2:])
            if launched.config_file is not None:
                assert (ROOT / launched.config_file).is_file(), place
            run = ["-m", launched.training_script] if launched.module else [launched.training_script]
            self._command(["python", *run, *launched.training_script_args], place)
        elif words[0] == "python":
            self._python(words[1:], place)
        elif words[:2] == ["pip", "install"]:
            check_requirements(words[2:], place)
        elif words[0] == "make":
            subprocess.run([*words, "--dry-run"], cwd=ROOT, check=True, capture_output=True)
        else:
            raise AssertionError(f"{place}: {words[0]} is not a command that the tests run")

    def _python(self, words: list[str], place: str) -> None:
        if words[:2] == ["-m", "clozeformers.cli"]:
            self._command(["clozeformers", *words[2:]], place)
            return
        if words[0] == "-m":
            module, arguments = words[1].removeprefix("clozeformers."), words[2:]
        else:
            assert (ROOT / words[0]).is_file(), place
            module, arguments = words[0].removesuffix(".py").replace("/", "."), words[1:]
        main = importlib.import_module(f"clozeformers.{module}").main
        main([*arguments, *(self._options(words) if module.startswith("run_glue_style.") else ())])

    def _options(self, words: Sequence[str]) -> list[str]:
        added, model = [*self.options, *QUIET], "--model_name_or_path"
        if model in words and model in added:
            del added[added.index(model) : added.index(model) + 2]
        return added


def check_requirements(words: Sequence[str], place: str) -> None:
    """Check that what a page installs is this package, with extras that it has, or one that it can be tested with."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    known = {Requirement(text).name for text in [*project["dependencies"], *extras["test"]]}
    for word in words:
        requirement = Requirement(word)
        if requirement.name == "clozeformers":
            assert requirement.extras <= extras.keys(), place
        else:
            assert requirement.name in known, place


def notebook_cells(path: Path) -> list[str]:
    """The code cells of a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


if __name__ == "__main__":
    counts = {page: len(snippets(page)) for page in pages()}
    for name, count in counts.items():
        print(f"{count:4} {name}")
    print(f"{sum(counts.values()):4} snippets on {len(counts)} pages")
