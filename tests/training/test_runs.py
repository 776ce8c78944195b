"""Runs as users start them: in several processes, killed and resumed, over folds and seeds."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from clozeformers.training import runs

from ..scripts import ROOT

SCRIPT = ROOT / "run_glue_style" / "run_negation_scope.py"
COMMON = [
    *("--attention_variant", "OA-EMB", "--head_dropout", "0.0", "--use_cpu", "true", "--disable_tqdm", "true"),
    *("--learning_rate", "1e-3", "--head_learning_rate", "1e-3", "--max_length", "48", "--logging_steps", "1"),
]


def environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}


def losses(folder: Path) -> list[float]:
    history = json.loads((folder / "trainer_state.json").read_text())["log_history"]
    return [entry["loss"] for entry in history if "loss" in entry]


def test_two_processes_reach_the_loss_curve_of_one(encoders, corpus, tmp_path):
    arguments = [
        *COMMON,
        *("--model_name_or_path", str(encoders["xlnet"]), "--train_file", str(corpus(60, 0))),
        *("--test_file", str(corpus(30, 1)), "--num_train_epochs", "2", "--save_strategy", "no"),
        # Whole batches only: accelerate fills a last, smaller one up with examples from the front.
        *("--max_train_samples", "64"),
    ]
    one, two = tmp_path / "one", tmp_path / "two"
    subprocess.run(
        [sys.executable, SCRIPT, *arguments, "--output_dir", one, "--per_device_train_batch_size", "8"],
        check=True,
        env=environment(),
        capture_output=True,
    )
    # accelerate's own --cpu starts several processes through MPI only; --multi_gpu starts them through torchrun, and
    # --use_cpu of the script keeps them off the GPU.
    launch = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
    subprocess.run(
        [
            *(sys.executable, *launch, "--mixed_precision", "no", "--dynamo_backend", "no", SCRIPT, *arguments),
            *("--output_dir", two, "--per_device_train_batch_size", "4", "--ddp_backend", "gloo"),
        ],
        check=True,
        env=environment(),
        capture_output=True,
    )
    assert json.loads((two / "results.json").read_text())["training"]["per_device_train_batch_size"] == 4
    assert len(losses(one)) > 10
    assert losses(two) == pytest.approx(losses(one), rel=2e-4)
    weights = load_file(one / "model.safetensors"), load_file(two / "model.safetensors")
    for name, weight in weights[0].items():
        torch.testing.assert_close(weights[1][name], weight, rtol=1e-3, atol=2e-5, msg=name)
    scores = [json.loads((folder / "results.json").read_text())["scores"] for folder in (one, two)]
    assert scores[1]["demo-30-1"]["f1"]["mean"] == pytest.approx(scores[0]["demo-30-1"]["f1"]["mean"], abs=0.02)


def test_killed_and_resumed_ends_with_the_same_weights(encoders, corpus, tmp_path):
    arguments = [
        *COMMON,
        *("--model_name_or_path", str(encoders["bert"]), "--train_file", str(corpus(400, 0)), "--max_length", "48"),
        *("--num_block_heads", "6", "--head_dropout", "0.2", "--per_device_train_batch_size", "8"),
        *("--num_train_epochs", "2", "--save_strategy", "steps", "--save_steps", "15", "--save_total_limit", "2"),
    ]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run(
        [sys.executable, SCRIPT, *arguments, "--output_dir", whole], check=True, env=environment(), capture_output=True
    )
    command = [sys.executable, SCRIPT, *arguments, "--output_dir", killed, "--resume_from_checkpoint", "true"]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (killed / "checkpoint-30" / "trainer_state.json").exists():
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (killed / "model.safetensors").exists()
    # What a process killed while it was writing a checkpoint leaves behind.
    (killed / "checkpoint-9999").mkdir()
    (killed / "checkpoint-9999" / "model.safetensors").write_bytes(b"unfinished")
    (killed / "checkpoint-9998").mkdir()
    (killed / "checkpoint-9998" / "trainer_state.json").write_text('{"best_global_step": 3, "ep')
    subprocess.run(command, check=True, env=environment(), capture_output=True)
    assert (killed / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


@pytest.fixture
def small_run(encoders, corpus, script, tmp_path):
    """Run the script in this process with a tiny model, and return its results."""

    def run(*arguments: str) -> dict:
        script.main(
            [
                *COMMON,
                *("--model_name_or_path", str(encoders["bert"]), "--num_block_heads", "6", "--max_steps", "2"),
                *("--train_file", str(corpus(40, 0)), "--save_strategy", "no", "--output_dir", str(tmp_path / "run")),
                *arguments,
            ]
        )
        return json.loads((tmp_path / "run" / "results.json").read_text())

    return run


def test_folds_and_their_table(small_run, corpus, capsys, tmp_path):
    result = small_run("--num_folds", "3", "--test_file", str(corpus(20, 5)))
    assert [run["run"] for run in result["runs"]] == ["fold-1", "fold-2", "fold-3"]
    assert set(result["scores"]) == {"held-out fold", "demo-20-5"}
    values = [run["scores"]["held-out fold"]["f1"] for run in result["runs"]]
    assert result["scores"]["held-out fold"]["f1"]["mean"] == pytest.approx(sum(values) / 3)
    table = capsys.readouterr().out
    assert "| held-out fold |" in table
    assert "±" in table


def test_finished_folds_are_read_not_repeated(small_run, tmp_path):
    first = small_run("--num_folds", "3", "--folds", "1", "2")
    with pytest.raises(ValueError, match=r"holds the results of an earlier command.* more seeds or folds"):
        small_run("--num_folds", "3", "--folds", "3")
    marked = tmp_path / "run" / "fold-1" / "run-results.json"
    kept = json.loads(marked.read_text())
    kept["minutes"] = 4321.0
    marked.write_text(json.dumps(kept))
    again = small_run("--num_folds", "3", "--resume_from_checkpoint", "true")
    assert [run["run"] for run in again["runs"]] == ["fold-1", "fold-2", "fold-3"]
    assert again["runs"][0]["minutes"] == 4321.0
    assert again["runs"][1] == first["runs"][1]


def test_a_finished_run_is_not_overwritten(small_run):
    small_run()
    with pytest.raises(ValueError, match="holds the results of an earlier command; give another --output_dir"):
        small_run()
    with pytest.raises(ValueError, match="with other learning_rate"):
        small_run("--learning_rate", "2e-3", "--resume_from_checkpoint", "true")


def test_seeds_give_different_runs_and_their_spread(small_run, corpus):
    result = small_run("--num_seeds", "2", "--seed", "7", "--test_file", str(corpus(20, 5)))
    assert [(run["run"], run["seed"]) for run in result["runs"]] == [("seed-7", 7), ("seed-8", 8)]
    assert result["scores"]["demo-20-5"]["f1"]["runs"] == 2


def test_several_test_corpora_after_one_training(small_run, corpus):
    result = small_run("--test_file", str(corpus(20, 5)), str(corpus(10, 2)))
    assert set(result["scores"]) == {"demo-20-5", "demo-10-2"}
    assert result["corpora"]["demo-10-2"]["cues"] >= 10


def test_test_sets_of_like_names_do_not_mix(small_run, corpus, tmp_path):
    paths = ["a/test.jsonl", "b/test.jsonl", "a_test.jsonl", "x.v1.jsonl", "x.v2.jsonl", "c/train.jsonl"]
    for path in paths:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(corpus(10, 2).read_bytes())
    result = small_run("--test_file", *(str(tmp_path / path) for path in paths))
    assert len(result["scores"]) == len(paths)
    assert result["corpora"]["train"]["sentences"] == 40
    assert len(list((tmp_path / "run").glob("predictions_*.jsonl"))) == len(paths)


def test_a_trained_model_is_scored_and_trained_on_as_it_is(small_run, corpus, script, tmp_path):
    first = small_run("--test_file", str(corpus(20, 5)), "--input", "normal", "--max_length", "40")
    again = tmp_path / "again"
    scoring = ["--model_name_or_path", str(tmp_path / "run"), "--test_file", str(corpus(20, 5)), "--use_cpu", "true"]
    script.main([*scoring, "--output_dir", str(again)])
    second = json.loads((again / "results.json").read_text())
    assert second["scores"] == first["scores"]
    assert (second["model"]["attention_variant"], second["data"]["input"]) == ("OA-EMB", "normal")
    assert second["data"]["max_length"] == 40
    with pytest.raises(ValueError, match=r"--attention_variant OA-C, but .* was trained with OA-EMB"):
        script.main([*scoring, "--output_dir", str(tmp_path / "other"), "--attention_variant", "OA-C"])


def test_an_encoder_is_not_scored_untrained(encoders, corpus, script, tmp_path):
    arguments = ["--model_name_or_path", str(encoders["bert"]), "--test_file", str(corpus(20, 5))]
    with pytest.raises(ValueError, match="encoder without a trained head"):
        script.main([*arguments, "--output_dir", str(tmp_path)])


def test_early_stopping_goes_by_f1(small_run, corpus):
    options = ["--early_stopping_patience", "1", "--eval_strategy", "steps", "--eval_steps", "1"]
    result = small_run(*options, "--save_strategy", "steps", "--save_steps", "1", "--validation_fraction", "0.3")
    assert set(result["runs"][0]["best"]) == {"step", "f1"}
    assert result["training"]["metric_for_best_model"] == "f1"


def test_predictions_come_in_the_columns_of_the_corpus(small_run, tmp_path):
    gold = tmp_path / "gold.txt"
    words = ["He", "is", "not", "here"]
    cells = [["_", "He", "_"], ["_", "is", "_"], ["not", "_", "_"], ["_", "here", "here"]]
    lines = ["\t".join(["c", "0", str(n), word, word, "X", "*", *cells[n]]) for n, word in enumerate(words)]
    gold.write_text("\n".join(lines) + "\n\n")
    small_run("--test_file", str(gold))
    predicted = (tmp_path / "run" / "predictions_gold.txt").read_text().splitlines()
    assert [line.split("\t")[:8] for line in predicted[:4]] == [line.split("\t")[:8] for line in lines]
    assert json.loads((tmp_path / "run" / "sem_star_gold.json").read_text())["cues_f1"] == 100.0


def test_sample_limits(small_run, corpus):
    result = small_run("--max_train_samples", "9", "--max_predict_samples", "3", "--test_file", str(corpus(20, 5)))
    assert result["corpora"]["train"]["cues"] == 9
    assert result["corpora"]["demo-20-5"]["cues"] == 3


def test_the_finished_run_is_pushed_once_with_its_card(small_run, monkeypatch, tmp_path):
    calls = []

    def upload(**arguments):
        assert (arguments["folder_path"] / "README.md").exists()
        calls.append(arguments)

    monkeypatch.setattr(runs, "create_repo", lambda name, **_: SimpleNamespace(repo_id=f"me/{name}"))
    monkeypatch.setattr(runs, "upload_folder", upload)
    small_run("--push_to_hub", "true", "--hub_model_id", "mine", "--hub-token=secret")
    [call] = calls
    assert (call["repo_id"], call["token"], call["folder_path"]) == ("me/mine", "secret", tmp_path / "run")
    for name in ("results.json", "run-results.json", "README.md"):
        assert "secret" not in (tmp_path / "run" / name).read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--push_to_hub", "true", "--num_seeds", "2"], "--push_to_hub pushes one model"),
        (["--early_stopping_patience", "3"], "early stopping needs a validation set"),
        (["--num_folds", "2"], "must be at least 3"),
        (["--num_folds", "3", "--folds", "4"], r"--folds \[4\]: with --num_folds 3"),
        (["--folds", "1"], "counted from 1"),
        (["--num_seeds", "0"], "must be at least 1"),
        (["--num_folds", "3", "--resume_from_checkpoint", "somewhere"], "do not start from one checkpoint"),
        (["--num_folds", "3", "--validation_fraction", "0.2"], "leave one out"),
        (["--max_train_samples", "0"], "at least 1"),
        (["--max_length", "1"], "reads 2 to 512 word pieces"),
        (["--max_length", "513"], "reads 2 to 512 word pieces"),
        (["--remove_unused_columns", "true"], "leave it out"),
        (["--model_name_or_path", "/no/such/folder"], "there is no folder /no/such/folder"),
        (["--num_folds", "9999"], "number of sentences, 40"),
        (["--validation_fraction", "1.5"], "between 0 and 1"),
    ],
)
def test_impossible_arguments_are_refused(small_run, arguments, message):
    with pytest.raises(ValueError, match=message):
        small_run(*arguments)
