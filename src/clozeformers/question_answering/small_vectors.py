"""Write small word vectors: those of the most frequent words, projected on their principal components.

    python -m clozeformers.question_answering.small_vectors encoder:sentence-transformers/all-MiniLM-L6-v2 \
        --texts articles.txt --words 28000 --size 128 --output vectors.txt

The file is one for `--word_vectors`, in the format of GloVe; words are in lower case.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numpy.typing import NDArray

from ..errors import run_script
from ..files import read_text, write_text
from ..modeling.tokenization_word_char import WordCharTokenizer
from .word_vectors import read_word_vectors


def principal_components(vectors: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Project centred vectors ``[words, D]`` on their first principal components: ``[words, size]``.

    Raises:
        ValueError: `size` is larger than D, or than the number of words.
    """
    if not 0 < size <= min(vectors.shape):
        raise ValueError(
            f"size is {size}; {vectors.shape[0]} vectors of {vectors.shape[1]} numbers allow 1 to {min(vectors.shape)}"
        )
    centred = vectors - vectors.mean(0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    projected: NDArray[np.float32] = centred @ directions[:, ::-1][:, :size]
    return projected


def main(arguments: list[str]) -> None:
    """Write the vectors, and print how many there are."""
    parser = argparse.ArgumentParser(prog="small_vectors", description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("source", help="word vectors, as for --word_vectors")
    parser.add_argument("--texts", nargs="+", required=True, help="text files whose frequent words are kept")
    parser.add_argument("--words", type=int, required=True, help="how many words")
    parser.add_argument("--size", type=int, required=True, help="numbers of a vector")
    parser.add_argument("--output", required=True, help="the file to write")
    given = parser.parse_args(arguments)
    lines = (line for path in given.texts for line in read_text(path).splitlines())
    tokenizer = WordCharTokenizer.train_from_texts(lines, lowercase=True)
    special = set(tokenizer.all_special_tokens)
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])  # by frequency
    words = [word for word, _ in vocabulary if word not in special][: given.words]
    found, vectors = read_word_vectors(given.source, words)
    small = principal_components(vectors, given.size)
    rows = (f"{word} {' '.join(f'{value:.4f}' for value in row)}\n" for word, row in zip(found, small, strict=True))
    write_text("".join(rows), given.output)
    kept = np.square(small).sum() / np.square(vectors - vectors.mean(0)).sum()
    print(f"{given.output}: {len(found):,} words, {given.size} numbers each, {100 * kept:.0f} % of the variance")


if __name__ == "__main__":
    sys.exit(run_script(main))
