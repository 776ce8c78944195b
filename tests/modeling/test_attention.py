"""The contract of a query-context attention: its three laws for every mechanism, and the registry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from clozeformers import (
    BiDAFConfig,
    BiDAFForQuestionAnswering,
    QANetConfig,
    QANetForQuestionAnswering,
    register_attention,
)
from clozeformers.modeling.attention import ATTENTIONS, QueryContextAttention, masked_softmax
from clozeformers.modeling.co_attention import MultiHeadAttention
from clozeformers.modeling.context_query_attention import build_attention
from clozeformers.modeling.orthogonal_attention import (
    Alpha,
    ConvolutionAlpha,
    MultiplicationAttention,
    MultipliedSummaryBeta,
    OrthogonalAttention,
    QueryGeneratedMap,
)

from .tiny_models import NEGATION, logits_of, negation_inputs

SIZE = 8
every_mechanism = pytest.mark.parametrize("name", [*ATTENTIONS, "multi-head"])
few = settings(max_examples=20, deadline=None)


def make(name: str, seed: int = 0) -> QueryContextAttention:
    if name == "multi-head":
        module: QueryContextAttention = MultiHeadAttention(SIZE, num_heads=2, head_size=3)
    else:
        module = build_attention(name, SIZE, num_heads=2, rnn_size=3)
    module = module.double().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-1, 1, generator=generator)
    return module


@dataclass
class Example:
    """One context and one query, without padding."""

    context: Tensor
    query: Tensor


@st.composite
def examples(draw: st.DrawFn) -> Example:
    length, query_length = draw(st.integers(1, 6)), draw(st.integers(0, 4))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    return Example(*(torch.randn(n, SIZE, generator=generator, dtype=torch.float64) for n in (length, query_length)))


def pad_rows(rows: list[Tensor], places: list[list[int]], length: int, seed: int) -> tuple[Tensor, Tensor]:
    """Put each example's vectors at the stated places; large noise elsewhere."""
    generator = torch.Generator().manual_seed(seed)
    padded = 50 * torch.randn(len(rows), length, SIZE, generator=generator, dtype=torch.float64)
    mask = torch.zeros(len(rows), length, dtype=torch.bool)
    for example, (row, place) in enumerate(zip(rows, places, strict=True)):
        padded[example, place] = row
        mask[example, place] = True
    return padded, mask


@st.composite
def places_for(draw: st.DrawFn, lengths: list[int]) -> tuple[list[list[int]], int]:
    """Where each example's positions stand among the padding: anywhere, in order."""
    total = max(lengths) + draw(st.integers(0, 4))
    return [sorted(draw(st.permutations(range(total)))[:length]) for length in lengths], total


