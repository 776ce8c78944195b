"""Features of abstract cloze to padded batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from clozeformers.abstract_cloze.collator import ClozeCollator
from clozeformers.abstract_cloze.features import cloze_features
from tests.cloze_models import FakeReader, bert_tokenizer, cloze_rows, xlnet_tokenizer

PAD = 9
ROWS = cloze_rows({}, {"options": ["cat", "dog"], "label": -1}, {"question": "@placeholder", "label": 2})


class Padding:
    """What a collator needs of a tokenizer."""

    pad_token_id = PAD
    padding_side = "right"


def feature(lengths: list[int], label: int = 0) -> dict[str, Any]:
    ids = [[10 + number] * length for number, length in enumerate(lengths)]
    return {"input_ids": ids, "token_type_ids": [[1] * length for length in lengths], "label": label, "length": 5}


def test_a_batch_of_the_left_and_of_the_right() -> None:
    features = [feature([3, 1]), feature([2, 4, 1], -1)]
    batch = ClozeCollator(Padding())(features)
    assert set(batch) == {"input_ids", "attention_mask", "token_type_ids", "labels"}
    assert all(values.dtype == torch.int64 for values in batch.values())
    assert batch["input_ids"].tolist() == [
        [[10, 10, 10, PAD], [11, PAD, PAD, PAD], [PAD] * 4],
        [[10, 10, PAD, PAD], [11, 11, 11, 11], [12, PAD, PAD, PAD]],
    ]
    assert batch["labels"].tolist() == [0, -100]
    assert torch.equal(batch["attention_mask"], (batch["input_ids"] != PAD).long())
    assert torch.equal(batch["token_type_ids"], batch["attention_mask"])
    left = ClozeCollator(Padding(), padding_side="left")(features)
    assert all(torch.equal(left[name], batch[name].flip(2)) for name in ("input_ids", "attention_mask"))


@given(
    st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1, max_size=4),
    st.sampled_from(["left", "right"]),
    st.sampled_from([None, 1, 8]),
)
@settings(deadline=None)
def test_what_is_real_is_what_was_given(lengths: list[list[int]], side: Any, multiple: int | None) -> None:
    features = [feature(of_row) for of_row in lengths]
    batch = ClozeCollator(Padding(), multiple, side)(features)
    longest, most = max(map(max, lengths)), max(map(len, lengths))
    width = longest + -longest % (multiple or 1)
    assert batch["input_ids"].shape == (len(lengths), most, width)
    for row, given_row in enumerate(features):
        for place in range(most):
            real = batch["attention_mask"][row, place].bool()
            expected = given_row["input_ids"][place] if place < len(given_row["input_ids"]) else []
            assert batch["input_ids"][row, place][real].tolist() == expected
            assert set(batch["input_ids"][row, place][~real].tolist()) <= {PAD}
            assert (batch["token_type_ids"][row, place] == real).all()
            edge = real if side == "left" else real.flip(0)
            assert edge.sort().values.equal(edge)


@pytest.mark.parametrize("form", [None, "numpy", "torch"])
def test_datasets_of_any_format(form: str | None) -> None:
    features = cloze_features(ROWS, bert_tokenizer(), option_reader=FakeReader())[0]
    expected = ClozeCollator(bert_tokenizer())(list(features))
    formatted = features.with_format(form)
    batch = ClozeCollator(bert_tokenizer())([formatted[number] for number in range(len(formatted))])
    assert all(torch.equal(batch[name], values) for name, values in expected.items())
    assert batch["input_ids"].shape[:2] == (3, 3)


def test_the_side_is_the_tokenizers() -> None:
    tokenizer = xlnet_tokenizer()
    batch = ClozeCollator(tokenizer)(list(cloze_features(ROWS, tokenizer, option_reader=None)[0]))
    is_option = batch["attention_mask"].any(2)
    assert is_option.sum(1).tolist() == [3, 2, 3]
    assert (batch["input_ids"][..., -1][is_option] == tokenizer.cls_token_id).all()
    assert (batch["token_type_ids"][..., -1][is_option] == 2).all()


def test_labels_are_there_where_they_are_given() -> None:
    unlabelled = Dataset.from_list([feature([1, 2])]).remove_columns("label")
    assert "labels" not in ClozeCollator(Padding())(list(unlabelled))
    assert np.array_equal(ClozeCollator(Padding())([feature([1], 4)])["labels"], [4])
