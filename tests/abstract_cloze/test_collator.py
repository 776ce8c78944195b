"""Padding of abstract cloze features."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from clozeformers.abstract_cloze.collator import ClozeCollator
from clozeformers.abstract_cloze.features import encode_dataset
from tests.cloze_models import cloze_rows, xlnet_tokenizer

PAD = 9
TOKENIZER = SimpleNamespace(pad_token_id=PAD, padding_side="right")


def feature(lengths: list[int], label: int = 0) -> dict[str, Any]:
    ids = [[10 + number] * length for number, length in enumerate(lengths)]
    return {"input_ids": ids, "token_type_ids": [[1] * length for length in lengths], "label": label, "length": 5}


def test_marks_are_padded_too() -> None:
    marked = [feature([3]) | {"option_mask": [[0, 1, 1]]}, feature([1, 2]) | {"option_mask": [[1], [0, 1]]}]
    assert ClozeCollator(TOKENIZER)(marked)["option_mask"].tolist() == [
        [[0, 1, 1], [0, 0, 0]],
        [[1, 0, 0], [0, 1, 0]],
    ]


def test_padding_by_hand() -> None:
    features = [feature([3, 1]), feature([2, 4, 1], -1)]
    batch = ClozeCollator(TOKENIZER)(features)
    assert set(batch) == {"input_ids", "attention_mask", "token_type_ids", "labels"}
    assert all(values.dtype == torch.int64 for values in batch.values())
    assert batch["input_ids"].tolist() == [
        [[10, 10, 10, PAD], [11, PAD, PAD, PAD], [PAD] * 4],
        [[10, 10, PAD, PAD], [11, 11, 11, 11], [12, PAD, PAD, PAD]],
    ]
    assert batch["labels"].tolist() == [0, -100]
    unlabelled = Dataset.from_list([feature([1, 2])]).remove_columns("label")
    assert "labels" not in ClozeCollator(TOKENIZER)(list(unlabelled))


@given(
    st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1, max_size=4),
    st.sampled_from(["left", "right"]),
)
@settings(deadline=None, max_examples=50)
def test_the_mask_marks_the_features(lengths: list[list[int]], side: Any) -> None:
    features = [feature(of_row) for of_row in lengths]
    batch = ClozeCollator(TOKENIZER, side)(features)
    most = max(map(len, lengths))
    assert batch["input_ids"].shape == (len(lengths), most, max(map(max, lengths)))
    for row, given_row in enumerate(features):
        for place in range(most):
            real = batch["attention_mask"][row, place].bool()
            expected = given_row["input_ids"][place] if place < len(given_row["input_ids"]) else []
            assert batch["input_ids"][row, place][real].tolist() == expected
            assert set(batch["input_ids"][row, place][~real].tolist()) <= {PAD}
            assert (batch["token_type_ids"][row, place] == real).all()
            edge = real if side == "left" else real.flip(0)
            assert edge.sort().values.equal(edge)


def test_the_side_is_the_tokenizers() -> None:
    tokenizer = xlnet_tokenizer()
    rows = cloze_rows({}, {"options": ["cat", "dog"], "label": -1}, {"question": "@placeholder", "label": 2})
    batch = ClozeCollator(tokenizer)(list(encode_dataset(rows, tokenizer, option_reader=None)[0]))
    is_option = batch["attention_mask"].any(2)
    assert is_option.sum(1).tolist() == [3, 2, 3]
    assert (batch["input_ids"][..., -1][is_option] == tokenizer.cls_token_id).all()
    assert (batch["token_type_ids"][..., -1][is_option] == 2).all()
