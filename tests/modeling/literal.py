"""The layers of the library written position by position, head by head: the oracle of its fast modules.

Each function handles one example without padding, follows the formula of its paper, and takes nothing from the package
but the parameters of the module it is compared with. All are differentiable.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import conv1d


def softmax(scores: list[Tensor]) -> list[Tensor]:
    largest = max(score.item() for score in scores)
    exponentials = [torch.exp(score - largest) for score in scores]
    total = torch.stack(exponentials).sum()
    return [exponential / total for exponential in exponentials]


def relu(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, torch.zeros_like(x))


def dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum()


def weighted(weights: list[Tensor], rows: Tensor) -> Tensor:
    return sum((weight * row for weight, row in zip(weights, rows, strict=True)), start=torch.zeros_like(rows[0]))


def linear(layer: nn.Linear, x: Tensor) -> Tensor:
    return x @ layer.weight.T + (0.0 if layer.bias is None else layer.bias)


def rows_of(function: Callable[..., Tensor], *parts: Any) -> Tensor:
    """Apply a function to each row."""
    return torch.stack([function(*row) for row in zip(*parts, strict=True)])


def layer_norm(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    centred = x - x.mean()
    return centred / torch.sqrt((centred**2).mean() + norm.eps) * norm.weight + norm.bias


def dot_product_attention(Q: Tensor, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
    """Scaled dot-product attention of one head: output ``[m, k]`` and weights ``[m, n]``."""
    weights = [softmax([dot(q, k) / math.sqrt(len(q)) for k in K]) for q in Q]
    return torch.stack([weighted(w, V) for w in weights]), torch.stack([torch.stack(w) for w in weights])


def self_attention(module: nn.Module, inputs: Tensor) -> Tensor:
    """Heads concatenated, not projected; the queries of all heads come first, then keys, then values."""
    Q, K, V = rows_of(lambda x: linear(module.query_key_value, x), inputs).chunk(3, dim=1)
    size = inputs.size(1) // module.num_heads
    heads = [slice(head * size, (head + 1) * size) for head in range(module.num_heads)]
    return torch.cat([dot_product_attention(Q[:, head], K[:, head], V[:, head])[0] for head in heads], dim=1)


# ------------------------------------------------------------------------------------------------ Orthogonal Attention


class HeadWeights:
    """The weights of one head, cut out of the parameters of all heads."""

    def __init__(self, head: int, head_size: int) -> None:
        self.head, self.head_size = head, head_size

    def project(self, layer: nn.Linear, x: Tensor, size: int | None = None) -> Tensor:
        """Apply a layer whose outputs are those of head 0, of head 1, and so on."""
        size = size or self.head_size
        rows = slice(self.head * size, (self.head + 1) * size)
        return x @ layer.weight[rows].T + layer.bias[rows]

    def own(self, layer: nn.Module, x: Tensor) -> Tensor:
        """Apply a layer with one matrix per head."""
        return x @ layer.weight[self.head] + (0.0 if layer.bias is None else layer.bias[self.head])


def convolution(signal: Tensor, filters: Tensor, biases: Tensor) -> Tensor:
    """A one-channel signal ``[d_k]`` through sqrt(d_k) filters, stride their width; flattened filter by filter."""
    width = math.isqrt(signal.numel())
    return conv1d(signal.view(1, 1, -1), filters.view(width, 1, width), biases, stride=width).view(-1)


def multiplication_alpha(head: HeadWeights, alpha: nn.Module, context: Tensor, query: Tensor) -> Tensor:
    c = relu(head.project(alpha.context_projection, context))
    q = relu(head.project(alpha.query_projection, query))
    return relu(head.own(alpha.output, c * q))


def convolution_alpha(head: HeadWeights, alpha: nn.Module, context: Tensor, query: Tensor) -> Tensor:
    c = relu(head.project(alpha.context_projection, context))
    biases = head.project(alpha.filter_biases, query, math.isqrt(head.head_size))
    return relu(head.own(alpha.output, convolution(c, head.project(alpha.filters, query), biases)))


def query_beta(head: HeadWeights, beta: nn.Module, context: Tensor, query: Tensor) -> Tensor:
    return relu(head.project(beta.projection, query))


def query_and_summary(head: HeadWeights, beta: nn.Module, context: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
    assert beta.summary.bias is None
    q = relu(head.project(beta.query_projection, query))
    c = rows_of(lambda position: relu(head.project(beta.context_projection, position)), context)
    mix = weighted(softmax([q @ position for position in c]), c)
    return q, torch.tanh(head.own(beta.summary, torch.cat([mix, q])))


def multiplied_summary_beta(head: HeadWeights, beta: nn.Module, context: Tensor, query: Tensor) -> Tensor:
    q, a = query_and_summary(head, beta, context, query)
    return relu(head.own(beta.output, q * a))


def convolved_summary_beta(head: HeadWeights, beta: nn.Module, context: Tensor, query: Tensor) -> Tensor:
    q, a = query_and_summary(head, beta, context, query)
    return relu(convolution(q, head.own(beta.filters, a), head.own(beta.filter_biases, a)))


ALPHA_AND_BETA = {
    "OA-EM": (multiplication_alpha, query_beta),
    "OA-EMB": (multiplication_alpha, multiplied_summary_beta),
    "OA-C": (convolution_alpha, query_beta),
    "OA-CA": (convolution_alpha, convolved_summary_beta),
}


def oa_attention(module: nn.Module, variant: str, heads: int, context: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
    """One example, ``[m, D]`` and ``[n, D]``: the output of all heads ``[m, D]`` and the weights ``[H, m, n]``."""
    alpha, beta = ALPHA_AND_BETA[variant]
    head_size = context.size(1) // heads
    outputs, weights = [], []
    for number in range(heads):
        head = HeadWeights(number, head_size)
        S = [beta(head, module.query, context, q) for q in query]
        rows, shares = [], []
        for c in context:
            K, V = ([alpha(head, part, c, q) for q in query] for part in (module.key, module.value))
            w = softmax([k @ s / math.sqrt(head_size) for k, s in zip(K, S, strict=True)]) if len(query) else []
            rows.append(sum((x * v for x, v in zip(w, V, strict=True)), start=context.new_zeros(head_size)))
            shares.append(torch.stack(w) if w else context.new_zeros(0))
        outputs.append(torch.stack(rows))
        weights.append(torch.stack(shares))
    assert module.projection.bias is None
    return torch.cat(outputs, dim=1) @ module.projection.weight.T, torch.stack(weights)


def oa_block(module: nn.Module, variant: str, heads: int, context: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
    Z, weights = oa_attention(module.attention, variant, heads, context, query)
    X2 = rows_of(lambda z, c: layer_norm(module.attention_norm, z + c), Z, context)
    X3 = self_attention(module.self_attention, X2)
    outer = rows_of(lambda x: linear(module.output, relu(linear(module.intermediate, x))), X3)
    return rows_of(lambda y, x: layer_norm(module.output_norm, y + x), outer, X2), weights


def oa_stack(
    module: nn.Module, variant: str, heads: int, hidden_states: Tensor, query_positions: list[int]
) -> tuple[Tensor, list[Tensor]]:
    """One example, ``[m, D]``; the query of each block is extracted from its input."""
    all_weights = []
    for block in module.blocks:
        hidden_states, weights = oa_block(block, variant, heads, hidden_states, hidden_states[query_positions])
        all_weights.append(weights)
    return hidden_states, all_weights


# -------------------------------------------------------------------------------------------------------- co-attention


def multi_head_attention(module: nn.Module, heads: int, context: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
    """Equations 1 to 5: output ``[m, D]``, and weights ``[H, m, n]``."""
    layers = (module.query_projection, module.key_projection, module.value_projection, module.output_projection)
    assert all(layer.bias is None for layer in layers)
    Q, K, V = (x @ layer.weight.T for x, layer in zip((context, query, query), layers[:3], strict=True))
    parts = zip(*(x.chunk(heads, dim=1) for x in (Q, K, V)), strict=True)
    outputs, weights = zip(*(dot_product_attention(*head) for head in parts), strict=True)
    return torch.cat(outputs, dim=1) @ module.output_projection.weight.T, torch.stack(weights)


def co_attention_stack(
    module: nn.Module, mode: str, heads: int, layers: int, hidden_states: Tensor, article: list[int], option: list[int]
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """One row ``[l, D]`` of an encoder's output: its features ``[2 D]``, and the weights of each layer."""
    E = rows_of(lambda x: layer_norm(module.layer.norm, x), hidden_states)
    P, O = E[article], E[option]  # noqa: E741
    article_weights, option_weights = [], []
    for _ in range(layers):
        rep1, of_option = multi_head_attention(module.layer.attention, heads, O, P)
        if mode == "stacked":
            rep1 = rows_of(lambda x, y: layer_norm(module.layer.norm, x + y), O, rep1)
        rep2, of_article = multi_head_attention(module.layer.attention, heads, P, rep1 if mode == "stacked" else O)
        if mode == "stacked":
            rep2 = rows_of(lambda x, y: layer_norm(module.layer.norm, x + y), P, rep2)
        P, O = rep2, rep1  # noqa: E741
        article_weights.append(of_article)
        option_weights.append(of_option)
    return torch.cat([sum(O) / len(O), sum(P) / len(P)]), article_weights, option_weights


