"""Negation scope models over every backbone: what goes in, what comes out, and every way to load, save and compile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoModelForTokenClassification, GPT2Config
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from clozeformers import AutoModelForNegationScope
from clozeformers.modeling.modeling_negation_scope import NEGATION_SCOPE_MODELS, NegationScopeMixin, word_loss
from tests.modeling import literal_orthogonal_attention as literal

VOCABULARY, HIDDEN_SIZE, HEADS = 40, 16, 4
COMMON = {
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN_SIZE,
    "num_attention_heads": HEADS,
    "num_hidden_layers": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 40,
}
SIZES: dict[str, dict[str, Any]] = {
    "xlnet": {"vocab_size": VOCABULARY, "d_model": HIDDEN_SIZE, "n_layer": 2, "n_head": HEADS, "d_inner": 24},
    "bert": COMMON,
    "roberta": COMMON,
    "albert": COMMON | {"embedding_size": 8},
    # As DeBERTa v3.
    "deberta-v2": COMMON
    | {
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_buckets": 4,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "position_biased_input": False,
        "type_vocab_size": 0,
    },
    "modernbert": COMMON | {"local_attention": 4, "pad_token_id": 0},
}
MODELS = {model.config_class.backbone_model_type: model for model in NEGATION_SCOPE_MODELS}
DROPOUTS = "head_dropout hidden_dropout_prob attention_probs_dropout_prob dropout attention_dropout mlp_dropout"
NO_DROPOUT = dict.fromkeys([*DROPOUTS.split(), "embedding_dropout", "classifier_dropout_prob"], 0.0)
ONE_LAYER = {"num_hidden_layers": 1, "num_attention_blocks": 1}
every_backbone = pytest.mark.parametrize("name", SIZES)
SDPA = ["bert", "roberta", "albert", "modernbert"]
RELATIVE_POSITIONS = ["xlnet", "deberta-v2", "modernbert"]


def backbone_config(name: str, **fields: Any) -> Any:
    return CONFIG_MAPPING[name](**SIZES[name] | fields)


def build(name: str, **fields: Any) -> NegationScopeMixin:
    torch.manual_seed(0)
    config = MODELS[name].config_class(**SIZES[name] | fields)
    # As if trained: with its own small initialisation, what tells two inputs apart is lost in rounding.
    model = MODELS[name](config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model.eval()


def inputs() -> dict[str, Tensor]:
    """Three examples of 7, 5 and 6 pieces, with cues of 1, 2 and 0 pieces."""
    generator = torch.Generator().manual_seed(1)
    input_ids = torch.randint(5, VOCABULARY, (3, 7), generator=generator)
    attention_mask = torch.ones_like(input_ids)
    attention_mask[1, 5:] = attention_mask[2, 6:] = 0
    cue_mask = torch.zeros_like(input_ids)
    cue_mask[0, 2] = cue_mask[1, 1] = cue_mask[1, 3] = 1
    # RoBERTa tells padding by its id, 1, to count positions.
    return {
        "input_ids": input_ids.where(attention_mask.bool(), 1),
        "attention_mask": attention_mask,
        "cue_mask": cue_mask,
    }


LABELS = torch.tensor([[-100, 0, 1, -100, 1, 0, -100], [-100, 1, 0, 0, -100, -100, -100], [-100] * 7])
WORD_IDS = torch.tensor([[-1, 0, 1, 1, 2, 3, -1], [-1, 0, 1, 2, -1, -1, -1], [-1] * 7])


def logits_of(model: nn.Module, **given: Any) -> Tensor:
    with torch.no_grad():
        return model(**given).logits


def close(ours: Tensor, theirs: Tensor, within: float = 1e-5) -> None:
    torch.testing.assert_close(ours, theirs, atol=within, rtol=0)


def test_every_backbone_is_tested() -> None:
    assert set(SIZES) == set(MODELS)


# ------------------------------------------------------------------------------------------------------- forward pass


@every_backbone
def test_shapes_loss_and_tuple(name: str) -> None:
    model, given = build(name), inputs()
    out = model(**given, labels=LABELS, word_ids=WORD_IDS)
    assert out.logits.shape == (3, 7, 2)
    close(out.loss, word_loss(out.logits, LABELS, WORD_IDS, None), 0)
    assert model(**given).loss is None
    assert out.attentions is out.hidden_states is out.orthogonal_attentions is out.cue_positions is None
    as_tuple = model(**given, labels=LABELS, word_ids=WORD_IDS, return_dict=False)
    assert isinstance(as_tuple, tuple)
    close(as_tuple[0], out.loss, 0)
    close(as_tuple[1], out.logits, 0)
    divided = model(**given, labels=LABELS, word_ids=WORD_IDS, num_items_in_batch=70).loss
    close(divided, out.loss * 7 / 70)
    assert model.config.id2label == {0: "out-of-scope", 1: "in-scope"}
    assert len(model(**given, output_hidden_states=True).hidden_states) == 3


@pytest.mark.parametrize("variant", ["OA-C", "OA-CA", "OA-EM", "OA-EMB"])
@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize("name", ["xlnet", "bert"])
def test_the_head_is_the_one_of_the_paper(name: str, variant: str, blocks: int) -> None:
    """Y = Linear(blocks(X1) + X1), the blocks as the literal version has them."""
    model, given = build(name, attention_variant=variant, num_attention_blocks=blocks).double(), inputs()
    mask = given["attention_mask"]
    encoded = model.base_model(given["input_ids"], attention_mask=mask).last_hidden_state
    ours = logits_of(model, **given)
    for example in range(2):
        X1 = encoded[example, mask[example].bool()]
        X4, _ = literal.stack(
            model.attention_stack, variant, HEADS, X1, given["cue_mask"][example].nonzero().flatten().tolist()
        )
        close(
            ours[example, : len(X1)], (X4 + X1) @ model.scope_classifier.weight.T + model.scope_classifier.bias, 1e-10
        )


@every_backbone
def test_no_cue(name: str) -> None:
    model, given = build(name), inputs()
    cue_mask = given.pop("cue_mask")
    without = logits_of(model, **given)
    assert without.isfinite().all()
    close(logits_of(model, **given, cue_mask=torch.zeros_like(cue_mask)), without)
    apart = (logits_of(model, **given, cue_mask=cue_mask) - without).abs().amax((1, 2))
    assert (apart[:2] > 1e-4).all(), "the cue is read"
    assert apart[2] < 1e-5, "the third example has none"


@every_backbone
@pytest.mark.parametrize("fields", [{}, {"attention_variant": None}])
def test_an_example_of_nothing_but_padding_stays_finite(name: str, fields: dict[str, Any]) -> None:
    model, given = build(name, **fields).train(), inputs()
    given["attention_mask"][2] = 0
    given["cue_mask"][2] = 1  # on padding: no cue
    out = model(**given, labels=LABELS, word_ids=WORD_IDS)
    assert out.logits.isfinite().all()
    (out.loss + out.logits.square().mean()).backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)
    without = [key for key, p in model.named_parameters() if p.grad is None]
    assert not [key for key in without if not key.startswith(model.base_model_prefix)]
    # XLNet needs the first in pretraining only, the others for token types.
    assert {key.rpartition(".")[2] for key in without} <= {"mask_emb", "r_s_bias", "seg_embed"}


def padded(given: dict[str, Tensor], left: int, right: int) -> dict[str, Tensor]:
    fillers = {"input_ids": 1, "attention_mask": 0, "cue_mask": 1}  # what is padding is no cue, whatever is said
    return {key: nn.functional.pad(value, (left, right), value=fillers[key]) for key, value in given.items()}


@pytest.mark.parametrize(
    ("name", "left", "right"), [(name, 0, 4) for name in SIZES] + [(name, 3, 2) for name in RELATIVE_POSITIONS]
)
def test_padding_changes_nothing(name: str, left: int, right: int) -> None:
    model, given = build(name), inputs()
    mask = given["attention_mask"].bool()
    longer = logits_of(model, **padded(given, left, right))[:, left : left + mask.size(1)]
    close(longer[mask], logits_of(model, **given)[mask])


@every_backbone
def test_batch_order_and_a_missing_attention_mask(name: str) -> None:
    model, given = build(name), inputs()
    order = [2, 0, 1]
    close(logits_of(model, **{key: value[order] for key, value in given.items()}), logits_of(model, **given)[order])
    first = {key: value[:1] for key, value in given.items()}
    close(logits_of(model, **{**first, "attention_mask": None}), logits_of(model, **given)[:1])


@every_backbone
def test_token_types_and_embeddings_as_input(name: str) -> None:
    model, given = build(name), inputs()
    plain = logits_of(model, **given)
    types = given["cue_mask"]
    close(logits_of(model, **given, token_type_ids=torch.zeros_like(types)), plain)
    apart = (logits_of(model, **given, token_type_ids=types) - plain).abs().max()
    assert (apart > 1e-4) == (name not in ("deberta-v2", "modernbert")), (
        "read by backbones that have more than one type"
    )
    first = {key: value[:1] for key, value in given.items()}  # without padding, which RoBERTa tells by its id
    embeddings = model.get_input_embeddings()(first.pop("input_ids"))
    close(logits_of(model, inputs_embeds=embeddings, **first), plain[:1])


def test_token_types_are_read_by_a_deberta_that_has_them() -> None:
    model, given = build("deberta-v2", type_vocab_size=2), inputs()
    with_types = logits_of(model, **given, token_type_ids=given["cue_mask"])
    assert (with_types - logits_of(model, **given)).abs().max() > 1e-4


@every_backbone
def test_output_attentions(name: str) -> None:
    model, given = build(name, attn_implementation="eager"), inputs()
    out = model(**given, output_attentions=True)
    assert len(out.attentions) == len(out.orthogonal_attentions) == 2
    assert all(weights.shape == (3, HEADS, 7, 7) for weights in out.attentions)
    assert out.cue_positions.tolist() == [[2, -1], [1, 3], [-1, -1]]
    for weights in out.orthogonal_attentions:
        assert weights.shape == (3, HEADS, 7, 2)
        close(weights.sum(-1), torch.tensor([1.0, 1.0, 0.0]).view(3, 1, 1).expand(3, HEADS, 7))
        close(weights[0, ..., 0], torch.ones(HEADS, 7))
    by_config = build(name, attn_implementation="eager", output_attentions=True)(**given)
    assert len(by_config.attentions) == len(by_config.orthogonal_attentions) == 2
    assert build(name, num_attention_blocks=0)(**given, output_attentions=True).cue_positions is None


def test_a_cue_longer_than_the_limit() -> None:
    model, given = build("bert", max_cue_length=2), inputs()
    logits_of(model, **given)
    given["cue_mask"][1, 2] = 1
    with pytest.raises(ValueError, match=r"3 word pieces, but config\.max_cue_length is 2.*max_cue_length = 3"):
        model(**given)
    model.config.max_cue_length = 3
    logits_of(model, **given)


@every_backbone
def test_bfloat16(name: str, tmp_path: Path) -> None:
    model, given = build(name), inputs()
    model.save_pretrained(tmp_path)
    half = AutoModelForNegationScope.from_pretrained(tmp_path, dtype=torch.bfloat16)
    out = half(**given, labels=LABELS, word_ids=WORD_IDS)
    assert out.logits.dtype == torch.bfloat16
    assert out.loss.dtype == torch.float32
    close(out.logits.float(), logits_of(model, **given), 0.25)
    out.loss.backward()
    assert half.scope_classifier.weight.grad.isfinite().all()


# ---------------------------------------------------------------------------------------------------------------- loss


@pytest.mark.parametrize("with_words", [True, False])
@pytest.mark.parametrize("items", [None, 13, torch.tensor(5)])
@pytest.mark.parametrize("labelled", [True, False])
def test_word_loss(with_words: bool, items: Any, labelled: bool) -> None:
    logits = torch.randn(3, 7, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float32, requires_grad=True)
    labels = LABELS if labelled else torch.full_like(LABELS, -100)
    total, count = 0.0, 0
    for example in range(3):
        for piece in range(7):
            label = labels[example, piece].item()
            if label == -100:
                continue
            same = [p for p in range(7) if WORD_IDS[example, p] == WORD_IDS[example, piece]] if with_words else [piece]
            total -= sum(logits[example, p].double().log_softmax(-1)[label].item() for p in same) / len(same)
            count += 1
    loss = word_loss(logits, labels, WORD_IDS if with_words else None, items)
    assert loss.item() == pytest.approx(total / (max(count, 1) if items is None else int(items)), abs=1e-6)
    loss.backward()
    assert logits.grad.isfinite().all()
    assert logits.grad.any() == labelled


# ------------------------------------------------------------------------------------------------------ save and load


def check_save_and_load(
    model: Any, given: dict[str, Any], autos: tuple[Any, ...], folder: Path, fields: dict[str, Any], within: float = 0
) -> None:
    """A saved model comes back whole through every class that loads it, and its config holds these fields."""
    model.save_pretrained(folder)
    assert {path.name for path in folder.iterdir()} == {"config.json", "model.safetensors"}
    expected = logits_of(model, **given)
    for auto in (*autos, type(model)):
        loaded, info = auto.from_pretrained(folder, output_loading_info=True)
        assert type(loaded) is type(model)
        assert not loaded.training
        assert not info["missing_keys"]
        assert not info["unexpected_keys"]
        close(logits_of(loaded, **given), expected, within)
    written = json.loads((folder / "config.json").read_text())
    read = AutoConfig.from_pretrained(folder)
    assert type(read) is type(model.config)
    for field, value in fields.items():
        assert written[field] == getattr(read, field) == value
    assert written["model_type"] == type(model).config_class.model_type


@every_backbone
def test_save_and_load(name: str, tmp_path: Path) -> None:
    head = {"attention_variant": "OA-EMB", "num_attention_blocks": 1, "num_block_heads": 2, "head_dropout": 0.1}
    head |= {"max_cue_length": 5, "cue_token": "[CUE]"}
    model, given = build(name, **head), inputs()
    check_save_and_load(model, given, (AutoModelForTokenClassification, AutoModelForNegationScope), tmp_path, head)


@every_backbone
@pytest.mark.parametrize("auto", [True, False])
def test_load_a_pretrained_backbone(name: str, auto: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    backbone = AutoModel.from_config(backbone_config(name))
    backbone.save_pretrained(tmp_path)
    loader = AutoModelForNegationScope if auto else MODELS[name]
    model = loader.from_pretrained(
        tmp_path, attention_variant="OA-EM", num_attention_blocks=1, num_block_heads=2, max_cue_length=3
    )
    assert type(model) is MODELS[name]
    ours, theirs = model.base_model.state_dict(), backbone.state_dict()
    # The poolers of BERT, RoBERTa and ALBERT are left out: every word is labelled.
    assert {key for key in theirs if not key.startswith("pooler")} == set(ours)
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)
    assert (model.config.attention_variant, model.config.num_attention_blocks) == ("OA-EM", 1)
    assert (model.config.block_heads, model.config.max_cue_length) == (2, 3)
    # The new head starts as PyTorch's own layers do, not with the backbone's small normal distribution.
    for weight in (
        model.attention_stack.blocks[0].intermediate.weight,
        model.attention_stack.blocks[0].attention.key.output.weight,
    ):
        bound = (HIDDEN_SIZE if weight.dim() == 2 else HIDDEN_SIZE / 2) ** -0.5
        assert 0.9 * bound < weight.abs().max() <= bound


@every_backbone
@pytest.mark.parametrize("head", [{"attention_variant": None}, {"num_attention_blocks": 0}])
def test_the_baseline_is_a_linear_layer(name: str, head: dict[str, Any]) -> None:
    model, given = build(name, **head), inputs()
    beyond = {key for key, _ in model.named_parameters() if not key.startswith(f"{model.base_model_prefix}.")}
    assert beyond == {"scope_classifier.weight", "scope_classifier.bias"}
    encoded = model.base_model(given["input_ids"], attention_mask=given["attention_mask"]).last_hidden_state
    close(logits_of(model, **given), model.scope_classifier(encoded))


@every_backbone
def test_from_config(name: str) -> None:
    for config in (backbone_config(name), MODELS[name].config_class(**SIZES[name])):
        model = AutoModelForNegationScope.from_config(config, attention_variant="OA-C", num_attention_blocks=1)
        assert type(model) is MODELS[name]
        assert (model.config.attention_variant, len(model.attention_stack.blocks)) == ("OA-C", 1)
        assert model.config.hidden_size == HIDDEN_SIZE


def test_from_config_keeps_what_transformers_from_config_keeps() -> None:
    plain, eager = backbone_config("bert"), backbone_config("bert", attn_implementation="eager")
    assert AutoModelForNegationScope.from_config(eager).config._attn_implementation == "eager"
    assert (
        AutoModelForNegationScope.from_config(plain, attn_implementation="eager").config._attn_implementation == "eager"
    )
    assert AutoModelForNegationScope.from_config(plain, dtype=torch.bfloat16).dtype == torch.bfloat16


def test_from_pretrained_with_the_config_of_the_backbone(tmp_path: Path) -> None:
    config = backbone_config("bert", hidden_dropout_prob=0.25)
    AutoModel.from_config(config).save_pretrained(tmp_path)
    model = AutoModelForNegationScope.from_pretrained(tmp_path, config=config, attention_variant="OA-C")
    assert (model.config.hidden_dropout_prob, model.config.attention_variant) == (0.25, "OA-C")


def test_the_labels_of_a_fine_tuned_backbone_are_not_taken_over(tmp_path: Path) -> None:
    """Its weights are; but label 1 is "in scope" whatever it was told apart before."""
    AutoModel.from_config(backbone_config("bert", num_labels=3)).save_pretrained(tmp_path)
    for model in (
        AutoModelForNegationScope.from_pretrained(tmp_path),
        AutoModelForNegationScope.from_config(backbone_config("bert", num_labels=3)),
    ):
        assert model.scope_classifier.out_features == 2
        assert model.config.id2label == {0: "out-of-scope", 1: "in-scope"}


def test_unknown_encoders(tmp_path: Path) -> None:
    config = GPT2Config(n_embd=8, n_layer=1, n_head=2)
    config.save_pretrained(tmp_path)
    auto, said = (
        AutoModelForNegationScope,
        r"'gpt2'; there is one for xlnet, bert, roberta, albert, deberta-v2, modernbert",
    )
    for load in (lambda: auto.from_config(config), lambda: auto.from_pretrained(tmp_path)):
        with pytest.raises(ValueError, match=said):
            load()
    with pytest.raises(OSError, match=r"from_pretrained\(\.\.\.\) or \.from_config"):
        AutoModelForNegationScope()


@every_backbone
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"num_attention_blocks": -1}, "num_attention_blocks is -1"),
        ({"head_dropout": 1.0}, "head_dropout is 1.0"),
        ({"head_dropout": -0.1}, "head_dropout is -0.1"),
        ({"max_cue_length": 0}, "max_cue_length is 0"),
        ({"num_block_heads": 5}, "5 heads do not divide the hidden size 16"),
        ({"num_block_heads": 2}, r"not a perfect square; these numbers of heads would do: \[1, 4, 16\]"),
        ({"attention_variant": "OA-X"}, "unknown attention variant 'OA-X'"),
    ],
)
def test_impossible_configs(name: str, fields: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        MODELS[name].config_class(**SIZES[name] | fields)
    if "num_block_heads" in fields or "attention_variant" in fields:
        MODELS[name].config_class(**SIZES[name] | fields | {"num_attention_blocks": 0})  # the baseline has no block
    backbone_config(name).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=said):
        MODELS[name].config_class.from_pretrained(tmp_path, **fields)


# ---------------------------------------------------------------------------------- attention kernels, checkpointing


@pytest.mark.parametrize("name", SDPA)
def test_attention_implementations_agree_and_are_respected(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, given = build(name), inputs()
    model.save_pretrained(tmp_path)
    calls = []
    fused = nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        nn.functional, "scaled_dot_product_attention", lambda *a, **k: calls.append(1) or fused(*a, **k)
    )
    logits = {}
    for implementation in ("eager", "sdpa"):
        calls.clear()
        loaded = AutoModelForNegationScope.from_pretrained(tmp_path, attn_implementation=implementation)
        logits[implementation] = logits_of(loaded, **given)
        assert bool(calls) == (implementation == "sdpa")
        calls.clear()
        logits_of(AutoModelForNegationScope.from_config(model.config, attn_implementation=implementation), **given)
        assert bool(calls) == (implementation == "sdpa")
    mask = given["attention_mask"].bool()
    close(logits["eager"][mask], logits["sdpa"][mask])


@every_backbone
def test_gradient_checkpointing(name: str) -> None:
    model, given = build(name, **NO_DROPOUT).train(), inputs()
    runs: dict[str, int] = {}
    for key, module in model.named_modules():
        if isinstance(module, nn.Linear) and ("layer" in key or "blocks" in key):
            module.register_forward_pre_hook(lambda *_, key=key: runs.update({key: runs.get(key, 0) + 1}))
    gradients = []
    counts = []
    for checkpointing in (False, True):
        if checkpointing:
            # The older name is deprecated; the newer one is not there yet in the lowest version allowed.
            newer = hasattr(model, "activation_checkpointing_enable")
            (model.activation_checkpointing_enable if newer else model.gradient_checkpointing_enable)()
        model.zero_grad()
        runs.clear()
        model(**given, labels=LABELS, word_ids=WORD_IDS).loss.backward()
        counts.append(dict(runs))
        gradients.append({key: p.grad.clone() for key, p in model.named_parameters() if p.grad is not None})
    assert counts[1] == {key: 2 * times for key, times in counts[0].items()}, "every layer is run again going back"
    assert any("blocks" in key for key in counts[0])
    assert any(key.startswith(model.base_model_prefix) for key in counts[0])
    assert gradients[0].keys() == gradients[1].keys()
    for key, gradient in gradients[0].items():
        close(gradients[1][key], gradient, 1e-6)


# -------------------------------------------------------------------------------------------------- compile and export


@every_backbone
def test_compiled_in_one_graph(name: str) -> None:
    torch._dynamo.reset()
    model, given = build(name, **ONE_LAYER), inputs()
    assert given["input_ids"].size(1) < model.config.max_cue_length
    expected = logits_of(model, **given)
    close(logits_of(torch.compile(model, fullgraph=True, backend="aot_eager"), **given), expected)


@every_backbone
def test_exported_for_every_batch_and_length(name: str) -> None:
    model, given = build(name, **ONE_LAYER, max_cue_length=8), inputs()
    dimensions = {key: {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO} for key in given}
    exported = torch.export.export(model, (), given, dynamic_shapes=dimensions).module()
    generator = torch.Generator().manual_seed(2)
    for size, length in ((3, 7), (2, 4), (1, 3), (5, 29)):
        ids = torch.randint(5, VOCABULARY, (size, length), generator=generator)
        cue_mask = torch.zeros_like(ids)
        cue_mask[0, 1:3] = cue_mask[-1, 2] = 1
        given = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "cue_mask": cue_mask}
        close(logits_of(exported, **given), logits_of(model, **given))
