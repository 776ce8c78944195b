"""Fine-tune a negation scope model, score it on any number of corpora, and write its results and model card.

    python run_glue_style/run_negation_scope.py configs/negation_scope/oa-ca-augment.yaml \
        --train_file SEM-2012-SharedTask-CD-SCO-training-09032012.txt --validation_fraction 0.1 \
        --test_file SEM-2012-SharedTask-CD-SCO-dev-09032012.txt --output_dir runs/oa-ca

The first argument may be a recipe; what stands after it overrides it. `--num_folds 10` cross-validates,
`--num_seeds 10` repeats with other seeds; `--resume_from_checkpoint true` goes on with what an interrupted command
left. Runs unchanged under `accelerate launch` and `torchrun`.
"""

from __future__ import annotations

import sys

from clozeformers.negation_scope.arguments import (
    NegationDataArguments,
    NegationModelArguments,
    NegationTrainingArguments,
)
from clozeformers.negation_scope.runs import run_negation_scope
from clozeformers.training.recipe import parse_recipe


def main(arguments: list[str]) -> None:
    """Parse the command line and run it."""
    classes = (NegationModelArguments, NegationDataArguments, NegationTrainingArguments)
    model_args, data_args, training_args = parse_recipe(classes, arguments)
    table = run_negation_scope(model_args, data_args, training_args, arguments)
    if training_args.process_index == 0:
        print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
