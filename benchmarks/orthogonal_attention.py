"""Table 1 of the Orthogonal Attention paper: parameters and inference time, with the ratio to the baseline.

    python benchmarks/orthogonal_attention.py --output benchmarks/orthogonal_attention.json

XLNet-base with random weights, inputs of 128 word pieces with a cue of two. Every variant is timed alternately with the
baseline in one process, so that variations of the machine's speed affect both; a ratio is the median over pairs of
consecutive runs. "literal" computes the attention example by example and head by head, as in the paper's equations.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import conv1d

from clozeformers import XLNetForNegationScopeOA, XLNetNegationScopeOAConfig
from clozeformers.files import write_json
from clozeformers.modeling.orthogonal_attention import (
    Alpha,
    Beta,
    ConvolutionAlpha,
    ConvolvedSummaryBeta,
    MultipliedSummaryBeta,
    OrthogonalAttention,
    QueryBeta,
)
from clozeformers.training.results import environment

XLNET_BASE = {"d_model": 768, "n_head": 12, "n_layer": 12, "d_inner": 3072}
PAPER = {  # Table 1: parameters of the model and of a block
    "OA-C": (130_212_482, 6_746_304),
    "OA-CA": (131_702_594, 7_491_360),
    "OA-EM": (129_917_186, 6_598_656),
    "OA-EMB": (131_394_818, 7_337_472),
    "baseline": (116_719_874, 0),
}
LENGTH = 128
CUE = slice(20, 22)


def build(variant: str) -> XLNetForNegationScopeOA:
    """XLNet-base with the variant's head, with the same seed for all variants."""
    torch.manual_seed(0)
    config = XLNetNegationScopeOAConfig(**XLNET_BASE, attention_variant=None if variant == "baseline" else variant)
    return XLNetForNegationScopeOA(config).eval()


def inputs(batch_size: int) -> dict[str, Tensor]:
    """A batch of random word pieces, each with a cue of two."""
    ids = torch.randint(10, 30_000, (batch_size, LENGTH), generator=torch.Generator().manual_seed(batch_size))
    cue_mask = torch.zeros_like(ids)
    cue_mask[:, CUE] = 1
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "cue_mask": cue_mask}


# ----------------------------------------------------------------------------------------------------- literal version


def head_of(linear: torch.nn.Linear, head: int, vectors: Tensor, num_heads: int) -> Tensor:
    """Apply one head's rows of a linear layer."""
    size = linear.out_features // num_heads
    rows = slice(head * size, (head + 1) * size)
    return torch.nn.functional.linear(vectors, linear.weight[rows], linear.bias[rows])


def literal_alpha(alpha: Alpha, head: int, context: Tensor, query: Tensor) -> Tensor:
    """``[M, D], [N, D] -> [M, N, d_k]`` for one head."""
    mapped = head_of(alpha.context_projection, head, context, alpha.num_heads).relu()
    if isinstance(alpha, ConvolutionAlpha):
        width = alpha.width
        filters = head_of(alpha.filters, head, query, alpha.num_heads).view(-1, 1, width)
        biases = head_of(alpha.filter_biases, head, query, alpha.num_heads).flatten()
        features = conv1d(mapped.unsqueeze(1), filters, biases, stride=width).view(len(context), len(query), -1)
    else:
        scale = head_of(alpha.query_projection, head, query, alpha.num_heads).relu()
        features = mapped.unsqueeze(1) * scale
    return (features @ alpha.output.weight[head] + alpha.output.bias[head]).relu()


def literal_beta(beta: Beta, head: int, context: Tensor, query: Tensor) -> Tensor:
    """``[M, D], [N, D] -> [N, d_k]`` for one head."""
    if isinstance(beta, QueryBeta):
        return head_of(beta.projection, head, query, beta.num_heads).relu()
    mapped = head_of(beta.context_projection, head, context, beta.num_heads).relu()
    query = head_of(beta.query_projection, head, query, beta.num_heads).relu()
    mix = (query @ mapped.T).softmax(-1) @ mapped
    summary = (torch.cat([mix, query], -1) @ beta.summary.weight[head]).tanh()
    if isinstance(beta, MultipliedSummaryBeta):
        return ((query * summary) @ beta.output.weight[head] + beta.output.bias[head]).relu()
    assert isinstance(beta, ConvolvedSummaryBeta)
    filters = (summary @ beta.filters.weight[head] + beta.filters.bias[head]).view(
        len(query), beta.width, 1, beta.width
    )
    biases = summary @ beta.filter_biases.weight[head] + beta.filter_biases.bias[head]
    maps = [
        conv1d(query[j].view(1, 1, -1), filters[j], biases[j], stride=beta.width).flatten() for j in range(len(query))
    ]
    return torch.stack(maps).relu()


