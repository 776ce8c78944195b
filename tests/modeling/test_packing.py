"""Packing against a stable sort, and its export for every shape."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from clozeformers.modeling.packing import gather_query, longest, pack

masks = st.integers(1, 7).flatmap(
    lambda m: st.lists(st.lists(st.booleans(), min_size=m, max_size=m), min_size=1, max_size=4)
)


@given(rows=masks)
@settings(max_examples=60, deadline=None)
def test_pack_is_a_stable_sort(rows: list[list[bool]]) -> None:
    mask = torch.tensor(rows)
    order, ranks = pack(mask)
    assert torch.equal(order, torch.argsort((~mask).to(torch.uint8), dim=1, stable=True))
    assert torch.equal(ranks, order.argsort(1))
    assert longest(mask) == max(1, *(sum(row) for row in rows))
    assert longest(mask.to("meta")) == len(rows[0])


def test_pack_of_nothing() -> None:
    for shape in ((0, 3), (2, 0)):
        assert [part.shape for part in pack(torch.zeros(shape, dtype=torch.bool))] == [shape, shape]
    assert longest(torch.zeros(0, 3, dtype=torch.bool)) == 1


@given(rows=masks, spare=st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_gather_query(rows: list[list[bool]], spare: int) -> None:
    query_mask = torch.tensor(rows)
    length = max(sum(row) for row in rows) + spare  # may exceed the number of positions
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


class Packing(nn.Module):
    def forward(self, hidden_states: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        return *pack(mask), *gather_query(hidden_states, mask, 4)


def test_packing_is_exported_without_a_sort() -> None:
    def example(size: int, length: int) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(length)
        mask = torch.rand(size, length, generator=generator) < 3 / length
        mask[:, 4:] = False
        return torch.randn(size, length, 2, generator=generator), mask

    dynamic = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length")}
    exported = torch.export.export(Packing(), example(3, 7), dynamic_shapes=(dynamic, dynamic))
    assert not [node for node in exported.graph.nodes if "sort" in str(node.target)]
    for shape in ((3, 7), (2, 3), (1, 20), (5, 2)):
        given = example(*shape)
        for ours, expected in zip(exported.module()(*given), Packing()(*given), strict=True):
            torch.testing.assert_close(ours, expected, atol=0, rtol=0)
