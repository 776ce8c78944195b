"""Pretrained word vectors: read for the words that are asked for, and added to a model that is trained."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedModel
from transformers.utils.logging import tqdm

from ..modeling.tokenization_word_char import WordCharTokenizer
from .encoder_vectors import read_encoder_vectors
from .fasttext_binary import MAGIC, read_fasttext_binary

ENCODER_PREFIX = "encoder:"
_GZIP_MAGIC = b"\x1f\x8b"
_LINES_BETWEEN_UPDATES = 4096


class WordVectors(NamedTuple):
    """Words and their vectors, ``vectors[k]`` that of ``words[k]``.

    Attributes:
        words: distinct words.
        vectors: float32, ``[words, dimension]``.
    """

    words: list[str]
    vectors: NDArray[np.float32]


def read_word_vectors(
    source: str | Path, words: Iterable[str], dimension: int | None = None, progress_bar: bool = False
) -> WordVectors:
    """Read the vectors of some words; of the others, nothing is kept.

    Args:
        source: one of

            * a text file with a word and its numbers on each line, with or without a first line that says how many
              words and numbers (GloVe, fastText ``.vec``), as it is or compressed with gzip;
            * a fastText model, ``.bin``;
            * ``"encoder:NAME"``, an encoder on the Hub or its folder: a word's vector is the mean of the input
              embeddings of its pieces.
        words: the words. A fastText model and an encoder also make vectors of words that they have never seen.
        dimension: how many numbers a vector must have; by default as many as it has.
        progress_bar: show one.

    Returns:
        Those of the words that have a vector, and their vectors: from a text file in its order (the first line counts
        where a word has several), otherwise in the order of ``words``.

    Raises:
        FileNotFoundError: there is no such file.
        IsADirectoryError: the source is a folder without ``encoder:`` before it.
        OSError: there is no such encoder.
        TypeError: ``words`` is one string.
        ValueError: no words are asked for, or none of them has a vector; the vectors have another dimension; the file
            is empty, cut off, quantised or of another kind; a line has too few or too many numbers, or something that
            is no finite number. Says the file and, for text, the line.
    """
    if isinstance(words, str):
        raise TypeError(f"words is one string, {words!r:.80}; give a list of words, or another iterable of them")
    asked = list(dict.fromkeys(words))
    if not asked:
        raise ValueError(f"no words are asked for; give those to look up in {source}")
    found = _read(source, asked, dimension, progress_bar)
    if not found.words:
        raise ValueError(
            f"{source} has no vector for any of the {len(asked)} words that are asked for, such as {asked[0]!r}; are "
            "they of its language, and in its case?"
        )
    return found


def extend_vocabulary(
    model: PreTrainedModel, tokenizer: WordCharTokenizer, source: str | Path, words: Iterable[str]
) -> int:
    """Let a trained model read more words, with fixed vectors of the kind that it was trained with.

    Nothing else changes: the words that the tokenizer has keep their ids and their vectors.

    Args:
        model: a model whose input embeddings are an ``nn.Embedding``; it gets a row for each new word.
        tokenizer: the model's own; it gets the new words.
        source: the vectors that the model was trained with, as of :func:`read_word_vectors`.
        words: words or longer texts, as of :meth:`WordCharTokenizer.unknown_words`. Those that are known already, or
            that have no vector, are left out.

    Returns:
        How many words were added.

    Raises:
        TypeError: the model's input embeddings are something else.
        ValueError: model and tokenizer differ in their number of words; or for what :func:`read_word_vectors` and
            :meth:`WordCharTokenizer.add_words` refuse. Model and tokenizer are as before then.
    """
    embeddings = model.get_input_embeddings()
    if not isinstance(embeddings, torch.nn.Embedding):
        raise TypeError(
            f"the input embeddings of {type(model).__name__} are a {type(embeddings).__name__}, which cannot be "
            "extended; give a model whose get_input_embeddings() is an nn.Embedding"
        )
    rows, dimension = embeddings.weight.shape
    if rows != len(tokenizer):
        raise ValueError(
            f"the model has vectors of {rows} words and the tokenizer {len(tokenizer)} words; give the tokenizer that "
            "was saved with the model"
        )
    new = tokenizer.unknown_words(words)
    found = _read(source, new, dimension) if new else WordVectors([], np.empty((0, dimension), np.float32))
    tokenizer.add_words(found.words)
    if found.words:
        is_trained = embeddings.weight.requires_grad
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        weight = model.get_input_embeddings().weight.requires_grad_(is_trained)
        with torch.no_grad():
            weight[rows:] = torch.from_numpy(found.vectors).to(weight)
    return len(found.words)


def _read(source: str | Path, asked: list[str], dimension: int | None, progress_bar: bool = False) -> WordVectors:
    """Read what there is, be it nothing."""
    if isinstance(source, str) and source.startswith(ENCODER_PREFIX):
        found = WordVectors(*read_encoder_vectors(source.removeprefix(ENCODER_PREFIX), asked, progress_bar))
    else:
        path = Path(source)
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder; where it holds an encoder, write {ENCODER_PREFIX}{path}")
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist; give a file of word vectors, or {ENCODER_PREFIX}NAME")
        with path.open("rb") as file:
            beginning = file.read(len(MAGIC))
        if beginning != MAGIC:
            with _open_text(path, beginning, progress_bar) as lines:
                return _read_text(path, lines, asked, dimension)
        found = WordVectors(*read_fasttext_binary(path, asked, progress_bar))
    if dimension not in (None, found.vectors.shape[1]):
        raise ValueError(
            f"{source} has vectors of {found.vectors.shape[1]} numbers, not of {dimension}; give another source, or "
            f"dimension={found.vectors.shape[1]}"
        )
    return found


@contextmanager
def _open_text(path: Path, beginning: bytes, progress_bar: bool) -> Iterator[Iterator[bytes]]:
    """Open a text file, compressed or not, as its lines; the bar counts the bytes of the file as it is."""
    with (
        path.open("rb") as file,
        tqdm(
            total=path.stat().st_size,
            disable=not progress_bar,
            desc=f"Reading {path.name}",
            unit="B",
            unit_scale=True,
        ) as bar,
    ):
        is_compressed = beginning.startswith(_GZIP_MAGIC)
        yield _lines(path, gzip.GzipFile(fileobj=file) if is_compressed else file, file, bar)


def _lines(path: Path, text: Iterable[bytes], file: IO[bytes], bar: Any) -> Iterator[bytes]:
    done = 0
    try:
        for number, line in enumerate(text):
            if number % _LINES_BETWEEN_UPDATES == 0:
                bar.update(file.tell() - done)
                done = file.tell()
            yield line
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path}: the compressed file is cut off or damaged ({error}); download it again") from None
    bar.update(file.tell() - done)


def _read_text(path: Path, lines: Iterator[bytes], asked: list[str], dimension: int | None) -> WordVectors:
    """Read a text file up to its end, or until nothing more is asked for."""
    first = next(lines, b"")
    if not first:
        raise ValueError(f"{path}, line 1: the file is empty; each line should hold a word and its vector")
    announced, length = _sizes(path, first, dimension)
    found: list[str] = []
    vectors = np.empty((len(asked), length), dtype=np.float32)
    waiting = {word.encode("utf-8", "surrogatepass"): word for word in asked}
    number = 1
    for number, line in enumerate(lines, 2) if announced is not None else enumerate(chain([first], lines), 1):
        if not waiting:
            break
        if line.strip():
            key, numbers = _split(path, number, line, length)
            if key in waiting:
                vectors[len(found)] = _parse(path, number, numbers)
                found.append(waiting.pop(key))
    if waiting and announced is not None and number - 1 < announced:
        raise ValueError(
            f"{path}, line {number}: the file ends here, with {number - 1} words; its first line says that there are "
            f"{announced}. Download it again"
        )
    return WordVectors(found, vectors[: len(found)])


def _sizes(path: Path, first: bytes, dimension: int | None) -> tuple[int | None, int]:
    """Read from the first line how many words there are, if it says so, and how many numbers each has."""
    fields = first.split()
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        if dimension not in (None, int(fields[1])):
            raise ValueError(f"{path}, line 1: the vectors have {int(fields[1])} numbers, not {dimension}")
        return int(fields[0]), int(fields[1])
    length = dimension if dimension is not None else len(fields) - 1
    # Checked whatever the word, for here the length of all others is taken from.
    _, numbers = _split(path, 1, first, max(length, 1))
    _parse(path, 1, numbers)
    return None, length


def _split(path: Path, number: int, line: bytes, length: int) -> tuple[bytes, bytes]:
    """Split a line into its word, which may hold spaces, and its numbers."""
    line = line.rstrip(b" \r\n")
    if line.count(b" ") == length:
        word, _, numbers = line.partition(b" ")
        return word, numbers
    fields = line.split(b" ")
    before = fields[:-length]
    if len(before) < 1 or _is_number(before[-1]):
        raise _wrong_length(path, number, fields, length)
    return b" ".join(before), b" ".join(fields[-length:])


def _wrong_length(path: Path, number: int, fields: list[bytes], length: int) -> ValueError:
    return ValueError(
        f"{path}, line {number}: {len(fields) - 1} numbers after {_shown(fields[0])}; a line should hold a word and "
        f"{length} numbers{_hint(b' '.join(fields))}"
    )


def _parse(path: Path, number: int, numbers: bytes) -> NDArray[np.float32]:
    fields = numbers.split(b" ")
    try:
        with np.errstate(over="ignore"):
            vector = np.array(fields, dtype=np.float32)
    except ValueError:
        wrong = next(field for field in fields if not _is_number(field))
        raise ValueError(f"{path}, line {number}: {_shown(wrong)} is no number{_hint(numbers)}") from None
    if not np.isfinite(vector).all():
        wrong = fields[int(np.isfinite(vector).argmin())]
        raise ValueError(f"{path}, line {number}: {_shown(wrong)} is no finite number of 32 bits; correct the file")
    return vector


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _shown(field: bytes) -> str:
    return repr(field.decode("utf-8", "replace"))[:80]


def _hint(data: bytes) -> str:
    """What to do about a file that is no text at all."""
    try:
        is_text = "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        is_text = False
    return "" if is_text else "; the file is binary: unpack it, or give a text file or a fastText model (.bin)"
