"""Training of question answering: averages, replay, recipes, whole runs."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn
from transformers import AutoModelForQuestionAnswering, AutoTokenizer, BertConfig, BertForQuestionAnswering, pipeline

import clozeformers  # noqa: F401
from clozeformers.question_answering.arguments import QADataArguments, QAModelArguments, QATrainingArguments
from clozeformers.question_answering.model_card import qa_results_table
from clozeformers.question_answering.trainer import SIMPLE_ENDING, QuestionAnsweringTrainer, better_forms
from clozeformers.training.ema import ExponentialMovingAverage
from clozeformers.training.recipe import parse_recipe
from clozeformers.training.sampling import HardBatchReplaySampler

from ..conftest import build_tokenizer
from ..qa_corpora import write_squad, write_vectors
from ..scripts import ROOT, load_script
from ..training.test_runs import environment, losses

SCRIPT = ROOT / "run_glue_style" / "run_extractive_qa.py"
RECIPES = sorted((ROOT / "configs" / "question_answering").glob("*.yaml"))
CLASSES = (QAModelArguments, QADataArguments, QATrainingArguments)
TINY = '{"hidden_size": 16, "num_attention_heads": 2, "num_char_filters": 8, "dropout": 0.1}'
COMMON = ["--use_cpu", "true", "--disable_tqdm", "true", "--logging_steps", "1", "--learning_rate", "1e-2"]
EPOCHS = ["--eval_strategy", "epoch", "--save_strategy", "epoch"]
LENGTHS = ["--max_length", "60", "--max_question_length", "20", "--doc_stride", "16"]
SMALL_BIDAF = ["--model_type", "bidaf", "--model_config", TINY, *LENGTHS, *COMMON]


@pytest.fixture(scope="module")
def qa_script() -> Any:
    """`run_glue_style/run_extractive_qa.py` as a module."""
    return load_script("run_extractive_qa")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """SQuAD files `train`, `dev`, and with unanswerable questions `train2`, `dev2`; and `vectors`."""
    folder = tmp_path_factory.mktemp("squad")
    return {
        "train": write_squad(folder / "people.json", 64, 0),
        "dev": write_squad(folder / "dev.json", 16, 1),
        "train2": write_squad(folder / "train2.json", 64, 2, unanswerable=0.4),
        "dev2": write_squad(folder / "dev2.json", 24, 3, unanswerable=0.4),
        "vectors": write_vectors(folder / "vectors.txt"),
    }


# ---------------------------------------------------------------------------------------------------------------- parts


def test_averages_follow_their_definition() -> None:
    model = nn.Linear(2, 1, bias=False)
    model.weight.data = torch.tensor([[1.0, 2.0]])
    averages = ExponentialMovingAverage(model, 0.5)
    expected = model.weight.data.clone()
    for step in (1, 2, 3, 40):
        model.weight.data += step
        keep = min(0.5, (1 + step) / (10 + step))
        expected = keep * expected + (1 - keep) * model.weight.data
        averages.update(step)
    trained = model.weight.data.clone()
    with averages.applied() as weights:
        torch.testing.assert_close(model.weight.data, expected)
        assert torch.equal(weights["weight"], trained)
    assert torch.equal(model.weight.data, trained)
    averages.copy_to_model()
    torch.testing.assert_close(model.weight.data, expected)


def test_averages_are_given_back_after_an_error() -> None:
    model = nn.Linear(2, 1)
    averages = ExponentialMovingAverage(model, 0.5)
    model.weight.data += 1
    trained = model.weight.data.clone()
    with pytest.raises(RuntimeError), averages.applied():
        raise RuntimeError
    assert torch.equal(model.weight.data, trained)


def test_averages_refuse_another_models_weights() -> None:
    with pytest.raises(ValueError, match="not this model's: bias"):
        ExponentialMovingAverage(nn.Linear(2, 1), 0.5).resume({"weight": torch.zeros(1, 2)})


def test_hard_batches_are_replayed() -> None:
    sampler = HardBatchReplaySampler(4, [*range(1, 31)], seed=0, num_replayed=2)
    assert len(sampler) == (7 + 2) * 4
    sampler.losses = [0.0, 5.0, 1.0, 2.0, 7.0, 99.0, 99.0]  # the last two are not known when replay begins
    order = list(sampler)
    batches = [order[first : first + 4] for first in range(0, len(order), 4)]
    assert len(batches) == 9
    assert batches[7:] == [batches[4], batches[1]]
    assert max(Counter(index for batch in batches[:7] for index in batch).values()) == 1
    sampler.set_epoch(1)
    assert list(sampler)[:28] != order[:28]


def test_replay_needs_a_whole_batch() -> None:
    with pytest.raises(ValueError, match="2 training examples fill no batch of 4; lower"):
        HardBatchReplaySampler(4, [1, 2], seed=0, num_replayed=1)


@pytest.mark.parametrize(("name", "kind"), [("adam", torch.optim.Adam), ("adadelta", torch.optim.Adadelta)])
def test_optimizer_and_warm_up(name: Any, kind: type, reader: Path, tmp_path: Path) -> None:
    args = QATrainingArguments(
        str(tmp_path), use_cpu=True, optimizer=name, learning_rate=0.5, weight_decay=0.25, log_warmup_steps=20
    )
    model, tokenizer = AutoModelForQuestionAnswering.from_pretrained(reader), AutoTokenizer.from_pretrained(reader)
    trainer = QuestionAnsweringTrainer(model, args, tokenizer, max_answer_length=5, no_answer=False)
    optimizer = trainer.create_optimizer()
    assert type(optimizer) is kind
    assert {group["weight_decay"] for group in optimizer.param_groups} == {0.25}
    rate = trainer.create_scheduler(100).lr_lambdas[0]
    assert [rate(step) for step in (0, 19, 50)] == pytest.approx([math.log(2) / math.log(21), 1, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ema_decay", "1"], "ema_decay is 1.0"),
        (["--replay_batches", "-1"], "at least 0"),
        (["--replay_batches", "3", "--train_sampling_strategy", "random"], "leave one out"),
        (["--replay_batches", "3", "--gradient_accumulation_steps", "2"], "leave out --gradient_accumulation_steps"),
        (["--remove_unused_columns", "true"], "leave it out"),
    ],
)
def test_wrong_training_arguments(arguments: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_recipe(CLASSES, ["--output_dir", "unused", "--use_cpu", "true", *arguments])


# -------------------------------------------------------------------------------------------------------------- recipes


@pytest.fixture(scope="module")
def reader(qa_script: Any, files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved BiDAF that knows the words of some vectors only."""
    folder = tmp_path_factory.mktemp("reader")
    few = folder / "few.txt"
    few.write_text("".join(files["vectors"].read_text().splitlines(keepends=True)[:12]))
    qa_script.main(
        [
            *(*SMALL_BIDAF, "--train_file", str(files["train"]), "--word_vectors", str(few), "--max_steps", "1"),
            *("--save_strategy", "no", "--output_dir", str(folder / "model")),
        ]
    )
    return folder / "model"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_recipe_trains_a_step(
    recipe: Path, qa_script: Any, files: dict[str, Path], reader: Path, tmp_path: Path
) -> None:
    settings = yaml.safe_load(recipe.read_text())
    ending = "2" if settings.get("no_answer") else ""
    earlier = [] if "model_type" in settings else ["--model_name_or_path", str(reader)]
    qa_script.main(
        [
            *(str(recipe), *earlier),
            *("--word_vectors", str(files["vectors"]), "--train_file", str(files[f"train{ending}"])),
            *("--validation_file", str(files[f"dev{ending}"]), "--test_file", str(files[f"dev{ending}"])),
            *("--output_dir", str(tmp_path), "--max_steps", "1", "--per_device_train_batch_size", "4"),
            *("--use_cpu", "true", "--report_to", "none", "--disable_tqdm", "true"),
        ]
    )
    result = json.loads((tmp_path / "results.json").read_text())
    scores = result["scores"][f"dev{ending}"]
    assert {"exact_match", "f1", "total"} <= scores.keys()
    assert ("avna" in scores) == bool(ending)
    history = json.loads((tmp_path / "trainer_state.json").read_text())["log_history"]
    evaluated = [entry for entry in history if "eval_loss" in entry]
    assert evaluated
    assert {"eval_f1", "eval_exact_match"} <= evaluated[0].keys()
    assert math.isfinite(json.loads((tmp_path / "train_results.json").read_text())["train_loss"])
    for name, value in settings.get("model_config", {}).items():
        assert result["config"][name] == value
    with safe_open(tmp_path / "model.safetensors", "pt") as weights:
        assert weights.get_tensor("embeddings.word_vectors.weight").shape[1] == 6