# ----------------------------------------------------------------------------------------------- attentions of readers


def trilinear(module: nn.Module, context: Tensor, query: Tensor) -> list[list[Tensor]]:
    """S[i][j] = w . [c_i ; q_j ; c_i * q_j]."""
    weight = torch.cat([module.context_weight.weight[0], module.query_weight.weight[0], module.product_weight])
    return [[dot(weight, torch.cat([c, q, c * q])) for q in query] for c in context]


def dot_attention(module: nn.Module, context: Tensor, query: Tensor) -> Tensor:
    return torch.stack([torch.cat([c, weighted(softmax([dot(c, q) for q in query]), query)]) for c in context])


def bidaf_attention(module: nn.Module, context: Tensor, query: Tensor) -> Tensor:
    scores = trilinear(module.similarity, context, query)
    summary = weighted(softmax([torch.stack(row).max() for row in scores]), context)
    read = [weighted(softmax(row), query) for row in scores]
    return rows_of(lambda c, a: torch.cat([c, a, c * a, c * summary]), context, read)


def trilinear_attention(module: nn.Module, context: Tensor, query: Tensor) -> Tensor:
    """b_i = sum over j, k of R[i, j] K[k, j] c_k."""
    scores = trilinear(module.similarity, context, query)
    R = torch.stack([torch.stack(softmax(row)) for row in scores])
    K = torch.stack([torch.stack(softmax(list(column))) for column in zip(*scores, strict=True)])
    read = [weighted(list(row), query) for row in R]
    through = [[torch.stack([R[i, j] * K[j, k] for j in range(len(query))]).sum() for k in range(len(context))]
               for i in range(len(context))]  # fmt: skip
    summaries = [weighted(row, context) for row in through]
    return rows_of(lambda c, a, b: torch.cat([c, a, c * a, c * b]), context, read, summaries)


