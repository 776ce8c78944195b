"""QANet and BiDAF as they are commonly implemented: the baselines of `extractive_qa.py`.

QANet: contexts are padded to 400 words and questions to 50 in every batch; the character CNN and the highway network
run on every token; the trilinear similarity concatenates [c ; q ; c * q] for every pair; self-attention materializes
its weights.

BiDAF, over words only and in its best form: batches are sorted by length and padded to their own longest; the
similarity and the output layers concatenate nothing; recurrent layers are bidirectional ones of torch over packed
sequences.

Sizes are those of the library's models beside them.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout, pad
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

CONTEXT, QUESTION, CHARACTERS = 400, 50, 16


class Embedding(nn.Module):
    """Word vectors and a character CNN, followed by a highway network."""

    def __init__(self, words: int, word_size: int, filters: int, char_size: int, dropouts: tuple[float, float]) -> None:
        super().__init__()
        self.words = nn.Embedding(words, word_size)
        self.words.weight.requires_grad = False
        self.chars = nn.Embedding(128, char_size, padding_idx=0)
        self.convolution = nn.Conv1d(char_size, filters, 5, padding=2)
        self.size = word_size + filters
        self.transforms = nn.ModuleList(nn.Linear(self.size, self.size) for _ in range(2))
        self.gates = nn.ModuleList(nn.Linear(self.size, self.size) for _ in range(2))
        self.dropouts = dropouts

    def forward(self, words: Tensor, chars: Tensor) -> Tensor:
        """``[B, L], [B, L, W] -> [B, L, size]``."""
        batch, length, _ = chars.shape
        letters = dropout(self.chars(chars), self.dropouts[1], self.training).flatten(0, 1).transpose(1, 2)
        features = self.convolution(letters).relu().amax(2).view(batch, length, -1)
        x = torch.cat([dropout(self.words(words), self.dropouts[0], self.training), features], dim=-1)
        for transform, gate in zip(self.transforms, self.gates, strict=True):
            g = gate(x).sigmoid()
            x = g * transform(x).relu() + (1 - g) * x
        return x


class ConcatenatedTrilinear(nn.Module):
    """``S[i, j] = w . [c_i ; q_j ; c_i * q_j]`` with an explicit concatenation."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Linear(3 * size, 1, bias=False)

    def forward(self, context: Tensor, question: Tensor) -> Tensor:
        """``[B, M, D], [B, N, D] -> [B, M, N]``."""
        c = context.unsqueeze(2).expand(-1, -1, question.size(1), -1)
        q = question.unsqueeze(1).expand(-1, context.size(1), -1, -1)
        return self.weight(torch.cat([c, q, c * q], dim=-1)).squeeze(-1)


