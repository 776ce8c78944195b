"""Every recipe that the package has trains a step, and says what its name says."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

from clozeformers.abstract_cloze.arguments import ClozeTrainingArguments
from clozeformers.negation_scope.arguments import (
    NegationDataArguments,
    NegationModelArguments,
    NegationTrainingArguments,
)
from clozeformers.tasks import TASKS
from clozeformers.training.corpora import HELD_OUT
from clozeformers.training.recipe import RECIPES, find_recipe, load_recipe, parse_recipe

from ..cloze_corpora import save_encoder
from ..tiny_tasks import TinyTask, save_word_encoder

PATHS = sorted(path for task in TASKS for path in (RECIPES / task.name).glob("*.yaml"))
ALL = {(path.parent.name, path.stem): load_recipe(path) for path in PATHS}
VARIANTS = ("oa-c", "oa-ca", "oa-em", "oa-emb")
HEADS = {"encoder": (0, None), "question-only": (0, None), "duma": (1, "parallel"), "wn-duma": (1, "stacked")}
CLASSES = (NegationModelArguments, NegationDataArguments, NegationTrainingArguments)
PAPER_CLOZE = [
    recipe for (task, recipe), settings in ALL.items() if task == "abstract_cloze" and "option_features" not in settings
]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """A tiny encoder in the place of a recipe's own."""
    made: dict[tuple[str, str], Path] = {}

    def folder(task: str, recipe: str) -> Path:
        small = recipe.startswith("minilm")
        kind = next((kind for kind in ("roberta", "albert") if kind in recipe), "bert")
        kind = kind if task == "abstract_cloze" or small else "xlnet"
        if (task, kind) not in made:
            save = save_encoder if task == "abstract_cloze" else save_word_encoder
            made[task, kind] = save(tmp_path_factory.mktemp(kind), kind)
        return made[task, kind]

    return folder


def model_of(task: TinyTask, recipe: str, settings: dict[str, Any], encoder: Callable[[str, str], Path]) -> list[str]:
    """The arguments that replace a recipe's model by a tiny one, or give it word vectors."""
    if task.name != "question_answering" or recipe.startswith("minilm"):
        return ["--model_name_or_path", str(encoder(task.name, recipe))]
    vectors = ["--word_vectors", str(task.files["vectors"])]
    return vectors if "model_type" in settings else [*vectors, "--model_name_or_path", str(reader(task))]


def reader(task: TinyTask) -> Path:
    """A saved BiDAF, for the recipe that continues with one."""
    folder = task.files["train"].parent / "reader"
    if not folder.exists():
        start = ["--train_file", str(task.files["train"]), "--max_steps", "1", "--save_strategy", "no"]
        task.run(folder, *start, "--word_vectors", str(task.files["vectors"]))
    return folder


@pytest.mark.parametrize(("task_name", "recipe"), ALL)
def test_recipe_trains_a_step(
    task_name: str,
    recipe: str,
    tiny: Callable[[str], TinyTask],
    encoder: Callable[[str, str], Path],
    tmp_path: Path,
) -> None:
    task, settings = tiny(task_name), ALL[task_name, recipe]
    given = model_of(task, recipe, settings, encoder)
    limits = ["--max_train_samples", "16", "--max_predict_samples", "8", "--max_eval_samples", "8"]
    limits += ["--per_device_train_batch_size", "4"]
    options = ["--max_steps", "1", "--num_seeds", "1", "--bf16", "false", *limits]
    has_folds = "num_folds" in settings
    data = task.data("train") if has_folds else task.data("train", "dev", "test")
    record = task.run(tmp_path, *given, *data, *options, recipe=recipe)
    assert record["recipe"] == recipe
    # Recipes with option features score held-out questions, instead of choosing a checkpoint by them.
    held_out = {"held-out questions"} if settings.get("option_features") else set()
    assert record["scores"].keys() == ({HELD_OUT} if has_folds else {"test"} | held_out)
    assert all(0 <= measure["mean"] <= 100 for scores in record["scores"].values() for measure in scores.values())
    folder = tmp_path / record["runs"][0]["run"]
    loss = json.loads((folder / "train_results.json").read_text())["train_loss"]
    assert math.isfinite(loss)
    assert loss > 0
    main = "eval_accuracy" if task_name == "abstract_cloze" else "eval_f1"
    if not held_out:
        assert {"eval_loss", main} <= json.loads((folder / "eval_results.json").read_text()).keys()
    config = json.loads((folder / "config.json").read_text())
    for name, value in settings.get("model_config", {}).items():
        assert config[name] == value, name
    with safe_open(folder / "model.safetensors", "pt") as weights:
        names = list(weights.keys())
    blocks = {name.split(".")[2] for name in names if name.startswith("attention_stack.blocks")}
    assert len(blocks) == settings.get("num_attention_blocks", 0)
    assert any(name.startswith("co_attention.") for name in names) == bool(settings.get("num_co_attention_layers"))


