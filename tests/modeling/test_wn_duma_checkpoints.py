"""Abstract cloze models over every backbone: every way to load, save, checkpoint and compile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import AutoModel, AutoModelForMultipleChoice, GPT2Config

from clozeformers import AutoModelForAbstractCloze, BertForNegationScopeOA
from tests.modeling.test_negation_scope_models import (
    HIDDEN_SIZE,
    SDPA,
    SIZES,
    backbone_config,
    check_save_and_load,
    close,
    logits_of,
)
from tests.modeling.tiny_wn_duma import (
    ALONE,
    HEAD,
    LABELS,
    MODELS,
    NO_DROPOUT,
    TRANSFORMERS,
    batch,
    build,
    every_backbone,
    every_head,
    inputs,
    pieces,
    questions,
    row,
)

# ------------------------------------------------------------------------------------------------------ save and load


@every_backbone
@every_head
def test_save_and_load(name: str, head: dict[str, Any], tmp_path: Path) -> None:
    told = {"use_definitions": False, "use_article": False, "max_option_length": 40, "co_attention_dropout": 0.2}
    model, given = build(name, **head, **told), inputs(name)
    assert type(model) is MODELS[name]
    assert model.config.model_type == f"{name}-wn-duma"
    autos = (AutoModelForMultipleChoice, AutoModelForAbstractCloze)
    # The last bits depend on how memory is aligned.
    check_save_and_load(model, given, autos, tmp_path, head | told | HEAD, within=1e-6)


def test_a_config_may_be_named_by_its_place(tmp_path: Path) -> None:
    backbone_config("bert").save_pretrained(tmp_path / "config")
    AutoModel.from_config(backbone_config("bert")).save_pretrained(tmp_path / "encoder")
    for place in (tmp_path / "config", str(tmp_path / "config")):
        model = AutoModelForAbstractCloze.from_pretrained(tmp_path / "encoder", config=place, **HEAD)
        assert type(model) is MODELS["bert"]
        assert model.config.num_co_attention_heads == HEAD["num_co_attention_heads"]


@pytest.mark.parametrize("config", [{}, "bert", None])
def test_what_is_no_config_is_named(config: Any) -> None:
    with pytest.raises(TypeError, match="give a config, such as AutoConfig"):
        AutoModelForAbstractCloze.from_config(config)


@every_backbone
@pytest.mark.parametrize("auto", [True, False])
@pytest.mark.parametrize("layers", [0, 2])
def test_load_a_pretrained_backbone(name: str, auto: bool, layers: int, tmp_path: Path) -> None:
    torch.manual_seed(0)
    backbone = AutoModel.from_config(backbone_config(name, num_labels=3))
    backbone.save_pretrained(tmp_path)
    loader = AutoModelForAbstractCloze if auto else MODELS[name]
    model, info = loader.from_pretrained(
        tmp_path, num_co_attention_layers=layers, co_attention="parallel", **HEAD, output_loading_info=True
    )
    assert type(model) is MODELS[name]
    ours, theirs = model.base_model.state_dict(), backbone.state_dict()
    # The poolers of BERT, RoBERTa and ALBERT are left out where nothing reads them.
    assert {key for key in theirs if layers == 0 or not key.startswith("pooler")} == set(ours)
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)
    assert not [key for key in info["missing_keys"] if key.startswith(f"{model.base_model_prefix}.")]
    assert {"option_classifier.weight", "option_classifier.bias"} <= set(info["missing_keys"])
    assert (model.config.num_co_attention_layers, model.config.co_attention) == (layers, "parallel")
    assert (model.co_attention is None) == (layers == 0)
    assert all(parameter.isfinite().all() for parameter in model.parameters())


@every_backbone
def test_from_config(name: str) -> None:
    for config in (backbone_config(name), MODELS[name].config_class(**SIZES[name])):
        model = AutoModelForAbstractCloze.from_config(
            config, co_attention="parallel", num_co_attention_layers=3, **HEAD
        )
        assert type(model) is MODELS[name]
        assert model.co_attention.num_layers == 3
        assert model.co_attention.layer.mode == "parallel"
        assert model.config.hidden_size == HIDDEN_SIZE


def test_from_pretrained_with_the_config_of_the_backbone(tmp_path: Path) -> None:
    config = backbone_config("bert", hidden_dropout_prob=0.25)
    AutoModel.from_config(config).save_pretrained(tmp_path)
    model = AutoModelForAbstractCloze.from_pretrained(tmp_path, config=config, num_co_attention_layers=0)
    assert (model.config.hidden_dropout_prob, model.co_attention) == (0.25, None)


def test_checkpoints_of_other_models(tmp_path: Path) -> None:
    config = GPT2Config(n_embd=8, n_layer=1, n_head=2)
    known = "albert, bert, roberta, deberta-v2, xlnet, modernbert"
    with pytest.raises(ValueError, match=rf"no abstract cloze model .*'gpt2'; there is one for {known}.*WNDumaMixin"):
        AutoModelForAbstractCloze.from_config(config)
    with pytest.raises(OSError, match=r"AutoModelForAbstractCloze\.from_pretrained\(\.\.\.\)"):
        AutoModelForAbstractCloze()
    BertForNegationScopeOA(BertForNegationScopeOA.config_class(**SIZES["bert"])).save_pretrained(tmp_path)
    said = "checkpoint of type 'bert-negation-scope-oa', not 'bert'; AutoModelForAbstractCloze"
    with pytest.raises(ValueError, match=said):
        MODELS["bert"].from_pretrained(tmp_path)


@pytest.mark.parametrize("num_labels", [2, 5])
def test_a_multiple_choice_models_classifier_is_not_taken_over(num_labels: int, tmp_path: Path) -> None:
    other = TRANSFORMERS["bert"](backbone_config("bert", num_labels=num_labels))
    nn.init.constant_(other.classifier.weight, 7.0)
    other.save_pretrained(tmp_path)
    model = AutoModelForAbstractCloze.from_pretrained(tmp_path, **ALONE)
    assert not (model.option_classifier.weight == 7.0).any()
    assert torch.equal(model.bert.pooler.dense.weight, other.bert.pooler.dense.weight)


@every_backbone
@every_head
def test_bfloat16(name: str, head: dict[str, Any], tmp_path: Path) -> None:
    model, given = build(name, **head), inputs(name)
    model.save_pretrained(tmp_path)
    half = AutoModelForAbstractCloze.from_pretrained(tmp_path, dtype=torch.bfloat16)
    assert {parameter.dtype for parameter in half.parameters()} == {torch.bfloat16}
    out = half(**given, labels=LABELS)
    assert out.logits.dtype == torch.float32  # options would tie in less
    assert out.loss.dtype == torch.float32
    assert out.logits[1, 2] == torch.finfo(torch.float32).min
    close(
        out.logits[given["attention_mask"].any(-1)].float(),
        logits_of(model, **given)[given["attention_mask"].any(-1)],
        0.25,
    )
    out.loss.backward()
    assert half.option_classifier.weight.grad.isfinite().all()


# ---------------------------------------------------------------------------------- attention kernels, checkpointing


@pytest.mark.parametrize("name", SDPA)
def test_attention_implementations_agree(name: str, tmp_path: Path) -> None:
    model, given = build(name), inputs(name)
    model.save_pretrained(tmp_path)
    logits = []
    for implementation in ("eager", "sdpa"):
        loaded = AutoModelForAbstractCloze.from_pretrained(tmp_path, attn_implementation=implementation)
        assert loaded.base_model.config._attn_implementation == implementation
        logits.append(logits_of(loaded, **given))
    close(*logits)


@every_backbone
@every_head
def test_gradient_checkpointing(name: str, head: dict[str, Any]) -> None:
    model, given = build(name, **NO_DROPOUT, **head).train(), inputs(name)
    runs: dict[str, int] = {}
    for key, module in model.named_modules():
        if isinstance(module, nn.Linear) and "layer" in key:
            module.register_forward_pre_hook(lambda *_, key=key: runs.update({key: runs.get(key, 0) + 1}))
    counts, gradients = [], []
    for checkpointing in (False, True):
        if checkpointing:
            # The older name is deprecated; the newer one is not there yet in the lowest version allowed.
            newer = hasattr(model, "activation_checkpointing_enable")
            (model.activation_checkpointing_enable if newer else model.gradient_checkpointing_enable)()
        model.zero_grad()
        runs.clear()
        model(**given, labels=LABELS).loss.backward()
        counts.append(dict(runs))
        gradients.append({key: p.grad.clone() for key, p in model.named_parameters() if p.grad is not None})
    assert counts[1] == {key: 2 * times for key, times in counts[0].items()}, "every layer is run again going back"
    assert any("co_attention" in key for key in counts[0]) == (head != ALONE)
    assert any(key.startswith(model.base_model_prefix) for key in counts[0])
    assert gradients[0].keys() == gradients[1].keys()
    for key, gradient in gradients[0].items():
        close(gradients[1][key], gradient, 1e-6)


# -------------------------------------------------------------------------------------------------- compile and export

ONE_LAYER = {"num_hidden_layers": 1}


@every_backbone
@pytest.mark.parametrize("head", [{}, ALONE], ids=["stacked", "alone"])
def test_compiled_in_one_graph(name: str, head: dict[str, Any]) -> None:
    torch._dynamo.reset()
    model, given = build(name, **ONE_LAYER, **head), inputs(name)
    expected = model(**given, labels=LABELS)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")(**given, labels=LABELS)
    close(compiled.logits, expected.logits)
    close(compiled.loss, expected.loss)


@every_backbone
def test_exported_for_every_batch_and_length(name: str) -> None:
    model, given = build(name, **ONE_LAYER), inputs(name)
    dimensions = {key: dict.fromkeys(range(3), torch.export.Dim.AUTO) for key in given}
    exported = torch.export.export(model, (), given, dynamic_shapes=dimensions).module()
    asked = questions(name)
    longer = [[row(name, pieces(20, 1), pieces(5, 2)), row(name, pieces(9, 3), pieces(2, 4))]]
    for given in (batch(asked), batch(asked[1:]), batch(longer, left=1, options=5), batch([*longer, *asked, *asked])):
        close(logits_of(exported, **given), logits_of(model, **given))
