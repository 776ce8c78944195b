"""Co-attention: fast modules against literal ones, which positions are whose, and how many parameters there are."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from clozeformers import AlbertWithWNDuma, AlbertWNDumaConfig
from clozeformers.modeling import co_attention
from clozeformers.modeling.co_attention import (
    CO_ATTENTIONS,
    CoAttentionStack,
    DualCoAttention,
    masked_mean,
    segment_masks,
)

from . import literal

SIZE, HEADS, HEAD_SIZE = 10, 3, 4  # heads times head size is not the hidden size
every_mode = pytest.mark.parametrize("mode", CO_ATTENTIONS)


@dataclass
class Batch:
    """Rows in which articles, options and what is neither alternate, among large numbers on both sides."""

    hidden_states: Tensor
    kinds: Tensor  # 0: neither, 1: article, 2: option

    def positions(self, row: int, kind: int) -> list[int]:
        return (self.kinds[row] == kind).nonzero().flatten().tolist()


def make_batch() -> Batch:
    kinds = torch.tensor(
        [
            [1, 1, 1, 0, 2, 2, 0, 0, 0],
            [0, 0, 1, 1, 1, 1, 0, 2, 0],
            [0, 0, 0, 1, 0, 2, 2, 2, 2],
            [2, 1, 2, 1, 2, 1, 2, 1, 0],
        ]
    )
    values = torch.randn(*kinds.shape, SIZE, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    values[kinds == 0] *= 100
    return Batch(values.requires_grad_(), kinds)


def build(mode: str, layers: int) -> CoAttentionStack:
    """All parameters random, LayerNorms included, in float64."""
    module = CoAttentionStack(layers, SIZE, HEADS, HEAD_SIZE, mode, dropout=0.5).double().eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-0.6, 0.6, generator=generator)
    return module


def close(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, atol=1e-10, rtol=0)


def gradients(features: Tensor, wanted: list[Tensor]) -> list[Tensor]:
    """Of a sum of the features with weights that all differ."""
    directions = torch.linspace(-1, 2, features.numel(), dtype=features.dtype)
    return list(torch.autograd.grad(features.flatten() @ directions, wanted, materialize_grads=True))


@every_mode
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("with_weights", [False, True])
def test_fast_equals_literal(mode: str, layers: int, with_weights: bool) -> None:
    module, batch = build(mode, layers), make_batch()
    ours = module(batch.hidden_states, batch.kinds == 1, batch.kinds == 2, with_weights=with_weights)
    features = []
    for row in range(len(batch.kinds)):
        article, option = batch.positions(row, 1), batch.positions(row, 2)
        of_row, *weights = literal.co_attention_stack(
            module, mode, HEADS, layers, batch.hidden_states[row], article, option
        )
        features.append(of_row)
        assert ours.article_positions[row].tolist() == article + [-1] * (4 - len(article))
        assert ours.option_positions[row].tolist() == option + [-1] * (4 - len(option))
        for number in range(layers if with_weights else 0):
            close(ours.article_weights[number][row, :, : len(article), : len(option)], weights[0][number])
            close(ours.option_weights[number][row, :, : len(option), : len(article)], weights[1][number])
    assert len(ours.article_weights) == len(ours.option_weights) == (layers if with_weights else 0)
    close(ours.features, torch.stack(features))
    # Of the inputs, padding included, and of every parameter.
    wanted = [batch.hidden_states, *module.parameters()]
    our_gradients = gradients(ours.features, wanted)
    for mine, theirs in zip(our_gradients, gradients(torch.stack(features), wanted), strict=True):
        close(mine, theirs)
    assert not our_gradients[0][batch.kinds == 0].any()
    assert all(gradient.any() for gradient in our_gradients[1:]), "a comparison of zeros says nothing"


def test_the_two_modes_differ() -> None:
    batch = make_batch()
    stacked, parallel = (
        build(mode, 1)(batch.hidden_states, batch.kinds == 1, batch.kinds == 2).features
        for mode in ("stacked", "parallel")
    )
    assert ((stacked - parallel).abs().amax(1) > 1e-3).all()


@every_mode
@pytest.mark.parametrize("with_weights", [False, True])
@pytest.mark.parametrize("empty", [1, 2])
def test_a_segment_without_positions_stays_finite(
    mode: str, with_weights: bool, empty: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fused(*heads: Tensor, attn_mask: Tensor) -> Tensor:
        assert attn_mask.any(-1).all(), "not every kernel gives numbers for a softmax over nothing"
        return nn.functional.scaled_dot_product_attention(*heads, attn_mask=attn_mask)

    monkeypatch.setattr(co_attention, "scaled_dot_product_attention", fused)
    module, batch = build(mode, 2), make_batch()
    batch.kinds[0][batch.kinds[0] == empty] = 0
    batch.kinds[1] = 0
    masks = batch.kinds == 1, batch.kinds == 2
    features = module(batch.hidden_states, *masks, with_weights=with_weights).features
    assert features.isfinite().all()
    close(module(batch.hidden_states, *masks, with_weights=not with_weights).features, features)
    assert all(gradient.isfinite().all() for gradient in gradients(features, list(module.parameters())))


@every_mode
def test_dropout_is_on_the_encoders_output_and_on_the_attentions(mode: str) -> None:
    layer = DualCoAttention(SIZE, HEADS, HEAD_SIZE, mode, dropout=1.0).double().train()
    article, option = torch.randn(1, 3, SIZE).double(), torch.randn(1, 2, SIZE).double()
    masks = torch.ones(1, 3, dtype=torch.bool), torch.ones(1, 2, dtype=torch.bool)
    new_article, new_option, *weights = layer(article, option, *masks, with_weights=True)
    expected = (layer.norm(article), layer.norm(option)) if mode == "stacked" else (article * 0, option * 0)
    close(new_article, expected[0])
    close(new_option, expected[1])
    assert all((of_look.sum(-1) - 1).abs().max() < 1e-10 for of_look in weights), "the weights are not dropped"
    batch, module = make_batch(), build("stacked", 1).train()
    module.layer.dropout.p = 1.0
    features = module(batch.hidden_states, batch.kinds == 1, batch.kinds == 2).features
    close(features, features[:1].expand_as(features))


# ---------------------------------------------------------------------------------------------------------- segments

# What stands at each position, and whose it is: A of the article, O of the option, . of neither. `-` is padding, which
# may have any type.
LAYOUTS = {
    "BERT": (1, "0000 111", "AAA. OO."),
    "BERT without an article": (1, "00 111", "A. OO."),
    "BERT without an article and its separator": (1, "0 111", "A OO."),
    "BERT, padded on the right": (1, "0000 111 ---", "AAA. OO. ..."),
    "BERT, padded on the left": (1, "--- 0000 111", "... AAA. OO."),
    "RoBERTa": (2, "00000 111", "AAA.. OO."),
    "RoBERTa without an article": (2, "000 111", "A.. OO."),
    "RoBERTa without an article and a separator": (2, "00 111", "A. OO."),
    "RoBERTa, padded on both sides": (2, "-- 0000 11 --", ".. AA.. O. .."),
    "XLNet": (1, "000 111 2", "AA. OO. A"),
    "XLNet without an article": (1, "0 111 2", ". OO. A"),
    "XLNet without an article and its separator": (1, "111 2", "OO. A"),
    "XLNet, padded on the left": (1, "-- 000 11 2", ".. AA. O. A"),
    "nothing but padding": (1, "----", "...."),
    "an option of a separator": (1, "000 1", "AA. ."),
    "no option": (1, "000", "AA."),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("padding_type", [0, 1, 2])
def test_segments(name: str, padding_type: int) -> None:
    separators, types, whose = LAYOUTS[name]
    types, whose = types.replace(" ", ""), whose.replace(" ", "")
    token_types = torch.tensor([[padding_type if kind == "-" else int(kind) for kind in types]] * 2)
    real = torch.tensor([[kind != "-" for kind in types]] * 2)
    article, option = segment_masks(token_types, real, separators)
    for mask, letter in ((article, "A"), (option, "O")):
        assert mask.tolist() == [[kind == letter for kind in whose]] * 2


@given(st.lists(st.lists(st.integers(-9, 9), max_size=5), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_masked_mean(rows: list[list[int]]) -> None:
    length = max(len(row) for row in rows) + 1
    vectors = torch.full((len(rows), length, 1), 1e6)
    for number, row in enumerate(rows):
        vectors[number, : len(row), 0] = torch.tensor(row)
    mask = torch.arange(length) < torch.tensor([len(row) for row in rows]).unsqueeze(1)
    expected = [[sum(row) / max(len(row), 1)] for row in rows]
    torch.testing.assert_close(masked_mean(vectors, mask), torch.tensor(expected))


# ---------------------------------------------------------------------------------------------------------- parameters


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def albert_xxlarge(**head: object) -> AlbertWithWNDuma:
    with torch.device("meta"):
        return AlbertWithWNDuma(AlbertWNDumaConfig(**head))  # the config's own sizes are those of ALBERT-xxlarge


@every_mode
@pytest.mark.parametrize("layers", [1, 2, 5])
def test_parameters_of_albert_xxlarge(mode: str, layers: int) -> None:
    """Definitions, the order of the looks, and further layers add none (section 4.1)."""
    model = albert_xxlarge(co_attention=mode, num_co_attention_layers=layers)
    assert count(model) - count(model.albert) == 4 * 4096 * 4096 + 2 * 4096 + 2 * 4096 + 1 == 67_125_249
    assert count(model.albert) == count(albert_xxlarge(num_co_attention_layers=0).albert) - 4096 * 4096 - 4096


def test_parameters_of_the_encoder_alone() -> None:
    model = albert_xxlarge(num_co_attention_layers=0)
    assert count(model) - count(model.albert) == 4096 + 1
