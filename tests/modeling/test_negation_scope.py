"""What is particular to the negation scope models: the head's formulas, cue, token types, weights and loss."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoModelForTokenClassification

from clozeformers.modeling.attention import ATTENTIONS
from clozeformers.modeling.losses import word_loss

from . import literal
from .tiny_models import (
    HEADS,
    NEGATION,
    NEGATION_LABELS,
    SIZES,
    backbone_config,
    close,
    every_backbone,
    logits_of,
    negation_inputs,
)

LABELS, WORD_IDS = NEGATION_LABELS.values()
RELATIVE_POSITIONS = ["xlnet", "deberta-v2", "modernbert"]


@pytest.mark.parametrize("variant", ["OA-C", "OA-CA", "OA-EM", "OA-EMB"])
@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize("name", ["xlnet", "bert"])
def test_the_head_is_the_one_of_the_paper(name: str, variant: str, blocks: int) -> None:
    """Y = Linear(blocks(X1) + X1)."""
    model, given = (
        NEGATION.build(name, attention_variant=variant, num_attention_blocks=blocks).double(),
        negation_inputs(),
    )
    mask = given["attention_mask"]
    encoded = model.base_model(given["input_ids"], attention_mask=mask).last_hidden_state
    ours = logits_of(model, **given)
    for example in range(2):
        X1 = encoded[example, mask[example].bool()]
        X4, _ = literal.oa_stack(
            model.attention_stack, variant, HEADS, X1, given["cue_mask"][example].nonzero().flatten().tolist()
        )
        close(
            ours[example, : len(X1)], (X4 + X1) @ model.scope_classifier.weight.T + model.scope_classifier.bias, 1e-10
        )


@every_backbone
def test_no_cue(name: str) -> None:
    model, given = NEGATION.build(name), negation_inputs()
    cue_mask = given.pop("cue_mask")
    without = logits_of(model, **given)
    assert without.isfinite().all()
    close(logits_of(model, **given, cue_mask=torch.zeros_like(cue_mask)), without)
    apart = (logits_of(model, **given, cue_mask=cue_mask) - without).abs().amax((1, 2))
    assert (apart[:2] > 1e-4).all(), "the cue is read"
    assert apart[2] < 1e-5, "the third example has none"


def padded(given: dict[str, Tensor], left: int, right: int) -> dict[str, Tensor]:
    fillers = {"input_ids": 1, "attention_mask": 0, "cue_mask": 1}  # what is padding is no cue, whatever is said
    return {key: nn.functional.pad(value, (left, right), value=fillers[key]) for key, value in given.items()}


@pytest.mark.parametrize(
    ("name", "left", "right"), [(name, 0, 4) for name in SIZES] + [(name, 3, 2) for name in RELATIVE_POSITIONS]
)
def test_padding_changes_nothing(name: str, left: int, right: int) -> None:
    model, given = NEGATION.build(name), negation_inputs()
    mask = given["attention_mask"].bool()
    longer = logits_of(model, **padded(given, left, right))[:, left : left + mask.size(1)]
    close(longer[mask], logits_of(model, **given)[mask])


@every_backbone
def test_batch_order_and_a_missing_attention_mask(name: str) -> None:
    model, given = NEGATION.build(name), negation_inputs()
    order = [2, 0, 1]
    close(logits_of(model, **{key: value[order] for key, value in given.items()}), logits_of(model, **given)[order])
    first = {key: value[:1] for key, value in given.items()}
    close(logits_of(model, **{**first, "attention_mask": None}), logits_of(model, **given)[:1])


@every_backbone
def test_token_types(name: str) -> None:
    model, given = NEGATION.build(name), negation_inputs()
    plain, types = logits_of(model, **given), given["cue_mask"]
    close(logits_of(model, **given, token_type_ids=torch.zeros_like(types)), plain)
    difference = (logits_of(model, **given, token_type_ids=types) - plain).abs().max()
    assert (difference > 1e-4) == (name not in ("deberta-v2", "modernbert")), "read where there is more than one type"
    if name == "deberta-v2":
        model = NEGATION.build(name, type_vocab_size=2)
        difference = logits_of(model, **given, token_type_ids=types) - logits_of(model, **given)
        assert difference.abs().max() > 1e-4


@every_backbone
def test_output_attentions(name: str) -> None:
    model, given = NEGATION.build(name, attn_implementation="eager"), negation_inputs()
    out = model(**given, output_attentions=True)
    assert len(out.attentions) == len(out.orthogonal_attentions) == 2
    assert all(weights.shape == (3, HEADS, 7, 7) for weights in out.attentions)
    assert out.cue_positions.tolist() == [[2, -1], [1, 3], [-1, -1]]
    for weights in out.orthogonal_attentions:
        assert weights.shape == (3, HEADS, 7, 2)
        close(weights.sum(-1), torch.tensor([1.0, 1.0, 0.0]).view(3, 1, 1).expand(3, HEADS, 7))
        close(weights[0, ..., 0], torch.ones(HEADS, 7))
    by_config = NEGATION.build(name, attn_implementation="eager", output_attentions=True)(**given)
    assert len(by_config.attentions) == len(by_config.orthogonal_attentions) == 2
    assert NEGATION.build(name, num_attention_blocks=0)(**given, output_attentions=True).cue_positions is None


def test_a_cue_longer_than_the_limit() -> None:
    model, given = NEGATION.build("bert", max_cue_length=2), negation_inputs()
    logits_of(model, **given)
    given["cue_mask"][1, 2] = 1
    with pytest.raises(ValueError, match=r"3 word pieces, but config\.max_cue_length is 2.*max_cue_length = 3"):
        model(**given)
    model.config.max_cue_length = 3
    logits_of(model, **given)


@pytest.mark.parametrize("shape", [(2, 1), (1, 5), (5,)])
def test_a_cue_mask_of_another_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"the input's is \(2, 5\)"):
        NEGATION.build("bert")(input_ids=torch.ones(2, 5, dtype=torch.long), cue_mask=torch.ones(shape))


@pytest.mark.parametrize("variant", sorted(ATTENTIONS))
def test_every_attention_under_the_head(variant: str) -> None:
    """The three laws of the contract, of every registered mechanism, in a model and through its gradients."""
    model, given = NEGATION.build("bert", attention_variant=variant, num_attention_blocks=2).double(), negation_inputs()
    assert (model.attention_stack.blocks[0].attention.output_size == 16) == (
        "attention_stack.blocks.0.attention_projection.weight" not in model.state_dict()
    )
    expected, mask = logits_of(model, **given), given["attention_mask"].bool()
    close(logits_of(model, **padded(given, 0, 3))[:, : mask.size(1)][mask], expected[mask], 1e-10)
    order = [2, 0, 1]
    close(logits_of(model, **{key: value[order] for key, value in given.items()}), expected[order], 1e-10)
    without = logits_of(model, **given | {"cue_mask": torch.zeros_like(given["cue_mask"])})
    assert without.isfinite().all()
    assert ((expected - without).abs().amax((1, 2)) > 1e-6).tolist() == [True, True, False], "the cue is read"
    out = model.train()(**given, labels=LABELS, output_attentions=True)
    out.loss.backward()
    assert all(p.grad.isfinite().all() for p in model.attention_stack.parameters())
    weights = out.orthogonal_attentions[0]
    assert weights.shape == (3, HEADS if variant.startswith("OA") else 1, 7, 2)
    with_cue = torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64).view(3, 1, 1)
    close(weights.sum(-1), with_cue.expand(weights.shape[:3]), 1e-10)


@every_backbone
@pytest.mark.parametrize("head", [{"attention_variant": None}, {"num_attention_blocks": 0}])
def test_the_baseline_is_a_linear_layer(name: str, head: dict[str, Any]) -> None:
    model, given = NEGATION.build(name, **head), negation_inputs()
    beyond = {key for key, _ in model.named_parameters() if not key.startswith(f"{model.base_model_prefix}.")}
    assert beyond == {"scope_classifier.weight", "scope_classifier.bias"}
    encoded = model.base_model(given["input_ids"], attention_mask=given["attention_mask"]).last_hidden_state
    close(logits_of(model, **given), model.scope_classifier(encoded))


@pytest.mark.parametrize("name", ["bert", "roberta", "albert", "deberta-v2", "modernbert", "xlnet"])
def test_the_baseline_at_first_pieces_is_token_classification(name: str) -> None:
    """The recipe minilm-token-classification-augment trains what transformers' own model would be."""
    model, given = NEGATION.build(name, attention_variant=None), negation_inputs()
    given.pop("cue_mask")
    theirs = AutoModelForTokenClassification.from_config(backbone_config(name)).eval()
    weights = {key.replace("scope_classifier", "classifier"): value for key, value in model.state_dict().items()}
    missing, unexpected = theirs.load_state_dict(weights, strict=False)
    assert (set(missing) <= {"head.dense.weight", "head.norm.weight"}, unexpected) == (True, [])
    if name == "modernbert":  # a further layer, before the classifier
        theirs.head = nn.Identity()
    first = WORD_IDS.masked_fill(LABELS == -100, -1)
    expected = theirs(**given, labels=LABELS)
    ours = model(**given, labels=LABELS, word_ids=first)
    close(ours.logits, expected.logits)
    close(ours.loss, expected.loss)


