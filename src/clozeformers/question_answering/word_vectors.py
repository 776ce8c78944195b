"""Read pretrained word vectors, and add words to a trained model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModel, AutoTokenizer, PreTrainedModel

from ..files import CorpusError, open_data, require_file
from ..modeling.tokenization_word_char import WordCharTokenizer
from ..text import truncate_repr
from ..training.pretrained import loading
from .fasttext_binary import MAGIC, read_fasttext_binary

ENCODER_PREFIX = "encoder:"
_BATCH_SIZE = 256
_MAX_PIECES = 64  # an encoder reads the beginning of a longer word, such as an address


def read_word_vectors(source: str | Path, words: Sequence[str]) -> tuple[list[str], NDArray[np.float32]]:
    """Read the vectors of some words.

    Args:
        source: one of

            * a text file with a word and its vector on each line, optionally after a line with the number of words and
              the dimension (GloVe, fastText ``.vec``), plain or compressed with gzip;
            * a fastText model, ``.bin``;
            * ``"encoder:NAME"``, an encoder on the Hub or its folder, which reads each word by itself: its vector is
              the mean of the last layer's output over its pieces.
        words: distinct words.

    Returns:
        The words that have a vector, and the vectors, float32 ``[words, dimension]``: in the order of a text file (the
        first line of a word counts), otherwise of ``words``.

    Raises:
        OSError: there is no such file or encoder.
        ValueError: none of the words has a vector; the file is damaged, quantized or of another kind.
    """
    found, vectors = _read(source, words)
    if not found:
        problem = f"{source} has no vector for any of the {len(words)} words, such as {truncate_repr(words[0])}"
        raise ValueError(f"{problem}; check its language and whether it is cased")
    return found, vectors


def extend_vocabulary(
    model: PreTrainedModel, tokenizer: WordCharTokenizer, source: str | Path, words: Iterable[str]
) -> int:
    """Add words to a trained model and its tokenizer, with the fixed vectors that it was trained with.

    Args:
        model: a model with an ``nn.Embedding`` of words.
        tokenizer: the tokenizer of the model; its words keep their ids and vectors.
        source: the vectors that the model was trained with, see `read_word_vectors`.
        words: words or longer texts, see :meth:`WordCharTokenizer.unknown_words`; words without a vector are ignored.

    Returns:
        The number of words added.

    Raises:
        ValueError: model, tokenizer and vectors do not fit together, or the vectors cannot be read.
    """
    embeddings = model.get_input_embeddings()
    rows, dimension = embeddings.weight.shape
    if rows != len(tokenizer):
        raise ValueError(
            f"the model has vectors of {rows} words and the tokenizer {len(tokenizer)} words; use the model's tokenizer"
        )
    new = tokenizer.unknown_words(words)
    found, vectors = _read(source, new) if new else ([], np.empty((0, dimension), np.float32))
    if vectors.shape[1] != dimension:
        raise ValueError(
            f"{source} has vectors of dimension {vectors.shape[1]}, but the model's have {dimension}; use the vectors "
            "that it was trained with"
        )
    tokenizer.add_words(found)
    if found:
        is_trained = embeddings.weight.requires_grad
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        weight = model.get_input_embeddings().weight.requires_grad_(is_trained)
        with torch.no_grad():
            weight[rows:] = torch.from_numpy(vectors).to(weight)
    return len(found)


def _read(source: str | Path, words: Sequence[str]) -> tuple[list[str], NDArray[np.float32]]:
    if str(source).startswith(ENCODER_PREFIX):
        return _read_encoder(str(source).removeprefix(ENCODER_PREFIX), words)
    path = require_file(source, f"give a file of word vectors, or {ENCODER_PREFIX}NAME for an encoder")
    with path.open("rb") as file:
        magic = file.read(len(MAGIC))
    if magic == MAGIC:
        return read_fasttext_binary(path, words)
    return _read_text(path, words)


def _read_encoder(name: str, words: Sequence[str]) -> tuple[list[str], NDArray[np.float32]]:
    """Average an encoder's output over the pieces of each word; a word whose pieces are all special tokens has none."""
    with loading(name):
        tokenizer = AutoTokenizer.from_pretrained(name)
        model = AutoModel.from_pretrained(name, dtype=torch.float32, use_safetensors=True).eval()
    encoder = model.get_encoder() if model.config.is_encoder_decoder else model
    special = set(tokenizer.all_special_ids)
    # After a space, as in running text, because byte-level tokenizers have distinct pieces for that.
    texts = [f" {word}" for word in words]
    longest = min(_MAX_PIECES, getattr(model.config, "max_position_embeddings", _MAX_PIECES))
    encoded = tokenizer(texts, truncation=True, max_length=longest)["input_ids"]
    by_length: dict[int, list[int]] = {}
    for number, pieces in enumerate(encoded):
        if not special.issuperset(pieces):
            by_length.setdefault(len(pieces), []).append(number)
    vectors = np.empty((len(words), model.config.hidden_size), np.float32)
    # Batches of one length have no padding: a word's vector does not depend on the others.
    for numbers in by_length.values():
        for first in range(0, len(numbers), _BATCH_SIZE):
            batch = numbers[first : first + _BATCH_SIZE]
            ids = torch.tensor([encoded[number] for number in batch])
            is_piece = ~torch.isin(ids, torch.tensor(list(special))).unsqueeze(-1)
            with torch.inference_mode():
                states = encoder(input_ids=ids).last_hidden_state
            vectors[batch] = ((states * is_piece).sum(1) / is_piece.sum(1)).numpy()
    known = sorted(number for numbers in by_length.values() for number in numbers)
    return [words[number] for number in known], vectors[known]