def test_there_is_a_recipe_for_every_row_of_the_papers() -> None:
    negation = {
        f"{size}{variant}-{given}"
        for size in ("", "minilm-")
        for variant in VARIANTS
        for given in ("augment", "normal")
    }
    negation |= {"baseline-augment", "minilm-baseline-augment"}
    cloze = {f"minilm-{head}" for head in HEADS} | {"bert-large", "roberta-large", "albert-xxlarge"}
    cloze |= {f"albert-xxlarge-{head}" for head in HEADS if head != "encoder"}
    readers = {f"bidaf-{kind}{rest}" for kind in ("glove", "fasttext") for rest in ("", "-characters")}
    readers |= {"bidaf-fasttext-characters-conditional", "bidaf-gru", "bidaf-gru-dot"}
    kinds = ("bidirectional", "self", "combined")
    readers |= {f"{kind}-attention-window-{how}" for kind in kinds for how in ("sum", "max")}
    for task, names in {"negation_scope": negation, "abstract_cloze": cloze, "question_answering": readers}.items():
        assert names <= {recipe for name, recipe in ALL if name == task}
    assert len([recipe for _, recipe in ALL if recipe.startswith("qanet-")]) == 7


@pytest.mark.parametrize(
    "recipe", [recipe for task, recipe in ALL if task == "negation_scope" and "cues" not in recipe]
)
def test_negation_recipe_says_what_its_name_says(recipe: str) -> None:
    settings = ALL["negation_scope", recipe]
    head, given = recipe.removeprefix("minilm-").rsplit("-", 1)
    assert settings["input"] == given
    is_baseline = head in ("baseline", "token-classification")
    assert settings["num_attention_blocks"] == (0 if is_baseline else 2)
    assert settings.get("attention_variant", "none").lower() == ("none" if is_baseline else head)
    assert settings.get("label_pieces") == ("first" if head == "token-classification" else None)


@pytest.mark.parametrize("recipe", sorted(PAPER_CLOZE))
def test_cloze_recipe_says_what_its_name_says(recipe: str) -> None:
    settings = ALL["abstract_cloze", recipe]
    rest = recipe.removeprefix("albert-xxlarge").removeprefix("minilm").removeprefix("-")
    head = rest if rest in HEADS else "encoder"
    assert (settings["num_co_attention_layers"], settings.get("co_attention")) == HEADS[head]
    assert settings["use_definitions"] is (head == "wn-duma")
    assert settings["use_article"] is (head != "question-only")


@pytest.mark.parametrize(
    ("task", "small", "feature"),
    [(task, small, None) for task in ("negation_scope", "abstract_cloze") for small in (0, 1)]
    + [("abstract_cloze", 1, "span")],
)
def test_rows_of_one_table_differ_in_the_model_only(task: str, small: int, feature: str | None) -> None:
    varying = {"attention_variant", "num_attention_blocks", "num_block_heads", "input", "model_name_or_path"}
    varying |= {"use_definitions", "use_article", "num_co_attention_layers", "co_attention", "num_co_attention_heads"}
    varying |= {"co_attention_head_size", "co_attention_dropout", "label_pieces", "article_sentences"}
    rows = [
        {key: value for key, value in settings.items() if key not in varying}
        for (name, recipe), settings in ALL.items()
        if name == task
        and recipe.startswith("minilm") == bool(small)
        and settings.get("option_features") == feature
        and "target" not in settings
    ]
    assert len(rows) >= 4
    assert all(row == rows[0] for row in rows)


@pytest.mark.parametrize("recipe", [recipe for task, recipe in ALL if task == "question_answering"])
def test_readers_are_averaged_as_in_their_papers(recipe: str) -> None:
    """Jain & Dutta, section 4.3, for BiDAF; Yu et al. (2018), section 4.1.1, for QANet; the others do not average."""
    if not recipe.startswith(("small-", "minilm-")):
        expected = 0.99 if recipe.startswith(("bidaf-glove", "bidaf-fasttext")) else None
        expected = 0.9999 if recipe.startswith("qanet-") else expected
        assert ALL["question_answering", recipe].get("ema_decay") == expected


@pytest.mark.parametrize(
    ("first", "second", "attention"),
    [
        ("bidaf-gru", "bidaf-gru-dot", "dot"),
        ("small-bidaf-gru", "small-bidaf-gru-dot", "dot"),
        ("small-bidaf", "small-bidaf-oa", "OA-EM"),
    ],
)
def test_a_reader_and_its_baseline_differ_in_the_attention_only(first: Any, second: Any, attention: str) -> None:
    first, second = ({**ALL["question_answering", name]} for name in (first, second))
    assert (first["model_config"] | {"attention": attention}) == second["model_config"]
    assert (first | {"model_config": None}) == (second | {"model_config": None})


@pytest.mark.parametrize("recipe", ["small-bidaf-gru", "small-bidaf-gru-dot", "small-bidaf-oa", "small-qanet"])
def test_small_readers_have_the_same_inputs(recipe: str) -> None:
    ours, theirs = ({**ALL["question_answering", name]} for name in (recipe, "small-bidaf"))
    for name in ("lowercase", "max_length", "max_question_length", "per_device_train_batch_size"):
        assert ours.get(name) == theirs.get(name)
    for name in ("word_features", "num_char_filters", "char_embedding_size"):
        assert ours["model_config"][name] == theirs["model_config"][name]


