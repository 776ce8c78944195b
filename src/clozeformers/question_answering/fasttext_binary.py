"""Word vectors of a fastText model (`.bin`), words that it has not seen included.

The file holds, little-endian and without padding: magic number and version (int32 each); twelve int32 and a double of
training arguments; the dictionary; a flag that says whether the input matrix is quantised; the matrix; then the output
side, which is not read. The dictionary is three int32 (entries, words, labels), two int64 (tokens, and the number of
n-grams that pruning kept, -1 without pruning), and for each entry its bytes, a zero, a count (int64) and a type (int8);
words stand before labels. The matrix is its two sizes (int64) and its float32 rows: the words', then the n-grams'.

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
from transformers.utils.logging import tqdm

MAGIC = (793712314).to_bytes(4, "little")
_VERSION = 12
_BEGINNING = Struct("<ii")
_ARGUMENTS = Struct("<12id")
_DICTIONARY = Struct("<iiiqq")
_ENTRY = Struct("<qb")
_MATRIX = Struct("<?qq")
_END_OF_SENTENCE = "</s>"  # the only entry without n-grams
_HASH_START, _HASH_FACTOR = 2166136261, 16777619  # FNV-1a, 32 bits


class Ngrams(NamedTuple):
    """Which n-grams of a word have a row: those of `shortest` to `longest` characters, shared over `buckets` rows."""

    buckets: int
    shortest: int
    longest: int

    def of(self, word: str) -> Iterator[int]:
        """Yield the bucket of each n-gram of a word, its boundaries `<` and `>` included but never alone."""
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


def read_fasttext_binary(
    path: Path, words: Sequence[str], progress_bar: bool = False
) -> tuple[list[str], NDArray[np.float32]]:
    """Read or make the vectors of words; only the needed rows are loaded.

    Args:
        path: a model that fastText saved, not quantised and not compressed.
        words: distinct words.
        progress_bar: show one, over words.

    Returns:
        The words that have a vector, in the order of `words`, and their vectors `[words, dimension]`. Where the model
        has n-grams, that is every word.

    Raises:
        ValueError: the file is quantised, of another version than 12, cut off, or not consistent; or a vector is not
            finite.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            ngrams, rows, num_words, matrix_at = _read_tables(path, data, words)
            is_quantised, num_rows, dimension = _MATRIX.unpack_from(data, matrix_at)
        except StructError:
            raise ValueError(f"{path}: the file is cut off after {len(data):,} bytes; download it again") from None
        if is_quantised:
            raise _quantised(path)
        start, size = matrix_at + _MATRIX.size, len(data)
    if num_rows != num_words + ngrams.buckets or dimension < 1:
        raise ValueError(
            f"{path}: the input matrix is {num_rows} x {dimension}, but there are {num_words} words and "
            f"{ngrams.buckets} n-gram buckets; the file is damaged"
        )
    if start + 4 * num_rows * dimension > size:
        raise ValueError(
            f"{path}: the file is cut off after {size:,} bytes; its input matrix alone ends at byte "
            f"{start + 4 * num_rows * dimension:,}. Download it again"
        )
    matrix = np.memmap(path, dtype="<f4", mode="r", offset=start, shape=(num_rows, dimension))
    found: list[str] = []
    vectors = np.empty((len(words), dimension), dtype=np.float32)
    for word in tqdm(words, disable=not progress_bar, desc=f"Reading {path.name}", unit="word"):
        parts = [rows[word]] if word in rows else []
        parts += [num_words + bucket for bucket in ngrams.of(word)]
        if parts:
            vectors[len(found)] = matrix[parts].mean(axis=0)
            found.append(word)
    vectors = vectors[: len(found)]
    if not np.isfinite(vectors).all():
        word = found[int(np.isfinite(vectors).all(axis=1).argmin())]
        raise ValueError(f"{path}: the vector of {word!r} is not finite; the file is damaged, download it again")
    return found, vectors


def _read_tables(path: Path, data: mmap.mmap, words: Sequence[str]) -> tuple[Ngrams, dict[str, int], int, int]:
    """Read what stands before the matrix: the n-grams, the rows of the asked words, how many words, where it ends."""
    _, version = _BEGINNING.unpack_from(data, 0)
    if version != _VERSION:
        raise ValueError(
            f"{path}: the format has version {version}, and only {_VERSION} can be read; save the model again with a "
            "current fastText, or give its .vec file"
        )
    arguments = _ARGUMENTS.unpack_from(data, _BEGINNING.size)
    buckets, shortest, longest = arguments[8:11]
    position = _BEGINNING.size + _ARGUMENTS.size
    num_entries, num_words, _, _, num_kept_ngrams = _DICTIONARY.unpack_from(data, position)
    if num_kept_ngrams >= 0:
        raise _quantised(path)
    position += _DICTIONARY.size
    asked = {word.encode("utf-8", "surrogatepass"): word for word in words}
    rows: dict[str, int] = {}
    for number in range(num_entries):
        end = data.find(b"\0", position)
        if end < 0:
            raise StructError
        word = asked.get(data[position:end])
        if word is not None and number < num_words:
            rows[word] = number
        position = end + 1 + _ENTRY.size
    return Ngrams(buckets, shortest, longest), rows, num_words, position


def _quantised(path: Path) -> ValueError:
    return ValueError(
        f"{path}: the model is quantised (as .ftz files are), and its vectors are only approximate; "
        "give the .bin file that it was made from"
    )
