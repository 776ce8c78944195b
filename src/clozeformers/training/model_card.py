"""Model cards and results tables, written from the record that a training script leaves in `results.json`."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from ..analysis.tables import markdown_table
from ..files import data_name, write_text
from .arguments import split_test_file

Record = Mapping[str, Any]

_TEMPLATE = Path(__file__).with_name("model_card_template.md")


@dataclass(frozen=True)
class TaskCard:
    """A task's part of the model card and of the results table.

    Attributes:
        task: name of the task's pipeline.
        title: name of the task in words.
        pipeline_tag: the Hub's name for models of this kind.
        tags: of the Hub, besides `clozeformers` and the task.
        summary: record -> what the model does, one or two sentences.
        usage: record -> a snippet that prints a result; it is run with the saved model as ``MODEL``.
        measures: name of a score -> its column; the first decides the order of the results table.
        counts: name of a count of `statistics` -> its column.
        statistics: counts of a corpus, and other numbers.
        model: record -> what kind of model it is, as name -> value.
        columns: record -> the task's own columns of the results table.
        chosen: record -> what was chosen by the score on the validation file, such as ``"epoch"``; None for nothing.
        dataset: record and test set -> type and name of a data set, as the Hub has it.
        licence: record -> licence of the training data, in words.
        notes: record -> the last sections of the card: labels, limits.
        formats: data arguments -> the format of each file, for the record.
    """

    task: str
    title: str
    pipeline_tag: str
    tags: tuple[str, ...]
    summary: Callable[[Record], str]
    usage: Callable[[Record], str]
    measures: Mapping[str, str]
    counts: Mapping[str, str]
    statistics: Callable[[Any], Mapping[str, float]]
    model: Callable[[Record], dict[str, str]]
    columns: Callable[[Record], dict[str, str]]
    chosen: Callable[[Record], str | None]
    dataset: Callable[[Record, str], tuple[str, str]]
    licence: Callable[[Record], str]
    notes: Callable[[Record], str]
    formats: Callable[[Mapping[str, Any]], dict[str, str]] = lambda data: {}


def write_model_card(card: TaskCard, record: Record, path: Path, model_folder: Path | None) -> Path:
    """Write the model card of a command.

    Args:
        card: the task's part.
        record: as in `results.json`; every number of the card is read from it.
        path: the file to write.
        model_folder: a saved model of the command, with which the usage snippet is run; None leaves usage out.

    Returns:
        The file.

    Raises:
        ValueError: the metadata is not what huggingface_hub reads back.
    """
    output = run_snippet(card.usage(record), model_folder) if model_folder is not None else None
    write_text(render_model_card(card, record, output), path)
    return path


def render_model_card(card: TaskCard, record: Record, output: str | None) -> str:
    """The text of a model card; `output` is what the usage snippet has printed, None for a card without usage."""
    data = card_data(card, record)
    environment, run = record["environment"], record["runs"][0]
    libraries = {"Python": environment["python"], **environment["versions"]}
    sections = {
        "name": record["name"],
        "summary": card.summary(record),
        "facts": _facts(card.model(record) | _parameters(record)),
        "usage": card.usage(record),
        "output": output,
        "averaged": _averaged(record) + _selection_note(card, record),
        "scores": scores_table(card, record),
        "training": _facts(
            {
                "recipe": record["recipe"] or "–",
                "settings": ", ".join(f"`{name}={value}`" for name, value in record["training"].items()) or "none",
                "seeds": ", ".join(str(seed) for seed in dict.fromkeys(run["seed"] for run in record["runs"])),
                "epochs": _epochs(run),
                **({"precision": record["precision"]} if "precision" in record else {}),  # older records have none
                "date": environment["date"],
                "time": f"{record['minutes']:.1f} minutes, all runs together",
                "hardware": environment["hardware"],
                "libraries": ", ".join(f"{name} {version}" for name, version in libraries.items()),
            }
        ),
        "command": record["command"],
        "statistics": _statistics(card, record),
        "licence": card.licence(record),
        "notes": card.notes(record),
    }
    filled = ModelCard.from_template(data, template_str=_TEMPLATE.read_text(encoding="utf-8"), **sections)
    # `ModelCard.validate()` asks the Hub; offline, the metadata must at least survive a round trip.
    if ModelCard(str(filled)).data.to_dict() != data.to_dict():
        raise ValueError(f"the metadata of {record['name']}'s card changes when it is read back: {data.to_dict()}")
    return str(filled).rstrip("\n") + "\n"


def card_data(card: TaskCard, record: Record) -> ModelCardData:
    """The metadata of a card."""
    base, dataset = record["model"].get("model_name_or_path"), record["data"].get("dataset_name")
    return ModelCardData(
        model_name=record["name"],
        language="en",
        library_name="transformers",
        license="other",
        license_name="see-training-data",
        pipeline_tag=card.pipeline_tag,
        tags=["clozeformers", card.task, *card.tags],
        base_model=base if base and is_on_hub(base) else None,
        datasets=[dataset] if dataset and is_on_hub(dataset) else None,
        eval_results=_eval_results(card, record) or None,
    )


def _eval_results(card: TaskCard, record: Record) -> list[EvalResult]:
    """Mean of each score of each test set and, of several seeds, that of their vote, in percent."""
    results = []
    votes = record.get("ensemble") or {}
    for test_set, scores in record["scores"].items():
        dataset_type, dataset_name = card.dataset(record, test_set)
        values: list[tuple[str, str, float, dict[str, Any] | None]] = []
        for name in (name for name in card.measures if name in scores):
            spread = {"std": round(scores[name]["std"], 2), "runs": scores[name]["runs"]}
            values.append((name, card.measures[name], round(scores[name]["mean"], 2), spread))
        for name, value in votes.get(test_set, {}).items():
            values.append((name, f"{card.measures[name]} of the vote", round(value, 2), None))
        results += [
            EvalResult(
                task_type=card.pipeline_tag,
                task_name=card.title,
                dataset_type=dataset_type,
                dataset_name=dataset_name,
                dataset_split=test_set,
                metric_type=name,
                metric_name=column,
                metric_value=value,
                metric_args=args,
            )
            for name, column, value, args in values
        ]
    return results


def run_snippet(code: str, model_folder: Path) -> str:
    """Run a usage snippet with a saved model in the place of ``MODEL``, and return what it prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, "<usage snippet>", "exec"), {"MODEL": str(model_folder)})
    return printed.getvalue().rstrip("\n")


