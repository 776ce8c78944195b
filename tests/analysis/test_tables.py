"""Tables over groups, of any task."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas import Categorical, DataFrame, Series

from clozeformers.analysis.tables import cut_ranges, distribution_table, group_table, markdown_table


def test_groups_are_counted_and_averaged_in_the_order_of_their_categories():
    parity = Categorical(["odd", "even", "odd", "even", "odd"], ["zero", "odd", "even"])
    table = group_table(DataFrame({"parity": parity, "big": [0.0, 0.0, 1.0, 1.0, 1.0]}), "parity", ["big"])
    assert table.header == ["parity", "questions", "share", "big"]
    assert table.rows == [
        ("odd", 3, 60.0, pytest.approx(100 * 2 / 3)),
        ("even", 2, 40.0, 50.0),
        ("all", 5, 100.0, 60.0),
    ]
    assert (table.bars, table.has_total) == (("big",), True)


def test_other_groups_are_sorted():
    table = group_table(DataFrame({"letter": list("bcab"), "score": 1.0}), "letter", ["score"])
    assert [row[:2] for row in table.rows] == [("a", 1), ("b", 2), ("c", 1), ("all", 4)]


def test_distributions_keep_empty_categories():
    series = {name: Series(Categorical(list(values), list("abc"))) for name, values in (("gold", "cca"), ("none", ""))}
    table = distribution_table("letters", "letter", series)
    assert table.header == ["letter", "gold", "gold, share", "none", "none, share"]
    assert table.rows == [
        ("a", 1, pytest.approx(100 / 3), 0, 0.0),
        ("b", 0, 0.0, 0, 0.0),
        ("c", 2, pytest.approx(200 / 3), 0, 0.0),
    ]
    assert table.bars == ("gold, share", "none, share")


def test_markdown_and_json():
    table = group_table(DataFrame({"name": ["a|b\nc"] * 1234, "score": 1 / 3}), "name", ["score"])
    assert table.to_markdown().splitlines() == [
        "| name | questions | share | score |",
        "| --- | ---: | ---: | ---: |",
        r"| a\|b c | 1,234 | 100.00 | 33.33 |",
        "| all | 1,234 | 100.00 | 33.33 |",
    ]
    values = table.to_dict()
    assert (values["name"], values["header"], values["rows"][1][:2]) == ("name", table.header, ("all", 1234))
    assert markdown_table(["a", "b"], []) == "| a | b |\n| --- | --- |"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1)), min_size=1))
def test_the_total_is_the_mean_of_the_groups_weighted_by_their_size(examples):
    *groups, total = group_table(DataFrame(examples, columns=["letter", "score"]), "letter", ["score"]).rows
    assert sum(size for _, size, *_ in groups) == total[1] == len(examples)
    assert sum(share for _, _, share, _ in groups) == pytest.approx(100)
    assert sum(size * score for _, size, _, score in groups) / len(examples) == pytest.approx(total[3])


def test_ranges():
    ranges = {0: "none", 1: "1", 4: "2–4", float("inf"): "more"}
    assert list(cut_ranges([0, 1, 2, 4, 5, float("inf")], ranges)) == ["none", "1", "2–4", "2–4", "more", "more"]
    assert list(cut_ranges([], ranges).cat.categories) == list(ranges.values())
