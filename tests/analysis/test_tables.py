"""Tables over groups, of any task."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clozeformers.analysis.tables import Grouping, distribution_table, group_table

PARITY: Grouping[int] = Grouping("parity", lambda number: "odd" if number % 2 else "even", ("odd", "even"))


def test_groups_are_counted_and_averaged():
    table = group_table([1, 2, 3, 4, 5], PARITY, {"big": lambda number: float(number > 2)}, counted="numbers")
    assert table.header == ("parity", "numbers", "share", "big")
    assert table.rows == (("odd", 3, 60.0, 100 * 2 / 3), ("even", 2, 40.0, 50.0))
    assert table.total == ("all", 5, 100.0, 60.0)
    assert (table.bars, table.counts) == (("big",), "numbers")
    assert table.column("numbers") == [3, 2]


def test_groups_that_the_order_does_not_name_follow_and_empty_ones_are_left_out():
    letters: Grouping[str] = Grouping("letter", str, ("x", "c"))
    assert group_table("bcab", letters, {}).column("letter") == ["c", "a", "b"]


def test_no_examples():
    with pytest.raises(ValueError, match="no numbers to group by parity"):
        group_table([], PARITY, {}, counted="numbers")


def test_distributions_keep_their_empty_places():
    table = distribution_table("lengths", "words", {"gold": "aab", "predicted": "c"}, order="abd")
    assert table.header == ("words", "gold", "gold, share", "predicted", "predicted, share")
    assert table.rows == (
        ("a", 2, 100 * 2 / 3, 0, 0.0),
        ("b", 1, 100 / 3, 0, 0.0),
        ("d", 0, 0.0, 0, 0.0),
        ("c", 0, 0.0, 1, 100.0),
    )
    assert table.bars == ("gold, share", "predicted, share")
    assert distribution_table("lengths", "words", {"gold": ""}, order="a").rows == (("a", 0, 0.0),)


def test_markdown_and_json():
    table = group_table(["a|b\nc"] * 1234, Grouping("name", str), {"score": lambda _: 1 / 3})
    assert table.to_markdown().splitlines() == [
        "| name | examples | share | score |",
        "| --- | ---: | ---: | ---: |",
        r"| a\|b c | 1,234 | 100.00 | 33.33 |",
        "| all | 1,234 | 100.00 | 33.33 |",
    ]
    assert set(table.to_dict()) == {"name", "header", "rows", "total"}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1)), min_size=1))
def test_the_total_is_the_groups_weighted_by_their_size(examples):
    table = group_table(examples, Grouping("letter", lambda pair: pair[0]), {"score": lambda pair: pair[1]})
    assert table.total is not None
    assert sum(table.column("examples")) == table.total[1] == len(examples)
    assert sum(table.column("share")) == pytest.approx(100)
    weighted = zip(table.column("examples"), table.column("score"), strict=True)
    assert sum(count * score for count, score in weighted) / len(examples) == pytest.approx(table.total[3])
