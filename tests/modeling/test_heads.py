"""Both heads over every backbone: outputs, and every way to load, save, checkpoint, compile and export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import nn
from transformers import AutoModel, GPT2Config

from .tiny_models import (
    ALONE,
    CLOZE,
    HIDDEN_SIZE,
    NEGATION,
    SIZES,
    Head,
    backbone_config,
    both_heads,
    close,
    cloze_batch,
    every_backbone,
    every_cloze_variant,
    every_variant,
    logits_of,
    questions,
)


def test_every_backbone_is_tested() -> None:
    assert set(SIZES) == set(NEGATION.models) == set(CLOZE.models)


# ------------------------------------------------------------------------------------------------------- forward pass


@every_backbone
@every_variant
def test_loss(head: Head, fields: dict[str, Any], name: str) -> None:
    model, given = head.build(name, **fields), head.inputs(name)
    out = model(**given, **head.labels)
    assert out.logits.shape == ((3, 7, 2) if head is NEGATION else (2, 3))
    assert model(**given).loss is None
    assert {key for key, value in out.items() if value is not None} == {"loss", "logits"}
    items = 7 if head is NEGATION else 2
    close(model(**given, **head.labels, num_items_in_batch=10 * items).loss, out.loss / 10, 1e-6)
    assert model.accepts_loss_kwargs


@every_backbone
@every_variant
def test_a_fully_padded_example_stays_finite(head: Head, fields: dict[str, Any], name: str) -> None:
    model, given = head.build(name, **fields).train(), head.inputs(name)
    given["attention_mask"][-1] = 0
    if head is NEGATION:
        given["cue_mask"][-1] = 1  # on padding: no cue
    labels = dict(head.labels)
    labels["labels"] = labels["labels"].clone()
    labels["labels"][-1] = -100
    out = model(**given, **labels)
    assert out.logits.isfinite().all()
    (out.loss + out.logits[0].square().mean()).backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)
    unused = {key for key, p in model.named_parameters() if p.grad is None}
    assert all(key.startswith(f"{model.base_model_prefix}.") for key in unused)
    # XLNet uses the first in pretraining only, the others for token types.
    assert {key.rpartition(".")[2] for key in unused} <= {"mask_emb", "r_s_bias", "seg_embed"}
    given["attention_mask"][:] = 0
    assert model(**given).logits.isfinite().all()


@pytest.mark.parametrize("name", [name for name in SIZES if name != "roberta"])  # which recognises padding by its id
@every_cloze_variant
def test_left_padded_embeddings(fields: dict[str, Any], name: str) -> None:
    model = CLOZE.build(name, **fields)
    given = {key: value[:, :1] for key, value in cloze_batch([questions(name)[0][:1]]).items()}
    expected = logits_of(model, **given)
    embeddings = model.get_input_embeddings()(given.pop("input_ids"))
    padded = {key: nn.functional.pad(value, (2, 0)) for key, value in given.items()}
    close(logits_of(model, inputs_embeds=nn.functional.pad(embeddings, (0, 0, 2, 0)), **padded), expected)


# ------------------------------------------------------------------------------------------------------ save and load

LOADED = [(NEGATION, {"attention_variant": "OA-EM", "num_attention_blocks": 1, "num_block_heads": 2})]
LOADED += [(CLOZE, {"num_co_attention_layers": layers, "co_attention": "parallel"}) for layers in (0, 2)]


@every_backbone
@pytest.mark.parametrize("auto", [True, False])
@pytest.mark.parametrize(("head", "fields"), LOADED)
def test_load_a_pretrained_backbone(head: Head, fields: dict[str, Any], auto: bool, name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    backbone = AutoModel.from_config(backbone_config(name, num_labels=3))
    backbone.save_pretrained(tmp_path)
    loader = head.auto if auto else head.models[name]
    model, info = loader.from_pretrained(tmp_path, **head.fields | fields, output_loading_info=True)
    assert type(model) is head.models[name]
    ours, theirs = model.base_model.state_dict(), backbone.state_dict()
    # Poolers that nothing reads are left out.
    has_pooler = fields.get("num_co_attention_layers") == 0
    assert {key for key in theirs if has_pooler or not key.startswith("pooler")} == set(ours)
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)
    assert not [key for key in info["missing_keys"] if key.startswith(f"{model.base_model_prefix}.")]
    assert {f"{head.classifier}.weight", f"{head.classifier}.bias"} <= set(info["missing_keys"])
    assert all(getattr(model.config, field) == value for field, value in fields.items())
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    if head is NEGATION:  # the attention starts as PyTorch's own layers do
        block = model.attention_stack.blocks[0]
        for weight, fan_in in ((block.intermediate.weight, HIDDEN_SIZE), (block.attention.key.output.weight, 8)):
            assert 0.9 * fan_in**-0.5 < weight.abs().max() <= fan_in**-0.5


@every_backbone
@both_heads
def test_from_config(head: Head, name: str) -> None:
    field, value = ("num_attention_blocks", 3) if head is NEGATION else ("num_co_attention_layers", 3)
    for config in (backbone_config(name), head.config(name)):
        model = head.auto.from_config(config, **head.fields | {field: value})
        assert type(model) is head.models[name]
        assert getattr(model.config, field) == value
        assert model.config.hidden_size == HIDDEN_SIZE


@both_heads
def test_arguments_of_from_config_and_from_pretrained(head: Head, tmp_path: Path) -> None:
    plain, eager = backbone_config("bert"), backbone_config("bert", attn_implementation="eager")
    assert head.auto.from_config(eager).config._attn_implementation == "eager"
    assert head.auto.from_config(plain, attn_implementation="eager").config._attn_implementation == "eager"
    assert head.auto.from_config(plain, dtype=torch.bfloat16).dtype == torch.bfloat16
    config = backbone_config("bert", hidden_dropout_prob=0.25)
    AutoModel.from_config(config).save_pretrained(tmp_path / "encoder")
    config.save_pretrained(tmp_path / "config")
    field = "max_cue_length" if head is NEGATION else "max_option_length"
    for given in (config, tmp_path / "config", str(tmp_path / "config")):
        model = head.auto.from_pretrained(tmp_path / "encoder", config=given, **{field: 7})
        assert type(model) is head.models["bert"]
        assert (model.config.hidden_dropout_prob, getattr(model.config, field)) == (0.25, 7)


@pytest.mark.parametrize("num_labels", [2, 5])
@pytest.mark.parametrize(
    ("head", "other"), [(NEGATION, "BertForSequenceClassification"), (CLOZE, "BertForMultipleChoice")]
)
def test_the_classifier_of_another_task_is_ignored(head: Head, other: str, num_labels: int, tmp_path: Path) -> None:
    trained = getattr(transformers, other)(backbone_config("bert", num_labels=num_labels))
    nn.init.constant_(trained.classifier.weight, 7.0)
    trained.save_pretrained(tmp_path)
    config = backbone_config("bert", num_labels=num_labels)
    for model in (head.auto.from_pretrained(tmp_path, **ALONE if head is CLOZE else {}), head.auto.from_config(config)):
        assert not (getattr(model, head.classifier).weight == 7.0).any()
        if head is NEGATION:
            assert model.scope_classifier.out_features == 2
            assert model.config.id2label == {0: "out-of-scope", 1: "in-scope"}
    loaded = head.auto.from_pretrained(tmp_path).bert.encoder.layer[0].output.dense.weight
    assert torch.equal(loaded, trained.bert.encoder.layer[0].output.dense.weight)


@both_heads
def test_unsupported_encoders(head: Head, tmp_path: Path) -> None:
    config = GPT2Config(n_embd=8, n_layer=1, n_head=2)
    config.save_pretrained(tmp_path)
    message = rf"'gpt2'; supported are {', '.join(head.models)}\. To add one, subclass"
    for load in (lambda: head.auto.from_config(config), lambda: head.auto.from_pretrained(tmp_path)):
        with pytest.raises(ValueError, match=message):
            load()
    with pytest.raises(OSError, match=r"from_pretrained\(\.\.\.\) or \.from_config"):
        head.auto()


def test_the_wrong_class_names_the_auto_class(tmp_path: Path) -> None:
    NEGATION.build("bert").save_pretrained(tmp_path)
    for head, name in ((CLOZE, "bert"), (NEGATION, "xlnet")):
        with pytest.raises(ValueError, match=rf"'bert-negation-scope-oa', not '{name}'; {head.auto.__name__}"):
            head.models[name].from_pretrained(tmp_path)


@pytest.mark.parametrize("name", ["bert", "xlnet"])
@pytest.mark.parametrize(
    ("head", "fields", "message"),
    [
        (NEGATION, {"num_attention_blocks": -1}, "num_attention_blocks is -1"),
        (NEGATION, {"head_dropout": 1.0}, "head_dropout is 1.0"),
        (NEGATION, {"head_dropout": -0.1}, "head_dropout is -0.1"),
        (NEGATION, {"max_cue_length": 0}, "max_cue_length is 0"),
        (NEGATION, {"num_block_heads": 5}, "5 heads do not divide the hidden size 16"),
        (NEGATION, {"num_block_heads": 5, "attention_variant": "dot"}, "5 heads do not divide the hidden size 16"),
        (NEGATION, {"num_block_heads": 2}, r"not a perfect square; these numbers of heads would do: \[1, 4, 16\]"),
        (
            NEGATION,
            {"attention_variant": "OA-X"},
            r"unknown attention 'OA-X'; did you mean OA-C or OA-EM\? known are OA-C, OA-CA",
        ),
        (NEGATION, {"num_labels": 3}, "num_labels is 3; it must be 2"),
        (CLOZE, {"co_attention": "serial"}, "co_attention is 'serial'; known are stacked, parallel"),
        (CLOZE, {"num_co_attention_layers": -1}, "num_co_attention_layers is -1"),
        (CLOZE, {"num_co_attention_heads": 0}, "num_co_attention_heads is 0"),
        (CLOZE, {"co_attention_head_size": 0}, "co_attention_head_size is 0"),
        (CLOZE, {"max_option_length": 0}, "max_option_length is 0"),
        (CLOZE, {"co_attention_dropout": 1.0}, "co_attention_dropout is 1.0"),
    ],
)
def test_invalid_configs(head: Head, fields: dict[str, Any], message: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        head.config(name, **fields)
    if "num_block_heads" in fields or "attention_variant" in fields:
        head.config(name, **fields, num_attention_blocks=0)  # the baseline has no block
    if "num_labels" not in fields:
        backbone_config(name).save_pretrained(tmp_path)
        with pytest.raises(ValueError, match=message):
            head.models[name].config_class.from_pretrained(tmp_path, **fields)
