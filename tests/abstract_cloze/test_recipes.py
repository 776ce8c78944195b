"""Every shipped recipe of abstract cloze really trains a step, and says what its name says."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import yaml
from safetensors import safe_open

from clozeformers.abstract_cloze.arguments import ClozeDataArguments, ClozeModelArguments, ClozeTrainingArguments
from clozeformers.training.recipe import parse_recipe

from ..cloze_corpora import recam_rows, save_encoder, write_dictionary, write_recam
from ..scripts import ROOT, load_script

RECIPES = sorted((ROOT / "configs" / "abstract_cloze").glob("*.yaml"))
CLASSES = (ClozeModelArguments, ClozeDataArguments, ClozeTrainingArguments)
HEADS = {"encoder": (0, None), "question-only": (0, None), "duma": (1, "parallel"), "wn-duma": (1, "stacked")}


def head_of(recipe: Path) -> str:
    """Which of `HEADS` a recipe's name says; the encoder alone where it names an encoder only."""
    rest = recipe.stem.removeprefix("albert-xxlarge").removeprefix("minilm").removeprefix("-")
    return rest if rest in HEADS else "encoder"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_recipe_trains_a_step(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLOZEFORMERS_HOME", str(write_dictionary(tmp_path / "home")))
    kind = next((kind for kind in ("roberta", "albert") if kind in recipe.stem), "bert")
    files = [str(write_recam(tmp_path / f"{name}.jsonl", recam_rows(8, seed))) for seed, name in enumerate("abc")]
    run = tmp_path / "run"
    load_script("run_abstract_cloze").main(
        [
            *(str(recipe), "--model_name_or_path", str(save_encoder(tmp_path / "encoder", kind))),
            *("--train_file", files[0], "--validation_file", files[1], "--test_file", files[2]),
            *("--output_dir", str(run), "--max_steps", "1", "--num_seeds", "1"),
            *("--use_cpu", "true", "--report_to", "none", "--disable_tqdm", "true"),
        ]
    )
    result = json.loads((run / "results.json").read_text())
    assert result["scores"].keys() == {"c"}
    assert 0 <= result["scores"]["c"]["accuracy"]["mean"] <= 1
    assert "| c | 8 |" in capsys.readouterr().out
    losses = json.loads((run / "train_results.json").read_text())
    assert math.isfinite(losses["train_loss"])
    assert losses["train_loss"] > 0
    history = json.loads((run / "trainer_state.json").read_text())["log_history"]
    assert any({"eval_loss", "eval_accuracy"} <= entry.keys() for entry in history)
    settings, config = yaml.safe_load(recipe.read_text()), json.loads((run / "config.json").read_text())
    assert config["max_option_length"] == settings["max_length"]
    assert config["use_article"] is settings["use_article"]
    assert bool(result["runs"][0]["features"]["train"]["with_definitions"]) is settings["use_definitions"]
    with safe_open(run / "model.safetensors", "pt") as weights:
        has_co_attention = any(name.startswith("co_attention.") for name in set(weights.keys()))
    assert has_co_attention is bool(settings["num_co_attention_layers"])
    assert result["training"].get("eval_steps") == (200 if settings["eval_strategy"] == "steps" else None)
    assert "## Usage" in (run / "README.md").read_text()


def test_there_is_a_recipe_for_every_row() -> None:
    names = {recipe.stem for recipe in RECIPES}
    assert {f"minilm-{head}" for head in HEADS} <= names
    assert {"bert-large", "roberta-large", "albert-xxlarge"} <= names
    assert {f"albert-xxlarge-{head}" for head in HEADS if head != "encoder"} <= names


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_recipe_says_what_its_name_says(recipe: Path) -> None:
    model, data, training = parse_recipe(CLASSES, [str(recipe), "--output_dir", "unused", "--bf16", "false"])
    head = head_of(recipe)
    assert (model.num_co_attention_layers, model.co_attention) == HEADS[head]
    assert data.use_definitions is (head == "wn-duma")
    assert data.use_article is (head != "question-only")
    assert training.metric_for_best_model == "accuracy"
    assert training.load_best_model_at_end
    if not recipe.stem.startswith("minilm"):
        paper = (training.learning_rate, training.per_device_train_batch_size, training.max_grad_norm)
        assert paper == (5e-6, 2, 10)
        assert (training.num_train_epochs, training.eval_steps, training.num_seeds) == (3, 200, 5)
        assert (training.lr_scheduler_type, training.warmup_steps) == ("linear", 0.1)


def test_rows_of_one_table_differ_in_nothing_but_the_model() -> None:
    varying = {"model_name_or_path", "use_definitions", "use_article", "num_co_attention_layers", "co_attention"}
    varying |= {"num_co_attention_heads", "co_attention_head_size", "co_attention_dropout"}
    for is_small in (True, False):
        recipes = [yaml.safe_load(path.read_text()) for path in RECIPES if path.stem.startswith("minilm") == is_small]
        settings = [{key: value for key, value in recipe.items() if key not in varying} for recipe in recipes]
        assert len(settings) >= 4
        assert all(setting == settings[0] for setting in settings)


def test_defaults_are_the_papers() -> None:
    (training,) = parse_recipe((ClozeTrainingArguments,), ["--output_dir", "unused", "--use_cpu", "true"])
    recipe = yaml.safe_load((ROOT / "configs" / "abstract_cloze" / "albert-xxlarge-wn-duma.yaml").read_text())
    for name in ClozeTrainingArguments.always_recorded - {"seed"}:
        assert getattr(training, name) == recipe[name], name