def batch_of(data: st.DataObject, many: list[Example]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    seed = data.draw(st.integers(0, 2**31))
    context, context_mask = pad_rows(
        [one.context for one in many], *data.draw(places_for([len(one.context) for one in many])), seed
    )
    query, query_mask = pad_rows(
        [one.query for one in many], *data.draw(places_for([len(one.query) for one in many])), seed + 1
    )
    return context, query, context_mask, query_mask


def alone(module: QueryContextAttention, one: Example) -> Tensor:
    masks = (torch.ones(1, len(part), dtype=torch.bool) for part in (one.context, one.query))
    return module(one.context[None], one.query[None], *masks)[0]


def test_the_names() -> None:
    assert {"OA-C", "OA-CA", "OA-EM", "OA-EMB", "trilinear", "bidaf", "dot", "self", "combined"} == set(ATTENTIONS)


@pytest.mark.parametrize("base", [QueryContextAttention, Alpha, QueryGeneratedMap])
def test_unfinished_classes_name_the_missing_method(base: type) -> None:
    tensors = [torch.zeros(1, 1, SIZE)] * 2
    masks = [torch.ones(1, 1, dtype=torch.bool)] * 2
    missing = "generate_weights" if base is QueryGeneratedMap else "forward"
    with pytest.raises(NotImplementedError, match=f"{base.__name__} must define {missing}"):
        base()(*tensors, *masks) if base is QueryContextAttention else base(SIZE, 2)(*tensors)


@every_mechanism
@given(data=st.data(), many=st.lists(examples(), min_size=1, max_size=4))
@few
def test_padding_changes_nothing(name: str, data: st.DataObject, many: list[Example]) -> None:
    module = make(name)
    context, query, context_mask, query_mask = batch_of(data, many)
    out = module(context, query, context_mask, query_mask)
    assert out.shape == (*context.shape[:2], module.output_size)
    assert out.isfinite().all()
    for example, one in enumerate(many):
        torch.testing.assert_close(out[example][context_mask[example]], alone(module, one), atol=1e-10, rtol=0)


@every_mechanism
@given(data=st.data(), many=st.lists(examples(), min_size=2, max_size=4))
@few
def test_the_order_of_examples_changes_nothing(name: str, data: st.DataObject, many: list[Example]) -> None:
    module, batch = make(name), batch_of(data, many)
    order = data.draw(st.permutations(range(len(many))))
    torch.testing.assert_close(module(*(part[order] for part in batch)), module(*batch)[order], atol=1e-10, rtol=0)


@every_mechanism
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@given(data=st.data(), many=st.lists(examples(), min_size=1, max_size=3))
@settings(max_examples=8, deadline=None)
def test_an_example_without_query_is_finite(
    name: str, dtype: torch.dtype, data: st.DataObject, many: list[Example]
) -> None:
    module = make(name).to(dtype)
    many[0].query = many[0].query[:0]
    *both, context_mask, query_mask = batch_of(data, many)
    if data.draw(st.booleans()):
        context_mask[0] = False  # a row that is nothing but padding
    context, query = (part.to(dtype).requires_grad_() for part in both)
    out = module(context, query, context_mask, query_mask)
    assert out.isfinite().all()
    out.float().square().sum().backward()
    for tensor in (context, query, *module.parameters()):
        assert tensor.grad.isfinite().all()


@every_mechanism
def test_the_query_is_read(name: str) -> None:
    """The laws would be easy to keep by reading nothing."""
    module = make(name)
    generator = torch.Generator().manual_seed(1)
    context, *queries = (torch.randn(2, SIZE, generator=generator, dtype=torch.float64) for _ in range(3))
    first, second = (alone(module, Example(context, query)) for query in queries)
    assert ((first - second).abs() > 1e-4).any(1).all()


@every_mechanism
@given(data=st.data(), many=st.lists(examples(), min_size=1, max_size=3))
@settings(max_examples=8, deadline=None)
def test_weights(name: str, data: st.DataObject, many: list[Example]) -> None:
    """`attend` returns the output of `forward` and weights that sum to one over a query, and to zero without one."""
    module, (context, query, context_mask, query_mask) = make(name), batch_of(data, many)
    output, weights = module.attend(context, query, context_mask, query_mask)
    torch.testing.assert_close(output, module(context, query, context_mask, query_mask), atol=1e-10, rtol=0)
    assert weights.shape == (len(many), 2 if name[:2] in ("OA", "mu") else 1, context.size(1), query.size(1))
    expected = query_mask.any(1).to(weights.dtype).view(-1, 1, 1).expand(weights.shape[:3])
    torch.testing.assert_close(weights.sum(-1), expected, atol=1e-10, rtol=0)
    assert not weights.masked_select(~query_mask[:, None, None, :]).any()


# ------------------------------------------------------------------------------------------------------------ registry


class ScaledMean(QueryContextAttention):
    """A mechanism of a user: no heads, no weights, a parameter of its own, an output of another width."""

    def __init__(self, size: int, dropout: float) -> None:
        super().__init__()
        self.output_size, self.fan_in, self.dropout = size + 1, size, dropout
        self.scale = torch.nn.Parameter(torch.empty(size))

    def forward(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> Tensor:
        total = query.masked_fill(~query_mask.unsqueeze(-1), 0.0).sum(1) / query_mask.sum(1, keepdim=True).clamp(min=1)
        return torch.cat([context * (self.scale * total).unsqueeze(1), context[..., :1]], dim=-1)


class MixedVariant(OrthogonalAttention):
    """A new variant of Orthogonal Attention."""

    alpha, beta = ConvolutionAlpha, MultipliedSummaryBeta


@pytest.fixture
def registered() -> Iterator[None]:
    """Two more mechanisms, for one test."""
    register_attention("mean", ScaledMean)
    register_attention("OA-CM", MixedVariant)
    register_attention("mean", ScaledMean)  # again, as by a notebook cell
    yield
    del ATTENTIONS["mean"], ATTENTIONS["OA-CM"]


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("name", ["mean", "OA-CM"])
def test_a_registered_mechanism_works_in_every_model(name: str) -> None:
    model = NEGATION.build("bert", attention_variant=name, head_dropout=0.1)
    attention = model.attention_stack.blocks[1].attention
    assert type(attention) is ATTENTIONS[name]
    assert all(0 < p.abs().max() < 1 and p.isfinite().all() for p in attention.parameters())
    given = negation_inputs()
    difference = logits_of(model, **given) - logits_of(model, **given | {"cue_mask": given["cue_mask"] * 0})
    assert (difference.abs().amax((1, 2)) > 1e-5).tolist() == [True, True, False]
    if name == "mean":
        with pytest.raises(NotImplementedError, match=r"ScaledMean must define .* attend\(\.\.\.\) to return weights"):
            model(**given, output_attentions=True)
    check_reader(QANetForQuestionAnswering(QANetConfig(**READER, attention=name)))
    check_reader(BiDAFForQuestionAnswering(BiDAFConfig(**READER | {"num_attention_heads": 4}, attention=name)))


READER = {"vocab_size": 30, "word_embedding_size": 6, "num_char_filters": 0, "hidden_size": 8, "num_attention_heads": 2}


@pytest.mark.parametrize("model_class", [QANetForQuestionAnswering, BiDAFForQuestionAnswering])
@pytest.mark.parametrize("name", ATTENTIONS)
def test_every_mechanism_in_every_reader(name: str, model_class: type) -> None:
    heads = 4 if model_class is BiDAFForQuestionAnswering and name in ("OA-C", "OA-CA") else 2
    torch.manual_seed(0)
    fields = READER | {"num_attention_heads": heads, "attention": name}
    if model_class is QANetForQuestionAnswering:
        fields["layer_drop"] = 0  # a layer that is skipped has no gradient
    check_reader(model_class(model_class.config_class(**fields)))


def check_reader(model: torch.nn.Module) -> None:
    """The three laws, of a model: padding, the order of the batch, no question."""
    model = model.double().eval()
    rows = [[2, 5, 6, 3, 7, 8, 9, 3], [2, 3, 7, 8, 3, 0, 0, 0], [2, 9, 3, 5, 3, 0, 0, 0]]  # the second has no question
    ids = torch.tensor(rows)
    out = logits(model, ids)
    assert out.isfinite().all()
    torch.testing.assert_close(logits(model, ids[[2, 0, 1]]), out[:, [2, 0, 1]], atol=1e-10, rtol=0)
    padded = logits(model, torch.nn.functional.pad(ids, (0, 3)))
    torch.testing.assert_close(padded[..., : ids.size(1)], out, atol=1e-10, rtol=0)
    model.train()(
        input_ids=ids, start_positions=torch.tensor([4, 2, 3]), end_positions=torch.tensor([5, 3, 3])
    ).loss.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.requires_grad)


def logits(model: torch.nn.Module, ids: Tensor) -> Tensor:
    with torch.no_grad():
        out = model(input_ids=ids)
    return torch.stack([out.start_logits, out.end_logits])


def test_errors_of_the_registry() -> None:
    with pytest.raises(ValueError, match=r"'OA-EM' is registered already, for MultiplicationAttention; .*'?OA-EMB"):
        register_attention("OA-EM", MixedVariant)
    assert ATTENTIONS["OA-EM"] is MultiplicationAttention
    with pytest.raises(ValueError, match="unknown attention 'nothing'; known are OA-C, OA-CA"):
        build_attention("nothing", SIZE, num_heads=2, rnn_size=3)


# ------------------------------------------------------------------------------------------------------ masked softmax


def test_masked_softmax_by_hand() -> None:
    scores = torch.tensor([[0.0, 7.0, 0.0], [1.0, 2.0, 3.0], [-1e30, 5.0, -1e30]])
    mask = torch.tensor([[True, False, True], [False, False, False], [True, False, True]])
    expected = torch.tensor([[0.5, 0.0, 0.5], [0.0, 0.0, 0.0], [0.5, 0.0, 0.5]])
    torch.testing.assert_close(masked_softmax(scores, mask), expected, atol=0, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_masked_softmax_broadcasts_keeps_its_type_and_differentiates(dtype: torch.dtype) -> None:
    scores = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0)).to(dtype).requires_grad_()
    mask = torch.tensor([[True, True, False, True, False], [False] * 5])[:, None, None, :]
    weights = masked_softmax(scores, mask)
    assert weights.dtype == dtype
    real = scores[0][..., [0, 1, 3]].softmax(-1)
    torch.testing.assert_close(weights[0][..., [0, 1, 3]], real)
    assert not weights[0][..., [2, 4]].any()
    assert not weights[1].any()
    weights.square().sum().backward()
    assert scores.grad.isfinite().all()
    assert not scores.grad[1].any()