# -------------------------------------------------------------------------------------------------------------- tables


def scores_table(card: TaskCard, record: Record) -> str:
    """Markdown table of a record's scores in percent, one row a test set; a sentence if nothing was scored."""
    if not record["scores"]:
        best = _best(record["runs"][0])
        return "Nothing was scored: no test set with labels was given." + (
            f" Of the first run, {best}." if best else ""
        )
    votes = record.get("ensemble") or {}
    names = [name for name in card.measures if any(name in scores for scores in record["scores"].values())]
    header = ["test set", *(card.measures[name] for name in names)] + ["vote"] * bool(votes)
    rows = [
        [test_set, *(percent(scores.get(name)) for name in names), *([_vote(record, test_set)] if votes else [])]
        for test_set, scores in record["scores"].items()
    ]
    return markdown_table(header, rows, numbers=len(header) - 1)


def results_table(card: TaskCard, records: Sequence[Record]) -> str:
    """Markdown table of many records of one task.

    Returns:
        One row a record and test set, by training data and test set, best first; scores in percent.
    """
    main = next(iter(card.measures))
    found = [(record, test_set) for record in records for test_set in record["scores"]]
    found.sort(key=lambda item: (_trained_on(item[0]), item[1], -item[0]["scores"][item[1]][main]["mean"]))
    names = [name for name in card.measures if any(name in record["scores"][test_set] for record, test_set in found)]
    has_votes = any(record.get("ensemble") for record in records)
    rows = [
        {
            "trained on": _trained_on(record),
            "test set": test_set,
            **card.columns(record),
            **{card.measures[name]: percent(record["scores"][test_set].get(name)) for name in names},
            **({"vote": _vote(record, test_set)} if has_votes else {}),
            "runs": str(len(record["runs"])),
            "parameters": f"{record['parameters'] / 1e6:.1f} M",
            "trained": f"{record['trained_parameters'] / 1e6:.1f} M",
            "minutes": f"{record['minutes']:.0f}",
            "date": record["environment"]["date"],
            "recipe": record["recipe"] or "–",
        }
        for record, test_set in found
    ]
    return markdown_table(list(rows[0]), [list(row.values()) for row in rows]) if rows else ""


