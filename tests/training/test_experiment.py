"""Runs as users start them: seeds, folds, several processes, killed and resumed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from clozeformers.tasks import TASKS, task_named
from clozeformers.training.small_weights import round_weights

from ..hub_server import HubServer, status
from ..tiny_tasks import LAST, TinyTask

Tiny = Callable[[str], TinyTask]
NAMES = [task.name for task in TASKS]


def losses(folder: Path) -> list[float]:
    history = json.loads((folder / "trainer_state.json").read_text())["log_history"]
    return [entry["loss"] for entry in history if "loss" in entry]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "negation_scope" else pytest.mark.slow) for name in NAMES]
)
def test_two_processes_reach_the_losses_of_one(name: str, tiny: Tiny, tmp_path: Path) -> None:
    task, one, two = tiny(name), tmp_path / "one", tmp_path / "two"
    # Whole batches only: accelerate fills the last, smaller one with examples from the front.
    arguments = [*task.data("train", "test"), *LAST, "--num_train_epochs", "2", "--max_train_samples", "64"]
    if name == "question_answering":
        arguments += ["--replay_batches", "2", "--ema_decay", "0.9"]
    task.run(one, *arguments, "--per_device_train_batch_size", "8")
    task.start(*task.command(two, *arguments, "--per_device_train_batch_size", "4", processes=2))
    assert len(losses(one)) > 10
    assert losses(two) == pytest.approx(losses(one), rel=1e-3)
    weights = load_file(one / "model.safetensors"), load_file(two / "model.safetensors")
    weights[0].pop("option_classifier.bias", None)  # the same for every option: its gradient is only rounding
    for key, weight in weights[0].items():
        torch.testing.assert_close(weights[1][key], weight, rtol=1e-3, atol=1e-4, msg=key)
    scores = [json.loads((folder / "results.json").read_text())["scores"]["test"] for folder in (one, two)]
    for measure, score in scores[0].items():
        assert scores[1][measure]["mean"] == pytest.approx(score["mean"], abs=2), measure


@pytest.mark.parametrize("name", NAMES)
def test_seeds_give_different_runs_and_are_not_repeated(name: str, tiny: Tiny, tmp_path: Path) -> None:
    task, folder = tiny(name), tmp_path / "run"
    arguments = [*task.data("train", "test"), *LAST, "--max_steps", "2", "--seed", "7", "--num_seeds", "2"]
    first = task.run(folder, *arguments)
    assert [(run["run"], run["seed"]) for run in first["runs"]] == [("seed-7", 7), ("seed-8", 8)]
    weights = [load_file(folder / run["run"] / "model.safetensors") for run in first["runs"]]
    assert any(not torch.equal(weight, weights[1][key]) for key, weight in weights[0].items())
    measure = next(iter(first["scores"]["test"].values()))
    values = [next(iter(run["scores"]["test"].values())) for run in first["runs"]]
    assert (measure["runs"], measure["mean"]) == (2, pytest.approx(sum(values) / 2))
    assert all(0 <= value <= 100 for value in values)
    assert first["parameters"] >= first["trained_parameters"] > 0
    with pytest.raises(ValueError, match=r"holds the results of an earlier command; .* more seeds or folds"):
        task.run(folder, *arguments)
    resume = ["--resume_from_checkpoint", "true"]
    with pytest.raises(ValueError, match="a finished run with other learning_rate"):
        task.run(folder, *arguments, *resume, "--learning_rate", "2e-2")
    marked = folder / "seed-7" / "run-results.json"
    marked.write_text(json.dumps(json.loads(marked.read_text()) | {"minutes": 4321.0}))
    more = task.run(folder, *arguments, *resume, "--num_seeds", "3")
    assert [run["minutes"] for run in more["runs"][:2]] == [4321.0, first["runs"][1]["minutes"]]
    assert len(more["runs"]) == 3
    for text in ("{}", '{"arguments": {}}'):
        marked.write_text(text)
        with pytest.raises(ValueError, match=r"run-results.json is no complete record of a run; delete it to measure"):
            task.run(folder, *arguments, *resume)
    marked.write_text("{")
    with pytest.raises(ValueError, match=r"run-results.json, line 1: .* delete it to measure again"):
        task.run(folder, *arguments, *resume)


@pytest.mark.parametrize("name", NAMES)
def test_a_diverged_model_has_no_scores(name: str, tiny: Tiny, tmp_path: Path) -> None:
    task = tiny(name)
    arguments = [*task.data("train", "test"), *LAST, "--max_steps", "3", "--max_grad_norm", "1e30"]
    with pytest.raises(ValueError, match=r"the training has diverged: .*; give a lower --learning_rate"):
        task.run(tmp_path, *arguments, "--learning_rate", "1e38")
    assert not (tmp_path / "results.json").exists()


@pytest.mark.parametrize("name", NAMES)
def test_folds_test_every_row_once(name: str, tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = tiny(name)
    last = [*LAST, "--max_steps", "1", "--num_folds", "3"]
    record = task.run(tmp_path / "run", *task.data("train", "test"), *last, "--folds", "1", "3")
    assert [run["run"] for run in record["runs"]] == ["fold-1", "fold-3"]
    assert set(record["scores"]) == {"held-out fold", "test"}
    printed = capsys.readouterr().out
    assert "| held-out fold |" in printed
    assert "±" in printed


@pytest.mark.parametrize("name", NAMES)
def test_checkpoints_of_a_finished_run_are_kept_if_asked_for(name: str, tiny: Tiny, tmp_path: Path) -> None:
    task, folder = tiny(name), tmp_path / "run"
    steps = ["--max_steps", "2", "--save_strategy", "steps", "--save_steps", "1", "--save_total_limit", "2"]
    arguments = [*task.data("train", "test"), *steps, "--eval_strategy", "no", "--load_best_model_at_end", "false"]
    resume = ["--resume_from_checkpoint", "true"]
    task.run(folder, *arguments)
    assert not list(folder.glob("checkpoint-*"))
    assert task.run(folder, *arguments, *resume)["runs"] == task.run(folder, *arguments, *resume)["runs"]
    (folder / "checkpoint-2").mkdir()  # killed while it was removed
    (folder / "checkpoint-best").mkdir()
    task.run(folder, *arguments, *resume)
    assert [path.name for path in folder.glob("checkpoint-*")] == ["checkpoint-best"]
    kept = tmp_path / "kept"
    task.run(kept, *arguments, "--keep_checkpoints", "true")
    task.run(kept, *arguments, *resume)
    assert {path.name for path in kept.glob("checkpoint-*")} == {"checkpoint-1", "checkpoint-2"}
    went_on = ["--resume_from_checkpoint", str(kept / "checkpoint-1")]
    task.run(tmp_path / "again", *arguments, *went_on)
    weights = [(place / "model.safetensors").read_bytes() for place in (folder, kept, tmp_path / "again")]
    assert weights[0] == weights[1] == weights[2]


@pytest.mark.parametrize("stops_early", [False, True])
def test_a_run_that_is_killed_after_its_last_step_is_not_trained_on(
    stops_early: bool, tiny: Tiny, tmp_path: Path
) -> None:
    task = tiny("negation_scope")
    steps = ["--save_strategy", "steps", "--save_steps", "1", "--keep_checkpoints", "true", "--max_steps", "3"]
    if stops_early:  # no score is better than the first
        steps += ["--eval_strategy", "steps", "--eval_steps", "1", "--early_stopping_patience", "1"]
        steps += ["--learning_rate", "0", "--head_learning_rate", "0"]
    arguments = [*task.data("train", "dev", "test"), *steps]
    task.run(tmp_path, *arguments)
    weights, state = ((tmp_path / name).read_bytes() for name in ("model.safetensors", "trainer_state.json"))
    for name in ("results.json", "run-results.json", "model.safetensors"):
        (tmp_path / name).unlink()
    last = tmp_path / f"checkpoint-{json.loads(state)['global_step']}" / "trainer_state.json"
    saved = json.loads(last.read_text())
    assert 0 < saved["stateful_callbacks"]["_Clock"]["attributes"]["seconds"] < 300
    saved["stateful_callbacks"]["_Clock"]["attributes"]["seconds"] = 600
    last.write_text(json.dumps(saved))
    record = task.run(tmp_path, *arguments, "--resume_from_checkpoint", "true")
    assert 10 < record["minutes"] < 15
    assert record["runs"][0]["steps"] == json.loads(state)["global_step"] == (2 if stops_early else 3)
    assert (tmp_path / "model.safetensors").read_bytes() == weights


def test_changed_data_are_noticed(tiny: Tiny, tmp_path: Path) -> None:
    task = tiny("negation_scope")
    test = tmp_path / "t.jsonl"
    test.write_bytes(task.files["test"].read_bytes())
    arguments = [*task.data("train"), "--test_file", str(test), *LAST, "--max_steps", "1"]
    task.run(tmp_path / "run", *arguments)
    test.write_bytes(task.files["dev"].read_bytes())
    with pytest.raises(ValueError, match=r"a finished run with other contents of .*t\.jsonl"):
        task.run(tmp_path / "run", *arguments, "--resume_from_checkpoint", "true")


def test_only_named_files_and_recorded_arguments_decide(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    task = tiny("negation_scope")
    arguments = [*task.data("train", "test"), *LAST, "--max_steps", "1", "--resume_from_checkpoint", "true"]
    rate = ["--lr_scheduler_type", "cosine_with_min_lr", "--lr_scheduler_kwargs"]
    folder = Path("negation")  # also the value of --kind
    record = task.run(folder, *arguments, *rate, '{"min_lr": 1e-6}')
    assert record["training"]["lr_scheduler_kwargs"] == {"min_lr": 1e-6}
    assert task.run(folder, *arguments, *rate, '{"min_lr": 1e-6}')["scores"] == record["scores"]
    with pytest.raises(ValueError, match="a finished run with other lr_scheduler_kwargs"):
        task.run(folder, *arguments, *rate, '{"min_lr": 1e-5}')


def test_test_sets_with_like_names_do_not_mix(tiny: Tiny, tmp_path: Path) -> None:
    task = tiny("negation_scope")
    paths = ["a/test.jsonl", "b/test.jsonl", "a_test.jsonl", "x.v1.jsonl", "x.v2.jsonl", "c/train.jsonl"]
    for path in paths:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(task.files["dev"].read_bytes())
    files = [str(tmp_path / path) for path in paths]
    record = task.run(tmp_path / "run", *task.data("train"), "--test_file", *files, *LAST, "--max_steps", "1")
    assert len(record["scores"]) == len(paths)
    assert record["corpora"]["train"]["sentences"] == 68
    assert len(list((tmp_path / "run").glob("predictions_*.jsonl"))) == len(paths)


def test_the_best_model_is_kept_and_its_score_marked(tiny: Tiny, tmp_path: Path) -> None:
    task = tiny("abstract_cloze")
    steps = ["--max_steps", "12", "--eval_steps", "2", "--save_steps", "2", "--learning_rate", "1e-2"]
    dev = ["--test_file", str(task.files["dev"])]
    record = task.run(tmp_path / "run", *task.data("train", "dev"), *dev, *steps)
    history = json.loads((tmp_path / "run" / "trainer_state.json").read_text())["log_history"]
    evaluated = {entry["step"]: entry["eval_accuracy"] for entry in history if "eval_accuracy" in entry}
    best = record["runs"][0]["best"]
    assert len(evaluated) == 6
    assert best["accuracy"] == max(evaluated.values()) == evaluated[best["step"]]
    assert record["scores"]["dev"]["accuracy"]["mean"] == best["accuracy"]
    assert "that score is optimistic" in (tmp_path / "run" / "README.md").read_text()


def test_early_stopping_compares_f1(tiny: Tiny, tmp_path: Path) -> None:
    task = tiny("negation_scope")
    steps = ["--eval_strategy", "steps", "--eval_steps", "1", "--save_strategy", "steps", "--save_steps", "1"]
    options = ["--early_stopping_patience", "1", "--validation_fraction", "0.3", "--max_steps", "3", *steps]
    record = task.run(tmp_path / "run", *task.data("train"), *options)
    assert set(record["runs"][0]["best"]) == {"step", "f1"}
    assert record["training"]["metric_for_best_model"] == "f1"
    best, card = record["runs"][0]["best"], (tmp_path / "run" / "README.md").read_text()
    chosen = f"step {best['step']} is the best on the validation set, with f1 {best['f1']:.4g}"
    assert f"Nothing was scored: no test set with labels was given. Of the first run, {chosen}." in card
    assert f"steps; {chosen} |" in card


def test_a_run_is_pushed_whole_and_the_token_nowhere_written(tiny: Tiny, tmp_path: Path, hub: HubServer) -> None:
    task, run = tiny("negation_scope"), tmp_path / "run"
    token = [
        "--push_to_hub",
        "true",
        "--hub_token",
        "hf_owner",
        "--hub_model_id",
        "user/model",
        "--hub_private_repo",
        "true",
    ]
    arguments = [*task.data("train"), *LAST, "--max_steps", "1", "--card_dir", str(tmp_path / "cards"), *token]
    hub.fail("POST .*/commit/", status(503))
    with pytest.raises(ConnectionError, match=r"to user/model: 503 .* finished in .*run: .*--resume_from"):
        task.run(run, *arguments)
    hub.faults.clear()
    before = (run / "model.safetensors").stat().st_mtime_ns
    record = task.run(run, *arguments, "--resume_from_checkpoint", "true")
    assert (run / "model.safetensors").stat().st_mtime_ns == before
    files = hub.repositories["user/model"].files()
    written = {path.name: path.read_bytes() for path in run.iterdir() if path.name != "training_args.bin"}
    assert files == {**written, ".gitattributes": b""}
    assert hub.repositories["user/model"].private
    assert "--hub_token ..." in record["command"]
    assert b"hf_owner" not in b"".join(files.values())
    assert {path.name for path in (tmp_path / "cards").iterdir()} == {"run.json", "run.md"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--push_to_hub", "true", "--num_seeds", "2"], "leave out --num_seeds"),
        (["--push_to_hub", "true", "--num_folds", "3"], "leave out --num_folds"),
        (["--num_folds", "3", "--folds", "4"], r"--folds \[4\]: with --num_folds 3"),
        (["--folds", "1"], "counted from 1"),
        (["--num_folds", "1"], "must be at least 2"),
        (["--extra_train_file", "{test}"], "without folds, name it in --train_file"),
        (["--num_folds", "3", "--validation_fraction", "0.2"], "leave out --validation_fraction"),
        (["--num_folds", "9999"], r"number of groups of rows .*, 68"),
        (["--num_seeds", "0"], "must be at least 1"),
        (["--num_seeds", "2", "--resume_from_checkpoint", "."], "do not start from one checkpoint"),
        (["--validation_fraction", "1.5"], "between 0 and 1"),
        (["--max_train_samples", "0"], "at least 1"),
        (["--eval_strategy", "epoch"], "evaluation needs a validation set"),
        (["--early_stopping_patience", "2", "--eval_strategy", "no"], "--early_stopping_patience 2 needs evaluations"),
        (["--remove_unused_columns", "true"], "leave it out"),
        (["--dataset_config_name", "a"], "give --dataset_name as well"),
        (["--test_file", "{train}", "{train}"], "--test_file names .* twice"),
        (["--validation_fraction", "0.1", "--validation_file", "{train}"], "leave one out"),
        (["--max_length", "513"], "reads 2 to 512 word pieces"),
        (["--max_length", "1"], "reads 2 to 512 word pieces"),
        (
            ["--model_name_or_path", "src/clozeformer"],
            "there is no folder src/clozeformer; did you mean src/clozeformers?",
        ),
        (["--model_name_or_path", "/no/such/folder"], "there is no folder /no/such/folder"),
    ],
)
def test_impossible_arguments_are_refused(arguments: list[str], message: str, tiny: Tiny, tmp_path: Path) -> None:
    task = tiny("negation_scope")
    given = [word.format(**{name: str(path) for name, path in task.files.items()}) for word in arguments]
    with pytest.raises((OSError, ValueError), match=message):
        task.run(tmp_path / "run", *task.data("train"), *LAST, "--max_steps", "1", *given)


def test_a_trained_model_is_scored_as_it_is_in_the_columns_of_the_corpus(tiny: Tiny, tmp_path: Path) -> None:
    task, gold, run = tiny("negation_scope"), tmp_path / "gold.txt", tmp_path / "run"
    cells = {"He": "_ He _", "is": "_ is _", "not": "not _ _", "here": "_ here here"}
    lines = ["\t".join(["c", "0", str(n), word, word, "X", "*", *cells[word].split()]) for n, word in enumerate(cells)]
    gold.write_text("\n".join(lines) + "\n\n")
    first = task.run(run, *task.data("train"), "--test_file", str(gold), *LAST, "--max_steps", "1", "--input", "normal")
    predicted = (run / "predictions_gold.txt").read_text().splitlines()
    assert [line.split("\t")[:8] for line in predicted[:4]] == [line.split("\t")[:8] for line in lines]
    assert json.loads((run / "sem_star_gold.json").read_text())["cues_f1"] == 100.0
    scoring = ["--model_name_or_path", str(run), "--test_file", str(gold)]
    second = TinyTask("negation_scope", {}, []).run(tmp_path / "again", *scoring)
    assert second["scores"] == first["scores"]
    assert (second["model"]["attention_variant"], second["data"]["input"]) == ("OA-EMB", "normal")
    with pytest.raises(ValueError, match=r"--attention_variant OA-C, but .* was trained with OA-EMB"):
        TinyTask("negation_scope", {}, []).run(tmp_path / "other", *scoring, "--attention_variant", "OA-C")


def test_datasets_of_the_hub(tiny: Tiny, tmp_path: Path) -> None:
    task, hub = tiny("negation_scope"), tmp_path / "hub"
    hub.mkdir()
    for name in ("train", "test"):
        (hub / f"{name}.jsonl").write_bytes(task.files[name].read_bytes())
    record = task.run(tmp_path / "run", "--dataset_name", str(hub), *LAST, "--max_steps", "1")
    assert set(record["corpora"]) == {"train", "test"}
    with pytest.raises(ValueError, match=r"split (train|test).*question answering needs"):
        tiny("question_answering").run(tmp_path / "other", "--dataset_name", str(hub), *LAST)


@pytest.mark.parametrize("name", NAMES)
def test_weights_on_a_grid_score_as_they_are_saved(name: str, tiny: Tiny, tmp_path: Path) -> None:
    task, folder = tiny(name), tmp_path / "run"
    record = task.run(folder, *task.data("train", "test"), *LAST, "--max_steps", "2", "--weight_step", "0.5")
    saved = load_file(folder / "model.safetensors")
    assert {weight.dtype for weight in saved.values() if weight.is_floating_point()} == {torch.float16}
    for weight in saved.values():
        assert weight.dim() < 2 or len(weight.abs().unique()) <= 16
    model = task_named(name).auto_model.from_pretrained(folder)
    assert model.dtype == torch.float32
    scoring = replace(task, arguments=["--model_name_or_path", str(folder)])
    again = scoring.run(tmp_path / "again", *task.data("test"))
    assert again["scores"] == record["scores"]


def test_weights_beyond_half_precision_are_refused() -> None:
    layer = torch.nn.Linear(1, 1)
    torch.nn.init.constant_(layer.weight, 1e5)
    with pytest.raises(ValueError, match="weight has a weight above 65504"):
        round_weights(layer, 0.125)


def test_weights_are_rounded_to_the_nearest_step() -> None:
    layers = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Linear(2, 1))
    with torch.no_grad():
        layers[0].weight.copy_(torch.tensor([[7.0, -3.4, 0.6, 0.4]]))  # of standard deviation 3.9, around zero
        layers[1].weight.zero_()
    bias = layers[0].bias.clone()
    round_weights(layers, 0.25)
    assert layers[0].weight.tolist() == [[7, -3, 1, 0]], "the nearest power of two is 1"
    assert layers[1].weight.tolist() == [[0, 0]]
    assert torch.equal(layers[0].bias, bias.half().float())