def literal_attend(
    attention: OrthogonalAttention, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor
) -> tuple[Tensor, None]:
    """Compute the attention example by example and head by head."""
    outputs = []
    for example in range(len(context)):
        words, cue = context[example], query[example][query_mask[example]]
        heads = []
        for head in range(attention.key.num_heads):
            keys = literal_alpha(attention.key, head, words, cue)
            values = literal_alpha(attention.value, head, words, cue)
            vectors = literal_beta(attention.query, head, words, cue)
            weights = ((keys * vectors).sum(-1) / math.sqrt(keys.size(-1))).softmax(-1)
            heads.append((weights.unsqueeze(-1) * values).sum(1))
        outputs.append(torch.cat(heads, -1))
    return attention.projection(torch.stack(outputs)), None


def make_literal(model: XLNetForNegationScopeOA) -> XLNetForNegationScopeOA:
    """Replace the attention of a model by the literal computation, with the same weights."""
    for block in model.attention_stack.blocks:
        attention = block.attention
        attention.attend = literal_attend.__get__(attention)
    return model


# --------------------------------------------------------------------------------------------------------------- timing


@torch.inference_mode()
def milliseconds(model: XLNetForNegationScopeOA, batch: dict[str, Tensor]) -> float:
    """Time of one forward pass."""
    started = time.perf_counter()
    model(**batch)
    if batch["input_ids"].is_cuda:
        torch.cuda.synchronize()
    return 1000 * (time.perf_counter() - started)


def alternate(
    first: XLNetForNegationScopeOA, second: XLNetForNegationScopeOA, batch: dict[str, Tensor], repeats: int
) -> tuple[float, float]:
    """Median milliseconds of `first` and median ratio to `second`, run alternately."""
    milliseconds(first, batch), milliseconds(second, batch)
    pairs = [(milliseconds(first, batch), milliseconds(second, batch)) for _ in range(repeats)]
    return statistics.median(a for a, _ in pairs), statistics.median(a / b for a, b in pairs)


def measure(variant: str, baseline: XLNetForNegationScopeOA, sizes: list[int], repeats: int, device: str) -> dict:
    """One row of the table."""
    model = build(variant).to(device)
    row: dict = {"model": variant, "parameters": model.num_parameters(), "block_parameters": 0, "batch": {}}
    if model.attention_stack is not None:
        row["block_parameters"] = sum(p.numel() for p in model.attention_stack.blocks[0].parameters())
    assert (row["parameters"], row["block_parameters"]) == PAPER[variant], f"{variant}: {row} differs from the paper"
    literal: Callable[[], XLNetForNegationScopeOA] = lambda: make_literal(build(variant).to(device))  # noqa: E731
    slow = literal() if variant != "baseline" else None
    for size in sizes:
        batch = {name: tensor.to(device) for name, tensor in inputs(size).items()}
        if slow is not None:
            with torch.inference_mode():
                assert torch.allclose(model(**batch).logits, slow(**batch).logits, atol=1e-4), variant
        time_, ratio = alternate(model, baseline, batch, repeats)
        row["batch"][size] = {"milliseconds": time_, "ratio": ratio}
        if slow is not None:
            row["batch"][size]["literal_ratio"] = alternate(slow, baseline, batch, max(1, repeats // 4))[1]
    return row


def table(rows: list[dict]) -> str:
    """Markdown in the layout of Table 1, with ratios to the baseline (library; literal)."""
    rows = json.loads(json.dumps(rows))  # batch sizes are strings, as in the file
    sizes = list(rows[0]["batch"])
    lines = [
        "| model | parameters | a block | " + " | ".join(f"ms, batch {n}" for n in sizes) + " |",
        "| --- | ---: | ---: |" + " ---: |" * len(sizes),
    ]
    for row in rows:
        cells = []
        for size in sizes:
            cell = row["batch"][size]
            ratios = f" ({cell['ratio']:.2f}; literal {cell['literal_ratio']:.2f})" if "literal_ratio" in cell else ""
            cells.append(f"{cell['milliseconds']:.1f}{ratios}")
        lines.append(
            f"| {row['model']} | {row['parameters']:,} | {row['block_parameters']:,} | " + " | ".join(cells) + " |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch_sizes", type=int, nargs="+", default=[1, 8, 16])
    parser.add_argument("--repeats", type=int, default=7, help="runs of each model, alternating with the baseline")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    options = parser.parse_args()
    baseline = build("baseline").to(options.device)
    rows = [measure(name, baseline, options.batch_sizes, options.repeats, options.device) for name in PAPER]
    print(table(rows))
    if options.output:
        write_json({"rows": rows, "environment": environment()}, options.output)


if __name__ == "__main__":
    main()
