"""Training of question answering: optimizers, words, thresholds, whole runs."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer, BertConfig, BertForQuestionAnswering, pipeline

import clozeformers  # noqa: F401
from clozeformers.cli import main as command_line
from clozeformers.question_answering import load_squad
from clozeformers.question_answering.arguments import QATrainingArguments
from clozeformers.question_answering.trainer import (
    SIMPLE_ENDING,
    QuestionAnsweringTrainer,
    better_forms,
    encode_corpus,
)
from clozeformers.run_glue_style import run_extractive_qa
from clozeformers.training.recipe import parse_recipe

from ..conftest import build_tokenizer
from ..qa_corpora import write_squad
from ..tiny_tasks import LAST, TINY_BIDAF, TinyTask, tiny_question_answering

NEW = ["--model_type", "bidaf", "--model_config", TINY_BIDAF]
LENGTHS = ["--max_length", "60", "--max_question_length", "20", "--doc_stride", "16", "--learning_rate", "1e-2"]


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> TinyTask:
    """The tiny task without a model, with unanswerable questions in `train2` and `dev2`."""
    folder = tmp_path_factory.mktemp("squad")
    tiny = tiny_question_answering(folder)
    tiny.files["train2"] = write_squad(folder / "train2.json", 64, 2, unanswerable=0.4)
    tiny.files["dev2"] = write_squad(folder / "dev2.json", 24, 3, unanswerable=0.4)
    tiny.arguments = LENGTHS
    return tiny


@pytest.fixture(scope="module")
def reader(task: TinyTask, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved BiDAF that knows the words of some vectors only."""
    folder = tmp_path_factory.mktemp("reader")
    few = folder / "few.txt"
    few.write_text("".join(task.files["vectors"].read_text().splitlines(keepends=True)[:12]))
    task.run(folder / "model", *NEW, *task.data("train"), "--word_vectors", str(few), "--max_steps", "2", *LAST)
    return folder / "model"


@pytest.mark.parametrize(("name", "kind"), [("adam", torch.optim.Adam), ("adadelta", torch.optim.Adadelta)])
def test_optimizer_and_warm_up(name: Any, kind: type, reader: Path, tmp_path: Path) -> None:
    args = QATrainingArguments(
        str(tmp_path), use_cpu=True, optimizer=name, learning_rate=0.5, weight_decay=0.25, log_warmup_steps=20
    )
    model, tokenizer = AutoModelForQuestionAnswering.from_pretrained(reader), AutoTokenizer.from_pretrained(reader)
    trainer = QuestionAnsweringTrainer(model, args, processing_class=tokenizer, max_answer_length=5, no_answer=False)
    optimizer = trainer.create_optimizer()
    assert type(optimizer) is kind
    assert {group["weight_decay"] for group in optimizer.param_groups} == {0.25}
    rate = trainer.create_scheduler(100).lr_lambdas[0]
    assert [rate(step) for step in (0, 19, 50)] == pytest.approx([math.log(2) / math.log(21), 1, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ema_decay", "1"], "ema_decay is 1.0"),
        (["--weight_step", "0"], "weight_step is 0.0; it must be above 0 and at most 1"),
        (["--replay_batches", "-1"], "at least 0"),
        (["--learning_rate", "nan"], "--learning_rate is nan; it must be a number of at least 0"),
        (["--num_train_epochs", "inf"], "--num_train_epochs is inf; it must be a number of at least 0"),
        (["--per_device_train_batch_size", "0"], "--per_device_train_batch_size is 0; .* at least 1"),
        (["--gradient_accumulation_steps", "0"], "--gradient_accumulation_steps is 0"),
        (["--seed", "-1"], "--seed is -1; it must be at least 0"),
        (["--resume_from_checkpoint", "nope"], "'nope'; it must be true, or the folder of a checkpoint"),
        (["--replay_batches", "3", "--train_sampling_strategy", "random"], "leave out --train_sampling_strategy"),
        (["--replay_batches", "3", "--gradient_accumulation_steps", "2"], "--gradient_accumulation_steps"),
    ],
)
def test_wrong_training_arguments(arguments: list[str], message: str) -> None:
    given = ["--output_dir", "unused", "--use_cpu", "true", *arguments]
    with pytest.raises(ValueError, match=message):
        parse_recipe("question_answering", (QATrainingArguments,), given)


