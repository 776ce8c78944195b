"""Train or fine-tune a question answering model, score it on SQuAD files, and write its results and model card.

    python run_glue_style/run_extractive_qa.py configs/question_answering/bidaf-gru.yaml \
        --train_file train-v1.1.json --validation_file dev-v1.1.json --test_file dev-v1.1.json \
        --word_vectors glove.6B.100d.txt --output_dir runs/bidaf-gru

The first argument may be a recipe; what stands after it overrides it. `--resume_from_checkpoint true` goes on with what
an interrupted command left. Runs unchanged under `accelerate launch` and `torchrun`.
"""

from __future__ import annotations

import json
import sys

from clozeformers.question_answering.arguments import QADataArguments, QAModelArguments, QATrainingArguments
from clozeformers.question_answering.runs import run_extractive_qa
from clozeformers.training.recipe import parse_recipe


def main(arguments: list[str]) -> None:
    """Parse the command line and run it."""
    classes = (QAModelArguments, QADataArguments, QATrainingArguments)
    model_args, data_args, training_args = parse_recipe(classes, arguments)
    scores = run_extractive_qa(model_args, data_args, training_args, arguments)
    if training_args.process_index == 0:
        print(json.dumps(scores, indent=2))


if __name__ == "__main__":
    main(sys.argv[1:])