def test_the_defaults_of_abstract_cloze_are_the_papers() -> None:
    (training,) = parse_recipe("abstract_cloze", (ClozeTrainingArguments,), ["--output_dir", "x", "--use_cpu", "true"])
    recipe = ALL["abstract_cloze", "albert-xxlarge-wn-duma"]
    for name in ClozeTrainingArguments.always_recorded - {"seed"}:
        assert getattr(training, name) == recipe[name], name


# ------------------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("name", ["recipe.yaml", "recipe.json"])
def test_the_command_line_overrides_the_recipe(name: str, tmp_path: Path) -> None:
    recipe = tmp_path / name
    values = {
        "model_name_or_path": "a",
        "learning_rate": 1e-5,
        "test_file": ["x", "y"],
        "load_best_model_at_end": False,
    }
    recipe.write_text(json.dumps(values))
    output = ["--output_dir", str(tmp_path), "--use_cpu", "true"]
    given = [str(recipe), "--learning_rate", "2e-5", "--test_file", "z", *output]
    model, data, training = parse_recipe("negation_scope", CLASSES, given)
    assert (model.model_name_or_path, training.learning_rate, data.test_file) == ("a", 2e-5, ["z"])
    assert parse_recipe("negation_scope", CLASSES, [str(recipe), *output])[1].test_file == ["x", "y"]


def test_a_field_occurs_once_and_dates_are_text(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("run_name: 2020-01-01\nmodel_config: &own {<<: &base {a: 1}, a: 2}\nother: {<<: *own, a: 3}\n")
    assert load_recipe(path) == {"run_name": "2020-01-01", "model_config": {"a": 2}, "other": {"a": 3}}
    path.write_text("? [a]\n: 1\n")
    with pytest.raises(ValueError, match=r"a recipe is a mapping of field to value|unhashable key"):
        load_recipe(path)
    (tmp_path / "own.json").write_text('{"a": 1, "a": 2}')
    with pytest.raises(ValueError, match=r"own.json: cannot be read: a field occurs twice"):
        load_recipe(tmp_path / "own.json")
    path.write_text("a: 1\nb: 2\na: 3\n")
    with pytest.raises(ValueError, match=r"(?s)own.yaml: cannot be read: the field 'a' occurs twice.*line 3"):
        load_recipe(path)


def test_errors_name_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("seed: many\n")
    with pytest.raises(ValueError, match=r"seed.*many.* \(with the recipe .*own.yaml\)"):
        parse_recipe("negation_scope", CLASSES, [str(tmp_path / "own.yaml"), "--output_dir", "x"])
    with pytest.raises(FileNotFoundError, match="small-qanet is a recipe of question_answering, not of negation_scope"):
        find_recipe("negation_scope", "small-qanet")


def test_a_name_is_that_of_one_file() -> None:
    names = [path.stem for path in RECIPES.rglob("*.yaml")]
    assert len(names) == len(set(names))


def test_a_recipe_extends_another(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("a: 1\nb: {c: 2, d: 3}\ne: [1, 2]\nf: 4\n")
    (tmp_path / "own.yaml").write_text("extends: base.yaml\nb: {c: 5, d: null}\ne: [3]\nf: null\n")
    assert load_recipe(tmp_path / "own.yaml") == {"a": 1, "b": {"c": 5}, "e": [3]}
    (tmp_path / "base.yaml").write_text("extends: own.yaml\n")
    with pytest.raises(ValueError, match="which extends it in turn"):
        load_recipe(tmp_path / "own.yaml")
    (tmp_path / "own.yaml").write_text("extends: minilm-oa-ca-augment\nseed: 7\n")
    packaged = load_recipe(find_recipe("negation_scope", "minilm-oa-ca-augment"))
    assert load_recipe(tmp_path / "own.yaml") == packaged | {"seed": 7}
    (tmp_path / "own.yaml").write_text("extends: nothing.yaml\n")
    with pytest.raises(
        FileNotFoundError, match=r"own.yaml extends nothing.yaml, which is neither a file beside it nor"
    ):
        load_recipe(tmp_path / "own.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learnin_rate: 1\n", "no field 'learnin_rate'"),
        ("- a\n- b\n", "a recipe is a mapping"),
        ("a: [", "cannot be"),
        (f"seed: {'1' * 5000}\n", "cannot be read: Exceeds the limit"),
    ],
)
def test_a_wrong_recipe_is_refused_with_its_name(text: str, message: str, tmp_path: Path) -> None:
    recipe = tmp_path / "wrong.yaml"
    recipe.write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        parse_recipe("negation_scope", CLASSES, [str(recipe)])
    assert str(recipe) in str(error.value)


def test_a_recipe_that_does_not_exist_names_similar_ones() -> None:
    assert find_recipe("negation_scope", "oa-ca-augment") == RECIPES / "negation_scope" / "oa-ca-augment.yaml"
    with pytest.raises(FileNotFoundError, match=r"no recipe 'oa-ca-augmented'; did you mean oa-ca-augment"):
        find_recipe("negation_scope", "oa-ca-augmented")