def test_a_model_goes_on_with_more_words(qa_script: Any, files: dict[str, Path], reader: Path, tmp_path: Path) -> None:
    before = AutoModelForQuestionAnswering.from_pretrained(reader).get_input_embeddings().weight
    qa_script.main(
        [
            *("--model_name_or_path", str(reader), "--word_vectors", str(files["vectors"]), *COMMON, *LENGTHS),
            *("--train_file", str(files["train"]), "--test_file", str(files["train"]), "--max_steps", "1"),
            *("--save_strategy", "no", "--output_dir", str(tmp_path)),
        ]
    )
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    after = AutoModelForQuestionAnswering.from_pretrained(tmp_path).get_input_embeddings().weight
    assert len(after) == len(tokenizer) > len(before)
    assert torch.equal(after[4 : len(before)], before[4:])
    vectors = dict(line.split(" ", 1) for line in files["vectors"].read_text().splitlines())
    added = "portrait"
    stored = after[tokenizer.convert_tokens_to_ids(added)]
    torch.testing.assert_close(stored, torch.tensor([float(number) for number in vectors[added].split()]))


def test_the_no_answer_threshold_is_chosen_on_validation_questions(
    qa_script: Any, files: dict[str, Path], reader: Path, tmp_path: Path
) -> None:
    qa_script.main(
        [
            *("--model_name_or_path", str(reader), "--no_answer", "true", *COMMON, *LENGTHS),
            *("--validation_file", str(files["train2"]), "--test_file", str(files["dev2"]), str(files["train2"])),
            *("--output_dir", str(tmp_path)),
        ]
    )
    record = json.loads((tmp_path / "results.json").read_text())
    evaluated = json.loads((tmp_path / "eval_results.json").read_text())
    assert record["runs"][0]["no_answer_threshold"] == evaluated["eval_best_f1_thresh"] != 0
    assert record["scores"]["train2"]["f1"]["mean"] == evaluated["eval_best_f1"]
    card = (tmp_path / "README.md").read_text()
    assert f"no_answer_threshold={evaluated['eval_best_f1_thresh']}" in card
    # The validation file is scored as well.
    assert "The no-answer threshold was chosen by its F1" in card
    threshold = evaluated["eval_best_f1_thresh"]
    nbest = json.loads((tmp_path / "nbest_predictions_dev2.json").read_text())
    for name, text in json.loads((tmp_path / "predictions_dev2.json").read_text()).items():
        margin = nbest[name]["no_answer_score"] - nbest[name]["answers"][0]["score"]
        assert text == ("" if margin > threshold else nbest[name]["answers"][0]["text"])


