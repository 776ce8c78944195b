"""The contract of a query-context attention: its three laws, and the two functions that mechanisms keep them with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from clozeformers.modeling.attention import QueryContextAttention, gather_query, masked_softmax
from clozeformers.modeling.co_attention import MultiHeadAttention
from clozeformers.modeling.context_query_attention import ATTENTIONS, build_attention
from clozeformers.modeling.orthogonal_attention import VARIANTS

SIZE = 8
MECHANISMS: dict[str, Callable[[], QueryContextAttention]] = {
    name: lambda name=name: build_attention(name, SIZE, num_heads=2, hidden_size=3) for name in [*VARIANTS, *ATTENTIONS]
} | {"multi-head": lambda: MultiHeadAttention(SIZE, num_heads=2, head_size=3)}
every_mechanism = pytest.mark.parametrize("name", MECHANISMS)
few = settings(max_examples=20, deadline=None)


def make(name: str, seed: int = 0) -> QueryContextAttention:
    module = MECHANISMS[name]().double().eval()
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


def test_every_mechanism_is_tested() -> None:
    """A mechanism added to the library has to be added above."""
    known = {type(make(name)) for name in MECHANISMS}
    defined = {cls for cls in QueryContextAttention.__subclasses__() if cls.__module__.startswith("clozeformers.")}
    assert defined == known
    assert set(MECHANISMS) >= {"OA-C", "OA-CA", "OA-EM", "OA-EMB", "bidaf", "trilinear"}


def test_a_mechanism_must_define_forward() -> None:
    class Unfinished(QueryContextAttention):
        pass

    with pytest.raises(NotImplementedError, match="Unfinished must define forward"):
        Unfinished()(*[torch.zeros(1, 1, SIZE)] * 2, *[torch.ones(1, 1, dtype=torch.bool)] * 2)


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


@given(
    rows=st.integers(1, 7).flatmap(
        lambda m: st.lists(st.lists(st.booleans(), min_size=m, max_size=m), min_size=1, max_size=4)
    ),
    spare=st.integers(0, 9),
)
@settings(max_examples=60, deadline=None)
def test_gather_query(rows: list[list[bool]], spare: int) -> None:
    query_mask = torch.tensor(rows)
    length = max(sum(row) for row in rows) + spare  # may well be more than there are positions
    hidden_states = torch.arange(1.0, query_mask.numel() * 2 + 1).view(*query_mask.shape, 2).requires_grad_()
    query, mask, positions = gather_query(hidden_states, query_mask, length)
    assert query.shape == (len(rows), length, 2)
    for example, row in enumerate(rows):
        expected = [position for position, is_query in enumerate(row) if is_query]
        missing = length - len(expected)
        assert mask[example].tolist() == [True] * len(expected) + [False] * missing
        assert positions[example].tolist() == expected + [-1] * missing
        torch.testing.assert_close(query[example, : len(expected)], hidden_states[example, expected])
        assert not query[example, len(expected) :].any()
    query.sum().backward()
    assert torch.equal(hidden_states.grad, query_mask.unsqueeze(-1).expand_as(hidden_states).float())