def test_a_model_continues_with_more_words(task: TinyTask, reader: Path, tmp_path: Path) -> None:
    before = AutoModelForQuestionAnswering.from_pretrained(reader).get_input_embeddings().weight
    vectors = ["--model_name_or_path", str(reader), "--word_vectors", str(task.files["vectors"])]
    task.run(tmp_path, *vectors, *task.data("train"), "--max_steps", "1", *LAST)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    after = AutoModelForQuestionAnswering.from_pretrained(tmp_path).get_input_embeddings().weight
    assert len(after) == len(tokenizer) > len(before)
    assert torch.equal(after[4 : len(before)], before[4:])
    given = dict(line.split(" ", 1) for line in task.files["vectors"].read_text().splitlines())
    stored = after[tokenizer.convert_tokens_to_ids("portrait")]
    torch.testing.assert_close(stored, torch.tensor([float(number) for number in given["portrait"].split()]))


def test_the_no_answer_threshold_is_chosen_on_validation_questions(
    task: TinyTask, reader: Path, tmp_path: Path
) -> None:
    files = ["--validation_file", str(task.files["train2"]), "--test_file"]
    files += [str(task.files["dev2"]), str(task.files["train2"])]
    record = task.run(tmp_path, "--model_name_or_path", str(reader), "--no_answer", "true", *files)
    evaluated = json.loads((tmp_path / "eval_results.json").read_text())
    threshold = evaluated["eval_best_f1_thresh"]
    assert record["runs"][0]["no_answer_threshold"] == threshold != 0
    assert record["scores"]["train2"]["f1"]["mean"] == pytest.approx(evaluated["eval_best_f1"])
    card = (tmp_path / "README.md").read_text()
    assert f"no_answer_threshold={threshold}" in card
    assert "The no-answer threshold was chosen by F1" in card  # the validation file is scored as well
    nbest = json.loads((tmp_path / "nbest_predictions_dev2.json").read_text())
    for name, text in json.loads((tmp_path / "predictions_dev2.json").read_text()).items():
        margin = nbest[name]["no_answer_score"] - nbest[name]["answers"][0]["score"]
        assert text == ("" if margin > threshold else nbest[name]["answers"][0]["text"])


def test_a_scored_model_keeps_its_threshold(task: TinyTask, reader: Path, tmp_path: Path) -> None:
    model = AutoModelForQuestionAnswering.from_pretrained(reader)
    model.config.no_answer_threshold = -1e4  # no answer is always better
    model.save_pretrained(tmp_path / "model")
    AutoTokenizer.from_pretrained(reader).save_pretrained(tmp_path / "model")
    scored = ["--model_name_or_path", str(tmp_path / "model"), "--no_answer", "true"]
    record = task.run(tmp_path / "run", *scored, "--test_file", str(task.files["dev2"]))
    [run] = record["runs"]
    assert run["no_answer_threshold"] == -1e4
    assert run["scores"]["dev2"]["NoAns_exact"] == 100


def test_span_rescoring_of_a_trained_model(task: TinyTask, reader: Path, tmp_path: Path) -> None:
    """One training is scored with each kind of rescoring; fields that shape the weights cannot change."""
    scoring = ["--model_name_or_path", str(reader), *task.data("test"), "--model_config"]
    answers = {}
    for kind in ("none", "window-sum", "window-max"):
        record = task.run(tmp_path / kind, *scoring, json.dumps({"span_rescoring": kind, "dropout": 0.3}))
        assert (record["config"]["span_rescoring"], record["config"]["dropout"]) == (kind, 0.3)
        answers[kind] = (tmp_path / kind / "nbest_predictions_test.json").read_text()
    assert len(set(answers.values())) == 3
    with pytest.raises(ValueError, match="--model_config hidden_size has no effect on an existing model"):
        task.run(tmp_path / "run", *scoring, '{"hidden_size": 8}')
    with pytest.raises(ValueError, match="'span_rescoring' expected one of"):
        task.run(tmp_path / "run", *scoring, '{"span_rescoring": "window"}')