def additive_self_attention(module: nn.Module, inputs: Tensor) -> Tensor:
    def attended(v_i: Tensor) -> Tensor:
        hidden = [torch.tanh(linear(module.key, v_j) + linear(module.query, v_i)) for v_j in inputs]
        return weighted(softmax([dot(module.score.weight[0], h) for h in hidden]), inputs)

    return rows_of(attended, inputs)


def recurrent(cell: nn.RNNBase, inputs: Tensor) -> Tensor:
    """One direction of one layer, by torch's single-step cells."""
    kind = nn.LSTMCell if isinstance(cell, nn.LSTM) else nn.GRUCell
    step = kind(cell.input_size, cell.hidden_size).to(inputs.dtype)
    weights = {name: getattr(cell, f"{name}_l0") for name in step.state_dict()}
    state, outputs = None, []
    for x in inputs:
        state = torch.func.functional_call(step, weights, (x[None], state))
        outputs.append((state[0] if isinstance(state, tuple) else state)[0])
    return torch.stack(outputs)


def bidirectional(module: nn.Module, inputs: Tensor) -> Tensor:
    for forwards, backwards in zip(module.forwards, module.backwards, strict=True):
        inputs = torch.cat([recurrent(forwards, inputs), recurrent(backwards, inputs.flip(0)).flip(0)], dim=-1)
    return inputs


def self_attention_over_dot(module: nn.Module, context: Tensor, query: Tensor) -> Tensor:
    read = dot_attention(module, context, query)
    return bidirectional(module.rnn, torch.cat([read, additive_self_attention(module.self_attention, read)], dim=-1))


def combined_attention(module: nn.Module, context: Tensor, query: Tensor) -> Tensor:
    summary = additive_self_attention(module.self_attention, dot_attention(module, context, query))
    return bidirectional(module.rnn, torch.cat([summary, bidaf_attention(module.flow, context, query)], dim=-1))


ATTENTIONS: dict[str, Callable[..., Tensor]] = {
    "dot": dot_attention,
    "bidaf": bidaf_attention,
    "trilinear": trilinear_attention,
    "self": self_attention_over_dot,
    "combined": combined_attention,
}

# ------------------------------------------------------------------------------------------------------------- readers


def highway(module: nn.Module, x: Tensor) -> Tensor:
    for transform, gate in zip(module.transforms, module.gates, strict=True):
        g = 1 / (1 + torch.exp(-linear(gate, x)))
        x = g * relu(linear(transform, x)) + (1 - g) * x
    return x


