"""Train or fine-tune a question answering model, score it on SQuAD files, and write its results and model card.

    python run_glue_style/run_extractive_qa.py bidaf-gru --train_file train-v1.1.json --validation_file dev-v1.1.json \
        --test_file dev-v1.1.json --word_vectors glove.6B.100d.txt --output_dir runs/bidaf-gru

The first argument may be a recipe, a file or a name; the arguments that follow override it. `--num_seeds 5` repeats
with other seeds; `--resume_from_checkpoint true` continues an interrupted command. Runs unchanged under
`accelerate launch` and `torchrun`.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from clozeformers.errors import run_script
from clozeformers.question_answering.answers import answer_texts
from clozeformers.question_answering.arguments import (
    QADataArguments,
    QAModelArguments,
    QATrainingArguments,
    resolve_arguments,
)
from clozeformers.question_answering.card import CARD
from clozeformers.question_answering.distillation import add_teacher_targets
from clozeformers.question_answering.loading import article_titles, augment, load_corpora, load_model
from clozeformers.question_answering.trainer import QuestionAnsweringTrainer, encode_corpus
from clozeformers.training.experiment import Experiment, Run
from clozeformers.training.recipe import parse_recipe


def main(arguments: list[str]) -> dict[str, Any]:
    """Run a command line, print the scores, and return the record that `results.json` holds."""
    classes = (QAModelArguments, QADataArguments, QATrainingArguments)
    model_args, data_args, args = parse_recipe("question_answering", classes, arguments)
    data_args = resolve_arguments(model_args, data_args)
    corpora = load_corpora(data_args, args.seed)
    experiment = Experiment(
        CARD,
        "clozeformers.run_glue_style.run_extractive_qa",
        arguments=(model_args, data_args, args),
        corpora=corpora,
        command=arguments,
        groups=article_titles(corpora.train),
    )
    for run in experiment.runs():
        train_and_score(run, model_args, data_args, args.seed)
    return experiment.publish()


def train_and_score(run: Run, model_args: QAModelArguments, data_args: QADataArguments, seed: int) -> None:
    """Train and score the model of a run, with questions made by `seed`.

    The model goes with this function, before that of the next run is loaded.
    """
    augmented = augment(run.corpora, data_args, seed)
    model, tokenizer = load_model(model_args, data_args, augmented)
    encode = partial(encode_corpus, tokenizer=tokenizer, data_args=data_args, reports=run.features)
    train, validation = augmented.train, augmented.validation
    features = None
    if train is not None:
        distils = data_args.teachers is not None
        features = encode(train, "train", for_training=True, with_offsets=distils).features
        features = add_teacher_targets(train, features, data_args, run.args) if distils else features
    trainer = QuestionAnsweringTrainer(
        model,
        run.args,
        processing_class=tokenizer,
        max_answer_length=model.config.max_answer_length,
        no_answer=data_args.no_answer,
        train_dataset=features,
        validation=None if validation is None else encode(validation, "validation"),
    )
    evaluated = run.fit(trainer)
    if data_args.no_answer:
        # Nothing was chosen without validation questions: a model that is only scored has a threshold of its own.
        own = 0.0 if data_args.trains else getattr(model.config, "no_answer_threshold", None) or 0.0
        trainer.no_answer_threshold = evaluated.get("eval_best_f1_thresh", own)
        run.measured["no_answer_threshold"] = trainer.no_answer_threshold
        model.config.no_answer_threshold = trainer.no_answer_threshold
        run.save_config(trainer)
    for name, rows in augmented.test.items():
        metrics = trainer.predict_questions(encode(rows, name))
        run.record(trainer, name, metrics)
        threshold = trainer.no_answer_threshold if data_args.no_answer else None
        run.write(trainer, "predictions", name, answer_texts(trainer.nbest, threshold))
        run.write(trainer, "nbest_predictions", name, trainer.nbest)


if __name__ == "__main__":
    sys.exit(run_script(main))
