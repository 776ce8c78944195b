"""Training of abstract cloze: votes, frozen layers, whole runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from transformers import AutoTokenizer, pipeline

import clozeformers  # noqa: F401
from clozeformers.abstract_cloze.arguments import ClozeTrainingArguments
from clozeformers.abstract_cloze.features import encode_dataset
from clozeformers.abstract_cloze.recam import load_recam
from clozeformers.abstract_cloze.trainer import AbstractClozeTrainer, accuracy, best_options, vote
from clozeformers.cli import main as command_line
from clozeformers.modeling.auto import AutoModelForAbstractCloze

from ..cloze_corpora import RIGHT, WRONG, recam_rows, write_recam
from ..tiny_tasks import LAST, TinyTask, tiny_abstract_cloze


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> TinyTask:
    tiny = tiny_abstract_cloze(tmp_path_factory.mktemp("cloze"))
    tiny.arguments += ["--learning_rate", "1e-2"]
    return tiny


@pytest.fixture(scope="module")
def encoder(task: TinyTask) -> Path:
    """BERT of two layers without dropout."""
    return task.files["train"].parent / "bert"


def test_the_majority_decides_and_the_sums_break_ties() -> None:
    certain, other, third = {"q": [0.9, 0.1, 0.0]}, {"q": [0.4, 0.6, 0.0]}, {"q": [0.3, 0.7, 0.0]}
    assert vote([certain, other, third]) == {"q": 1}
    assert vote([certain, other]) == {"q": 0}
    # The sums of all models count, not only of those that voted for an option.
    assert vote([{"q": [0.5, 0.5, 0.0]}, {"q": [0.0, 0.45, 0.55]}, {"q": [0.0, 0.55, 0.45]}]) == {"q": 1}
    assert vote([{"q": [0.4, 0.35, 0.25]}, {"q": [0.1, 0.3, 0.6]}]) == {"q": 2}


def test_accuracy_is_over_labelled_questions() -> None:
    rows = Dataset.from_dict({"id": ["a", "b", "c"], "label": [1, 0, -1]})
    assert accuracy({"a": 1, "b": 2, "c": 0}, rows) == {"accuracy": 50}
    assert accuracy({"c": 0}, rows.select([2])) == {}


def test_predictions_are_in_the_order_of_the_rows(task: TinyTask, encoder: Path, tmp_path: Path) -> None:
    model = AutoModelForAbstractCloze.from_pretrained(encoder, num_co_attention_heads=2).eval()
    tokenizer, rows = AutoTokenizer.from_pretrained(encoder), load_recam(task.files["test"])
    features, _ = encode_dataset(rows, tokenizer, max_length=72, option_reader=None)
    args = ClozeTrainingArguments(str(tmp_path), use_cpu=True, eval_strategy="no", load_best_model_at_end=False)
    args.per_device_eval_batch_size, args.disable_tqdm = 4, True
    trainer = AbstractClozeTrainer(model, args, processing_class=tokenizer)
    predicted, metrics = trainer.predict_options(rows, features)
    assert len({len(option) for options in features["input_ids"] for option in options}) > 3
    assert list(predicted) == rows["id"]
    for row, feature in zip(rows, features, strict=True):
        with torch.no_grad():
            logits = model(**trainer.data_collator([feature])).logits[0]
        torch.testing.assert_close(torch.tensor(predicted[row["id"]]), logits.softmax(0), rtol=1e-4, atol=1e-6)
        assert len(predicted[row["id"]]) == len(row["options"])
    assert metrics["test_accuracy"] == pytest.approx(accuracy(best_options(predicted), rows)["accuracy"])


def test_a_model_learns_and_its_folder_chooses(task: TinyTask, tmp_path: Path, capsys: Any) -> None:
    steps = ["--num_train_epochs", "4", "--eval_steps", "8", "--save_steps", "8", "--warmup_steps", "0.1"]
    cards = ["--card_dir", str(tmp_path / "cards"), "--run_name", "tiny"]
    record = task.run(tmp_path / "run", *task.data("train", "dev", "test"), *steps, *cards)
    score = record["scores"]["test"]["accuracy"]
    assert score["mean"] > 90
    assert f"| test | {score['mean']:.2f} |" in capsys.readouterr().out
    predictions = json.loads((tmp_path / "run" / "predictions_test.json").read_text())
    assert accuracy(predictions, load_recam(task.files["test"]))["accuracy"] == pytest.approx(score["mean"])
    counts = record["corpora"]["test"]
    assert counts.items() > {"questions": 23, "options": 77, "articles": 23, "labelled": 23}.items()
    assert 0 < counts["question_words"] < counts["article_words"] < counts["distinct_words"]
    cloze = pipeline("abstract-cloze", model=str(tmp_path / "run"), device="cpu")
    options = [WRONG[0], RIGHT[0], WRONG[1]]
    question = {"article": "it was a walk .", "question": "ada said it was a @placeholder day .", "options": options}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in task.environment.items():
            patch.setenv(name, value)
        best = cloze(question)[0]
    assert (best["option"], best["index"]) == (RIGHT[0], 1)
    card = (tmp_path / "cards" / "tiny.md").read_text()
    assert "WN-DUMA: stacked co-attention, 1 layer, 2 heads of 8" in card
    assert "financial 0." in card or "financial 1.0" in card
    assert command_line(["results", str(tmp_path / "cards" / "tiny.json")]) == 0
    assert "| train | test | WN-DUMA | bert | article, question with option, definitions |" in capsys.readouterr().out


def test_the_models_of_several_seeds_vote(task: TinyTask, tmp_path: Path, capsys: Any) -> None:
    seeds = ["--num_seeds", "3", "--max_steps", "2", "--use_definitions", "false"]
    record = task.run(tmp_path, *task.data("train", "test"), *LAST, *seeds)
    models = [json.loads((tmp_path / run["run"] / "probabilities_test.json").read_text()) for run in record["runs"]]
    assert models[0] != models[1]
    chosen = json.loads((tmp_path / "predictions_test.json").read_text())
    assert chosen == vote(models)
    expected = accuracy(chosen, load_recam(task.files["test"]))
    assert record["ensemble"] == {"test": expected}
    printed = capsys.readouterr().out
    assert "| test set | accuracy | vote |" in printed
    assert f"| {expected['accuracy']:.2f} |" in printed
    assert "mean ± standard deviation over 3 runs (3 seeds)" in (tmp_path / "README.md").read_text()


def test_articles_of_other_files_are_excluded(task: TinyTask, tmp_path: Path) -> None:
    mixed = write_recam(tmp_path / "mixed.jsonl", [*recam_rows(24, 1)[:5], *recam_rows(20, 9)])
    exclude = ["--exclude_articles_of", str(task.files["dev"]), "--use_definitions", "false", *LAST]
    record = task.run(tmp_path / "run", "--train_file", str(mixed), "--max_steps", "1", *exclude)
    assert (record["corpora"]["train"]["questions"], record["excluded"]) == (20, 5)
    assert "5 training rows were left out" in (tmp_path / "run" / "README.md").read_text()
    with pytest.raises(ValueError, match="no train questions are left"):
        task.run(tmp_path / "none", "--train_file", str(task.files["dev"]), *exclude)


def test_questions_without_label_are_predicted_and_not_scored(task: TinyTask, tmp_path: Path, capsys: Any) -> None:
    rows = [{key: value for key, value in row.items() if key != "label"} for row in recam_rows(6, 5)]
    blind = str(write_recam(tmp_path / "blind.jsonl", rows))
    fast = ["--use_definitions", "false", "--max_steps", "1", *LAST]
    task.run(tmp_path / "b", *task.data("train"), "--test_file", blind, *fast)
    assert len(json.loads((tmp_path / "b" / "predictions_blind.json").read_text())) == 6
    assert "Nothing was scored" in capsys.readouterr().out
    with pytest.raises(ValueError, match="6 of 6 train questions have no label"):
        task.run(tmp_path / "c", "--train_file", blind, *fast)


def test_a_trained_model_is_scored_as_it_is(task: TinyTask, tmp_path: Path) -> None:
    head = ["--num_co_attention_layers", "2", "--co_attention", "parallel", "--use_definitions", "false"]
    first = task.run(tmp_path / "run", *task.data("train", "test"), *head, "--max_steps", "3", *LAST)
    task.arguments, own = [], task.arguments
    scoring = ["--model_name_or_path", str(tmp_path / "run"), *task.data("test")]
    second = task.run(tmp_path / "again", *scoring)
    with pytest.raises(ValueError, match=r"--use_definitions True, but .* was trained with False; leave"):
        task.run(tmp_path / "other", *scoring, "--use_definitions", "true")
    task.arguments = own
    assert second["scores"] == first["scores"]
    model, data = second["model"], second["data"]
    assert (model["num_co_attention_layers"], model["co_attention"]) == (2, "parallel")
    assert (data["use_definitions"], data["max_length"]) == (False, 72)


def test_without_wordnet_the_command_that_helps_is_named(
    task: TinyTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clozeformers.abstract_cloze.wordnet.dictionary_places", list)
    with pytest.raises(FileNotFoundError, match="wordnet install"):
        task.run(tmp_path, *task.data("train"), "--max_steps", "1", *LAST)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--test_file", "{test}"], "encoder without a trained head"),
        (["--train_file", "{train}", *LAST, "--max_length", "201"], "reads at most 200 word pieces"),
        (["--train_file", "{train}", *LAST, "--max_length", "3"], "special tokens"),
        (["--train_file", "{train}", *LAST, "--num_co_attention_layers", "-1"], "num_co_attention_layers is -1"),
    ],
)
def test_wrong_commands(arguments: list[str], message: str, task: TinyTask, tmp_path: Path) -> None:
    given = (argument.format(**task.files) for argument in arguments)
    with pytest.raises(ValueError, match=message):
        task.run(tmp_path, "--use_definitions", "false", *given)