def _read_text(path: Path, words: Sequence[str]) -> tuple[list[str], NDArray[np.float32]]:
    """Read a text file to its end, or until all words are found."""
    waiting = {word.encode("utf-8", "surrogatepass"): word for word in words}
    found: list[str] = []
    vectors: list[NDArray[np.float32]] = []
    num_words = dimension = number = 0
    with open_data(path) as lines:
        for number, line in enumerate(lines, 1):
            if number == 1:
                fields = line.split()
                if len(fields) == 2 and all(field.isdigit() for field in fields):
                    num_words, dimension = map(int, fields)
                    continue
                dimension = max(len(fields) - 1, 1)
            if not waiting:
                break
            if not line.strip():
                continue
            word, numbers = _split_line(path, number, line.rstrip(b" \r\n"), dimension)
            if word in waiting or number == 1:  # The first line always, to detect another kind of file.
                vector = _parse_vector(path, number, numbers)
                if word in waiting:
                    found.append(waiting.pop(word))
                    vectors.append(vector)
    if not number:
        raise CorpusError(path, 1, "the file is empty; each line must hold a word and its vector")
    if waiting and number - 1 < num_words:
        problem = f"the file is truncated: it has {number - 1} of the {num_words} words that its first line announces"
        raise CorpusError(path, number, problem)
    return found, np.array(vectors, dtype=np.float32).reshape(-1, dimension)


def _split_line(path: Path, number: int, line: bytes, dimension: int) -> tuple[bytes, bytes]:
    """Split a line into its word, which may contain spaces, and its numbers."""
    word, _, numbers = line.partition(b" ")
    if numbers and numbers.count(b" ") == dimension - 1:
        return word, numbers
    fields = line.split(b" ")
    words, values = fields[:-dimension], fields[-dimension:]
    if not words or _is_number(words[-1]):
        problem = (
            f"{len(fields) - 1} numbers after {truncate_repr(word)}; a line must hold a word and {dimension} numbers"
        )
        raise CorpusError(path, number, f"{problem}, each after a space{_hint(line)}")
    return b" ".join(words), b" ".join(values)


def _parse_vector(path: Path, number: int, numbers: bytes) -> NDArray[np.float32]:
    fields = numbers.split(b" ")
    try:
        with np.errstate(over="ignore"):
            vector = np.array(fields, dtype=np.float32)
    except ValueError as error:
        raise CorpusError(path, number, f"{error}{_hint(numbers)}") from None
    if not np.isfinite(vector).all():
        wrong = fields[int(np.isfinite(vector).argmin())]
        raise CorpusError(path, number, f"{wrong!r} is not a finite 32-bit number")
    return vector


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _hint(data: bytes) -> str:
    is_text = not {"\0", "\ufffd"} & set(data.decode("utf-8", "replace"))
    return "" if is_text else "; the file is binary: unpack it, or give a text file or a fastText model (.bin)"