# ---------------------------------------------------------------------------------------------------------------- loss


@pytest.mark.parametrize("with_words", [True, False])
@pytest.mark.parametrize(("labelled", "items"), [*product([True, False], [None, 13, torch.tensor(5)]), (False, 0)])
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
    assert loss.item() == pytest.approx(total / (max(count, 1) if items is None else max(int(items), 1)), abs=1e-6)
    loss.backward()
    assert logits.grad.isfinite().all()
    assert logits.grad.any() == labelled


@pytest.mark.parametrize("items", [None, 13])
def test_word_loss_of_probabilities(items: Any) -> None:
    torch.manual_seed(0)
    logits = torch.randn(*LABELS.shape, 2, dtype=torch.float64, requires_grad=True)
    close(word_loss(logits, LABELS.double(), WORD_IDS, items), word_loss(logits, LABELS, WORD_IDS, items), 1e-6)
    soft = torch.where(LABELS < 0, -100.0, torch.rand(LABELS.shape, dtype=torch.float64))
    loss = word_loss(logits, soft, WORD_IDS, items)
    scores, total = logits.log_softmax(-1), 0.0
    for example, labels in enumerate(soft.tolist()):
        for place, label in enumerate(labels):
            if label >= 0:
                own = WORD_IDS[example] == WORD_IDS[example, place]
                out, inside = scores[example, own].mean(0)
                total -= (1 - label) * out + label * inside
    close(loss, (total / (items or (LABELS >= 0).sum())).float(), 1e-6)
    loss.backward()
    assert logits.grad.isfinite().all()


