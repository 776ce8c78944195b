"""Score the baselines of abstract cloze, or an ensemble of trained models, on ReCAM files.

    python run_glue_style/run_abstract_cloze_baselines.py --method ngrams --train_file Task_1_train.jsonl \
        --test_file Task_1_dev.jsonl --output_dir runs/ngrams
    python run_glue_style/run_abstract_cloze_baselines.py --method ensemble --members runs/ngrams runs/span runs/gap \
        --test_file Task_1_dev.jsonl --num_seeds 2 --output_dir runs/ensemble

Writes the same files as `run_abstract_cloze.py`. An ensemble reads what its members' commands have predicted: the same
seeds, and the same test sets.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from datasets import Dataset

from clozeformers.abstract_cloze.arguments import ClozeDataArguments
from clozeformers.abstract_cloze.baselines import (
    add_standardized,
    probabilities_of,
    score_by_cosine,
    score_by_length,
)
from clozeformers.abstract_cloze.card import CARD
from clozeformers.abstract_cloze.loading import load_corpora, score_held_out
from clozeformers.abstract_cloze.ngrams import FEATURES, NGramRegression
from clozeformers.abstract_cloze.trainer import accuracy, best_options, vote_of_runs
from clozeformers.errors import run_script
from clozeformers.files import read_json_object, write_json
from clozeformers.training.arguments import ScriptTrainingArguments
from clozeformers.training.corpora import file_label
from clozeformers.training.experiment import Experiment
from clozeformers.training.recipe import parse_recipe


@dataclass
class BaselineArguments:
    """What scores the options."""

    method: Literal["longest", "cosine", "ngrams", "ensemble"] = field(
        metadata={
            "help": "The longest option; the cosine of article and filled-in question; logistic regression over "
            "n-grams of the training file; or the sum of the standardised scores of --members."
        }
    )
    model_name_or_path: str | None = field(default=None, metadata={"help": "Encoder of --method cosine."})
    members: list[str] | None = field(
        default=None, metadata={"help": "Output folders of the commands whose models --method ensemble adds up."}
    )

    def __post_init__(self) -> None:
        """Raise a ValueError for a method without what it needs."""
        needed = {"cosine": "model_name_or_path", "ensemble": "members"}.get(self.method)
        if needed and not getattr(self, needed):
            raise ValueError(f"--method {self.method} needs --{needed}")


def main(arguments: list[str]) -> dict[str, Any]:
    """Run a command line, print the scores, and return the record that `results.json` holds."""
    classes = (BaselineArguments, ClozeDataArguments, ScriptTrainingArguments)
    model_args, data_args, args = parse_recipe("abstract_cloze", classes, arguments)
    if model_args.method == "ngrams" and not data_args.trains:
        raise ValueError("--method ngrams needs --train_file, whose n-grams it counts")
    if args.world_size > 1:
        raise ValueError("the baselines are counted in one process; leave out accelerate launch")
    corpora = score_held_out(load_corpora(data_args, args.seed), args)
    experiment = Experiment(
        CARD,
        "clozeformers.run_glue_style.run_abstract_cloze_baselines",
        arguments=(model_args, data_args, args),
        corpora=corpora,
        command=arguments,
    )
    for run in experiment.runs():
        parameters = 0
        if model_args.method == "ngrams":
            regression = NGramRegression(run.corpora.train, run.corpora.test.values())
            parameters = len(FEATURES)
        for name, rows in run.corpora.test.items():
            if model_args.method == "ngrams":
                scores = regression.scores(rows)
            elif model_args.method == "ensemble":
                scores = add_standardized(read_members(model_args.members, run.args.seed, name, rows), rows)
            else:
                scores = score(model_args, rows)
            probabilities = probabilities_of(rows, scores)
            run.scores[name] = accuracy(best_options(probabilities), rows)
            write_json(best_options(probabilities), run.path("predictions", name))
            write_json(probabilities, run.path("probabilities", name))
        run.measured |= {"parameters": parameters, "trained_parameters": parameters, "config": {}}
    return experiment.publish(ensemble=vote_of_runs(experiment))


def score(model_args: BaselineArguments, rows: Dataset) -> list[np.ndarray]:
    """Scores of the methods that neither count nor learn."""
    if model_args.method == "longest":
        return score_by_length(rows)
    assert model_args.model_name_or_path is not None
    return score_by_cosine(rows, model_args.model_name_or_path)


def read_members(folders: list[str], seed: int, test_set: str, rows: Dataset) -> list[dict[str, list[float]]]:
    """Read the probabilities of each member for a test set: those of the seed, or of a command with a single run.

    Raises:
        FileNotFoundError: a member has not predicted it.
        ValueError: a member has predicted other questions.
    """
    members = []
    for folder in map(Path, folders):
        of_seed = folder / f"seed-{seed}"
        path = (of_seed if of_seed.is_dir() else folder) / f"probabilities_{file_label(test_set)}.json"
        if not path.is_file():
            raise FileNotFoundError(f"there is no {path}; score {folder} with --test_file of this name and seed {seed}")
        member = read_json_object(path)
        missing = next((row_id for row_id in rows["id"] if row_id not in member), None)
        if missing is not None:
            raise ValueError(f"{path} has no prediction for the question {missing!r}; score the same file")
        members.append(member)
    return members


if __name__ == "__main__":
    sys.exit(run_script(main))
