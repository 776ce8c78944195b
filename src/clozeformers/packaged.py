"""Models in the package, one folder a task: what `clozeformers models` lists, and how they get there.

    python -m clozeformers.packaged runs/negation     # a finished run of a training script, with --weight_step 0.125

The run's model, card and results replace the task's packaged model.
"""

from __future__ import annotations

import sys
from pathlib import Path

from .analysis.tables import markdown_table
from .errors import run_script
from .files import atomic_folder, read_json_object, write_bytes
from .pipelines.checkpoints import PACKAGED_MODELS
from .tasks import TASKS, task_named
from .training.model_card import percent

_RESULTS, _CARD = "results.json", "README.md"
_MODEL_FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


def packaged_models_table(folder: Path = PACKAGED_MODELS) -> str:
    """Markdown table of the packaged models, one row a task and test set, with sizes and scores in percent."""
    rows = []
    for task in TASKS:
        own = folder / task.pipeline_name
        if not (own / _RESULTS).exists():
            rows.append([task.pipeline_name, "none", *"–––––"])
            continue
        record = read_json_object(own / _RESULTS, "reinstall clozeformers")
        size = sum(file.stat().st_size for file in own.iterdir()) / 1e6
        model = [str(record["recipe"]), f"{record['parameters'] / 1e6:.1f} M", f"{size:.1f} MB"]
        measure, column = next(iter(task.card.measures.items()))
        for test_set, scores in record["scores"].items():
            rows.append([task.pipeline_name, *model, test_set, column, percent(scores[measure])])
    return markdown_table(["pipeline", "recipe", "parameters", "size", "test set", "measure", "score"], rows)


def package_run(run: Path, folder: Path = PACKAGED_MODELS) -> Path:
    """Copy a finished run into the package.

    Args:
        run: output folder of a training script; of several seeds or folds, the model is that of the first.
        folder: of all packaged models.

    Returns:
        The folder of the model.

    Raises:
        ValueError: the run has no results or no model.
    """
    record = read_json_object(run / _RESULTS, "give the output folder of a finished training")
    model = run / record["runs"][0]["run"]
    sources = [*(model / name for name in _MODEL_FILES), run / _RESULTS, run / _CARD]
    for source in sources:
        if not source.exists():
            raise ValueError(f"{source} does not exist; give the output folder of a finished training")
    target = folder / task_named(record["task"]).pipeline_name
    with atomic_folder(target) as unfinished:
        for source in sources:
            write_bytes(source.read_bytes(), unfinished / source.name)
    return target


def main(arguments: list[str]) -> None:
    """Package the runs of a command line."""
    if not arguments:
        raise ValueError("give the output folder of a finished training")
    for run in arguments:
        print(f"{run} is packaged as {package_run(Path(run))}")


if __name__ == "__main__":
    sys.exit(run_script(main))
