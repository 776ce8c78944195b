"""The layers of QANet and BiDAF written down once more, position by position.

The tests' oracle for the fast modules. Each function knows one example without padding, follows its formula a number at
a time, and takes nothing from the package but the parameters of the module it is compared with.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def softmax(scores: list[Tensor]) -> list[Tensor]:
    largest = max(score.item() for score in scores)
    exponentials = [torch.exp(score - largest) for score in scores]
    total = torch.stack(exponentials).sum()
    return [exponential / total for exponential in exponentials]


def dot(a: Tensor, b: Tensor) -> Tensor:
    return torch.stack([x * y for x, y in zip(a, b, strict=True)]).sum()


def weighted(weights: list[Tensor], rows: Tensor) -> Tensor:
    total = torch.zeros_like(rows[0])
    for weight, row in zip(weights, rows, strict=True):
        total = total + weight * row
    return total


def linear(layer: nn.Linear, x: Tensor) -> Tensor:
    outputs = torch.stack([dot(row, x) for row in layer.weight])
    return outputs if layer.bias is None else outputs + layer.bias


def relu(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, torch.zeros_like(x))


def trilinear(module: nn.Module, context: Tensor, query: Tensor) -> list[list[Tensor]]:
    """S[i][j] = w . [c_i ; q_j ; c_i * q_j], the three made and concatenated."""
    weight = torch.cat([module.context_weight.weight[0], module.query_weight.weight[0], module.product_weight])
    return [[dot(weight, torch.cat([c, q, c * q])) for q in query] for c in context]


def dot_attention(context: Tensor, query: Tensor) -> Tensor:
    return torch.stack([torch.cat([c, weighted(softmax([dot(c, q) for q in query]), query)]) for c in context])


def bidaf_attention(module: nn.Module, context: Tensor, query: Tensor) -> Tensor:
    scores = trilinear(module.similarity, context, query)
    importance = softmax([torch.stack(row).max() for row in scores])
    summary = weighted(importance, context)
    rows = []
    for c, row in zip(context, scores, strict=True):
        a = weighted(softmax(row), query)
        rows.append(torch.cat([c, a, c * a, c * summary]))
    return torch.stack(rows)


def trilinear_attention(module: nn.Module, context: Tensor, query: Tensor) -> Tensor:
    scores = trilinear(module.similarity, context, query)
    over_query = [softmax(row) for row in scores]
    over_context = [softmax([row[j] for row in scores]) for j in range(len(query))]
    rows = []
    for i, c in enumerate(context):
        a = weighted(over_query[i], query)
        # b_i = sum over j, k of R[i, j] K[k, j] c_k, the product of both matrices made first.
        through = [
            torch.stack([over_query[i][j] * over_context[j][k] for j in range(len(query))]).sum()
            for k in range(len(context))
        ]
        b = weighted(through, context)
        rows.append(torch.cat([c, a, c * a, c * b]))
    return torch.stack(rows)


def additive_self_attention(module: nn.Module, inputs: Tensor) -> Tensor:
    rows = []
    for v_i in inputs:
        scores = [
            dot(module.score.weight[0], torch.tanh(linear(module.key, v_j) + linear(module.query, v_i)))
            for v_j in inputs
        ]
        rows.append(weighted(softmax(scores), inputs))
    return torch.stack(rows)


def recurrent(cells: list[nn.RNNBase], inputs: Tensor) -> Tensor:
    """One direction: torch's single-step cells, one after the other."""
    for cell in cells:
        kind = nn.LSTMCell if isinstance(cell, nn.LSTM) else nn.GRUCell
        step = kind(cell.input_size, cell.hidden_size).to(inputs.dtype)
        step.load_state_dict({name: getattr(cell, f"{name}_l0") for name in step.state_dict()})
        state, outputs = None, []
        for x in inputs:
            state = step(x[None], state)
            outputs.append((state[0] if isinstance(state, tuple) else state)[0])
        inputs = torch.stack(outputs)
    return inputs


def bidirectional(module: nn.Module, inputs: Tensor) -> Tensor:
    for forwards, backwards in zip(module.forwards, module.backwards, strict=True):
        inputs = torch.cat([recurrent([forwards], inputs), recurrent([backwards], inputs.flip(0)).flip(0)], dim=-1)
    return inputs


def self_attention(module: nn.Module, context: Tensor, query: Tensor) -> Tensor:
    read = dot_attention(context, query)
    return bidirectional(module.rnn, torch.cat([read, additive_self_attention(module.self_attention, read)], dim=-1))


def combined_attention(module: nn.Module, context: Tensor, query: Tensor) -> Tensor:
    summary = additive_self_attention(module.self_attention, dot_attention(context, query))
    return bidirectional(module.rnn, torch.cat([summary, bidaf_attention(module.flow, context, query)], dim=-1))


def highway(module: nn.Module, x: Tensor) -> Tensor:
    for transform, gate in zip(module.transforms, module.gates, strict=True):
        g = 1 / (1 + torch.exp(-linear(gate, x)))
        x = g * relu(linear(transform, x)) + (1 - g) * x
    return x


