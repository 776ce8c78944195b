"""Model cards and results tables, from the records that the package's own models have."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub.repocard_data import model_index_to_eval_results

from clozeformers.tasks import TASKS, task_named
from clozeformers.training.model_card import (
    card_data,
    name_in_record,
    render_model_card,
    results_table,
    scores_table,
    write_model_card,
)

from ..hub_models import save_tiny
from ..scripts import ROOT

CARDS = sorted((ROOT / "model_cards").glob("*.json"))
EXAMPLES = {
    "negation-scope": "minilm-oa-ca-augment-cd-sco",
    "extractive-question-answering": "no-answer-half-a",
    "abstract-cloze": "minilm-wn-duma",
}


def record_of(task: str) -> dict[str, Any]:
    """The record of a trained model of the task."""
    record: dict[str, Any] = json.loads((ROOT / "model_cards" / f"{EXAMPLES[task]}.json").read_text())
    return record


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.stem)
def test_a_card_is_what_its_record_says(path: Path) -> None:
    record, text = json.loads(path.read_text()), path.with_suffix(".md").read_text()
    card = task_named(record["task"]).card
    output = text.split("\nprints\n\n```text\n")[1].split("\n```\n")[0] if "## Usage" in text else None
    assert render_model_card(card, record, output) == text
    assert f"| parameters | {record['parameters']:,} |" in text
    assert f"```bash\n{record['command']}\n```" in text
    for test_set, scores in record["scores"].items():
        cells = " | ".join(f"{scores[name]['mean']:.2f}" for name in card.measures if name in scores)
        if record["runs"][1:]:
            first = scores[next(iter(card.measures))]
            assert f"| {test_set} | {first['mean']:.2f} ± {first['std']:.2f} |" in text
        else:
            assert f"| {test_set} | {cells} |" in text
    assert "\n\n\n" not in text
    assert "{" not in text.split("---", 2)[2].split("## Usage")[0]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_metadata_is_what_the_hub_expects(task: Any, tmp_path: Path) -> None:
    record = record_of(task.pipeline_name)
    record["model"]["model_name_or_path"] = "albert/albert-xxlarge-v2"
    text = write_model_card(task.card, record, tmp_path / "cards" / "README.md", None).read_text()
    metadata = yaml.safe_load(text.split("---")[1])
    assert metadata["library_name"] == "transformers"
    assert metadata["license"] == "other"
    assert metadata["base_model"] == "albert/albert-xxlarge-v2"
    assert metadata["pipeline_tag"] in ("token-classification", "question-answering", "multiple-choice")
    assert {"clozeformers", task.pipeline_name} <= set(metadata["tags"])
    name, results = model_index_to_eval_results(metadata["model-index"])
    assert (name, results) == (record["name"], card_data(task.card, record).eval_results)
    measures = record["scores"].popitem()[1]
    assert {result.metric_type for result in results} == set(task.card.measures) & set(measures)
    assert "## Usage" not in text


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_model_that_was_not_scored(task: Any, tmp_path: Path) -> None:
    record = record_of(task.pipeline_name)
    record |= {"scores": {}, "ensemble": {}, "runs": record["runs"][:1]}
    record["model"]["model_name_or_path"] = "/somewhere/private/encoder"
    text = render_model_card(task.card, record, "")
    assert "Nothing was scored" in text
    assert "model-index" not in text
    assert "base_model" not in text
    assert "/somewhere" not in text


def test_a_folder_is_not_taken_for_a_name_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs/encoder").mkdir(parents=True)
    given = ["runs/encoder", "runs/other", "encoder", 3, None]
    assert name_in_record(given) == ["./runs/encoder", "runs/other", "encoder", 3, None]
    record = record_of("negation-scope")
    record["model"]["model_name_or_path"] = "./runs/encoder"
    text = render_model_card(task_named("negation-scope").card, record, "")
    monkeypatch.chdir("/")
    assert render_model_card(task_named("negation-scope").card, record, "") == text
    assert "base_model" not in text


def test_a_score_on_the_validation_file_carries_a_warning() -> None:
    record = record_of("negation-scope")
    card = task_named("negation-scope").card
    assert "The epoch was chosen by F1 on the validation file" in render_model_card(card, record, "")
    record["data"]["test_file"] = ["other.txt"]
    assert "that score is optimistic" not in render_model_card(card, record, "")
    cloze, card = record_of("abstract-cloze"), task_named("abstract-cloze").card
    for epochs, warned in ((1, False), (2, True)):  # one evaluation chooses nothing
        cloze["training"] |= {"num_train_epochs": epochs}
        assert ("that score is optimistic" in render_model_card(card, cloze, "")) is warned


@pytest.mark.parametrize(
    ("corpus_format", "licence"),
    [
        ("cd-sco", "none is stated with the files of CD-SCO"),
        ("bioscope", "BioScope is free for research use"),
        ("sfu", "SFU Review's annotations are under GPL-3.0 or later"),
        (None, "see the data's owner"),
    ],
)
def test_licence_of_the_training_data(corpus_format: str | None, licence: str) -> None:
    record = record_of("negation-scope") | {"formats": {}}
    record["data"] |= {"corpus_format": corpus_format}
    card = task_named("negation-scope").card
    assert f"Licence of the training data: {licence}" in render_model_card(card, record, "")
    record["data"] |= {"corpus_format": None, "train_file": ["sfu"]}
    record["formats"] = {"sfu": "sfu"}
    assert "SFU Review's annotations" in render_model_card(card, record, "")
    record["data"]["extra_train_file"] = ["other.jsonl"]
    assert "GPL-3.0 or later; see the data's owner" in render_model_card(card, record, "")


def test_a_card_says_who_finds_the_cues_and_which_conventions_there_are() -> None:
    record, card = record_of("negation-scope"), task_named("negation-scope").card
    assert "The model is given the cues" in render_model_card(card, record, "")
    record["config"] = {"finds_cues": True, "conventions": ["cd-sco", "sfu"]}
    text = render_model_card(card, record, "")
    assert "The model finds the cues" in text
    assert "knows the conventions cd-sco, sfu, and" in text
    assert "scopes follow the first." in text
    record["config"]["lexicon_conventions"] = ["cd-sco"]
    text = render_model_card(card, record, "")
    assert "Under the conventions cd-sco, the cues are those of a lexicon" in text
    assert "scopes follow the first, and the cues are all those of the lexicon" in text
    sfu = {"held-out fold, sfu": record["scores"].popitem()[1]}
    [result, *_] = card_data(card, record | {"scores": sfu}).eval_results
    assert (result.dataset_type, result.dataset_name) == ("sfu", "SFU Review")


def test_usage_is_run_before_it_is_written(tmp_path: Path) -> None:
    model = save_tiny(tmp_path / "model")
    card, record = task_named("negation-scope").card, record_of("negation-scope")
    text = write_model_card(card, record, model / "README.md", model).read_text()
    assert "'cue': {'text': 'not', 'start': 5, 'end': 8}" in text.split("## Usage")[1].split("## Scores")[0]
    with pytest.raises(OSError, match="nothing"):
        write_model_card(card, record, tmp_path / "README.md", tmp_path / "nothing")
    assert not (tmp_path / "README.md").exists()


def test_results_table_has_the_best_first() -> None:
    card, record = task_named("abstract-cloze").card, record_of("abstract-cloze")
    better = copy.deepcopy(record)
    better["scores"]["Task_1_dev"]["accuracy"]["mean"] = 85.0
    better |= {"ensemble": {}, "recipe": None}
    better["model"]["co_attention"] = "parallel"
    lines = results_table(card, [record, better]).splitlines()
    header = (
        "| trained on | test set | model | encoder | input | accuracy | vote | runs | parameters | trained | minutes |"
    )
    assert lines[0].startswith(header)
    trained = "| Task_1_Imperceptibility, Task_1_test_with_labels | Task_1_dev | "
    assert lines[2].startswith(
        f"{trained}DUMA | minilm | article, question with option, definitions | 85.00 ± 1.94 | – | 2 |"
    )
    assert lines[2].endswith("| 2026-11-21 | – |")
    assert lines[3].startswith(
        f"{trained}WN-DUMA | minilm | article, question with option, definitions | 34.11 ± 1.94 | 34.65 | 2 |"
    )
    assert lines[3].endswith("| 23.7 M | 23.7 M | 105 | 2026-11-21 | minilm-wn-duma |")
    assert scores_table(card, record).splitlines()[-1] == "| Task_1_dev | 34.11 ± 1.94 | 34.65 |"
