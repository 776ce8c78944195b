"""Orthogonal Attention: the fast modules against the literal ones, the paper's parameter counts, sizes and variants."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from clozeformers import OrthogonalAttention, XLNetForNegationScopeOA, XLNetNegationScopeOAConfig
from clozeformers.modeling.attention import self_attention
from clozeformers.modeling.context_query_attention import check_attention
from clozeformers.modeling.modeling_negation_scope import QueryContextBlock, QueryContextStack

from . import literal

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
    """All parameters random, LayerNorms included, in float64."""
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
        out, weights, _ = module(batch.context, batch.context_mask, batch.cue_mask, longest, True)
        query_lengths = batch.cue_mask.sum(1)
    else:
        given = (*batch.inputs, *batch.masks)
        out, shares = module.attend(*given) if level == "attention" else module(*given, True)
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
            out, shares = literal.oa_stack(module, variant, HEADS, context, positions)
        else:
            query = batch.query[example][batch.query_mask[example]]
            out, share = getattr(literal, f"oa_{level}")(module, variant, HEADS, context, query)
            shares = [share]
        outputs.append(out)
        weights.append(shares)
    return Result(outputs, [of_example[number] for number in range(len(weights[0])) for of_example in weights])


def build(level: str, variant: str) -> nn.Module:
    if level == "attention":
        return make(OrthogonalAttention(HIDDEN_SIZE, HEADS, variant))
    if level == "block":
        return make(QueryContextBlock(HIDDEN_SIZE, HEADS, variant, dropout=0.3))
    return make(QueryContextStack(2, HIDDEN_SIZE, HEADS, variant, dropout=0.3))


def largest_difference(ours: list[Tensor], theirs: list[Tensor]) -> float:
    assert [t.shape for t in ours] == [t.shape for t in theirs]
    return max((a - b).abs().max().item() for a, b in zip(ours, theirs, strict=True) if a.numel())


def gradients(outputs: list[Tensor], wanted: list[Tensor]) -> list[Tensor]:
    """Of a sum of the outputs with weights that all differ."""
    flat = torch.cat([out.flatten() for out in outputs])
    directions = torch.linspace(-1, 2, flat.numel(), dtype=flat.dtype)
    return list(torch.autograd.grad(flat @ directions, wanted, allow_unused=True, materialize_grads=True))


@pytest.mark.parametrize("size", [1, 4])
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


def test_self_attention_over_padding() -> None:
    """A fully padded sequence attends to itself: a softmax of an empty set is NaN."""
    batch = make_batch(1)
    projected, nothing = batch.context.repeat(1, 1, 3), torch.zeros_like(batch.context_mask)
    torch.testing.assert_close(self_attention(projected, nothing, HEADS), self_attention(projected, ~nothing, HEADS))


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


# --------------------------------------------------------------------------------------------------------------- sizes


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
        (36, 4, "OA-X", r"unknown attention 'OA-X'; did you mean OA-C or OA-EM\? known are OA-C, OA-CA, OA-EM"),
    ],
)
def test_sizes(hidden_size: int, heads: int, variant: str, said: str | None) -> None:
    if said is None:
        check_attention(variant, hidden_size, heads)
        return
    with pytest.raises(ValueError, match=said):
        check_attention(variant, hidden_size, heads)
    with pytest.raises(ValueError, match=said):
        OrthogonalAttention(hidden_size, heads, variant)
