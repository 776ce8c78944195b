"""Word vectors out of a pretrained encoder: its input embeddings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import embedding_bag
from transformers import AutoModel, AutoTokenizer
from transformers.utils.logging import tqdm

_WORDS_AT_ONCE = 4096


def read_encoder_vectors(
    name: str, words: Sequence[str], progress_bar: bool = False
) -> tuple[list[str], NDArray[np.float32]]:
    """Make the vectors of words: the mean of the input embeddings of a word's pieces.

    Args:
        name: an encoder on the Hub, or its folder.
        words: distinct words. An uncased encoder reads them in lower case.
        progress_bar: show one, over words.

    Returns:
        The words that have a vector, in the order of `words`, and their vectors `[words, dimension]`. A word whose
        pieces are all unknown, or other special tokens, has none.

    Raises:
        OSError: there is no such encoder.
        ValueError: the encoder has no input embeddings for words.
    """
    tokenizer = AutoTokenizer.from_pretrained(name)
    embeddings = AutoModel.from_pretrained(name, dtype=torch.float32).get_input_embeddings()
    if not isinstance(getattr(embeddings, "weight", None), torch.Tensor):
        raise ValueError(f"{name} has no input embeddings for words; name a text encoder")
    weight = embeddings.weight.detach()
    special = set(tokenizer.all_special_ids)
    found: list[str] = []
    vectors = np.empty((len(words), weight.shape[1]), dtype=np.float32)
    with tqdm(total=len(words), disable=not progress_bar, desc=f"Reading {name}", unit="word") as bar:
        for start in range(0, len(words), _WORDS_AT_ONCE):
            batch = words[start : start + _WORDS_AT_ONCE]
            # Behind a space, as words mostly stand in a text: byte-level tokenizers have pieces of their own for that.
            encoded = tokenizer([f" {word}" for word in batch], add_special_tokens=False)["input_ids"]
            pieces = [[piece for piece in ids if piece not in special] for ids in encoded]
            known = [(word, ids) for word, ids in zip(batch, pieces, strict=True) if ids]
            vectors[len(found) : len(found) + len(known)] = _means(weight, [ids for _, ids in known])
            found += [word for word, _ in known]
            bar.update(len(batch))
    return found, vectors[: len(found)]


def _means(weight: torch.Tensor, rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
    """Mean of the chosen rows of a matrix, for each list of row numbers."""
    flat = torch.tensor([row for chosen in rows for row in chosen], dtype=torch.long)
    offsets = torch.tensor([0, *(len(chosen) for chosen in rows[:-1])]).cumsum(0)
    if not rows:
        return np.empty((0, weight.shape[1]), dtype=np.float32)
    return embedding_bag(flat, weight, offsets, mode="mean").numpy()