def characters(module: nn.Module, ids: list[int]) -> Tensor:
    """Of one word, without padding: every filter at every character, then the largest."""
    vectors = [module.embedding.weight[number] for number in ids]
    width = module.convolution.kernel_size[0]
    outputs = []
    for weight, bias in zip(module.convolution.weight, module.convolution.bias, strict=True):
        values = []
        for place in range(len(ids)):
            value = bias
            for offset in range(width):
                source = place + offset - width // 2
                if 0 <= source < len(ids):
                    value = value + dot(weight[:, offset], vectors[source])
            values.append(relu(value))
        outputs.append(torch.stack(values).max())
    return torch.stack(outputs)


def separable_convolution(module: nn.Module, inputs: Tensor) -> Tensor:
    kernel = module.depthwise.weight[:, 0, 0]
    width = kernel.size(1)
    rows = []
    for place in range(len(inputs)):
        total = torch.zeros_like(inputs[0])
        for offset in range(width):
            source = place + offset - width // 2
            if 0 <= source < len(inputs):
                total = total + kernel[:, offset] * inputs[source]
        rows.append(relu(linear(module.pointwise, total)))
    return torch.stack(rows)


def multi_head_self_attention(module: nn.Module, inputs: Tensor) -> Tensor:
    size = inputs.size(1) // module.num_heads
    projected = [linear(module.query_key_value, x) for x in inputs]
    query, key, value = (torch.stack([x.chunk(3)[part] for x in projected]) for part in range(3))
    rows = []
    for i in range(len(inputs)):
        heads = []
        for head in range(module.num_heads):
            part = slice(head * size, (head + 1) * size)
            scores = [dot(query[i, part], k[part]) / math.sqrt(size) for k in key]
            heads.append(weighted(softmax(scores), value[:, part]))
        rows.append(linear(module.output, torch.cat(heads)))
    return torch.stack(rows)


def feed_forward(module: nn.Module, inputs: Tensor) -> Tensor:
    return torch.stack([linear(module.output, relu(linear(module.intermediate, x))) for x in inputs])


def layer_norm(module: nn.LayerNorm, x: Tensor) -> Tensor:
    mean = x.sum() / len(x)
    variance = dot(x - mean, x - mean) / len(x)
    return (x - mean) / torch.sqrt(variance + module.eps) * module.weight + module.bias


def position_signal(place: int, size: int) -> Tensor:
    half = size // 2
    rates = [10_000.0 ** (-k / max(half - 1, 1)) for k in range(half)]
    return torch.tensor(
        [math.sin(place * r) for r in rates] + [math.cos(place * r) for r in rates], dtype=torch.float64
    )


def encoder_block(block: nn.Module, inputs: Tensor) -> Tensor:
    functions = {
        "SeparableConvolution": separable_convolution,
        "MultiHeadSelfAttention": multi_head_self_attention,
        "FeedForward": feed_forward,
    }
    x = torch.stack([row + position_signal(place, inputs.size(1)) for place, row in enumerate(inputs)])
    for layer, norm in zip(block.layers, block.norms, strict=True):
        x = x + functions[type(layer).__name__](layer, torch.stack([layer_norm(norm, row) for row in x]))
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
        encoder_block(encoder, torch.stack([linear(model.projection, x) for x in part])) for part in (context, question)
    )
    x = torch.stack([linear(model.attention_projection, row) for row in trilinear_attention(model.attention, c, q)])
    outputs = [x]
    for _ in range(3):
        x = outputs[-1]
        for block in model.model_encoder.blocks:
            x = encoder_block(block, x)
        outputs.append(x)
    _, first, second, third = outputs
    start = [linear(model.start, torch.cat(pair)) for pair in zip(first, second, strict=True)]
    if model.config.conditional_output:
        ends = [linear(model.end, torch.cat(parts)) for parts in zip(start, first, third, strict=True)]
    else:
        ends = [linear(model.end, torch.cat(parts)) for parts in zip(first, third, strict=True)]
    return torch.cat(start), torch.cat(ends)


ATTENTIONS = {
    "dot": lambda module, context, query: dot_attention(context, query),
    "bidaf": bidaf_attention,
    "trilinear": trilinear_attention,
    "self": self_attention,
    "combined": combined_attention,
}


def bidaf(model: nn.Module, context: Tensor, question: Tensor) -> tuple[Tensor, Tensor]:
    """Start and end logits of `[CLS]` and context, from the words' vectors and features."""
    c, q = (bidirectional(model.encoder, part) for part in (context, question))
    read = ATTENTIONS[model.config.attention](model.attention, c, q)
    if model.config.modeling == "dense":
        modeled = torch.stack([relu(linear(model.modeling, row)) for row in read])
    else:
        modeled = bidirectional(model.modeling, read)
    if model.config.output == "linear":
        return tuple(torch.cat([linear(layer, row) for row in modeled]) for layer in (model.start, model.end))
    start = [linear(model.start, torch.cat(pair)) for pair in zip(read, modeled, strict=True)]
    ends = [torch.cat(pair) for pair in zip(read, bidirectional(model.end_rnn, modeled), strict=True)]
    if model.config.output == "conditional":
        ends = [torch.cat(pair) for pair in zip(start, ends, strict=True)]
    return torch.cat(start), torch.cat([linear(model.end, row) for row in ends])


def word_features(model: nn.Module, ids: list[int], other: list[int]) -> Tensor:
    """Inverse document frequency, is a question word, occurs in the other text."""
    rows = [[model.document_frequency[n], model.is_question_word[n], float(n >= 4 and n in other)] for n in ids]
    return torch.tensor(rows, dtype=torch.float64)