def windows(inputs: Tensor, width: int) -> list[list[tuple[int, Tensor]]]:
    """For each position, the offsets in a centred window and the rows there."""
    places = [[(offset, place + offset - width // 2) for offset in range(width)] for place in range(len(inputs))]
    return [[(offset, inputs[source]) for offset, source in window if 0 <= source < len(inputs)] for window in places]


def characters(module: nn.Module, ids: list[int]) -> Tensor:
    """Of one word without padding: every filter at every character, then the largest value."""
    convolution = module.convolution
    places = [
        convolution.bias + sum(convolution.weight[:, :, offset] @ vector for offset, vector in window)
        for window in windows(module.embedding.weight[ids], convolution.kernel_size[0])
    ]
    return relu(torch.stack(places)).amax(0)


def separable_convolution(module: nn.Module, inputs: Tensor) -> Tensor:
    kernel = module.depthwise.weight[:, 0, 0]
    totals = [sum(kernel[:, offset] * row for offset, row in window) for window in windows(inputs, kernel.size(1))]
    return torch.stack([relu(linear(module.pointwise, total)) for total in totals])


def multi_head_self_attention(module: nn.Module, inputs: Tensor) -> Tensor:
    return rows_of(lambda x: linear(module.output, x), self_attention(module, inputs))


def feed_forward(module: nn.Module, inputs: Tensor) -> Tensor:
    return rows_of(lambda x: linear(module.output, relu(linear(module.intermediate, x))), inputs)


LAYERS = {
    "SeparableConvolution": separable_convolution,
    "MultiHeadSelfAttention": multi_head_self_attention,
    "FeedForward": feed_forward,
}


def position_signal(place: int, size: int) -> Tensor:
    half = size // 2
    angles = [place * 10_000.0 ** (-k / max(half - 1, 1)) for k in range(half)]
    return torch.tensor([*map(math.sin, angles), *map(math.cos, angles)], dtype=torch.float64)


def encoder_block(block: nn.Module, inputs: Tensor) -> Tensor:
    x = torch.stack([row + position_signal(place, inputs.size(1)) for place, row in enumerate(inputs)])
    for layer, norm in zip(block.layers, block.norms, strict=True):
        x = x + LAYERS[type(layer).__name__](layer, torch.stack([layer_norm(norm, row) for row in x]))
    return x


def word(embeddings: nn.Module, word_id: int, chars: list[int]) -> Tensor:
    """Vector of one word: its own or its special token's, its characters', through the highway."""
    special = embeddings.special_vectors
    own = embeddings.word_vectors.weight[word_id] * embeddings.scale
    parts = [special[word_id] if word_id < len(special) else own]
    if embeddings.characters is not None:
        filters = embeddings.characters.convolution.out_channels
        parts.append(characters(embeddings.characters, chars) if chars else torch.zeros(filters, dtype=torch.float64))
    return highway(embeddings.highway, torch.cat(parts))


def qanet(model: nn.Module, context: Tensor, question: Tensor) -> tuple[Tensor, Tensor]:
    """Start and end logits of `[CLS]` and context, from the words' vectors."""
    encoder = model.embedding_encoder.blocks[0]
    c, q = (
        encoder_block(encoder, rows_of(lambda x: linear(model.projection, x), part)) for part in (context, question)
    )
    x = rows_of(lambda row: linear(model.attention_projection, row), trilinear_attention(model.attention, c, q))
    outputs = []
    for _ in range(3):
        for block in model.model_encoder.blocks:
            x = encoder_block(block, x)
        outputs.append(x)
    first, second, third = outputs
    start = rows_of(lambda *parts: linear(model.start, torch.cat(parts)), first, second)
    ends = [start, first, third] if model.config.conditional_output else [first, third]
    return start.flatten(), rows_of(lambda *parts: linear(model.end, torch.cat(parts)), *ends).flatten()


def bidaf(model: nn.Module, context: Tensor, question: Tensor) -> tuple[Tensor, Tensor]:
    """Start and end logits of `[CLS]` and context, from the words' vectors and features."""
    c, q = (bidirectional(model.encoder, part) for part in (context, question))
    read = ATTENTIONS[model.config.attention](model.attention, c, q)
    if model.config.modeling == "dense":
        modeled = rows_of(lambda row: relu(linear(model.modeling, row)), read)
    else:
        modeled = bidirectional(model.modeling, read)
    starts, ends = [modeled], [modeled]
    if model.config.output != "linear":
        starts, ends = [read, modeled], [read, bidirectional(model.end_rnn, modeled)]
    start = rows_of(lambda *parts: linear(model.start, torch.cat(parts)), *starts)
    if model.config.output == "conditional":
        ends = [start, *ends]
    return start.flatten(), rows_of(lambda *parts: linear(model.end, torch.cat(parts)), *ends).flatten()


def word_features(model: nn.Module, ids: list[int], other: list[int]) -> Tensor:
    """Inverse document frequency, is a question word, occurs in the other text."""
    rows = [[model.inverse_document_frequency[n], model.is_question_word[n], float(n >= 4 and n in other)] for n in ids]
    return torch.tensor(rows, dtype=torch.float64)