def masked(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension, without padding."""
    return scores.masked_fill(~mask, -1e30).softmax(-1)


class EncoderBlock(nn.Module):
    """Encoder block of QANet."""

    def __init__(self, size: int, heads: int, convolutions: int, kernel: int) -> None:
        super().__init__()
        self.depthwise = nn.ModuleList(
            nn.Conv1d(size, size, kernel, padding=kernel // 2, groups=size, bias=False) for _ in range(convolutions)
        )
        self.pointwise = nn.ModuleList(nn.Conv1d(size, size, 1) for _ in range(convolutions))
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(convolutions + 2))
        self.heads = heads
        self.projection = nn.Linear(size, 3 * size)
        self.output = nn.Linear(size, size)
        self.forwards = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, size))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """``[B, M, D]`` and a mask ``[B, M]`` -> ``[B, M, D]``."""
        x = x + positions(x.size(1), x.size(2))
        for depthwise, pointwise, norm in zip(self.depthwise, self.pointwise, self.norms, strict=False):
            y = pointwise(depthwise(norm(x).transpose(1, 2))).relu().transpose(1, 2)
            x = x + dropout(y, 0.1, self.training)
        x = x + dropout(self.attend(self.norms[-2](x), mask), 0.1, self.training)
        return x + dropout(self.forwards(self.norms[-1](x)), 0.1, self.training)

    def attend(self, x: Tensor, mask: Tensor) -> Tensor:
        """Self-attention."""
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.projection(x).chunk(3, -1)
        )
        weights = masked(query @ key.transpose(-1, -2) / math.sqrt(query.size(-1)), mask[:, None, None, :])
        return self.output((dropout(weights, 0.1, self.training) @ value).transpose(1, 2).flatten(2))


def positions(length: int, size: int) -> Tensor:
    """Sinusoidal position encoding, ``[length, size]``."""
    angles = torch.arange(length).unsqueeze(1) * torch.exp(torch.arange(size // 2) * (-math.log(1e4) / (size // 2 - 1)))
    return torch.cat([angles.sin(), angles.cos()], dim=1)


class StraightforwardQANet(nn.Module):
    """QANet with hidden size 128, 8 heads, 7 blocks."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.embedding = Embedding(words, 300, 64, 64, (0.1, 0.05))
        self.input = nn.Linear(self.embedding.size, 128)
        self.encoder = EncoderBlock(128, 8, 4, 7)
        self.similarity = ConcatenatedTrilinear(128)
        self.reduce = nn.Linear(512, 128)
        self.blocks = nn.ModuleList(EncoderBlock(128, 8, 2, 5) for _ in range(7))
        self.start, self.end = nn.Linear(256, 1), nn.Linear(257, 1)

    def forward(
        self, context: Tensor, question: Tensor, chars: Tensor, question_chars: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Start and end logits ``[B, 400]``."""
        context_mask, question_mask = context != 0, question != 0
        c = self.encoder(self.input(self.embedding(context, chars)), context_mask)
        q = self.encoder(self.input(self.embedding(question, question_chars)), question_mask)
        scores = self.similarity(c, q)
        rows = masked(scores, question_mask.unsqueeze(1))
        columns = masked(scores.transpose(1, 2), context_mask.unsqueeze(1)).transpose(1, 2)
        a, b = rows @ q, rows @ columns.transpose(1, 2) @ c
        outputs = [self.reduce(torch.cat([c, a, c * a, c * b], dim=-1))]
        for _ in range(3):
            x = outputs[-1]
            for block in self.blocks:
                x = block(x, context_mask)
            outputs.append(x)
        start = self.start(torch.cat(outputs[1:3], dim=-1))
        end = self.end(torch.cat([start, outputs[1], outputs[3]], dim=-1))
        return start.squeeze(-1), end.squeeze(-1)


class StraightforwardBiDAF(nn.Module):
    """BiDAF over words, with LSTMs of 100 units."""

    def __init__(self, words: int, size: int = 100) -> None:
        super().__init__()
        self.words = nn.Embedding(words, 300)
        self.words.weight.requires_grad = False
        self.transforms = nn.ModuleList(nn.Linear(300, 300) for _ in range(2))
        self.gates = nn.ModuleList(nn.Linear(300, 300) for _ in range(2))
        self.encoder = nn.LSTM(300, size, batch_first=True, bidirectional=True)
        self.of_context, self.of_question = (nn.Linear(2 * size, 1, bias=False) for _ in range(2))
        self.of_both = nn.Parameter(torch.full((2 * size,), size**-0.5))
        self.modeling = nn.LSTM(8 * size, size, num_layers=2, dropout=0.2, batch_first=True, bidirectional=True)
        self.last = nn.LSTM(2 * size, size, batch_first=True, bidirectional=True)
        self.attended = nn.Linear(8 * size, 2, bias=False)
        self.start, self.end = (nn.Linear(2 * size, 1, bias=False) for _ in range(2))

    def forward(self, context: Tensor, question: Tensor) -> tuple[Tensor, Tensor]:
        """Word ids ``[B, M]`` and ``[B, N]`` -> start and end logits ``[B, M]``."""
        context_mask, question_mask = context != 0, question != 0
        lengths = context_mask.sum(1)
        c = self.run(self.encoder, self.embed(context), lengths)
        q = self.run(self.encoder, self.embed(question), question_mask.sum(1))
        dropped, asked = self.drop(c), self.drop(q)
        scores = self.of_context(dropped) + self.of_question(asked).transpose(1, 2)
        scores = scores + (dropped * self.of_both) @ asked.transpose(1, 2)
        a = masked(scores, question_mask.unsqueeze(1)) @ q
        summary = masked(scores.masked_fill(~question_mask.unsqueeze(1), -1e30).amax(2), context_mask).unsqueeze(1) @ c
        g = self.drop(torch.cat([c, a, c * a, c * summary], dim=-1))
        m = self.drop(self.run(self.modeling, g, lengths))
        start, end = self.attended(g).unbind(-1)
        last = self.drop(self.run(self.last, m, lengths))
        return start + self.start(m).squeeze(-1), end + self.end(last).squeeze(-1)

    def embed(self, words: Tensor) -> Tensor:
        """Word vectors through a highway network, ``[B, L] -> [B, L, 300]``."""
        x = self.drop(self.words(words))
        for transform, gate in zip(self.transforms, self.gates, strict=True):
            g = gate(x).sigmoid()
            x = g * transform(x).relu() + (1 - g) * x
        return self.drop(x)

    def run(self, rnn: nn.LSTM, x: Tensor, lengths: Tensor) -> Tensor:
        """Run a recurrent layer over packed sequences."""
        output, _ = rnn(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        return pad_packed_sequence(output, batch_first=True, total_length=x.size(1))[0]

    def drop(self, x: Tensor) -> Tensor:
        """Dropout."""
        return dropout(x, 0.2, self.training)


def padded_inputs(examples: list[tuple[Tensor, Tensor]], characters: Tensor) -> list[Tensor]:
    """Context, question and their characters, padded to 400 and 50 words."""
    context = torch.stack([pad(c, (0, CONTEXT - len(c))) for c, _ in examples])
    question = torch.stack([pad(q, (0, QUESTION - len(q))) for _, q in examples])
    return [context, question, characters[context], characters[question]]


def sorted_batches(examples: list[tuple[Tensor, Tensor]], size: int) -> list[list[Tensor]]:
    """Contexts and questions in batches of similar length, padded to the longest of each."""
    by_length = sorted(examples, key=lambda example: len(example[0]))
    batches = [by_length[first : first + size] for first in range(0, len(by_length), size)]
    return [[pad_sequence(texts, batch_first=True) for texts in zip(*batch, strict=True)] for batch in batches]


def loss(logits: tuple[Tensor, Tensor], starts: Tensor) -> Tensor:
    """Cross-entropy of start and end, for answers of one word."""
    return cross_entropy(logits[0], starts) + cross_entropy(logits[1], starts)