def test_words_of_a_window_keep_their_numbers_in_the_sentence() -> None:
    logits = torch.randn(2, 5, 2, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([[-100, 1, -100, 0, -100], [-100, 0, 1, -100, -100]])
    near = torch.tensor([[-1, 0, 0, 1, -1], [-1, 0, 1, 1, -1]])
    far = torch.where(near >= 0, near + 1000, near)
    torch.testing.assert_close(word_loss(logits, labels, far, None), word_loss(logits, labels, near, None))


@every_backbone
def test_several_cues_of_one_encoding(name: str) -> None:
    model, given = NEGATION.build(name, finds_cues=True), negation_inputs()
    masks = torch.stack([given.pop("cue_mask"), torch.zeros_like(given["attention_mask"])], dim=1)
    masks[:, 1, 1] = given["attention_mask"][:, 1]
    labels = torch.stack([LABELS, LABELS.flip(0)], dim=1)
    options = {"word_ids": WORD_IDS, "output_attentions": True}
    output = model(**given, cue_mask=masks, labels=labels, **options)
    alone = [model(**given, cue_mask=masks[:, k], labels=labels[:, k], **options) for k in range(2)]
    for k in range(2):
        count = alone[k].cue_positions.size(1)
        assert torch.equal(output.cue_positions[:, k, :count], alone[k].cue_positions)
        for weights, own in zip(output.orthogonal_attentions, alone[k].orthogonal_attentions, strict=True):
            close(weights[:, k, ..., :count], own)
        close(output.logits[:, k], alone[k].logits)
        close(output.cue_logits, alone[k].cue_logits)
    words = [(labels[:, k] >= 0).sum() for k in range(2)]
    close(output.loss, sum(each.loss * n for each, n in zip(alone, words, strict=True)) / sum(words))
    assert model(**given, cue_mask=masks[:, :0]).logits.shape == (*masks[:, :0].shape, 2)


def test_the_loss_of_cues_is_added() -> None:
    model, given = NEGATION.build("bert", finds_cues=True), negation_inputs()
    cue_labels = LABELS.clone()
    cue_labels[0, 1] = 3
    both = model(**given, labels=LABELS, cue_labels=cue_labels, word_ids=WORD_IDS)
    scopes = model(**given, labels=LABELS, word_ids=WORD_IDS)
    cues = model(**given, cue_labels=cue_labels, word_ids=WORD_IDS)
    close(both.loss, scopes.loss + cues.loss)
    close(cues.loss, word_loss(both.cue_logits, cue_labels, WORD_IDS, None))
    close(both.logits, scopes.logits)
    assert both.cue_logits.shape == (*LABELS.shape, 4)
    assert NEGATION.build("bert")(**given).cue_logits is None
