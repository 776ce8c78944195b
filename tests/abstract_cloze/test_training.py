"""Training of abstract cloze: votes, frozen layers, whole runs, in several processes, killed and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from transformers import AutoTokenizer, pipeline

import clozeformers  # noqa: F401
from clozeformers.abstract_cloze.arguments import ClozeDataArguments, ClozeTrainingArguments
from clozeformers.abstract_cloze.features import cloze_features
from clozeformers.abstract_cloze.loading import freeze_lower_layers, load_cloze_corpora
from clozeformers.abstract_cloze.recam import load_recam
from clozeformers.abstract_cloze.trainer import AbstractClozeTrainer, accuracy, best_options, vote
from clozeformers.cli import main as command_line
from clozeformers.modeling.auto import AutoModelForAbstractCloze

from ..cloze_corpora import RIGHT, SCRIPT, WRONG, recam_rows, save_encoder, write_dictionary, write_recam
from ..scripts import load_script
from ..training.test_runs import environment, losses

COMMON = [
    *("--use_cpu", "true", "--disable_tqdm", "true", "--report_to", "none", "--logging_steps", "1"),
    *("--num_co_attention_heads", "2", "--co_attention_head_size", "8", "--max_length", "72"),
    *("--learning_rate", "1e-2", "--per_device_train_batch_size", "8"),
]
LAST = ["--eval_strategy", "no", "--load_best_model_at_end", "false", "--save_strategy", "no"]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files `train`, `dev` and `test`, an encoder `bert` of two layers without dropout, and the dictionary's `home`."""
    folder = tmp_path_factory.mktemp("cloze")
    rows = {"train": recam_rows(64, 0), "dev": recam_rows(24, 1), "test": recam_rows(23, 2, options=(5, 2, 3))}
    written = {name: write_recam(folder / f"{name}.jsonl", some) for name, some in rows.items()}
    home = write_dictionary(folder / "home")
    return {**written, "bert": save_encoder(folder / "bert", "bert", num_layers=2), "home": home}


