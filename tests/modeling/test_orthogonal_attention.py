"""Orthogonal Attention: the fast modules against the literal ones, the paper's parameter counts, sizes and variants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from clozeformers import XLNetForNegationScopeOA, XLNetNegationScopeOAConfig, register_variant
from clozeformers.modeling.orthogonal_attention import (
    VARIANTS,
    Alpha,
    FanInLinear,
    OrthogonalAttention,
    OrthogonalAttentionBlock,
    OrthogonalAttentionStack,
    QueryBeta,
    QueryWrittenMap,
    SelfAttention,
    check_sizes,
    split_heads,
)
from tests.modeling import literal_orthogonal_attention as literal

PAPER_VARIANTS = ["OA-C", "OA-CA", "OA-EM", "OA-EMB"]
HEADS, HEAD_SIZE = 2, 9  # filters of width 3: a transposed one would show
HIDDEN_SIZE = HEADS * HEAD_SIZE
LONGEST = 6
TOLERANCE = 1e-10


@dataclass
class Batch:
    """Examples of several lengths, padded with large numbers, now on the right and now on the left."""

    context: Tensor
    query: Tensor
    context_mask: Tensor
    query_mask: Tensor
    cue_mask: Tensor  # where a cue stands in the context, for the stack

    @property
    def inputs(self) -> list[Tensor]:
        return [self.context, self.query]

    @property
    def masks(self) -> list[Tensor]:
        return [self.context_mask, self.query_mask]


def make_batch(size: int) -> Batch:
    """Contexts of 1 to 6 positions and queries of 0 to 3, both in different orders, so that all meet."""
    generator = torch.Generator().manual_seed(size)
    lengths = [LONGEST - 2 * example % LONGEST for example in range(size)] if size > 1 else [5]
    query_lengths = [[2, 3, 0, 1, 2, 0, 3, 1][example % 8] for example in range(size)]
    context_mask, query_mask, cue_mask = (torch.zeros(size, n, dtype=torch.bool) for n in (LONGEST, 4, LONGEST))
    for example, (length, query_length) in enumerate(zip(lengths, query_lengths, strict=True)):
        start = (LONGEST - length) * (example % 2)
        context_mask[example, start : start + length] = True
        query_mask[example, :query_length] = True
        # A cue in parts: every other position, as many as there are.
        cue_mask[example, start : start + length : 2][:query_length] = True
    tensors = []
    for mask in (context_mask, query_mask):
        values = torch.randn(*mask.shape, HIDDEN_SIZE, generator=generator, dtype=torch.float64)
        values[~mask] *= 100
        tensors.append(values.requires_grad_())
    return Batch(*tensors, context_mask, query_mask, cue_mask)


def make(module: nn.Module) -> nn.Module:
    """All parameters random (LayerNorms start at one and zero, where much would not be seen), in float64."""
    generator = torch.Generator().manual_seed(0)
    module = module.double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-0.6, 0.6, generator=generator)
    return module


@dataclass
class Result:
    """What a module makes of a batch: outputs one a real context position, weights one a real pair."""

    outputs: list[Tensor]
    weights: list[Tensor]


def fast(level: str, module: nn.Module, batch: Batch) -> Result:
    if level == "stack":
        longest = int(batch.cue_mask.sum(1).max())
        out, weights, _ = module(batch.context, batch.context_mask, batch.cue_mask, longest)
        query_lengths = batch.cue_mask.sum(1)
    else:
        out, shares = (module.attend if level == "attention" else module)(*batch.inputs, *batch.masks)
        weights, query_lengths = (shares,), batch.query_mask.sum(1)
    real = [
        shares[example][:, batch.context_mask[example], :n]
        for shares in weights
        for example, n in enumerate(query_lengths.tolist())
    ]
    return Result([out[example][mask] for example, mask in enumerate(batch.context_mask)], real)


def slow(level: str, module: nn.Module, variant: str, batch: Batch) -> Result:
    outputs: list[Tensor] = []
    weights: list[list[Tensor]] = []
    for example, mask in enumerate(batch.context_mask):
        context = batch.context[example][mask]
        if level == "stack":
            positions = batch.cue_mask[example][mask].nonzero().flatten().tolist()
            out, shares = literal.stack(module, variant, HEADS, context, positions)
        else:
            query = batch.query[example][batch.query_mask[example]]
            out, share = getattr(literal, level)(module, variant, HEADS, context, query)
            shares = [share]
        outputs.append(out)
        weights.append(shares)
    return Result(outputs, [of_example[number] for number in range(len(weights[0])) for of_example in weights])


def build(level: str, variant: str) -> nn.Module:
    if level == "attention":
        return make(OrthogonalAttention(HIDDEN_SIZE, HEADS, variant))
    if level == "block":
        return make(OrthogonalAttentionBlock(HIDDEN_SIZE, HEADS, variant, dropout=0.3))
    return make(OrthogonalAttentionStack(2, HIDDEN_SIZE, HEADS, variant, dropout=0.3))


def largest_difference(ours: list[Tensor], theirs: list[Tensor]) -> float:
    assert [t.shape for t in ours] == [t.shape for t in theirs]
    return max((a - b).abs().max().item() for a, b in zip(ours, theirs, strict=True) if a.numel())


def gradients(outputs: list[Tensor], wanted: list[Tensor]) -> list[Tensor]:
    """Of a sum of the outputs with weights that all differ."""
    flat = torch.cat([out.flatten() for out in outputs])
    directions = torch.linspace(-1, 2, flat.numel(), dtype=flat.dtype)
    return list(torch.autograd.grad(flat @ directions, wanted, allow_unused=True, materialize_grads=True))


@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize("variant", PAPER_VARIANTS)
@pytest.mark.parametrize("level", ["attention", "block", "stack"])
def test_fast_equals_literal(level: str, variant: str, size: int) -> None:
    module, batch = build(level, variant), make_batch(size)
    ours, theirs = fast(level, module, batch), slow(level, module, variant, batch)
    apart = {
        "outputs": largest_difference(ours.outputs, theirs.outputs),
        "weights": largest_difference(ours.weights, theirs.weights),
    }
    # Gradients, with respect to what was fed in (the padding too: nothing must flow there) and to every parameter.
    fed = [batch.context] if level == "stack" else batch.inputs
    wanted = [*fed, *module.parameters()]
    our_gradients = gradients(ours.outputs, wanted)
    apart["gradients"] = largest_difference(our_gradients, gradients(theirs.outputs, wanted))
    for name, difference in apart.items():
        assert difference <= TOLERANCE, name
    still = [
        name for (name, _), g in zip(module.named_parameters(), our_gradients[len(fed) :], strict=True) if not g.any()
    ]
    assert not still, "parameters that nothing depends on make this comparison empty"


def test_dropout_is_on_the_attention_weights() -> None:
    module, batch = OrthogonalAttention(HIDDEN_SIZE, HEADS, "OA-EM", dropout=0.999).double().train(), make_batch(3)
    out, weights = module.attend(*batch.inputs, *batch.masks)
    assert (out[0] == 0).all(1).any(), "nearly all weights are dropped: some position reads nothing"
    sums = weights.sum(-1)[:2].transpose(1, 2)[batch.context_mask[:2]]
    torch.testing.assert_close(sums, torch.ones_like(sums), msg="the weights returned are those before dropout")


def test_self_attention_over_nothing_but_padding() -> None:
    """A softmax over nothing would be undefined: such a sequence attends to itself."""
    module, batch = make(SelfAttention(HIDDEN_SIZE, HEADS)), make_batch(1)
    nothing = torch.zeros_like(batch.context_mask)
    torch.testing.assert_close(module(batch.context, nothing), module(batch.context, ~nothing))


# ------------------------------------------------------------------------------------------------------------- Table 1

TABLE_1 = {
    "OA-C": (6_746_304, 130_212_482),
    "OA-CA": (7_491_360, 131_702_594),
    "OA-EM": (6_598_656, 129_917_186),
    "OA-EMB": (7_337_472, 131_394_818),
}


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def xlnet_base(**head: object) -> XLNetForNegationScopeOA:
    config = XLNetNegationScopeOAConfig(vocab_size=32000, d_model=768, n_layer=12, n_head=12, d_inner=3072, **head)
    with torch.device("meta"):
        return XLNetForNegationScopeOA(config)


@pytest.mark.parametrize("variant", PAPER_VARIANTS)
def test_table_1_of_the_paper(variant: str) -> None:
    model = xlnet_base(attention_variant=variant, num_attention_blocks=2)
    assert model.attention_stack is not None
    assert [count(block) for block in model.attention_stack.blocks] == [TABLE_1[variant][0]] * 2
    assert count(model) == TABLE_1[variant][1]


@pytest.mark.parametrize("head", [{"attention_variant": None}, {"num_attention_blocks": 0}])
def test_table_1_baseline(head: dict[str, object]) -> None:
    model = xlnet_base(**head)
    assert count(model) == 116_719_874
    assert count(model) - count(model.transformer) == 768 * 2 + 2


# --------------------------------------------------------------------------------------------------- sizes and variants


@pytest.mark.parametrize(
    ("hidden_size", "heads", "variant", "said"),
    [
        (48, 12, "OA-C", None),
        (768, 12, "OA-CA", None),
        (36, 6, "OA-EM", None),
        (36, 5, "OA-EM", r"5 heads do not divide the hidden size 36.*\[1, 2, 3, 4, 6, 9, 12, 18, 36\]"),
        (36, 6, "OA-C", r"head size of 6, which is not a perfect square.*would do: \[1, 4, 9, 36\]"),
        (768, 8, "OA-CA", r"head size of 96, which is not a perfect square.*would do: \[3, 12, 48, 192, 768\]"),
        (36, 0, "OA-EM", "0 heads do not divide"),
        (36, 4, "OA-X", "unknown attention variant 'OA-X'; known are OA-C, OA-CA, OA-EM, OA-EMB"),
    ],
)
def test_sizes(hidden_size: int, heads: int, variant: str, said: str | None) -> None:
    if said is None:
        check_sizes(hidden_size, heads, variant)
        return
    with pytest.raises(ValueError, match=said):
        check_sizes(hidden_size, heads, variant)
    with pytest.raises(ValueError, match=said):
        OrthogonalAttention(hidden_size, heads, variant)


@pytest.fixture
def variants() -> Iterator[dict[str, object]]:
    """The variants, as they were again after the test."""
    before = dict(VARIANTS)
    yield VARIANTS
    VARIANTS.clear()
    VARIANTS.update(before)


class AdditionAlpha(Alpha):
    """ReLU(c[i] + q[j])."""

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__(hidden_size, num_heads)
        self.context_projection = FanInLinear(hidden_size, hidden_size)
        self.query_projection = FanInLinear(hidden_size, hidden_size)

    def forward(self, context: Tensor, query: Tensor) -> Tensor:
        context = split_heads(self.context_projection(context), self.num_heads)
        return (context.unsqueeze(3) + split_heads(self.query_projection(query), self.num_heads).unsqueeze(2)).relu()


class ShiftedMapAlpha(QueryWrittenMap):
    """The query writes the bias only."""

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__(hidden_size, num_heads)
        self.query_projection = FanInLinear(hidden_size, hidden_size)

    def write(self, query: Tensor) -> tuple[Tensor, Tensor]:
        bias = split_heads(self.query_projection(query), self.num_heads)
        return self.output.weight.unsqueeze(1).expand(query.size(0), -1, query.size(1), -1, -1), bias


@pytest.mark.parametrize("alpha", [AdditionAlpha, ShiftedMapAlpha])
def test_a_new_variant_works_through_config_and_model(variants: dict[str, object], alpha: type[Alpha]) -> None:
    sizes = {"vocab_size": 20, "d_model": 12, "n_layer": 1, "n_head": 4, "d_inner": 8}
    with pytest.raises(ValueError, match="unknown attention variant 'OA-NEW'"):
        XLNetNegationScopeOAConfig(attention_variant="OA-NEW", **sizes)
    register_variant("OA-NEW", alpha, QueryBeta)
    register_variant("OA-NEW", alpha, QueryBeta)  # again, as a notebook's cell may: harmless
    # A head size of 3: neither part convolves, so it need not be a square.
    model = XLNetForNegationScopeOA(XLNetNegationScopeOAConfig(attention_variant="OA-NEW", **sizes)).eval()
    assert isinstance(model.attention_stack.blocks[1].attention.value, alpha)
    ids = torch.tensor([[5, 6, 7, 8]])
    logits = [model(ids, cue_mask=torch.tensor([mask])).logits for mask in ([0, 1, 0, 0], [0, 0, 1, 1])]
    assert logits[0].isfinite().all()
    assert (logits[0] - logits[1]).abs().max() > 1e-6


def test_a_variant_name_stands_for_one_thing(variants: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"'OA-EM' is registered already.*'OA-EMB'"):
        register_variant("OA-EM", AdditionAlpha, QueryBeta)
    assert VARIANTS["OA-EM"].alpha is not AdditionAlpha


@pytest.mark.parametrize("base", [Alpha, QueryWrittenMap])
def test_an_unfinished_alpha_says_what_is_missing(base: type[Alpha]) -> None:
    missing = "forward" if base is Alpha else "write"
    with pytest.raises(NotImplementedError, match=f"{base.__name__} must define {missing}"):
        base(8, 2)(torch.zeros(1, 3, 8), torch.zeros(1, 1, 8))
