"""Self-supervised cloze: its texts, masks and loss, and training on from it."""

from __future__ import annotations

import json
import shutil
from functools import wraps
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import AutoModel

from clozeformers import BertWithWNDuma, BertWNDumaConfig
from clozeformers.abstract_cloze.arguments import ClozeTrainingArguments
from clozeformers.abstract_cloze.pretraining import (
    GapPretraining,
    MaskingCollator,
    _arguments,
    masked_texts,
    read_texts,
    texts_of_questions,
    vocabulary_of,
)
from clozeformers.files import CorpusError
from clozeformers.modeling.auto import AutoModelForAbstractCloze
from tests.cloze_models import TOKENIZERS, bert_tokenizer, cloze_rows
from tests.tiny_tasks import LAST, TinyTask, tiny_abstract_cloze

TEXT = "The cat was very happy. A dog sat in the club. It was new. Happy dog!"
GAP = ["--option_features", "gap", "--num_co_attention_layers", "0", "--use_definitions", "false"]


def test_texts_are_found_in_files(tmp_path: Path) -> None:
    squad, rows, empty = tmp_path / "squad.json", tmp_path / "rows.jsonl", tmp_path / "empty.jsonl"
    paragraphs = [{"context": "One.", "qas": [{"question": "who"}]}, {"context": "Two."}, {"context": "One."}]
    squad.write_text(json.dumps({"data": [{"title": "T", "paragraphs": paragraphs}]}))
    rows.write_text('{"article": "A.", "question": "q"}\n{"text": "B."}\n')
    empty.write_text('{"question": "q"}\n')
    assert read_texts(squad) == ["One.", "Two."]
    assert read_texts(rows) == ["A.", "B."]
    with pytest.raises(CorpusError, match="no field article, context, text"):
        read_texts(empty)


def test_texts_and_words_of_questions() -> None:
    rows = cloze_rows({}, {"label": 2, "options": ["a b", "Cat", "it's"]})
    assert vocabulary_of(rows) == ["cat", "doing", "happy", "it's"]
    article = rows[0]["article"]
    filled = ["The cat is happy to the club .", "The cat is it's to the club ."]
    assert texts_of_questions(rows) == [article, *filled]
    cut = masked_texts([TEXT, "Nothing here."], {"happy", "dog"})
    assert cut["text"] == ["The cat was very happy. A dog sat in the club.", "It was new. Happy dog!"]
    words = [
        [text[a:b] for a, b in zip(row["starts"], row["stops"], strict=True)] for row in cut for text in [row["text"]]
    ]
    assert words == [["happy", "dog"], ["Happy", "dog"]]