def test_there_is_a_recipe_for_every_row() -> None:
    names = {path.stem for path in RECIPES}
    assert {f"bidaf-{kind}{rest}" for kind in ("glove", "fasttext") for rest in ("", "-characters")} <= names
    assert {"bidaf-fasttext-characters-conditional", "bidaf-gru", "bidaf-gru-dot"} <= names
    assert len([name for name in names if name.startswith("qanet-")]) == 7
    attentions = ("bidirectional", "self", "combined")
    assert {f"{kind}-attention-window-{how}" for kind in attentions for how in ("sum", "max")} <= names


def test_a_model_and_its_baseline_differ_in_the_attention_only() -> None:
    for pair in (("bidaf-gru", "bidaf-gru-dot"), ("small-bidaf-gru", "small-bidaf-gru-dot")):
        settings = [
            yaml.safe_load((ROOT / "configs" / "question_answering" / f"{name}.yaml").read_text()) for name in pair
        ]
        assert [setting["model_config"].pop("attention") for setting in settings] == ["bidaf", "dot"]
        assert settings[0] == settings[1]


# ----------------------------------------------------------------------------------------------------------------- runs


def test_a_model_learns_and_its_folder_answers(
    qa_script: Any, files: dict[str, Path], tmp_path: Path, capsys: Any
) -> None:
    cards = tmp_path / "cards"
    qa_script.main(
        [
            *(*SMALL_BIDAF, "--train_file", str(files["train"]), "--test_file", str(files["train"]), str(files["dev"])),
            *(
                "--word_vectors",
                str(files["vectors"]),
                "--output_dir",
                str(tmp_path / "run"),
                "--num_train_epochs",
                "25",
            ),
            *("--save_strategy", "no", "--per_device_train_batch_size", "16", "--ema_decay", "0.9", "--seed", "1"),
            *("--card_dir", str(cards), "--run_name", "tiny"),
        ]
    )
    record = json.loads((cards / "tiny.json").read_text())
    assert record["scores"]["people"]["f1"]["mean"] > 90
    printed = capsys.readouterr().out
    printed = json.loads(printed[printed.index('{\n  "') :])
    assert printed["people"]["f1"] == record["scores"]["people"]["f1"]["mean"]
    predictions = json.loads((tmp_path / "run" / "predictions_people.json").read_text())
    nbest = json.loads((tmp_path / "run" / "nbest_predictions_people.json").read_text())
    assert predictions.keys() == nbest.keys()
    assert all(nbest[name]["answers"][0]["text"] == text for name, text in predictions.items())
    answer = pipeline("extractive-question-answering", model=str(tmp_path / "run"), device="cpu")
    context = "Ada wrote the poem. It rained that day. Hugo sold the map."
    found = answer(question="Who wrote the poem?", context=context)
    assert context[found["start"] : found["end"]] == found["answer"]
    assert "| dev | bidaf | people | vectors.txt |" in qa_results_table([record])
    best = record["scores"]["people"]["exact_match"]["mean"]
    assert f"| people | {best:.2f} |" in (cards / "tiny.md").read_text()


