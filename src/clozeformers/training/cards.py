"""What model cards of all tasks have in common."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard, ModelCardData


def save_card(
    data: ModelCardData,
    template: Path,
    folder: Path,
    *,
    usage: str,
    model_folder: Path | None,
    sections: Mapping[str, str],
) -> Path:
    """Run the usage snippet, fill in a template and write it as `README.md`.

    Args:
        data: the card's metadata.
        template: with the places that `sections` fill.
        folder: where to; made if it is not there.
        usage: the snippet.
        model_folder: what it is run with; without a model, the card has no usage.
        sections: texts by name.

    Returns:
        The file written.

    Raises:
        ValueError: if the metadata is not what huggingface_hub's card classes read back.
    """
    output = run_snippet(usage, model_folder) if model_folder is not None else ""
    filled = {"usage": usage, "output": output, **sections}
    card = ModelCard.from_template(data, template_str=template.read_text(encoding="utf-8"), **filled)
    # `ModelCard.validate()` asks the Hub. What can be checked here: the card says what was meant when read again.
    if ModelCard(str(card)).data.to_dict() != data.to_dict():
        raise ValueError(f"the metadata of {data.model_name}'s card changes when it is read back: {data.to_dict()}")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "README.md"
    path.write_text(str(card).rstrip("\n") + "\n", encoding="utf-8")
    return path


def run_snippet(code: str, model_folder: Path) -> str:
    """Run a card's usage snippet, as it is printed, with a saved model in the place of `MODEL`.

    Returns:
        What it printed.
    """
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, "<usage snippet>", "exec"), {"MODEL": str(model_folder)})
    return printed.getvalue().rstrip("\n")


def provenance(record: Mapping[str, Any]) -> dict[str, str]:
    """How a run was done: the sections that every card has."""
    environment = record["environment"]
    return {
        "name": record["name"],
        "parameters": f"{record['parameters']:,}",
        "recipe": recipe_name(record),
        "settings": ", ".join(f"`{name}={value}`" for name, value in record["training"].items()) or "none",
        "command": record["command"],
        "date": environment["date"],
        "minutes": f"{record['minutes']:.1f}",
        "hardware": environment["hardware"],
        "versions": ", ".join(
            [f"Python {environment['python']}", *(f"{name} {v}" for name, v in environment["versions"].items())]
        ),
    }


def selection_note(record: Mapping[str, Any], chosen: str, measure: str) -> str:
    """A warning where a scored file is the one that chose the step, or epoch, to keep; empty where none is.

    Args:
        record: of a run.
        chosen: what was chosen.
        measure: by which.
    """
    validation = record["data"].get("validation_file")
    if validation is None or validation not in (record["data"].get("test_file") or []):
        return ""
    return (
        f". The {chosen} was chosen by its {measure} on the validation file, which is scored here: "
        "read that score as optimistic"
    )


def is_on_hub(name: str) -> bool:
    """Whether a name can only be one on the Hub: `owner/name`, and no file or folder here."""
    return re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name) is not None and not Path(name).exists()


def shown_name(name: str) -> str:
    """A name on the Hub as it is, a folder by its own name only."""
    return name if is_on_hub(name) else Path(name).name


def recipe_name(record: Mapping[str, Any]) -> str:
    """Name of the recipe, the script's first argument; a dash without one."""
    words = shlex.split(record["command"])
    first = words[2] if len(words) > 2 else ""
    return Path(first).stem if first.endswith((".yaml", ".yml", ".json")) else "–"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0) -> str:
    """Markdown table; the last `numbers` columns are aligned to the right."""
    rule = ["---"] * (len(header) - numbers) + ["---:"] * numbers
    return "\n".join(
        "| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in (header, rule, *rows)
    )
