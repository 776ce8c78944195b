"""Word vectors with character features.

Vectors of words, characters and the highway network over both are computed once per distinct word of the batch:
questions about similar texts share most of their words. A graph of all batches, which cannot depend on the words of
one, computes them per position.

Shapes: B batch, L length, W characters of a word, U distinct words, V vocabulary.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from .configuration_word_reader import NUM_SPECIAL_TOKENS
from .packing import values_are_known


def distinct_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Find the distinct rows of an integer matrix.

    Args:
        rows: ``[T, K]``, int64.

    Returns:
        The distinct rows ``[U, K]``, in no particular order, and the index of each row among them ``[T]``.
    """
    # Sorting one hash per row is many times faster than sorting rows. Collisions of the hash, a sum of products with
    # random odd numbers modulo 2^64, are very unlikely, but handled.
    generator = torch.Generator().manual_seed(0)
    factors = torch.randint(-(2**62), 2**62, (rows.size(1),), generator=generator).to(rows.device) * 2 + 1
    keys, inverse = torch.unique((rows * factors).sum(1), return_inverse=True)
    first = inverse.new_zeros(len(keys)).scatter_(0, inverse, torch.arange(len(rows), device=rows.device))
    distinct = rows[first]
    if not torch.equal(distinct[inverse], rows):
        distinct, inverse = torch.unique(rows, dim=0, return_inverse=True)
    return distinct, inverse


class CharacterConvolution(nn.Module):
    """Embedding, convolution, ReLU and maximum over the characters of a word (Kim, 2014).

    The maximum is over the word's own characters, not over padding; a word without characters gives zeros.
    """

    def __init__(
        self, vocab_size: int, embedding_size: int, num_filters: int, kernel_size: int, dropout: float
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_size, padding_idx=0)
        self.convolution = nn.Conv1d(embedding_size, num_filters, kernel_size, padding=kernel_size // 2)
        self.dropout = nn.Dropout(dropout)

    def forward(self, char_ids: Tensor) -> Tensor:
        """``[U, W]`` character ids, 0 for padding -> ``[U, num_filters]``."""
        is_real = (char_ids != 0).unsqueeze(-1)
        characters = self.dropout(self.embedding(char_ids)) * is_real
        features = self.convolution(characters.transpose(1, 2))
        return (features.transpose(1, 2).relu() * is_real).amax(1)


class Highway(nn.Module):
    """Layers of ``gate * ReLU(W x + b) + (1 - gate) * x`` (Srivastava et al., 2015)."""

    def __init__(self, size: int, num_layers: int) -> None:
        super().__init__()
        self.transforms = nn.ModuleList(nn.Linear(size, size) for _ in range(num_layers))
        self.gates = nn.ModuleList(nn.Linear(size, size) for _ in range(num_layers))

    def forward(self, inputs: Tensor) -> Tensor:
        """``[*, size] -> [*, size]``."""
        for transform, gate in zip(self.transforms, self.gates, strict=True):
            inputs = inputs + gate(inputs).sigmoid() * (transform(inputs).relu() - inputs)
        return inputs


class WordEmbeddings(nn.Module):
    """Word vectors and character features through a highway network.

    Without `config.train_word_vectors`, only the vectors of the special tokens and the unknown word are trained.

    Attributes:
        output_size: width of the output.
    """

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.word_vectors = nn.Embedding(config.vocab_size, config.word_embedding_size)
        self.word_vectors.weight.requires_grad = config.train_word_vectors
        self.scale = config.word_vector_scale
        self.special_vectors = nn.Parameter(torch.zeros(NUM_SPECIAL_TOKENS, config.word_embedding_size))
        self.characters: CharacterConvolution | None = None
        if config.num_char_filters:
            self.characters = CharacterConvolution(
                config.char_vocab_size,
                config.char_embedding_size,
                config.num_char_filters,
                config.char_kernel_size,
                config.char_dropout,
            )
        self.output_size: int = config.word_embedding_size + config.num_char_filters
        self.highway = Highway(self.output_size, config.num_highway_layers)
        self.word_dropout = config.word_dropout

    def forward(
        self, input_ids: Tensor, char_ids: Tensor | None, inputs_embeds: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Embed the distinct words of a batch.

        Args:
            input_ids: ``[B, L]``.
            char_ids: ``[B, L, W]``; ignored by a model without characters.
            inputs_embeds: ``[B, L, word_embedding_size]``, in place of the vectors of `word_vectors`.

        Returns:
            Vectors of the distinct words ``[U, output_size]``, and the index among them of each position ``[B, L]``.

        Raises:
            ValueError: if `char_ids` are missing, or `char_ids` or `inputs_embeds` have another shape than `input_ids`.
        """
        if inputs_embeds is not None and inputs_embeds.shape != (*input_ids.shape, self.word_vectors.embedding_dim):
            raise ValueError(
                f"inputs_embeds has shape {tuple(inputs_embeds.shape)}; it must be "
                f"{(*input_ids.shape, self.word_vectors.embedding_dim)}"
            )
        rows = input_ids.reshape(-1, 1)
        if self.characters is not None:
            if char_ids is None or char_ids.shape[:-1] != input_ids.shape:
                shape = None if char_ids is None else tuple(char_ids.shape)
                raise ValueError(
                    f"this model has a character CNN: char_ids must be [*{tuple(input_ids.shape)}, W], but is {shape}; "
                    "a WordCharTokenizer returns them with input_ids"
                )
            rows = torch.cat([rows, char_ids.reshape(-1, char_ids.size(-1)).to(rows.dtype)], dim=1)
        if inputs_embeds is None and values_are_known(rows):
            distinct, inverse = distinct_rows(rows)
            vectors = self.word_vectors(distinct[:, 0])
        else:
            distinct, inverse = rows, torch.arange(rows.size(0), device=rows.device)
            vectors = self.word_vectors(rows[:, 0]) if inputs_embeds is None else inputs_embeds.flatten(0, 1)
        vectors = self._with_special_vectors(distinct[:, 0], vectors)
        if self.characters is not None:
            vectors = torch.cat([vectors, self.characters(distinct[:, 1:])], dim=1)
        return self.highway(vectors), inverse.view_as(input_ids)

    def _with_special_vectors(self, word_ids: Tensor, vectors: Tensor) -> Tensor:
        special = self.special_vectors[word_ids.clamp(max=NUM_SPECIAL_TOKENS - 1)]
        vectors = torch.where((word_ids < NUM_SPECIAL_TOKENS).unsqueeze(-1), special, vectors * self.scale)
        return dropout(vectors, self.word_dropout, self.training)
