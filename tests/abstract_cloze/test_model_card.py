"""Model cards and results tables of abstract cloze."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clozeformers.abstract_cloze.model_card import cloze_results_table, write_cloze_model_card


def record_of(name: str, mean: float, **model: Any) -> dict[str, Any]:
    """A record as the training script writes it."""
    run = {"run": "seed-0", "seed": 0, "epochs": 3.0, "steps": 30, "trained_parameters": 90, "features": {}}
    run["features"] = {"train": {"questions": 1000, "with_definitions": 4900}}
    counts = {"questions": 1000, "options": 5000, "articles": 990, "labelled": 1000, "left_out": 19}
    return {
        "name": name,
        "task": "abstract-cloze",
        "command": f"python run_glue_style/run_abstract_cloze.py configs/abstract_cloze/{name}.yaml --output_dir x",
        "model": {"model_name_or_path": "albert/albert-xxlarge-v2", "num_co_attention_layers": 1}
        | {"co_attention": "stacked", "num_co_attention_heads": 64, "co_attention_head_size": 64}
        | model,
        "data": {"train_file": ["/data/train.jsonl"], "validation_file": "dev.jsonl", "test_file": ["dev.jsonl"]}
        | {"use_definitions": True, "use_article": True, "max_length": 150},
        "training": {"learning_rate": 5e-6, "num_seeds": 2, "load_best_model_at_end": True}
        | {"eval_strategy": "steps", "num_train_epochs": 3.0},
        "corpora": {"train": counts, "dev": {**counts, "labelled": 837}},
        "environment": {"date": "2026-11-21", "python": "3.11", "versions": {"torch": "2.13"}, "hardware": "CPU"},
        "minutes": 12.34,
        "parameters": 123_456_789,
        "scores": {"dev": {"accuracy": {"mean": mean, "std": 0.0123, "runs": 2}}},
        "ensemble": {"dev": {"accuracy": 0.8757}},
        "runs": [run, {**run, "run": "seed-1", "seed": 1}],
    }


def test_only_what_was_chosen_by_a_score_is_warned_of(tmp_path: Path) -> None:
    record = record_of("wn-duma", 0.859)
    for epochs, warned in ((1, False), (2, True)):
        training = record["training"] | {"eval_strategy": "epoch", "num_train_epochs": epochs}
        text = write_cloze_model_card(record | {"training": training}, tmp_path, None).read_text()
        assert ("read that score as optimistic" in text) is warned


def test_every_number_of_a_card_is_the_records(tmp_path: Path) -> None:
    text = write_cloze_model_card(record_of("wn-duma", 0.859), tmp_path, None).read_text()
    for shown in (
        "| dev | 837 | 85.90 ± 1.23 | 87.57 |",
        "| train | 1,000 | 5,000 | 990 | 19 |",
        "| train | 1,000 | 4,900 |",
        "| parameters | 123,456,789 |",
        "| parameters trained | 90 |",
        "| head | WN-DUMA: stacked co-attention, 1 layer, 64 heads of 64 |",
        "| seeds | 0, 1 |",
        "| recipe | wn-duma |",
        "value: 0.859",
        "base_model: albert/albert-xxlarge-v2",
        "pipeline_tag: multiple-choice",
        "read that score as optimistic",
    ):
        assert shown in text, shown
    assert "## Usage" not in text
    assert "reads the beginning of an article only" in text
    assert "\n\n\n" not in text


def test_an_encoder_that_reads_the_question_alone_and_was_not_scored(tmp_path: Path) -> None:
    record = record_of("question-only", 0.8, num_co_attention_layers=0)
    record["data"] |= {"use_article": False, "use_definitions": False}
    record |= {"scores": {}, "ensemble": {}, "runs": record["runs"][:1]}
    text = write_cloze_model_card(record, tmp_path, None).read_text()
    for shown in (
        "| head | none: a linear layer on the encoder's pooled output |",
        "| input | question with option; at most 150 word pieces an option |",
        "It reads the question alone",
        "The model was not scored.",
    ):
        assert shown in text, shown
    assert "model-index" not in text


def test_results_table_has_the_best_first() -> None:
    records = [
        record_of("encoder", 0.8483, num_co_attention_layers=0),
        record_of("wn-duma", 0.859),
        record_of("duma", 0.8507, co_attention="parallel"),
    ]
    records[0]["ensemble"] = {}
    lines = cloze_results_table(records).splitlines()
    assert [line.split(" | ")[1] for line in lines[2:]] == ["WN-DUMA", "DUMA", "encoder"]
    assert lines[2] == (
        "| dev | WN-DUMA | albert/albert-xxlarge-v2 | article, question with option, definitions | train "
        "| 85.90 ± 1.23 | 87.57 | 2 | 123.5 M | 12 | 2026-11-21 | wn-duma |"
    )
    assert " | 84.83 ± 1.23 | – | 2 |" in lines[4]
