"""What a saved model says of the cues that it was trained on, and what the pipeline makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import AutoConfig, AutoTokenizer, EvalPrediction, pipeline

from clozeformers import AutoModelForNegationScope, BertNegationScopeOAConfig, NegationScopeTrainer
from clozeformers.cli import main as command_line
from clozeformers.negation_scope.arguments import NegationTrainingArguments
from clozeformers.negation_scope.card import CARD
from clozeformers.negation_scope.corpora.jsonl import write_negation_jsonl
from clozeformers.training.model_card import results_table

from ..tiny_tasks import LAST, TinyTask, tiny_negation_scope

WORDS = {"tokens": ["it", "is", "not", "here"], "cue": [0, 0, 1, 0], "scope": [1, 1, 0, 1]}
AFFIX = {"tokens": ["it", "is", "impossible"], "cue": [0, 0, 1], "cue_text": "im", "scope": [1, 1, 1]}
TEXT = "it is impossible , and it is not here"


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> TinyTask:
    return tiny_negation_scope(tmp_path_factory.mktemp("task"))


def train(task: TinyTask, folder: Path, *rows: dict[str, Any], kind: str = "negation") -> dict[str, Any]:
    write_negation_jsonl([{**row, "kind": kind} for row in rows], folder / "mine.jsonl")
    files = ["--train_file", str(folder / "mine.jsonl"), "--test_file", str(folder / "mine.jsonl")]
    return task.run(folder / "run", *files, *LAST, "--max_steps", "1", "--kind", kind)


def cues(folder: Path, given: Any = TEXT, **options: Any) -> list[str]:
    negation = pipeline("negation-scope", model=str(folder / "run"), device="cpu")
    return [found["cue"]["text"] for found in negation(given, **options)]


@pytest.mark.parametrize(
    ("rows", "conventions", "affixes"),
    [
        ([WORDS], [], False),
        ([WORDS, AFFIX], [], True),
        ([WORDS | {"corpus": "cd-sco"}], ["cd-sco"], True),
        ([WORDS | {"corpus": "sfu"}, AFFIX | {"corpus": "bioscope"}], ["bioscope", "sfu"], False),
    ],
)
def test_the_config_says_what_the_corpora_mark(
    rows: list[dict[str, Any]], conventions: list[str], affixes: bool, task: TinyTask, tmp_path: Path
) -> None:
    train(task, tmp_path, *rows)
    config = AutoConfig.from_pretrained(tmp_path / "run")
    assert (config.kind, config.conventions, config.affixes) == ("negation", conventions, affixes)
    assert cues(tmp_path) == (["im", "not"] if affixes else ["not"])
    assert cues(tmp_path, affixes=not affixes) == (["not"] if affixes else ["im", "not"])


def joint_rows(count: int) -> list[dict[str, Any]]:
    """The same sentences in two corpora: the scope stands before the cue in one, after it in the other."""
    rows = []
    for corpus, scope in (("cd-sco", [1, 1, 0, 0]), ("sfu", [0, 0, 0, 1])):
        rows += [WORDS | {"corpus": corpus, "scope": scope, "id": f"{corpus}{number}#0"} for number in range(count)]
    return rows


def test_a_joint_model_follows_the_convention_that_it_is_told(task: TinyTask, tmp_path: Path) -> None:
    write_negation_jsonl([row | {"kind": "negation"} for row in joint_rows(8)], tmp_path / "mine.jsonl")
    files = ["--train_file", str(tmp_path / "mine.jsonl"), "--test_file", str(tmp_path / "mine.jsonl")]
    learning = ["--max_steps", "60", "--learning_rate", "1e-2", "--head_learning_rate", "1e-2"]
    record = task.run(tmp_path / "run", *files, *LAST, *learning)
    [scores] = record["scores"].values()
    assert scores["pcs"]["mean"] == 100, "without the convention, one of the corpora would be wrong"
    config = AutoConfig.from_pretrained(tmp_path / "run")
    assert config.convention_tokens == {"cd-sco": "[CUE:cd-sco]", "sfu": "[CUE:sfu]"}
    assert config.cue_token == "[CUE:cd-sco]"
    negation = pipeline("negation-scope", model=str(tmp_path / "run"), device="cpu")
    scopes = {None: "it is", "cd-sco": "it is", "sfu": "here", "bioscope": "it is"}
    for convention, expected in scopes.items():
        [found] = negation("it is not here", convention=convention)
        assert [span["text"] for span in found["scope"]] == [expected]
    # Goes on with a corpus: its convention becomes the first, and the other is not lost.
    write_negation_jsonl([row | {"kind": "negation"} for row in joint_rows(8)[8:]], tmp_path / "sfu.jsonl")
    onwards = TinyTask("negation_scope", {}, ["--model_name_or_path", str(tmp_path / "run"), *learning[2:]])
    onwards.run(tmp_path / "sfu", "--train_file", str(tmp_path / "sfu.jsonl"), *LAST, "--max_steps", "1")
    config = AutoConfig.from_pretrained(tmp_path / "sfu")
    assert (config.conventions, config.cue_token) == (["sfu"], "[CUE:sfu]")
    assert set(config.convention_tokens) == {"cd-sco", "sfu"}


def test_folds_of_several_corpora_are_those_of_each(task: TinyTask, tmp_path: Path) -> None:
    def tested(corpora: list[str]) -> dict[str, set[str]]:
        rows = [row | {"kind": "negation"} for row in joint_rows(9) if row["corpus"] in corpora]
        folder = tmp_path / "-".join(corpora)
        folder.mkdir()
        write_negation_jsonl(rows, folder / "mine.jsonl")
        folds = ["--num_folds", "3", "--folds", "2", "--max_steps", "1"]
        record = task.run(folder / "run", "--train_file", str(folder / "mine.jsonl"), *LAST, *folds)
        files = sorted((folder / "run").glob("fold-2/predictions_*.jsonl"))
        assert len(record["scores"]) == len(files) == len(corpora)
        return {file.stem: {json.loads(line)["id"] for line in file.read_text().splitlines()} for file in files}

    both = tested(["cd-sco", "sfu"])
    assert both == {
        f"predictions_held-out_fold__{name}": ids for name in ("cd-sco", "sfu") for ids in tested([name]).values()
    }


@pytest.mark.parametrize(("rule", "f1"), [("keep", 66.67), ("drop", 100.0), ("add", 100.0)])
def test_cue_words_may_count_or_not(rule: str, f1: float, task: TinyTask, tmp_path: Path) -> None:
    train(task, tmp_path, WORDS)
    trainer = NegationScopeTrainer(
        AutoModelForNegationScope.from_pretrained(tmp_path / "run"),
        NegationTrainingArguments(str(tmp_path), use_cpu=True),
        AutoTokenizer.from_pretrained(tmp_path / "run"),
        cue_in_scope=rule,
    )
    # Gold: "not here"; predicted: "here". The cue word is "not".
    trainer._scored_features = Dataset.from_dict(
        {"row": [0], "scope": [[0, 0, 1, 1]], "cue": [[0, 0, 1, 0]], "word_ids": [[0, 1, 2, 3]]}
    )
    scores = trainer._score(EvalPrediction([np.array([0.0, 0.0, 0.0, 1.0])], None))
    assert scores["f1"] == pytest.approx(f1, abs=0.01)
    record = task.run(
        tmp_path / "scored", *task.data("train", "test"), *LAST, "--max_steps", "1", "--cue_in_scope", rule
    )
    assert (rule == "keep") == ("cue words" not in results_table(CARD, [record]))


def test_a_model_of_speculation_does_not_look_for_negation(task: TinyTask, tmp_path: Path) -> None:
    record = train(task, tmp_path, WORDS, kind="speculation")
    assert AutoConfig.from_pretrained(tmp_path / "run").kind == "speculation"
    card = (tmp_path / "run" / "README.md").read_text()
    assert '"cues": ["may"]' in card
    assert command_line(["card", str(tmp_path / "run")]) == 0
    assert (tmp_path / "run" / "README.md").read_text() == card
    with pytest.raises(ValueError, match=r'cues of speculation, .* give "cues" with the text'):
        cues(tmp_path)
    assert cues(tmp_path, {"text": TEXT, "cues": ["impossible"]}) == ["impossible"]
    assert cues(tmp_path, cue_detector=lambda text: [{"start": 0, "end": 2}]) == ["it"]
    with pytest.raises(ValueError, match="cues of speculation"):
        cues(tmp_path, cue_detector="lexicon")
    scoring = ["--model_name_or_path", str(tmp_path / "run"), "--test_file", str(tmp_path / "mine.jsonl")]
    again = TinyTask("negation_scope", {}, []).run(tmp_path / "again", *scoring)
    assert (again["data"]["kind"], again["scores"]) == ("speculation", record["scores"])
    with pytest.raises(ValueError, match=r"--kind negation, but .* was trained with speculation; leave the option out"):
        TinyTask("negation_scope", {}, []).run(tmp_path / "other", *scoring, "--kind", "negation")


def test_a_config_that_does_not_say_is_read_as_before(tiny_model_folder: Path) -> None:
    fields = json.loads((tiny_model_folder / "config.json").read_text())
    assert [fields.get(name) for name in ("kind", "conventions", "affixes")] == [None] * 3
    found = pipeline("negation-scope", model=str(tiny_model_folder), device="cpu")(TEXT)
    assert [each["cue"]["text"] for each in found] == ["im", "not"]
    with pytest.raises(ValueError, match="kind is 'none'; it must be 'negation', 'speculation' or None"):
        BertNegationScopeOAConfig(kind="none")


PLAIN = {"tokens": ["it", "is", "here"], "cue": [0, 0, 0], "scope": [0, 0, 0]}
TWO = {"tokens": ["it", "is", "not", "never", "here"], "scope": [1, 1, 0, 0, 1]}


@pytest.mark.parametrize("input_", ["augment", "normal"])
def test_cues_and_scopes_are_learnt_together(input_: str, task: TinyTask, tmp_path: Path) -> None:
    rows = [WORDS | {"id": "a#0"}, PLAIN | {"id": "b#-"}, AFFIX | {"id": "c#0"}]
    rows += [TWO | {"id": f"d#{k}", "cue": [0, 0, 1 - k, k, 0]} for k in (0, 1)]
    write_negation_jsonl([{**row, "kind": "negation"} for row in rows], tmp_path / "mine.jsonl")
    # The same in columns, for the official script.
    lines = []
    for number, each in enumerate((WORDS, PLAIN)):
        for place, (word, cue, inside) in enumerate(zip(each["tokens"], each["cue"], each["scope"], strict=True)):
            cells = [word if cue else "_", word if inside else "_", "_"] if any(each["cue"]) else ["***"]
            lines.append("\t".join(["c", str(number), str(place), word, word, "NN", "_", *cells]))
        lines.append("")
    (tmp_path / "columns.txt").write_text("".join(f"{line}\n" for line in lines))
    files = ["--train_file", str(tmp_path / "mine.jsonl"), "--test_file"]
    files += [str(tmp_path / "mine.jsonl"), str(tmp_path / "columns.txt")]
    learning = ["--max_steps", "80", "--learning_rate", "1e-2", "--head_learning_rate", "1e-2"]
    record = task.run(tmp_path / "run", *files, *LAST, *learning, "--target", "cues", "scopes", "--input", input_)
    assert record["scores"]["mine"]["cue_f1"]["mean"] == 100
    assert record["scores"]["mine"]["pcs"]["mean"] == record["scores"]["mine"]["found_f1"]["mean"] == 100
    found_rows = [json.loads(line) for line in (tmp_path / "run" / "found_mine.jsonl").read_text().splitlines()]
    assert [(each["id"], each["cue_text"]) for each in found_rows] == [
        *[("a#0", "not"), ("c#0", "im"), ("d#0", "not"), ("d#1", "never")]
    ]
    official = json.loads((tmp_path / "run" / "sem_star_found_columns.json").read_text())
    assert official["full_negation_f1"] == official["cues_f1"] == official["scope_tokens_f1"] == 100
    assert official["sentences"] == 2
    assert record["corpora"]["mine"] == {"sentences": 4, "cues": 4, "scopes": 4}
    assert "cue F1, lexicon" in (tmp_path / "run" / "README.md").read_text()
    assert record["scores"]["mine"]["both_cue_f1"]["mean"] == 100
    config = AutoConfig.from_pretrained(tmp_path / "run")
    assert config.finds_cues
    assert config.candidate_token == "[CANDIDATE]"
    negation = pipeline("negation-scope", model=str(tmp_path / "run"), device="cpu", batch_size=2)
    texts = ["it is not never here\n\nit is impossible", "it is here", "", "it is not here"]
    results = negation(texts)
    assert [[found["cue"]["text"] for found in each] for each in results] == [["not", "never", "im"], [], [], ["not"]]
    assert [span["text"] for span in results[0][1]["scope"]] == ["it is", "here"]
    assert results == [negation(text) for text in texts], "batches change nothing"
    # As with the cues given: in unchanged input, the scopes are read from the encoding that the cues were found in.
    given = [
        {"text": text, "cues": [[e["cue"]["start"], e["cue"]["end"]] for e in each]}
        for text, each in zip(texts, results, strict=True)
    ]
    for ours, theirs in zip(negation(given), results, strict=True):
        assert [each["scope"] for each in ours] == [each["scope"] for each in theirs]
        assert [each["score"] for each in ours] == pytest.approx([each["score"] for each in theirs])
    assert [e["cue"]["text"] for e in negation(texts[0], affixes=False)] == ["not", "never"]
    assert [e["cue"]["text"] for e in negation({"tokens": TWO["tokens"]})] == ["not", "never"]
    [detected] = negation(texts[0], cue_detector=lambda text: [{"start": 6, "end": 9}])
    assert detected["cue"]["text"] == "not"
    # What is scored again, and trained on, has the target of the model.
    again = TinyTask("negation_scope", {}, ["--model_name_or_path", str(tmp_path / "run")])
    assert again.run(tmp_path / "again", *files[2:])["scores"]["mine"]["cue_f1"]["mean"] == 100
    with pytest.raises(ValueError, match="leave the option out"):
        again.run(tmp_path / "wrong", *files[2:], "--target", "scopes")


@pytest.mark.parametrize("input_", ["augment", "normal"])
def test_a_joint_model_finds_cues_by_convention(
    input_: str, task: TinyTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row | {"kind": "negation"} for row in joint_rows(4)]
    rows += [AFFIX | {"corpus": "cd-sco", "id": f"c{k}#0", "kind": "negation"} for k in range(4)]
    none = {"cue": [0, 0, 0], "cue_text": "", "scope": [0, 0, 0]}
    rows += [AFFIX | none | {"corpus": "sfu", "id": f"s{k}#-", "kind": "negation"} for k in range(4)]
    write_negation_jsonl(rows, tmp_path / "mine.jsonl")
    files = ["--train_file", str(tmp_path / "mine.jsonl"), "--test_file", str(tmp_path / "mine.jsonl")]
    learning = ["--max_steps", "100", "--learning_rate", "1e-2", "--head_learning_rate", "1e-2"]
    record = task.run(tmp_path / "run", *files, *LAST, *learning, "--target", "cues", "scopes", "--input", input_)
    [scores] = record["scores"].values()
    assert (scores["cue_f1"]["mean"], scores["pcs"]["mean"]) == (100, 100)
    negation = pipeline("negation-scope", model=str(tmp_path / "run"), device="cpu")
    expected = {"cd-sco": [("im", "it is possible"), ("not", "it is")], "sfu": [("not", "here")]}
    for convention, negations in expected.items():
        found = negation("it is impossible\n\nit is not here", convention=convention)
        assert [(e["cue"]["text"], " ".join(s["text"] for s in e["scope"])) for e in found] == negations
    if input_ == "normal":
        return
    again = TinyTask("negation_scope", {}, ["--model_name_or_path", str(tmp_path / "run")])
    write_negation_jsonl([row for row in rows if row["corpus"] == "sfu"], tmp_path / "sfu.jsonl")
    with monkeypatch.context() as patch:
        patch.setattr(NegationScopeTrainer, "_read_cues", None)  # the model is not asked
        words = ["--test_file", str(tmp_path / "sfu.jsonl"), "--lexicon_conventions", "sfu"]
        [scores] = again.run(tmp_path / "again", *words)["scores"].values()
    assert (scores["cue_f1"]["mean"], scores["lexicon_cue_f1"]["mean"]) == (100, 100)
    negation.model.config.lexicon_conventions = ["sfu"]
    text = "it is hardly here\n\nit is never here\n\nit is impossible"  # SFU Review does not annotate "hardly"
    assert [e["cue"]["text"] for e in negation(text, convention="sfu")] == ["never"]
    assert [e["cue"]["text"] for e in negation(text, convention="sfu", affixes=True)] == ["never", "im"]
    with pytest.raises(ValueError, match="convention is 'sfo'; it must be 'cd-sco', 'bioscope', 'sfu' or None"):
        again.run(tmp_path / "wrong", *files[2:], "--lexicon_conventions", "sfo")


def test_a_target_without_scopes_is_refused(task: TinyTask, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--target is cues; it must be scopes, or cues scopes"):
        task.run(tmp_path, "--train_file", str(task.files["train"]), "--target", "cues")


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_accumulated_batches_have_the_gradients_of_the_whole(parts: int, task: TinyTask, tmp_path: Path) -> None:
    """Rows with a scope, rows with cues, rows with both: each loss is a mean over the whole batch."""
    torch.manual_seed(0)
    sizes = {"vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 1, "intermediate_size": 16}
    config = BertNegationScopeOAConfig(**sizes, num_attention_heads=4, finds_cues=True)
    tokenizer = AutoTokenizer.from_pretrained(task.arguments[1])
    args = NegationTrainingArguments(str(tmp_path), use_cpu=True)
    trainer = NegationScopeTrainer(AutoModelForNegationScope.from_config(config).eval(), args, tokenizer)
    ids, labels, cue_labels = (torch.randint(high, (4, 6)) for high in (20, 2, 4))
    labels[:2], cue_labels[1:3, 2:] = -100, -100
    rows = {"input_ids": ids, "labels": labels, "cue_labels": cue_labels, "cue_mask": torch.zeros_like(ids)}

    def gradients(count: int) -> tuple[torch.Tensor, float]:
        batches = [
            dict(zip(rows, part, strict=True))
            for part in zip(*(values.chunk(count) for values in rows.values()), strict=True)
        ]
        trainer.model.zero_grad()
        items = trainer._get_num_items_in_batch(batches, args.device)
        losses = [trainer.compute_loss(trainer.model, batch, num_items_in_batch=items) for batch in batches]
        torch.stack(losses).sum().backward()
        given = [parameter.grad.flatten() for parameter in trainer.model.parameters() if parameter.grad is not None]
        return torch.cat(given), sum(loss.item() for loss in losses)

    (whole, loss), (accumulated, total) = gradients(1), gradients(parts)
    assert total == pytest.approx(loss)
    torch.testing.assert_close(accumulated, whole)
