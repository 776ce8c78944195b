"""Model cards and results tables."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard
from huggingface_hub.repocard import metadata_load
from huggingface_hub.repocard_data import model_index_to_eval_results

from clozeformers.negation_scope.model_card import card_data, results_table, write_model_card

from ..hub_models import save_tiny

RECORD: dict[str, Any] = {
    "name": "oa-ca-augment",
    "command": "python run_glue_style/run_negation_scope.py configs/negation_scope/oa-ca-augment.yaml --num_folds 10",
    "model": {
        "model_name_or_path": "xlnet/xlnet-base-cased",
        "revision": "main",
        "attention_variant": "OA-CA",
        "num_attention_blocks": 2,
        "head_dropout": 0.3,
    },
    "data": {"train_file": "/corpora/sfu", "test_file": ["/corpora/cd-sco/dev.txt"], "input": "augment"},
    "training": {"num_folds": 10, "learning_rate": 3e-5},
    "corpora": {"train": {"sentences": 17263, "cues": 3528, "scopes": 3400}},
    "environment": {
        "date": "2026-11-21",
        "python": "3.11.7",
        "versions": {"clozeformers": "0.1.0", "torch": "2.13.0"},
        "hardware": "CPU x86_64, 2 threads",
    },
    "minutes": 12.34,
    "parameters": 123456789,
    "scores": {
        test_set: {
            measure: {"mean": mean, "std": 0.0123, "runs": 10}
            for measure, mean in (("precision", 0.91), ("recall", 0.89), ("f1", f1), ("pcs", 0.71234567))
        }
        for test_set, f1 in (("held-out fold", 0.9), ("dev", 0.8))
    },
    "runs": [{"run": f"fold-{number}"} for number in range(1, 11)],
}


def record_of(test_sets: tuple[str, ...] | None = None, **model: Any) -> dict[str, Any]:
    """A record as the training script writes it, with other values where they are given."""
    record = json.loads(json.dumps(RECORD))
    record["model"] |= model
    if test_sets is not None:
        record["scores"] = {name: record["scores"][name] for name in test_sets}
    return record


def test_metadata_is_read_back_from_the_card(tmp_path: Path) -> None:
    path = write_model_card(RECORD, tmp_path / "cards", None)
    assert path == tmp_path / "cards" / "README.md"
    metadata = metadata_load(path)
    assert metadata is not None
    assert metadata["language"] == "en"
    assert metadata["library_name"] == "clozeformers"
    assert metadata["pipeline_tag"] == "token-classification"
    assert metadata["base_model"] == "xlnet/xlnet-base-cased"
    assert "license" not in metadata
    name, results = model_index_to_eval_results(metadata["model-index"])
    assert name == "oa-ca-augment"
    assert results == ModelCard.load(path).data.eval_results == card_data(RECORD).eval_results
    values = {(result.dataset_split, result.metric_type): result.metric_value for result in results}
    assert values["dev", "f1"] == 0.8
    assert values["held-out fold", "pcs"] == 0.7123
    assert len(values) == 8


def test_two_test_sets_of_one_corpus_stay_apart() -> None:
    index = card_data(RECORD | {"data": RECORD["data"] | {"corpus_format": "cd-sco"}}).to_dict()["model-index"]
    assert [result["dataset"] for result in index[0]["results"]] == [
        {"name": "CD-SCO", "type": "cd-sco", "split": "held-out fold"},
        {"name": "CD-SCO", "type": "cd-sco", "split": "dev"},
    ]


def test_a_score_on_the_validation_file_carries_a_warning(tmp_path: Path) -> None:
    data = RECORD["data"] | {"validation_file": "dev.txt"}
    for tests, warned in ((["dev.txt"], True), (["test.txt"], False)):
        text = write_model_card(RECORD | {"data": data | {"test_file": tests}}, tmp_path, None).read_text()
        assert ("read that score as optimistic" in text) == warned


def test_every_number_is_the_records(tmp_path: Path) -> None:
    text = write_model_card(RECORD, tmp_path, None).read_text()
    assert "| dev | 91.00 ± 1.23 | 89.00 ± 1.23 | 80.00 ± 1.23 | 71.23 ± 1.23 |" in text
    assert "mean ± standard deviation over 10 runs (10-fold cross-validation)" in text
    assert "| train | 17,263 | 3,528 | 3,400 |" in text
    assert "| parameters | 123,456,789 |" in text
    assert "| recipe | oa-ca-augment |" in text
    assert "| time | 12.3 minutes, all runs together |" in text
    assert "Orthogonal Attention, OA-CA, 2 blocks" in text
    assert "`num_folds=10`, `learning_rate=3e-05`" in text
    assert f"```bash\n{RECORD['command']}\n```" in text
    for shown in ("2026-11-21", "CPU x86_64, 2 threads", "Python 3.11.7, clozeformers 0.1.0, torch 2.13.0"):
        assert shown in text
    assert "## Usage" not in text
    assert "\n\n\n" not in text
    assert "{" not in text.split("---", 2)[2]


def test_usage_is_run_before_it_is_written(tmp_path: Path) -> None:
    model = save_tiny(tmp_path / "model")
    text = write_model_card(RECORD, model, model).read_text()
    usage = text.split("## Usage")[1].split("## Scores")[0]
    code, output = (
        block.split("```")[0] for block in usage.split("```python\n")[1].split("\n```\n\nprints\n\n```text\n")
    )
    assert 'pipeline("negation-scope", model=MODEL)' in code
    assert "'cue': {'text': 'not', 'start': 5, 'end': 8}" in output
    assert "\n\n\n" not in text


def test_usage_that_fails_gives_no_card(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nothing"):
        write_model_card(RECORD, tmp_path, tmp_path / "nothing")
    assert not (tmp_path / "README.md").exists()


@pytest.mark.parametrize(
    ("corpus_format", "licence"),
    [
        ("cd-sco", "none is stated with the files of CD-SCO"),
        ("bioscope", "BioScope is free for research use"),
        ("sfu", "SFU Review's annotations are under GPL-3.0 or later"),
        ("jsonl", "see the data's owner"),
        (None, "see the data's owner"),
    ],
)
def test_licence_of_the_training_data(corpus_format: str | None, licence: str, tmp_path: Path) -> None:
    record = record_of()
    if corpus_format:
        record["data"]["corpus_format"] = corpus_format
    assert f"Licence of the training data: {licence}" in write_model_card(record, tmp_path, None).read_text()


def test_the_format_is_told_from_the_file_where_the_record_does_not_say(tmp_path: Path) -> None:
    (tmp_path / "sfu").mkdir()
    (tmp_path / "sfu" / "a.xml").write_text("<DOCUMENT></DOCUMENT>")
    record = record_of()
    record["data"]["train_file"] = str(tmp_path / "sfu")
    assert "SFU Review's annotations" in write_model_card(record, tmp_path, None).read_text()


def test_a_model_that_was_not_scored_and_a_baseline(tmp_path: Path) -> None:
    record = record_of(test_sets=(), num_attention_blocks=0, model_name_or_path="/somewhere/private/encoder")
    record["runs"], record["training"] = record["runs"][:1], {}
    text = write_model_card(record, tmp_path, None).read_text()
    assert "The model was not scored." in text
    assert "a linear layer on the encoder (baseline)" in text
    assert "| encoder | `encoder` |" in text
    metadata = yaml.safe_load(text.split("---")[1])
    assert "model-index" not in metadata
    assert "base_model" not in metadata


def test_results_table() -> None:
    better = copy.deepcopy(record_of(attention_variant="OA-EM"))
    better["scores"]["dev"]["f1"] = {"mean": 0.85, "std": 0.0, "runs": 1}
    better["command"] = "python run_glue_style/run_negation_scope.py --train_file 'a|b.txt'"
    better["data"]["train_file"] = "a|b.txt"
    baseline = record_of(test_sets=("dev",), num_attention_blocks=0)
    del baseline["data"]["train_file"]
    lines = results_table([baseline, better, RECORD]).splitlines()
    assert lines[0].startswith("| trained on | test set | model | input | encoder | precision | recall | F1 | PCS |")
    assert len(lines) == 2 + 5
    assert lines[2].startswith(
        r"| a\|b | dev | OA-EM | augment | xlnet/xlnet-base-cased | 91.00 ± 1.23 | 89.00 ± 1.23 | 85.00 |"
    )
    assert lines[2].endswith("| 123.5 M | 2026-11-21 | – |")
    assert lines[4] == (
        "| sfu | dev | OA-CA | augment | xlnet/xlnet-base-cased | 91.00 ± 1.23 | 89.00 ± 1.23 | 80.00 ± 1.23 "
        "| 71.23 ± 1.23 | 123.5 M | 2026-11-21 | oa-ca-augment |"
    )
    assert lines[6].startswith("| – | dev | baseline |")


def test_best_first() -> None:
    better = record_of(test_sets=("dev",), attention_variant="OA-EM")
    better["scores"]["dev"]["f1"]["mean"] = 0.95
    lines = results_table([record_of(test_sets=("dev",)), better]).splitlines()
    assert ["OA-EM" in line for line in lines[2:]] == [True, False]