@pytest.fixture
def run(places: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Run the script in this process with a tiny model into a folder, and return its results."""
    monkeypatch.setenv("CLOZEFORMERS_HOME", str(places["home"]))

    def start(*arguments: str, folder: str = "run") -> dict[str, Any]:
        arguments = (*("--model_name_or_path", str(places["bert"])), *COMMON, *arguments)
        load_script("run_abstract_cloze").main([*arguments, "--output_dir", str(tmp_path / folder)])
        results: dict[str, Any] = json.loads((tmp_path / folder / "results.json").read_text())
        return results

    return start


def training(places: dict[str, Path], *names: str) -> list[str]:
    """The arguments that name the training file and, where asked for, the others."""
    options = {"dev": "--validation_file", "test": "--test_file"}
    return [
        "--train_file",
        str(places["train"]),
        *(word for name in names for word in (options[name], str(places[name]))),
    ]


# ---------------------------------------------------------------------------------------------------------------- parts

probabilities = st.integers(2, 5).flatmap(
    lambda options: st.lists(
        st.lists(st.floats(0, 1), min_size=options, max_size=options).map(lambda values: {"q": values}),
        min_size=1,
        max_size=6,
    )
)


def test_the_majority_decides_and_the_sums_break_ties() -> None:
    certain, other, third = {"q": [0.9, 0.1, 0.0]}, {"q": [0.4, 0.6, 0.0]}, {"q": [0.3, 0.7, 0.0]}
    assert vote([certain, other, third]) == {"q": 1}
    assert vote([certain, other]) == {"q": 0}
    assert vote([{"q": [0.6, 0.4]}, {"q": [0.4, 0.6]}]) == {"q": 0}
    # The sums of all models count, not only of those that voted for an option.
    assert vote([{"q": [0.5, 0.5, 0.0]}, {"q": [0.0, 0.45, 0.55]}, {"q": [0.0, 0.55, 0.45]}]) == {"q": 1}
    assert vote([{"q": [0.4, 0.35, 0.25]}, {"q": [0.1, 0.3, 0.6]}]) == {"q": 2}


@given(probabilities, st.randoms())
def test_a_vote_depends_on_no_order_and_never_takes_what_nobody_chose(models: list[Any], random: Any) -> None:
    chosen = vote(models)
    assert chosen["q"] in {best_options(model)["q"] for model in models}
    assert vote([models[0]]) == best_options(models[0])
    random.shuffle(models)
    assert vote(models) == chosen


def test_accuracy_is_over_labelled_questions() -> None:
    rows = Dataset.from_dict({"id": ["a", "b", "c"], "label": [1, 0, -1]})
    assert accuracy({"a": 1, "b": 2, "c": 0}, rows) == {"accuracy": 0.5}
    assert accuracy({"c": 0}, rows.select([2])) == {}


def test_predictions_come_in_the_order_of_the_rows_whatever_their_lengths(
    places: dict[str, Path], tmp_path: Path
) -> None:
    model = AutoModelForAbstractCloze.from_pretrained(places["bert"], num_co_attention_heads=2).eval()
    tokenizer, rows = AutoTokenizer.from_pretrained(places["bert"]), load_recam(places["test"])
    features, _ = cloze_features(rows, tokenizer, max_length=72, option_reader=None)
    args = ClozeTrainingArguments(str(tmp_path), use_cpu=True, eval_strategy="no", load_best_model_at_end=False)
    args.per_device_eval_batch_size, args.disable_tqdm = 4, True
    trainer = AbstractClozeTrainer(model, args, tokenizer)
    predicted, metrics = trainer.predict_options(rows, features)
    assert len({len(option) for options in features["input_ids"] for option in options}) > 3
    assert list(predicted) == rows["id"]
    for row, feature in zip(rows, features, strict=True):
        with torch.no_grad():
            logits = model(**trainer.data_collator([feature])).logits[0]
        torch.testing.assert_close(torch.tensor(predicted[row["id"]]), logits.softmax(0), rtol=1e-4, atol=1e-6)
        assert len(predicted[row["id"]]) == len(row["options"])
    assert metrics["test_accuracy"] == accuracy(best_options(predicted), rows)["accuracy"]


@pytest.mark.parametrize(("count", "frozen"), [(0, 0), (1, 1), (2, 2)])
def test_lower_layers_are_frozen(places: dict[str, Path], count: int, frozen: int) -> None:
    model = AutoModelForAbstractCloze.from_pretrained(places["bert"])
    freeze_lower_layers(model, count)
    for name, parameter in model.named_parameters():
        expected = any(name.startswith(f"bert.encoder.layer.{number}.") for number in range(frozen))
        expected |= bool(frozen) and name.startswith("bert.embeddings.")
        assert parameter.requires_grad is not expected, name


def test_layers_that_cannot_be_frozen(places: dict[str, Path], tmp_path: Path) -> None:
    model = AutoModelForAbstractCloze.from_pretrained(places["bert"])
    for count in (3, -1):
        with pytest.raises(ValueError, match=rf"--freeze_layers is {count}; this encoder has 2 layers"):
            freeze_lower_layers(model, count)
    albert = AutoModelForAbstractCloze.from_pretrained(save_encoder(tmp_path, "albert", num_layers=3))
    with pytest.raises(ValueError, match="share their weights"):
        freeze_lower_layers(albert, 1)


def test_the_head_has_a_rate_of_its_own_only_where_one_is_given(places: dict[str, Path], tmp_path: Path) -> None:
    model = AutoModelForAbstractCloze.from_pretrained(places["bert"])
    tokenizer = AutoTokenizer.from_pretrained(places["bert"])
    for rate, expected in ((None, {3e-4}), (2e-3, {3e-4, 2e-3})):
        args = ClozeTrainingArguments(str(tmp_path), use_cpu=True, learning_rate=3e-4, head_learning_rate=rate)
        args.eval_strategy, args.load_best_model_at_end = "no", False
        optimizer = AbstractClozeTrainer(model, args, tokenizer).create_optimizer()
        assert {group["lr"] for group in optimizer.param_groups} == expected


# ----------------------------------------------------------------------------------------------------------------- runs


def test_a_model_learns_and_its_folder_chooses(
    run: Callable[..., dict[str, Any]], places: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = ["--num_train_epochs", "4", "--eval_steps", "8", "--save_steps", "8", "--warmup_steps", "0.1"]
    cards = ["--card_dir", str(tmp_path / "cards"), "--run_name", "tiny"]
    result = run(*training(places, "dev", "test"), *steps, *cards)
    assert result["task"] == "abstract-cloze"
    score = result["scores"]["test"]["accuracy"]
    assert score["mean"] > 0.9
    assert score["runs"] == 1
    assert f"| test | 23 | {100 * score['mean']:.2f} |" in capsys.readouterr().out
    predictions = json.loads((tmp_path / "run" / "predictions_test.json").read_text())
    known = json.loads((tmp_path / "run" / "probabilities_test.json").read_text())
    rows = load_recam(places["test"])
    assert accuracy(predictions, rows)["accuracy"] == score["mean"]
    assert [len(known[row["id"]]) for row in rows] == [len(row["options"]) for row in rows]
    assert all(abs(sum(values) - 1) < 1e-5 for values in known.values())
    assert {"step", "accuracy"} == result["runs"][0]["best"].keys()
    counts = result["runs"][0]["features"]["train"]
    assert (counts["questions"], counts["options"], counts["with_definitions"]) == (64, 320, 320)
    assert result["corpora"]["test"] == {"questions": 23, "options": 77, "articles": 23, "labelled": 23, "left_out": 0}
    cloze = pipeline("abstract-cloze", model=str(tmp_path / "run"), device="cpu")
    options = [WRONG[0], RIGHT[0], WRONG[1]]
    best = cloze(
        {"article": "it was a walk .", "question": "ada said it was a @placeholder day .", "options": options}
    )[0]
    assert (best["option"], best["index"]) == (RIGHT[0], 1)
    card = (tmp_path / "cards" / "tiny.md").read_text()
    assert f"| test | 23 | {100 * score['mean']:.2f} |" in card
    assert "WN-DUMA: stacked co-attention, 1 layer, 2 heads of 8" in card
    assert "financial 0." in card or "financial 1.0" in card
    assert "{" not in card.split("---", 2)[2].replace("example = {", "")
    assert command_line(["results", str(tmp_path / "cards" / "tiny.json")]) == 0
    assert "| test | WN-DUMA | bert | article, question with option, definitions | train |" in capsys.readouterr().out


def test_seeds_give_different_runs_and_vote(
    run: Callable[..., dict[str, Any]], places: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*training(places, "test"), *LAST, "--max_steps", "2", "--num_seeds", "3", "--seed", "7"]
    result = run(*arguments)
    assert [(one["run"], one["seed"]) for one in result["runs"]] == [(f"seed-{seed}", seed) for seed in (7, 8, 9)]
    assert result["scores"]["test"]["accuracy"]["runs"] == 3
    folders = [tmp_path / "run" / one["run"] for one in result["runs"]]
    models = [json.loads((folder / "probabilities_test.json").read_text()) for folder in folders]
    assert models[0] != models[1]
    chosen = json.loads((tmp_path / "run" / "predictions_test.json").read_text())
    assert chosen == vote(models)
    expected = accuracy(chosen, load_recam(places["test"]))
    assert result["ensemble"] == {"test": expected}
    printed = capsys.readouterr().out
    assert "| test set | questions | accuracy | vote of 3 seeds |" in printed
    assert f"| {100 * expected['accuracy']:.2f} |" in printed
    assert "mean ± standard deviation over 3 seeds" in (tmp_path / "run" / "README.md").read_text()


def test_finished_seeds_are_read_not_repeated(
    run: Callable[..., dict[str, Any]], places: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [*training(places, "test"), *LAST, "--max_steps", "2", "--num_seeds", "2", "--seed", "0"]
    first = run(*arguments)
    (tmp_path / "run" / "seed-1" / "run-results.json").unlink()
    marked = tmp_path / "run" / "seed-0" / "run-results.json"
    marked.write_text(json.dumps(json.loads(marked.read_text()) | {"minutes": 4321.0}))
    with pytest.raises(ValueError, match="holds the results of an earlier command; give another --output_dir"):
        run(*arguments)
    with pytest.raises(ValueError, match="with other learning_rate"):
        run(*arguments, "--learning_rate", "2e-2", "--resume_from_checkpoint", "true")
    again = run(*arguments, "--resume_from_checkpoint", "true")
    assert again["runs"][0]["minutes"] == 4321.0
    assert again["runs"][1]["scores"] == first["runs"][1]["scores"]
    assert again["ensemble"] == first["ensemble"]
    more = run(*arguments, "--num_seeds", "3", "--resume_from_checkpoint", "true")
    assert more["runs"][:2] == again["runs"]
    assert len(more["runs"]) == 3
    # With all seeds finished, nothing is prepared: WordNet may be gone.
    monkeypatch.setattr("clozeformers.abstract_cloze.runs.prepare", None)
    assert run(*arguments, "--resume_from_checkpoint", "true")["scores"] == first["scores"]


def test_other_data_or_another_command_are_noticed(
    run: Callable[..., dict[str, Any]], places: dict[str, Path], tmp_path: Path
) -> None:
    test = write_recam(tmp_path / "t.jsonl", recam_rows(6, 5))
    arguments = ["--train_file", str(places["train"]), "--test_file", str(test), *LAST, "--max_steps", "1"]
    run(*arguments)
    with pytest.raises(ValueError, match=r"results.json holds the results of an earlier command"):
        run(*arguments, "--num_seeds", "2")
    write_recam(test, recam_rows(7, 6))
    with pytest.raises(ValueError, match=r"a finished run with other contents of .*t\.jsonl"):
        run(*arguments, "--resume_from_checkpoint", "true")


def test_a_model_that_diverges_is_not_scored(
    run: Callable[..., dict[str, Any]], places: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"seed 42 gives probabilities that are no numbers: .* lower --learning_rate"):
        run(*training(places, "test"), *LAST, *("--max_steps", "6", "--learning_rate", "1e30", "--max_grad_norm", "0"))
    assert not (tmp_path / "run" / "results.json").exists()
    assert not (tmp_path / "run" / "predictions_test.json").exists()


def test_an_untrained_head_is_not_scored(run: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "hub").mkdir()
    write_recam(tmp_path / "hub" / "test.jsonl", recam_rows(6, 5))
    with pytest.raises(ValueError, match="head"):
        run("--dataset_name", str(tmp_path / "hub"), *LAST)


def test_the_best_model_is_kept(run: Callable[..., dict[str, Any]], places: dict[str, Path], tmp_path: Path) -> None:
    steps = ["--max_steps", "12", "--eval_steps", "2", "--save_steps", "2"]
    result = run(*training(places, "dev"), "--test_file", str(places["dev"]), *steps)
    history = json.loads((tmp_path / "run" / "trainer_state.json").read_text())["log_history"]
    evaluated = {entry["step"]: entry["eval_accuracy"] for entry in history if "eval_accuracy" in entry}
    assert len(evaluated) == 6
    best = result["runs"][0]["best"]
    assert best["accuracy"] == max(evaluated.values()) == evaluated[best["step"]]
    assert result["scores"]["dev"]["accuracy"]["mean"] == best["accuracy"]
    assert "read that score as optimistic" in (tmp_path / "run" / "README.md").read_text()


def test_articles_of_other_files_are_left_out_of_training(
    run: Callable[..., dict[str, Any]], places: dict[str, Path], tmp_path: Path
) -> None:
    rows = recam_rows(24, 1)
    mixed = write_recam(tmp_path / "mixed.jsonl", [*rows[:5], *recam_rows(20, 9)])
    arguments = ["--train_file", str(mixed), "--exclude_articles_of", str(places["dev"]), "--max_steps", "1", *LAST]
    result = run(*arguments)
    assert (result["corpora"]["train"]["questions"], result["corpora"]["train"]["left_out"]) == (20, 5)
    assert "| train | 20 | 100 | 20 | 5 |" in (tmp_path / "run" / "README.md").read_text()
    own = ["--train_file", str(places["dev"]), "--exclude_articles_of", str(places["dev"]), *LAST]
    with pytest.raises(ValueError, match="no training questions left"):
        run(*own, folder="none")


def test_questions_without_label_are_predicted_and_not_scored(
    run: Callable[..., dict[str, Any]], places: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{key: value for key, value in row.items() if key != "label"} for row in recam_rows(6, 5)]
    blind = write_recam(tmp_path / "blind.jsonl", rows)
    result = run(*training(places), "--test_file", str(blind), str(places["dev"]), "--max_steps", "1", *LAST)
    assert result["scores"].keys() == {"dev"}
    assert len(json.loads((tmp_path / "run" / "predictions_blind.json").read_text())) == 6
    run(*training(places), "--test_file", str(blind), "--max_steps", "1", *LAST, folder="blind")
    assert capsys.readouterr().out.endswith("No question with a label was scored.\n")
    with pytest.raises(ValueError, match="6 of 6 training questions have no label"):
        run("--train_file", str(blind), *LAST, folder="other")


def test_a_trained_model_is_scored_as_it_is(
    run: Callable[..., dict[str, Any]], places: dict[str, Path], tmp_path: Path
) -> None:
    head = ["--num_co_attention_layers", "2", "--co_attention", "parallel", "--use_definitions", "false"]
    first = run(*training(places, "test"), *head, "--max_steps", "3", *LAST)
    scoring = ["--model_name_or_path", str(tmp_path / "run"), "--test_file", str(places["test"]), "--use_cpu", "true"]
    script = load_script("run_abstract_cloze")
    script.main([*scoring, "--output_dir", str(tmp_path / "again")])
    second = json.loads((tmp_path / "again" / "results.json").read_text())
    assert second["scores"] == first["scores"]
    model, data = second["model"], second["data"]
    assert (model["num_co_attention_layers"], model["co_attention"]) == (2, "parallel")
    assert (data["use_definitions"], data["max_length"]) == (False, 72)
    with pytest.raises(ValueError, match=r"--use_definitions True, but .* was trained with False; leave"):
        script.main([*scoring, "--use_definitions", "true", "--output_dir", str(tmp_path / "other")])


def test_frozen_layers_stay_as_they_are(
    run: Callable[..., dict[str, Any]], places: dict[str, Path], tmp_path: Path
) -> None:
    result = run(*training(places), "--freeze_layers", "1", "--max_steps", "2", *LAST)
    before, after = load_file(places["bert"] / "model.safetensors"), load_file(tmp_path / "run" / "model.safetensors")
    same = {name for name, weight in before.items() if torch.equal(weight, after.get(f"bert.{name}", torch.empty(0)))}
    changed = {name.split(".layer.")[1][0] for name in before.keys() - same if ".layer." in name}
    assert changed == {"1"}
    assert {name for name in before if name.startswith("embeddings.")} <= same
    run_result = result["runs"][0]
    frozen = sum(before[name].numel() for name in before if name.startswith(("embeddings.", "encoder.layer.0.")))
    assert run_result["parameters"] - run_result["trained_parameters"] == frozen


def test_without_wordnet_the_command_that_helps_is_named(
    run: Callable[..., dict[str, Any]], places: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clozeformers.abstract_cloze.wordnet_install.dictionary_places", list)
    with pytest.raises(FileNotFoundError, match="wordnet install"):
        run(*training(places), "--max_steps", "1", *LAST)
    result = run(*training(places), "--use_definitions", "false", "--max_steps", "1", *LAST, folder="without")
    assert result["runs"][0]["features"]["train"]["with_definitions"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--test_file", "{test}"], "encoder without a trained head"),
        (["--train_file", "{train}"], "best model is chosen by its accuracy on --validation_file"),
        (["--train_file", "{train}", "{train}", *LAST], "--train_file names .* twice"),
        (["--test_file", "{test}", "--exclude_articles_of", "{train}"], "give --train_file as well"),
        (["--test_file", "{test}", "--dataset_config_name", "a"], "names a part of --dataset_name"),
        (["--train_file", "{train}", *LAST, "--num_seeds", "0"], "must be at least 1"),
        (["--train_file", "{train}", *LAST, "--num_seeds", "2", "--push_to_hub", "true"], "--push_to_hub pushes one"),
        (
            ["--train_file", "{train}", *LAST, "--num_seeds", "2", "--resume_from_checkpoint", "somewhere"],
            "do not start from one checkpoint",
        ),
        (["--train_file", "{train}", *LAST, "--max_length", "201"], "reads at most 200 word pieces"),
        (["--train_file", "{train}", *LAST, "--max_length", "3"], "special tokens"),
        (["--train_file", "{train}", *LAST, "--max_train_samples", "0"], "at least 1"),
        (["--train_file", "{train}", *LAST, "--freeze_layers", "9"], "this encoder has 2 layers"),
        (["--train_file", "{train}", *LAST, "--num_co_attention_layers", "-1"], "num_co_attention_layers is -1"),
        (["--train_file", "{train}", *LAST, "--model_name_or_path", "./nowhere"], "there is no folder ./nowhere"),
        (["--train_file", "{train}", *LAST, "--remove_unused_columns", "true"], "leave it out"),
    ],
)
def test_wrong_commands(
    arguments: list[str], message: str, run: Callable[..., dict[str, Any]], places: dict[str, Path]
) -> None:
    with pytest.raises(ValueError, match=message):
        run(*(argument.format(**places) for argument in arguments))


def test_a_command_without_data() -> None:
    with pytest.raises(ValueError, match="nothing to do: give --train_file"):
        load_cloze_corpora(ClozeDataArguments())


def test_two_processes_reach_the_loss_curve_of_one(places: dict[str, Path], tmp_path: Path) -> None:
    arguments = [
        *("--model_name_or_path", str(places["bert"]), *COMMON, "--learning_rate", "1e-3", *training(places, "test")),
        *("--num_train_epochs", "2", "--co_attention_dropout", "0.0", *LAST),
    ]
    one, two = tmp_path / "one", tmp_path / "two"
    launch = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
    launch += ["--mixed_precision", "no", "--dynamo_backend", "no"]
    for prefix, folder, batch, more in (([], one, "8", []), (launch, two, "4", ["--ddp_backend", "gloo"])):
        command = [sys.executable, *prefix, str(SCRIPT), *arguments, "--output_dir", str(folder), *more]
        subprocess.run(
            [*command, "--per_device_train_batch_size", batch],
            check=True,
            env=surroundings(places),
            capture_output=True,
        )
    assert len(losses(one)) == 16
    assert losses(two) == pytest.approx(losses(one), rel=1e-3)
    weights = load_file(one / "model.safetensors"), load_file(two / "model.safetensors")
    # It adds the same to every option: its gradient is nothing but rounding.
    del weights[0]["option_classifier.bias"]
    for name, weight in weights[0].items():
        torch.testing.assert_close(weights[1][name], weight, rtol=1e-3, atol=1e-4, msg=name)
    predicted = [json.loads((folder / "probabilities_test.json").read_text()) for folder in (one, two)]
    assert predicted[0].keys() == predicted[1].keys()
    for row_id, values in predicted[0].items():
        assert predicted[1][row_id] == pytest.approx(values, abs=1e-3)


def test_killed_and_resumed_ends_with_the_same_weights(places: dict[str, Path], tmp_path: Path) -> None:
    encoder = save_encoder(tmp_path / "bert", "bert", num_layers=2, dropout=0.1)
    arguments = [
        *("--model_name_or_path", str(encoder), *COMMON, *training(places, "dev", "test"), "--num_seeds", "2"),
        *("--num_train_epochs", "4", "--eval_steps", "5", "--save_steps", "5", "--learning_rate", "1e-3"),
        *("--head_learning_rate", "3e-3", "--warmup_steps", "0.1"),
    ]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    command = [sys.executable, str(SCRIPT), *arguments]
    surrounding = surroundings(places)
    subprocess.run([*command, "--output_dir", str(whole)], check=True, env=surrounding, capture_output=True)
    command += ["--output_dir", str(killed), "--resume_from_checkpoint", "true"]
    process = subprocess.Popen(command, env=surrounding, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 180
    # In the second of the two seeds.
    while not (killed / "seed-43" / "checkpoint-10" / "trainer_state.json").exists():
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (killed / "seed-43" / "model.safetensors").exists()
    finished = (killed / "seed-42" / "run-results.json").stat().st_mtime_ns
    subprocess.run(command, check=True, env=surrounding, capture_output=True)
    assert (killed / "seed-42" / "run-results.json").stat().st_mtime_ns == finished
    for seed in ("seed-42", "seed-43"):
        assert (killed / seed / "model.safetensors").read_bytes() == (whole / seed / "model.safetensors").read_bytes()
    results = [json.loads((folder / "results.json").read_text()) for folder in (whole, killed)]
    assert results[0]["scores"] == results[1]["scores"]
    assert results[0]["ensemble"] == results[1]["ensemble"]


def surroundings(places: dict[str, Path]) -> dict[str, str]:
    """The environment of a process that runs the script."""
    return {**environment(), "CLOZEFORMERS_HOME": os.fspath(places["home"])}