def test_the_likelier_form_of_a_question_is_kept() -> None:
    def found(best: float, none: float) -> Any:
        return {"answers": [{"text": "x", "start": 0, "end": 1, "score": best}], "no_answer_score": none}

    nbest = {
        "q": found(-1, -9),
        f"q{SIMPLE_ENDING}": found(-5, -0.1),
        "r": found(-3, -9),
        f"r{SIMPLE_ENDING}": found(-2, -9),
    }
    assert better_forms(nbest, no_answer=False) == {"q": found(-1, -9), "r": found(-2, -9)}
    assert better_forms(nbest, no_answer=True) == {"q": found(-5, -0.1), "r": found(-2, -9)}


def test_averages_are_not_dropped_silently(qa_script: Any, files: dict[str, Path], tmp_path: Path) -> None:
    arguments = [*SMALL_BIDAF, "--train_file", str(files["train"]), "--save_steps", "2"]
    qa_script.main([*arguments, "--max_steps", "2", "--ema_decay", "0.9", "--output_dir", str(tmp_path / "one")])
    (tmp_path / "one" / "run-results.json").unlink()
    with pytest.raises(ValueError, match="holds an interrupted run with other ema_decay, max_steps; give another"):
        qa_script.main(
            [*arguments, "--max_steps", "4", "--resume_from_checkpoint", "true", "--output_dir", str(tmp_path / "one")]
        )
    arguments += ["--resume_from_checkpoint", str(tmp_path / "one" / "checkpoint-2")]
    with pytest.raises(ValueError, match="give the --ema_decay"):
        qa_script.main([*arguments, "--max_steps", "4", "--output_dir", str(tmp_path / "two")])


