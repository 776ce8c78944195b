"""Every shipped recipe is parsed and really trains a step."""

import json
import math
from pathlib import Path

import pytest
import yaml
from safetensors import safe_open

from clozeformers.negation_scope.arguments import (
    NegationDataArguments,
    NegationModelArguments,
    NegationTrainingArguments,
)
from clozeformers.training.recipe import parse_recipe

from ..scripts import ROOT

RECIPES = sorted((ROOT / "configs" / "negation_scope").glob("*.yaml"))
CLASSES = (NegationModelArguments, NegationDataArguments, NegationTrainingArguments)
VARIANTS = {"OA-C", "OA-CA", "OA-EM", "OA-EMB"}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_recipe_trains_a_step(recipe, encoders, corpus, script, tmp_path, capsys):
    encoder = encoders["bert" if recipe.stem.startswith("minilm") else "xlnet"]
    script.main(
        [
            *(str(recipe), "--model_name_or_path", str(encoder)),
            *("--train_file", str(corpus(40, 0)), "--validation_file", str(corpus(10, 1))),
            *("--test_file", str(corpus(10, 2)), "--output_dir", str(tmp_path), "--max_steps", "1"),
            *("--use_cpu", "true", "--report_to", "none"),
        ]
    )
    result = json.loads((tmp_path / "results.json").read_text())
    assert set(result["scores"]) == {"demo-10-2"}
    assert all(0 <= measure["mean"] <= 1 for measure in result["scores"]["demo-10-2"].values())
    losses = json.loads((tmp_path / "train_results.json").read_text())
    assert math.isfinite(losses["train_loss"])
    assert losses["train_loss"] > 0
    settings = yaml.safe_load(recipe.read_text())
    with safe_open(tmp_path / "model.safetensors", "pt") as weights:
        blocks = {name.split(".")[2] for name in set(weights.keys()) if name.startswith("attention_stack.blocks")}
    assert len(blocks) == settings["num_attention_blocks"]
    assert "| demo-10-2 |" in capsys.readouterr().out


def test_there_is_a_recipe_for_every_row():
    for prefix in ("", "minilm-"):
        names = {f"{prefix}{variant.lower()}-{given}" for variant in VARIANTS for given in ("augment", "normal")}
        assert names | {f"{prefix}baseline-augment"} <= {recipe.stem for recipe in RECIPES}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_recipe_says_what_its_name_says(recipe):
    model, data, training = parse_recipe(CLASSES, [str(recipe), "--output_dir", "unused", "--bf16", "false"])
    head, given = recipe.stem.removeprefix("minilm-").rsplit("-", 1)
    assert data.input == given
    if head == "baseline":
        assert model.num_attention_blocks == 0
    else:
        assert (model.attention_variant.lower(), model.num_attention_blocks) == (head, 2)
    assert training.per_device_train_batch_size == 32


def test_rows_of_one_table_differ_in_nothing_but_the_variant():
    for prefix in ("", "minilm-"):
        settings = []
        for path in RECIPES:
            if path.stem.startswith("minilm-") == bool(prefix):
                recipe = yaml.safe_load(path.read_text())
                varying = ("attention_variant", "num_attention_blocks", "num_block_heads", "input")
                settings.append({key: value for key, value in recipe.items() if key not in varying})
        assert all(setting == settings[0] for setting in settings)


def test_the_command_line_overrides_the_recipe(tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        "model_name_or_path: a\nlearning_rate: 1.0e-5\ntest_file: [x, y]\nload_best_model_at_end: false\n"
    )
    model, data, training = parse_recipe(
        CLASSES, [str(recipe), "--learning_rate", "2e-5", "--test_file", "z", "--output_dir", str(tmp_path)]
    )
    assert (model.model_name_or_path, training.learning_rate, data.test_file) == ("a", 2e-5, ["z"])
    model, data, _ = parse_recipe(CLASSES, [str(recipe), "--output_dir", str(tmp_path)])
    assert data.test_file == ["x", "y"]


@pytest.mark.parametrize(
    ("text", "message"),
    [("learnin_rate: 1\n", "unknown fields learnin_rate"), ("- a\n- b\n", "a recipe is a mapping"), ("3\n", "mapping")],
)
def test_a_wrong_recipe_is_refused_with_its_name(text, message, tmp_path):
    recipe = tmp_path / "wrong.yaml"
    recipe.write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        parse_recipe(CLASSES, [str(recipe)])
    assert str(recipe) in str(error.value)


def test_a_json_recipe_is_read_too(tmp_path: Path):
    recipe = tmp_path / "recipe.json"
    recipe.write_text(json.dumps({"model_name_or_path": "a", "output_dir": str(tmp_path)}))
    assert parse_recipe(CLASSES, [str(recipe)])[0].model_name_or_path == "a"
