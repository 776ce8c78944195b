"""Word vectors of fewer words and numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clozeformers.question_answering.small_vectors import main, principal_components
from clozeformers.question_answering.word_vectors import read_word_vectors


def test_distances_are_kept_as_far_as_the_variance_is() -> None:
    rng = np.random.default_rng(0)
    plane = (rng.normal(size=(50, 2)) @ rng.normal(size=(2, 7)) + 5).astype(np.float32)
    for vectors, size in ((plane, 2), (rng.normal(size=(50, 7)).astype(np.float32), 7)):
        small = principal_components(vectors, size)
        assert small.shape == (50, size)
        distances = [np.linalg.norm(each[:, None] - each[None], axis=-1) for each in (vectors, small)]
        np.testing.assert_allclose(distances[1], distances[0], atol=1e-4)
    spread = np.square(principal_components(plane, 7)).sum(0)
    assert (np.diff(spread) <= 1e-3).all(), "the first components have the most variance"
    for size in (0, 8):
        with pytest.raises(ValueError, match=rf"size is {size}; 50 vectors of 7 numbers allow 1 to 7"):
            principal_components(plane, size)


def test_the_most_frequent_words_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "vectors.txt").write_text("the 1 2 3\ncat 2 1 0\ndog 0 1 1\nsat 1 0 1\nrare 9 9 9\n")
    (tmp_path / "text.txt").write_text("The cat sat, the dog sat.\nThe cat sat\nno dog\nrare")
    output = tmp_path / "small.txt"
    source, texts = str(tmp_path / "vectors.txt"), ["--texts", str(tmp_path / "text.txt")]
    main([source, *texts, "--words", "4", "--size", "2", "--output", str(output)])
    assert "4 words, 2 numbers each" in capsys.readouterr().out
    words, vectors = read_word_vectors(output, ["rare", "cat", "dog", "sat", "the"])
    assert set(words) == {"the", "cat", "dog", "sat"}
    assert vectors.shape == (4, 2)