def test_questions_without_answer(qa_script: Any, files: dict[str, Path], tmp_path: Path) -> None:
    qa_script.main(
        [
            *(
                *SMALL_BIDAF,
                "--train_file",
                str(files["train2"]),
                "--test_file",
                str(files["dev2"]),
                "--no_answer",
                "true",
            ),
            *("--made_unanswerable", "0.5", "--simplify_questions", "true", "--output_dir", str(tmp_path)),
            *("--num_train_epochs", "1", "--save_strategy", "no", "--replay_batches", "2"),
            *("--per_device_train_batch_size", "8"),
        ]
    )
    record = json.loads((tmp_path / "results.json").read_text())
    assert {"avna", "HasAns_f1", "best_f1"} <= record["scores"]["dev2"].keys()
    trained = record["corpora"]["train"]
    assert trained["unanswerable"] > 0.4 * trained["questions"]


def test_a_model_of_transformers_is_fine_tuned_and_scored(
    qa_script: Any, files: dict[str, Path], tmp_path: Path
) -> None:
    tokenizer = build_tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    BertForQuestionAnswering(config).save_pretrained(tmp_path / "bert")
    tokenizer.save_pretrained(tmp_path / "bert")
    arguments = [*COMMON, "--test_file", str(files["dev"]), "--max_length", "64", "--doc_stride", "8"]
    arguments += ["--max_question_length", "20"]
    qa_script.main(
        [
            *(*arguments, "--model_name_or_path", str(tmp_path / "bert"), "--train_file", str(files["train"])),
            *("--output_dir", str(tmp_path / "run"), "--max_steps", "2"),
        ]
    )
    qa_script.main(
        [*arguments, "--model_name_or_path", str(tmp_path / "run"), "--output_dir", str(tmp_path / "scored")]
    )
    trained, scored = (json.loads((tmp_path / name / "results.json").read_text()) for name in ("run", "scored"))
    assert trained["scores"] == scored["scores"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to do"),
        (["--train_file", "{train}"], "give --model_name_or_path"),
        (["--train_file", "{train}", "--model_type", "qanet", "--model_config", "["], "is not JSON"),
        (["--train_file", "{train}", "--model_type", "qanet", "--model_config", "3"], "is not a mapping"),
        (
            ["--train_file", "{train}", "--model_type", "qanet", "--model_config", '{"hiden_size": 8}'],
            "has hiden_size; the",
        ),
        (["--train_file", "{train}", "--model_type", "qanet", "--max_answer_length", "0"], "max_answer_length is 0"),
        (["--test_file", "{dev2}", "--model_name_or_path", "./nowhere"], "without answer; give --no_answer true"),
        (
            ["--train_file", "{train}", "--model_name_or_path", "./x", "--lowercase", "true"],
            "only a new model is built",
        ),
        (["--test_file", "{dev}", "--model_type", "qanet"], "has to be trained"),
        (["--test_file", "{dev}", "--model_name_or_path", "./nowhere"], "there is no folder ./nowhere"),
        (["--train_file", "{train}", "--model_type", "qanet", "--made_unanswerable", "0.5"], "--no_answer true"),
        (
            ["--train_file", "{train}", "--model_type", "qanet", "--early_stopping_patience", "2", *EPOCHS],
            "--validation_file",
        ),
    ],
)
def test_wrong_commands(
    arguments: list[str], message: str, qa_script: Any, files: dict[str, Path], tmp_path: Path
) -> None:
    given = [
        argument.format(**files) if argument.startswith("{") and ":" not in argument else argument
        for argument in arguments
    ]
    with pytest.raises(ValueError, match=message):
        qa_script.main([*given, *COMMON, "--output_dir", str(tmp_path)])