def is_part(found: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Whether words are some of a text's, in its order."""
    return found == tuple(word for word in words if word in found)


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_masked_words_are_the_labels(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]()
    if tokenizer.mask_token is None:
        tokenizer.add_special_tokens({"mask_token": "<mask>"})
    vocabulary = ["cat", "dog", "happy", "new"]
    rows = list(masked_texts([TEXT], set(vocabulary)))
    torch.manual_seed(0)
    seen = set()
    for _ in range(40):
        batch = MaskingCollator(tokenizer, vocabulary)(rows)
        for ids, mask, labels in zip(*(batch[name] for name in ("input_ids", "attention_mask", "labels")), strict=True):
            assert ((ids == tokenizer.mask_token_id) == (labels >= 0)).all()
            assert (labels[mask == 0] == -100).all()
            found = [vocabulary[number] for number in labels[labels >= 0]]
            assert found
            seen.add(tuple(found))
    assert {("happy",), ("new", "happy", "dog")} <= seen
    assert all(
        any(is_part(found, words) for words in (("cat", "happy", "dog"), ("new", "happy", "dog"))) for found in seen
    )


def test_the_loss_is_over_all_words_at_each_mask() -> None:
    tokenizer = bert_tokenizer()
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    fields = {"option_features": "gap", "num_co_attention_layers": 0, "use_definitions": False}
    torch.manual_seed(0)
    model = BertWithWNDuma(BertWNDumaConfig(vocab_size=len(tokenizer), **sizes, **fields)).eval()
    vocabulary = ["happy", "doing", "zebra"]
    batch = MaskingCollator(tokenizer, vocabulary)(
        list(masked_texts(["Doing it. Very happy zebra.", "A happy cat."], set(vocabulary)))
    )
    labels = batch["labels"]
    loss = GapPretraining(model, tokenizer, vocabulary).train()(**batch)["loss"]
    head, table = model.gap_head, model.get_input_embeddings().weight
    means = [table[tokenizer(word, add_special_tokens=False)["input_ids"]].mean(0) for word in vocabulary]
    encoded = model.base_model(**{name: values for name, values in batch.items() if name != "labels"})[0]
    losses = []
    for state, label in zip(encoded[labels >= 0], labels[labels >= 0], strict=True):
        scores = torch.stack([head.states(state) @ head.candidate_norm(mean) / 4 for mean in means])
        losses.append(-scores.log_softmax(0)[label])
    torch.testing.assert_close(loss, torch.stack(losses).mean(), atol=1e-5, rtol=0)


def test_a_batch_without_a_mask_has_no_loss() -> None:
    tokenizer = bert_tokenizer()
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    fields = {"option_features": "gap", "num_co_attention_layers": 0, "use_definitions": False}
    model = BertWithWNDuma(BertWNDumaConfig(vocab_size=len(tokenizer), **sizes, **fields))
    ids = torch.tensor([[2, 5, 6, 3]])
    inputs = {"input_ids": ids, "attention_mask": ids.clamp(max=1), "token_type_ids": ids * 0}
    loss = GapPretraining(model, tokenizer, ["happy"])(**inputs, labels=ids * 0 - 100)["loss"]
    loss.backward()
    assert loss == 0


def test_the_pretraining_has_its_own_checkpoints(tmp_path: Path) -> None:
    for given, expected in ((None, None), ("true", "true"), (str(tmp_path), None)):
        args = ClozeTrainingArguments(str(tmp_path), use_cpu=True, num_pretrain_epochs=1, resume_from_checkpoint=given)
        assert _arguments(args, tmp_path / "pretraining").resume_from_checkpoint == expected


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> TinyTask:
    return tiny_abstract_cloze(tmp_path_factory.mktemp("cloze"))


def test_models_start_from_the_pretrained_encoder(task: TinyTask, tmp_path: Path) -> None:
    stage = ["--num_pretrain_epochs", "2", "--pretrain_learning_rate", "1e-2", "--pretrain_batch_size", "16"]
    few = [*LAST, "--max_steps", "2", "--num_seeds", "2"]
    record = task.run(tmp_path / "run", *task.data("train", "test"), *GAP, *stage, *few)
    assert record["model"]["model_name_or_path"] == str(task.files["train"].parent / "bert")
    folder = tmp_path / "run" / "pretraining"
    assert not list(folder.glob("checkpoint-*"))
    encoder = AutoModel.from_pretrained(folder)
    assert type(encoder).__name__ == "BertModel", "the folder is an encoder"
    own = AutoModelForAbstractCloze.from_pretrained(
        folder, option_features="gap", num_co_attention_layers=0, use_definitions=False
    )
    assert not torch.equal(own.gap_head.dense.bias, torch.zeros_like(own.gap_head.dense.bias)), (
        "with the head's weights"
    )
    # A finished stage is not repeated, and serves other models.
    before = (folder / "model.safetensors").stat().st_mtime_ns
    task.run(tmp_path / "run", *task.data("train", "test"), *GAP, *stage, *few, "--resume_from_checkpoint", "true")
    assert (folder / "model.safetensors").stat().st_mtime_ns == before
    span = ["--model_name_or_path", str(folder), "--option_features", "span", "--use_definitions", "false"]
    other = task.run(tmp_path / "span", *task.data("train", "test"), *span, *LAST, "--max_steps", "1")
    assert other["config"]["option_features"] == "span"
    with pytest.raises(ValueError, match="would read the articles of all folds"):
        task.run(tmp_path / "folds", *task.data("train"), *GAP, *stage, *LAST, "--num_folds", "3")


def test_the_stage_is_run_once_and_changes_no_seed(
    task: TinyTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = []
    init, forward, is_bf16 = GapPretraining.__init__, GapPretraining.forward, []

    @wraps(forward)  # Trainer looks at its arguments
    def recording(self: GapPretraining, input_ids: Tensor, **others: Tensor) -> dict[str, Tensor]:
        is_bf16.append(torch.is_autocast_enabled("cpu"))
        return forward(self, input_ids, **others)

    monkeypatch.setattr(GapPretraining, "__init__", lambda self, *args: trained.append(1) or init(self, *args))
    monkeypatch.setattr(GapPretraining, "forward", recording)
    span = [*GAP[2:], "--option_features", "span", "--num_pretrain_epochs", "1", "--seed", "0", "--num_seeds", "2"]
    arguments = [*task.data("train", "test"), *span, *LAST, "--max_steps", "1", "--learning_rate", "0"]
    arguments += ["--bf16", "true"]
    task.run(tmp_path / "one", *arguments)
    assert len(trained) == 1
    assert is_bf16
    assert all(is_bf16)
    # Killed after the stage: the heads of both seeds are drawn as in the other command.
    shutil.copytree(tmp_path / "one" / "pretraining", tmp_path / "two" / "pretraining")
    task.run(tmp_path / "two", *arguments, "--resume_from_checkpoint", "true")
    assert len(trained) == 1
    for seed in ("seed-0", "seed-1"):
        weights = [(tmp_path / run / seed / "model.safetensors").read_bytes() for run in ("one", "two")]
        assert weights[0] == weights[1]
    with pytest.raises(ValueError, match="--num_pretrain_epochs reads the articles of --train_file; give it"):
        task.run(
            tmp_path / "three",
            *task.data("test"),
            "--model_name_or_path",
            str(tmp_path / "one" / "seed-0"),
            "--num_pretrain_epochs",
            "1",
        )


def test_two_processes_pretrain_one_encoder(task: TinyTask, tmp_path: Path) -> None:
    span = [*GAP[2:], "--option_features", "span", "--num_pretrain_epochs", "1", "--pretrain_batch_size", "4"]
    other = ["--bf16", "true", "--gradient_accumulation_steps", "2", "--early_stopping_patience", "1"]
    chosen = ["--eval_strategy", "steps", "--eval_steps", "1", "--save_steps", "1", "--max_steps", "2"]
    chosen += ["--num_seeds", "2"]  # whose probabilities the main process alone writes and reads
    files = task.data("train", "dev", "test")
    task.start(*task.command(tmp_path / "run", *files, *span, *other, *chosen, processes=2))
    before, after = (AutoModel.from_pretrained(folder) for folder in (task.arguments[1], tmp_path / "run/pretraining"))
    assert not torch.equal(before.encoder.layer[0].output.dense.weight, after.encoder.layer[0].output.dense.weight)
    assert json.loads((tmp_path / "run" / "results.json").read_text())["ensemble"]["test"]


def test_models_learn_to_fill_the_gap(task: TinyTask, tmp_path: Path) -> None:
    rates = ["--learning_rate", "1e-2", "--num_train_epochs", "4", "--validation_fraction", "0.2"]
    for options in (GAP, [*GAP[2:], "--option_features", "span", "--freeze_word_embeddings", "true"]):
        record = task.run(tmp_path / options[-1], *task.data("train", "test"), *options, *rates, *LAST)
        assert record["scores"]["test"]["accuracy"]["mean"] > 90
        assert record["scores"]["held-out questions"]["accuracy"]["mean"] > 90
        assert record["corpora"]["train"]["questions"] == 51
    assert record["trained_parameters"] < record["parameters"]
