"""A run of the question answering script: training, the answers of every test file, scores and card."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import set_seed

from ..training.corpora import file_label
from ..training.results import write_json
from ..training.runs import (
    command_line,
    measured_record,
    publish_record,
    run_arguments,
    run_once,
    run_result,
    set_up_logging,
    train_and_evaluate,
)
from .answers import answer_texts
from .arguments import QADataArguments, QAModelArguments, QATrainingArguments
from .encoding import qa_features
from .loading import QACorpora, load_qa_corpora, load_qa_model
from .model_card import TASK, write_qa_model_card
from .trainer import QuestionAnsweringTrainer, Questions, simple_forms

SCRIPT = "run_extractive_qa.py"


def run_extractive_qa(
    model_args: QAModelArguments, data_args: QADataArguments, args: QATrainingArguments, command: list[str]
) -> dict[str, dict[str, float]]:
    """Train a model, if there is something to train on, and score it.

    Args:
        model_args: which model.
        data_args: which questions.
        args: how to train.
        command: the command line, for the record.

    Returns:
        The scores of each test file, in percent.
    """
    set_up_logging(args)
    corpora = load_qa_corpora(data_args, args.seed)
    if corpora.validation is None and corpora.train is not None and args.eval_strategy != "no":
        raise ValueError(
            f"--eval_strategy {args.eval_strategy.value} needs --validation_file, or a --dataset_name with a "
            "validation split; or give --eval_strategy no"
        )
    result = run_once(
        Path(str(args.output_dir)),
        run_arguments(model_args, data_args, args),
        args,
        args.seed,
        lambda run_args: train_and_score(corpora, model_args, data_args, run_args),
    )
    scores: dict[str, dict[str, float]] = result["scores"]
    shown = command_line(SCRIPT, command, args.hub_token)
    statistics = corpus_statistics(corpora)
    record = measured_record(TASK, shown, (model_args, data_args, args), statistics, [result])
    if args.process_index == 0:
        publish_record(record | {"config": result["config"]}, args, write_qa_model_card)
    return scores


def train_and_score(
    corpora: QACorpora, model_args: QAModelArguments, data_args: QADataArguments, args: QATrainingArguments
) -> dict[str, Any]:
    """One training, from the word vectors to the scores of every test file."""
    started = time.monotonic()
    set_seed(args.seed)
    model, tokenizer = load_qa_model(model_args, corpora, data_args.max_length)

    def questions(rows: Dataset, name: str, for_training: bool = False) -> Questions:
        read = simple_forms(rows) if data_args.simplify_questions and not for_training else rows
        features, report = qa_features(
            read,
            tokenizer,
            max_length=tokenizer.model_max_length,
            max_question_length=data_args.max_question_length,
            doc_stride=data_args.doc_stride,
            for_training=for_training,
            no_answer=data_args.no_answer,
        )
        reports[name] = str(report)
        return Questions(rows, read, features)

    reports: dict[str, str] = {}
    trainer = QuestionAnsweringTrainer(
        model,
        args,
        tokenizer,
        max_answer_length=data_args.max_answer_length,
        no_answer=data_args.no_answer,
        train_dataset=questions(corpora.train, "train", for_training=True).features
        if corpora.train is not None
        else None,
        validation=questions(corpora.validation, "validation") if corpora.validation is not None else None,
    )
    evaluated = train_and_evaluate(trainer)
    if data_args.no_answer and trainer.validation is not None:
        trainer.no_answer_threshold = evaluated["eval_best_f1_thresh"]
    scores = {}
    for name, rows in corpora.test.items():
        metrics = trainer.predict_questions(questions(rows, name))
        label = file_label(name)
        trainer.save_metrics(f"predict_{label}", metrics)
        scores[name] = official_scores(metrics)
        if trainer.is_world_process_zero():
            threshold = trainer.no_answer_threshold if data_args.no_answer else None
            write_json(answer_texts(trainer.nbest, threshold), Path(str(args.output_dir)) / f"predictions_{label}.json")
            write_json(trainer.nbest, Path(str(args.output_dir)) / f"nbest_predictions_{label}.json")
    return run_result(trainer, "", scores, started) | {
        "no_answer_threshold": trainer.no_answer_threshold if data_args.no_answer else None,
        "features": reports,
        "parameters": sum(value.numel() for value in model.parameters() if value.requires_grad),
        "config": model.config.to_diff_dict(),
    }


def official_scores(metrics: dict[str, float]) -> dict[str, float]:
    """What the scripts of SQuAD measure, without loss and timings."""
    names = {name.removeprefix("test_"): value for name, value in metrics.items()}
    timings = ("loss", "runtime", "model_preparation_time", "_per_second")
    return {name: value for name, value in names.items() if not name.endswith(timings)}


def corpus_statistics(corpora: QACorpora) -> dict[str, dict[str, int]]:
    """Questions, those without answer, and contexts of each corpus."""
    named = {"train": corpora.train, "validation": corpora.validation, **corpora.test}
    return {
        name: {
            "questions": len(rows),
            "unanswerable": sum(not answers["text"] for answers in rows["answers"]),
            "contexts": len(set(rows["context"])),
        }
        for name, rows in named.items()
        if rows is not None
    }