def test_two_processes_reach_the_loss_curve_of_one(files: dict[str, Path], tmp_path: Path) -> None:
    config = TINY.replace('"dropout": 0.1', '"dropout": 0, "word_dropout": 0, "char_dropout": 0')
    arguments = [
        *("--model_type", "bidaf", "--model_config", config, *LENGTHS, *COMMON, "--learning_rate", "1e-3"),
        *("--train_file", str(files["train"]), "--test_file", str(files["dev"]), "--num_train_epochs", "2"),
        *("--save_strategy", "no", "--replay_batches", "2", "--ema_decay", "0.9"),
    ]
    one, two = tmp_path / "one", tmp_path / "two"
    launch = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
    launch += ["--mixed_precision", "no", "--dynamo_backend", "no"]
    for prefix, folder, batch, more in (([], one, "8", []), (launch, two, "4", ["--ddp_backend", "gloo"])):
        command = [sys.executable, *prefix, SCRIPT, *arguments, "--output_dir", folder, *more]
        subprocess.run(
            [*command, "--per_device_train_batch_size", batch], check=True, env=environment(), capture_output=True
        )
    assert len(losses(one)) == 20
    assert losses(two) == pytest.approx(losses(one), rel=1e-3)
    weights = load_file(one / "model.safetensors"), load_file(two / "model.safetensors")
    for name, weight in weights[0].items():
        torch.testing.assert_close(weights[1][name], weight, rtol=1e-3, atol=1e-4, msg=name)


def test_killed_and_resumed_ends_with_the_same_weights(files: dict[str, Path], tmp_path: Path) -> None:
    config = TINY.replace('"dropout": 0.1', '"dropout": 0.1, "num_model_blocks": 2')
    arguments = [
        *("--model_type", "qanet", "--model_config", config, *LENGTHS, *COMMON, "--seed", "3"),
        *("--train_file", str(files["train"]), "--num_train_epochs", "8", "--per_device_train_batch_size", "8"),
        *("--save_strategy", "steps", "--save_steps", "7", "--replay_batches", "3", "--ema_decay", "0.9"),
        *("--optimizer", "adam", "--log_warmup_steps", "20", "--lr_scheduler_type", "constant"),
    ]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run(
        [sys.executable, SCRIPT, *arguments, "--output_dir", whole], check=True, env=environment(), capture_output=True
    )
    command = [sys.executable, SCRIPT, *arguments, "--output_dir", killed, "--resume_from_checkpoint", "true"]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (killed / "checkpoint-28" / "trainer_state.json").exists():
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (killed / "model.safetensors").exists()
    subprocess.run(command, check=True, env=environment(), capture_output=True)
    assert (killed / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_saved_models_load_by_name(files: dict[str, Path], qa_script: Any, tmp_path: Path) -> None:
    qa_script.main(
        [*SMALL_BIDAF, "--train_file", str(files["train"]), "--output_dir", str(tmp_path), "--max_steps", "1"]
    )
    model = AutoModelForQuestionAnswering.from_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert type(model).__name__ == "BiDAFForQuestionAnswering"
    assert model.config.train_word_vectors
    assert model.get_input_embeddings().weight.requires_grad
    assert tokenizer.model_max_length == 60
    assert not list(tmp_path.rglob("*.bin")) or {path.name for path in tmp_path.rglob("*.bin")} == {"training_args.bin"}
