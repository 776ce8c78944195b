"""Fine-tune an abstract cloze model, score it on any number of files, and write its results and model card.

    python run_glue_style/run_abstract_cloze.py configs/abstract_cloze/albert-xxlarge-wn-duma.yaml \
        --train_file Task_1_train.jsonl --validation_file Task_1_dev.jsonl --test_file Task_1_dev.jsonl \
        --output_dir runs/wn-duma

The first argument may be a recipe; what stands after it overrides it. `--num_seeds 5` trains five models and lets them
vote; `--resume_from_checkpoint true` goes on with what an interrupted command left. Runs unchanged under
`accelerate launch` and `torchrun`.
"""

from __future__ import annotations

import sys

from clozeformers.abstract_cloze.arguments import ClozeDataArguments, ClozeModelArguments, ClozeTrainingArguments
from clozeformers.abstract_cloze.runs import run_abstract_cloze
from clozeformers.training.recipe import parse_recipe


def main(arguments: list[str]) -> None:
    """Parse the command line and run it."""
    classes = (ClozeModelArguments, ClozeDataArguments, ClozeTrainingArguments)
    model_args, data_args, training_args = parse_recipe(classes, arguments)
    table = run_abstract_cloze(model_args, data_args, training_args, arguments)
    if training_args.process_index == 0:
        print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
