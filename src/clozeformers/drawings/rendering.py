"""What `render` of the pipelines returns: the drawing of a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files import write_text
from .html import STYLE, Html, element
from .terminal import STYLES, Line, to_text


@dataclass(frozen=True)
class Rendering:
    """The drawing of a result.

    A notebook shows it as HTML; `print` marks text by brackets, `rich.print` by colours.

    Attributes:
        html: the drawing, without its style sheet.
        lines: what a terminal shows.
        result: what the pipeline has returned.
    """

    html: Html
    lines: Sequence[Line]
    result: Any

    def _repr_html_(self) -> str:
        return element("style", Html(STYLE.read_text(encoding="utf-8"))) + self.html

    def __str__(self) -> str:
        return to_text(self.lines, colour=False)

    def __rich_console__(self, console: Any, _: Any) -> Iterator[Any]:
        from rich.text import Text

        if console.color_system is None or console.no_color:
            yield Text(str(self))
        else:
            for line in self.lines:
                yield Text.assemble(*((part.text, STYLES.get(part.kind, "")) for part in line))

    def save(self, path: str | Path) -> None:
        """Write a page that loads no other file."""
        head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>clozeformers</title>'
        write_text(f'<!DOCTYPE html>\n<html lang="en">{head}{self._repr_html_()}</html>\n', Path(path))


def call_parameters(pipeline: Any, given: Mapping[str, Any]) -> Any:
    """The parameters of preprocessing, in a call of a pipeline with some."""
    own = {name: value for name, value in given.items() if name not in ("batch_size", "num_workers")}
    return pipeline._resolve_parameters(**pipeline._preprocess_params | pipeline._sanitize_parameters(**own)[0])