def test_halves_share_neither_training_questions_nor_threshold(
    task: TinyTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The articles of the scored half are neither trained on nor used for the threshold; extra files are trained on."""
    train = ["--train_file", str(task.files["train2"])]
    other = write_squad(tmp_path / "other.json", 8, 5)
    with pytest.raises(ValueError, match="has questions on 'article 0', an article that a fold scores"):
        task.run(tmp_path / "run", *NEW, *train, "--extra_train_file", str(other), "--num_folds", "2")
    other.write_text(other.read_text().replace('"article ', '"another '))
    used: list[dict[str, set[str]]] = []

    def encode(rows: Any, name: str, **options: Any) -> Any:
        used.extend([{}] if name == "train" else [])
        used[-1][name] = set(rows["title"])
        return encode_corpus(rows, name, **options)

    monkeypatch.setattr(run_extractive_qa, "encode_corpus", encode)
    files = [*train, "--extra_train_file", str(other), "--word_vectors", str(task.files["vectors"])]
    halves = ["--num_folds", "2", "--no_answer", "true", "--max_steps", "1"]
    record = task.run(tmp_path / "run", *NEW, *files, *halves, *LAST)
    for run, titles in zip(record["runs"], used, strict=True):
        trained, chosen, scored = (titles[name] for name in ("train", "validation", "held-out fold"))
        assert {"another 0", "another 1"} < trained
        assert (len(trained), len(chosen), len(scored)) == (2 + 6, 2, 8)
        assert trained.isdisjoint(chosen)
        assert scored.isdisjoint(trained | chosen)
        evaluated = json.loads((tmp_path / "run" / run["run"] / "eval_results.json").read_text())
        assert run["no_answer_threshold"] == evaluated["eval_best_f1_thresh"]
    assert used[0]["held-out fold"].isdisjoint(used[1]["held-out fold"])
    assert "| training data of every fold | 8 |" in (tmp_path / "run" / "README.md").read_text()


def test_a_model_learns_and_its_folder_answers(task: TinyTask, tmp_path: Path, capsys: Any) -> None:
    cards = ["--card_dir", str(tmp_path / "cards"), "--run_name", "tiny", "--num_train_epochs", "12", "--seed", "1"]
    seen = write_squad(tmp_path / "seen.json", 64, 0)
    files = ["--test_file", str(seen), str(task.files["dev"]), "--word_vectors"]
    options = [str(task.files["vectors"]), "--ema_decay", "0.9", "--per_device_train_batch_size", "16", *LAST]
    record = task.run(tmp_path / "run", *NEW, *task.data("train"), *files, *options, *cards)
    scores = record["scores"]["seen"]
    assert scores["f1"]["mean"] > 90
    row = f"| seen | {scores['f1']['mean']:.2f} | {scores['exact_match']['mean']:.2f} |"
    assert row in capsys.readouterr().out
    assert row in (tmp_path / "cards" / "tiny.md").read_text()
    predictions = json.loads((tmp_path / "run" / "predictions_seen.json").read_text())
    nbest = json.loads((tmp_path / "run" / "nbest_predictions_seen.json").read_text())
    assert predictions.keys() == nbest.keys()
    assert all(nbest[name]["answers"][0]["text"] == text for name, text in predictions.items())
    answer = pipeline("extractive-question-answering", model=str(tmp_path / "run"), device="cpu")
    context = "Ada wrote the poem. It rained that day. Hugo sold the map."
    found = answer(question="Who wrote the poem?", context=context)
    assert context[found["start"] : found["end"]] == found["answer"]
    asked = ["answer", "Who wrote the poem?", context, *(2 * ["--model", str(tmp_path / "run")])]
    assert command_line(asked) == 0
    assert json.loads(capsys.readouterr().out)["answer"] == found["answer"]
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    lengths = ("max_input_length", "max_question_length", "max_answer_length", "doc_stride")
    assert [config[name] for name in lengths] == [60, 20, 30, 16]


def test_the_likelier_form_of_a_question_is_kept() -> None:
    def found(best: float, none: float) -> Any:
        return {"answers": [{"text": "x", "start": 0, "end": 1, "score": best}], "no_answer_score": none}

    nbest = {"q": found(-1, -9), f"q{SIMPLE_ENDING}": found(-5, -0.1)}
    nbest |= {"r": found(-3, -9), f"r{SIMPLE_ENDING}": found(-2, -9)}
    assert better_forms(nbest, no_answer=False) == {"q": found(-1, -9), "r": found(-2, -9)}
    assert better_forms(nbest, no_answer=True) == {"q": found(-5, -0.1), "r": found(-2, -9)}


def test_a_saved_model_simplifies_questions_as_in_training(task: TinyTask, tmp_path: Path) -> None:
    """By the script, which scores it again, and by the pipeline."""
    file = tmp_path / "inverted.json"
    inverted = re.sub(r"Who (found|sold|kept|lost) the (\w+)", r"By whom was the \2 \1", task.files["dev"].read_text())
    file.write_text(inverted)
    simplify = ["--simplify_questions", "true", "--max_steps", "20", *LAST]
    trained = task.run(tmp_path / "run", *NEW, *task.data("train"), "--test_file", str(file), *simplify)
    scored = task.run(tmp_path / "scored", "--model_name_or_path", str(tmp_path / "run"), "--test_file", str(file))
    assert scored["scores"] == trained["scores"]
    rows = load_squad(file)
    reader = pipeline("extractive-question-answering", model=str(tmp_path / "run"), device="cpu")
    answers = reader(question=rows["question"][:], context=rows["context"][:])
    predicted = json.loads((tmp_path / "run" / "predictions_inverted.json").read_text())
    assert [answer["answer"] for answer in answers] == [predicted[row_id] for row_id in rows["id"]]
    for answer, context in zip(answers, rows["context"], strict=True):
        assert answer["answer"] == context[answer["start"] : answer["end"]]


def test_metrics_that_are_no_numbers_are_saved_as_null(reader: Path, tmp_path: Path) -> None:
    model, tokenizer = AutoModelForQuestionAnswering.from_pretrained(reader), AutoTokenizer.from_pretrained(reader)
    with pytest.raises(ValueError, match="--head_learning_rate is for the optimizer of Trainer"):
        QATrainingArguments(str(tmp_path), use_cpu=True, optimizer="adam", head_learning_rate=1e-3)
    args = QATrainingArguments(str(tmp_path), use_cpu=True)
    trainer = QuestionAnsweringTrainer(model, args, processing_class=tokenizer, max_answer_length=5, no_answer=False)
    trainer.save_metrics("eval", {"eval_loss": math.nan, "eval_f1": 50.0})
    for name in ("eval_results.json", "all_results.json"):
        assert json.loads((tmp_path / name).read_text()) == {"eval_loss": None, "eval_f1": 50.0}


def test_averages_are_not_dropped_silently(task: TinyTask, tmp_path: Path) -> None:
    arguments = [*NEW, *task.data("train"), "--save_steps", "2"]
    task.run(tmp_path / "one", *arguments, "--max_steps", "2", "--ema_decay", "0.9", "--keep_checkpoints", "true")
    (tmp_path / "one" / "run-results.json").unlink()
    with pytest.raises(ValueError, match="holds an interrupted run with other ema_decay, max_steps; give another"):
        task.run(tmp_path / "one", *arguments, "--max_steps", "4", "--resume_from_checkpoint", "true")
    checkpoint = ["--resume_from_checkpoint", str(tmp_path / "one" / "checkpoint-2")]
    with pytest.raises(ValueError, match="was written with --ema_decay"):
        task.run(tmp_path / "two", *arguments, "--max_steps", "4", *checkpoint)


def test_questions_without_answer(task: TinyTask, tmp_path: Path) -> None:
    files = ["--train_file", str(task.files["train2"]), "--test_file", str(task.files["dev2"]), "--no_answer", "true"]
    options = ["--unanswerable_fraction", "0.5", "--simplify_questions", "true", "--replay_batches", "2"]
    options += ["--num_train_epochs", "1", "--per_device_train_batch_size", "8"]
    record = task.run(tmp_path, *NEW, *files, *options, *LAST)
    assert {"avna", "HasAns_f1", "best_f1"} <= record["scores"]["dev2"].keys()
    assert record["corpora"]["train"]["questions"] == 64
    assert record["runs"][0]["steps"] > 64 // 8
    assert json.loads((tmp_path / "config.json").read_text())["no_answer_threshold"] == 0, "nothing to choose it on"


def test_the_threshold_is_chosen_on_both_kinds_of_questions(task: TinyTask, tmp_path: Path) -> None:
    files = ["--validation_file", str(task.files["dev"]), "--test_file", str(task.files["dev"])]
    options = ["--no_answer", "true", "--unanswerable_fraction", "0.5", "--max_steps", "1"]
    record = task.run(tmp_path, *NEW, "--train_file", str(task.files["train"]), *files, *options, *LAST)
    assert record["corpora"]["validation"]["unanswerable"] == 0, "the file is recorded as it is"
    evaluated = json.loads((tmp_path / "eval_results.json").read_text())
    assert evaluated["eval_NoAns_total"] == evaluated["eval_HasAns_total"] / 2
    threshold = json.loads((tmp_path / "config.json").read_text())["no_answer_threshold"]
    assert threshold == record["runs"][0]["no_answer_threshold"] == evaluated["eval_best_f1_thresh"]


def test_a_model_of_transformers_is_fine_tuned_and_scored(task: TinyTask, tmp_path: Path) -> None:
    tokenizer = build_tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    BertForQuestionAnswering(config).save_pretrained(tmp_path / "bert")
    tokenizer.save_pretrained(tmp_path / "bert")
    sizes = ["--max_length", "64", "--doc_stride", "8", "--max_answer_length", "3"]
    start = ["--model_name_or_path", str(tmp_path / "bert"), *task.data("train", "test"), *sizes]
    trained = task.run(tmp_path / "run", *start, "--max_steps", "2", *LAST)
    task.arguments, own = [], task.arguments
    scored = task.run(tmp_path / "scored", "--model_name_or_path", str(tmp_path / "run"), *task.data("test"))
    task.arguments = own
    assert trained["scores"] == scored["scores"]
    assert (scored["data"]["max_answer_length"], scored["data"]["max_question_length"]) == (3, 20)


NEW_QANET = "--train_file {train} --model_type qanet"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("--model_type qanet", "nothing to do"),
        ("--train_file {train}", "give either --model_name_or_path"),
        (f"{NEW_QANET} --model_config [", "is not a JSON object"),
        (f"{NEW_QANET} --model_config 3", "is not a JSON object"),
        (NEW_QANET + ' --model_config {{"hiden_size":8}}', "has hiden_size"),
        (f"{NEW_QANET} --max_answer_length 0", "max_answer_length is 0"),
        (f"{NEW_QANET} --unanswerable_fraction 0.5", "--no_answer true"),
        ("--test_file {dev2} --model_name_or_path {reader}", "without an answer; give --no_answer true"),
        ("--train_file {train} --model_name_or_path {reader} --lowercase true", "has no effect on an existing"),
        ("--test_file {dev} --model_type qanet", "has to be trained"),
        ("--test_file {dev} --model_name_or_path ./nowhere", "there is no folder ./nowhere"),
    ],
)
def test_wrong_commands(command: str, message: str, task: TinyTask, reader: Path, tmp_path: Path) -> None:
    with pytest.raises((OSError, ValueError), match=message):
        task.run(tmp_path, *command.format(**task.files, reader=reader).split())


def test_saved_models_load_by_name(task: TinyTask, tmp_path: Path) -> None:
    task.run(tmp_path, *NEW, *task.data("train"), "--max_steps", "1")
    model, tokenizer = AutoModelForQuestionAnswering.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    assert type(model).__name__ == "BiDAFForQuestionAnswering"
    assert model.config.train_word_vectors
    assert model.get_input_embeddings().weight.requires_grad
    assert tokenizer.model_max_length == 60
    assert {path.name for path in tmp_path.rglob("*.bin")} <= {"training_args.bin"}