def percent(value: Mapping[str, float] | None) -> str:
    """Mean of a score and, over several runs, its standard deviation; a dash for none."""
    if value is None:
        return "–"
    return f"{value['mean']:.2f}" + (f" ± {value['std']:.2f}" if value["runs"] > 1 else "")


def _vote(record: Record, test_set: str) -> str:
    scores = (record.get("ensemble") or {}).get(test_set)
    return f"{next(iter(scores.values())):.2f}" if scores else "–"


def _trained_on(record: Record) -> str:
    """Names of the training files; a dash for a model that was only scored."""
    data = record["data"]
    names = data.get("train_file") or [data.get("dataset_name") or "–"]
    return ", ".join(data_name(name) for name in [*names, *(data.get("extra_train_file") or [])])


def _facts(facts: Mapping[str, str]) -> str:
    return "\n".join(["| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in facts.items())])


def _parameters(record: Record) -> dict[str, str]:
    return {"parameters": f"{record['parameters']:,}", "trained parameters": f"{record['trained_parameters']:,}"}


def _epochs(run: Mapping[str, Any]) -> str:
    steps = f", {run['steps']:,} steps" if run.get("steps") else ""
    best = f"; {_best(run)}" if _best(run) else ""
    return f"{run['epochs']:.4g}{steps}{best}" if run.get("epochs") else "none"


def _best(run: Mapping[str, Any]) -> str:
    """The step that was chosen by the validation set; empty if none was."""
    best = run.get("best") or {}
    scores = [f"{name} {value:.4g}" for name, value in best.items() if name != "step" and value is not None]
    return (
        f"step {best['step']:,} is the best on the validation set, with {scores[0]}"
        if best.get("step") and scores
        else ""
    )


def _averaged(record: Record) -> str:
    """What the scores are averaged over."""
    num_folds, num_seeds = record["training"].get("num_folds"), record["training"].get("num_seeds", 1)
    parts = [f"{num_folds}-fold cross-validation"] if num_folds else []
    parts += [f"{num_seeds} seeds"] if num_seeds > 1 else []
    runs = len(record["runs"])
    if runs == 1 and num_folds:
        return f"one run, which holds out one of {num_folds} folds"
    if runs == 1:
        return "one run"
    return f"mean ± standard deviation over {runs} runs ({' and '.join(parts)})"


def _selection_note(card: TaskCard, record: Record) -> str:
    """A warning if something was chosen by the score on a file that is scored."""
    chosen, validation = card.chosen(record), record["data"].get("validation_file")
    scored = [path for given in record["data"].get("test_file") or [] for path in split_test_file(given)[1]]
    if chosen is None or validation is None or validation not in scored:
        return ""
    measure = card.measures[next(iter(card.measures))]
    return (
        f". The {chosen} was chosen by {measure} on the validation file, which is also scored here: "
        "that score is optimistic"
    )


def _statistics(card: TaskCard, record: Record) -> str:
    """Counts of each corpus, and what the encoding of each has counted."""
    rows = [[name, *(f"{counts[column]:,}" for column in card.counts)] for name, counts in record["corpora"].items()]
    text = markdown_table(["corpus", *card.counts.values()], rows, numbers=len(card.counts))
    if record.get("excluded"):
        text += f"\n\n{record['excluded']:,} training rows were left out."
    features = record["runs"][0].get("features") or {}
    lines = "\n".join(f"* {name}: {report}" for name, report in features.items())
    return f"{text}\n\n{lines}" if lines else text


def is_on_hub(name: str) -> bool:
    """Whether a name in a record is one on the Hub, `owner/name`: see `name_in_record`."""
    return re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name) is not None


def name_in_record(value: Any) -> Any:
    """An argument as a record keeps it: a path here that could also be a name on the Hub begins with ``./``.

    A card is then the same wherever it is rendered.
    """
    if isinstance(value, list):
        return [name_in_record(each) for each in value]
    return f"./{value}" if isinstance(value, str) and is_on_hub(value) and Path(value).exists() else value


def display_name(name: str) -> str:
    """A name on the Hub as it is, a folder by its own name only."""
    return name if is_on_hub(name) else Path(name).name
