"""Read word vectors of a fastText model (`.bin`), including those of unseen words.

The file is little-endian without padding: magic number and version (int32 each); twelve int32 and a double of training
arguments; the dictionary; a flag that the input matrix is quantized; the matrix; then the output side, which is not
read. The dictionary is three int32 (entries, words, labels), two int64 (tokens, and the number of n-grams after
pruning, -1 without), and for each entry its bytes, a zero, a count (int64) and a type (int8); words precede labels. The
matrix is its shape (two int64) and its float32 rows: those of the words, then those of the n-grams.

A word's vector is the mean of its own row and those of its character n-grams. Source: Bojanowski et al. (2017),
"Enriching Word Vectors with Subword Information", section 3.2.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAGIC = (793712314).to_bytes(4, "little")
_VERSION = 12
_HEADER = Struct("<ii")
_ARGUMENTS = Struct("<12id")
_DICTIONARY = Struct("<iiiqq")
_ENTRY = Struct("<qb")
_MATRIX = Struct("<?qq")
_END_OF_SENTENCE = "</s>"  # the only entry without n-grams
_HASH_START, _HASH_FACTOR = 2166136261, 16777619  # FNV-1a, 32 bits


class _Ngrams(NamedTuple):
    """The hashed n-grams of a model, of `shortest` to `longest` characters."""

    buckets: int
    shortest: int
    longest: int

    def hashes(self, word: str) -> Iterator[int]:
        """Yield the bucket of each n-gram of a word, including its boundaries `<` and `>` but never one alone."""
        if self.buckets < 1 or word == _END_OF_SENTENCE:
            return
        characters = [character.encode("utf-8", "surrogatepass") for character in f"<{word}>"]
        for start in range(len(characters)):
            value = _HASH_START
            for length, character in enumerate(characters[start : start + self.longest], 1):
                for byte in character:
                    # fastText reads bytes as signed: from 128 on, the upper bits are set.
                    value = ((value ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * _HASH_FACTOR) & 0xFFFFFFFF
                is_boundary = length == 1 and start in (0, len(characters) - 1)
                if length >= self.shortest and not is_boundary:
                    yield value % self.buckets


def read_fasttext_binary(path: Path, words: Sequence[str]) -> tuple[list[str], NDArray[np.float32]]:
    """Read the vectors of distinct words; only the needed rows of the matrix are loaded.

    Returns:
        The words that have a vector, in the order of `words`, and their vectors `[words, dimension]`. A model with
        n-grams has a vector of every word.

    Raises:
        ValueError: the file is quantized, of another version than 12, or damaged.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        size = len(data)
        try:
            ngrams, rows, num_words, position = _read_tables(path, data, words)
            is_quantized, num_rows, dimension = _MATRIX.unpack_from(data, position)
        except StructError:
            raise ValueError(f"{path}: the file is truncated after {size:,} bytes") from None
    start = position + _MATRIX.size
    if is_quantized:
        raise _quantized(path)
    if num_rows != num_words + ngrams.buckets or dimension < 1:
        given = f"{num_words} words and {ngrams.buckets} n-gram buckets"
        raise ValueError(f"{path}: the input matrix is {num_rows} x {dimension}, for {given}; the file is damaged")
    if start + 4 * num_rows * dimension > size:
        raise ValueError(f"{path}: the file is truncated after {size:,} bytes, inside its input matrix")
    matrix = np.memmap(path, dtype="<f4", mode="r", offset=start, shape=(num_rows, dimension))
    parts = {word: [num_words + bucket for bucket in ngrams.hashes(word)] for word in words}
    for word, row in rows.items():
        parts[word].insert(0, row)
    found = [word for word in words if parts[word]]
    vectors = np.array([matrix[parts[word]].mean(axis=0) for word in found], np.float32).reshape(-1, dimension)
    is_finite = np.isfinite(vectors).all(axis=1)
    if not is_finite.all():
        raise ValueError(f"{path}: the vector of {found[int(is_finite.argmin())]!r} is not finite; the file is damaged")
    return found, vectors


def _read_tables(path: Path, data: mmap.mmap, words: Sequence[str]) -> tuple[_Ngrams, dict[str, int], int, int]:
    """Read the part before the matrix: n-grams, rows of the given words, number of words, position of the matrix."""
    _, version = _HEADER.unpack_from(data, 0)
    if version != _VERSION:
        problem = f"{path}: the format has version {version}; only {_VERSION} is supported"
        raise ValueError(f"{problem}. Save the model with a current fastText, or give its .vec file")
    position = _HEADER.size
    buckets, shortest, longest = _ARGUMENTS.unpack_from(data, position)[8:11]
    position += _ARGUMENTS.size
    num_entries, num_words, _, _, num_kept_ngrams = _DICTIONARY.unpack_from(data, position)
    if num_kept_ngrams >= 0:
        raise _quantized(path)
    position += _DICTIONARY.size
    given = {word.encode("utf-8", "surrogatepass"): word for word in words}
    rows: dict[str, int] = {}
    for number in range(num_entries):
        end = data.find(b"\0", position)
        if end < 0:
            raise StructError
        word = given.get(data[position:end])
        if word is not None and number < num_words:
            rows[word] = number
        position = end + 1 + _ENTRY.size
    return _Ngrams(buckets, shortest, longest), rows, num_words, position


def _quantized(path: Path) -> ValueError:
    return ValueError(f"{path}: the model is quantized, as .ftz files are; give the .bin file that it was made from")
