"""The pieces of training: groups, splits, order, summaries."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from clozeformers import BertForNegationScopeOA, BertNegationScopeOAConfig
from clozeformers.training.cross_validation import folds, hold_out
from clozeformers.training.parameter_groups import backbone_and_head_groups
from clozeformers.training.results import summarise, summary_table
from clozeformers.training.sampling import EpochLengthGroupedSampler

row_ids = st.lists(st.integers(1, 3), min_size=3, max_size=40).map(
    lambda counts: [f"s{sentence}#{cue}" for sentence, count in enumerate(counts) for cue in range(count)]
)


def sentences(ids: list[str], rows: list[int]) -> set[str]:
    return {ids[row].split("#")[0] for row in rows}


@given(row_ids, st.integers(0, 5))
def test_folds_cover_the_corpus_once_and_never_part_a_sentence(ids, seed):
    tested: list[int] = []
    for split in folds(ids, 3, seed):
        assert sorted([*split.train, *split.validation, *split.test]) == list(range(len(ids)))
        parts = [sentences(ids, part) for part in split]
        assert all(parts)
        assert not parts[0] & parts[1]
        assert not parts[0] & parts[2]
        assert not parts[1] & parts[2]
        assert len(parts[1]) <= len(parts[2])
        tested += split.test
    assert sorted(tested) == list(range(len(ids)))
    assert list(folds(ids, 3, seed)) == list(folds(ids, 3, seed))


@given(row_ids, st.floats(0.01, 0.5))
def test_held_out_sentences_are_whole(ids, fraction):
    kept, held_out = hold_out(ids, fraction, 0)
    assert sorted(kept + held_out) == list(range(len(ids)))
    assert not sentences(ids, kept) & sentences(ids, held_out)
    assert len(sentences(ids, held_out)) == max(1, round(fraction * len(sentences(ids, range(len(ids))))))


def test_backbone_and_head_have_their_own_rates():
    config = BertNegationScopeOAConfig(
        vocab_size=20, hidden_size=16, num_attention_heads=4, num_hidden_layers=1, intermediate_size=16
    )
    model = BertForNegationScopeOA(config)
    decayed = [name for name, parameter in model.named_parameters() if parameter.dim() > 1]
    groups = backbone_and_head_groups(model, decayed, 0.1, 1e-5, 1e-3)
    rate_of = {id(parameter): (group["lr"], group["weight_decay"]) for group in groups for parameter in group["params"]}
    for name, parameter in model.named_parameters():
        expected = (1e-5 if name.startswith("bert.") else 1e-3, 0.1 if name in decayed else 0.0)
        assert rate_of.pop(id(parameter)) == expected, name
    assert not rate_of


def test_frozen_parameters_are_left_out():
    config = BertNegationScopeOAConfig(
        vocab_size=20, hidden_size=16, num_attention_heads=4, num_hidden_layers=1, intermediate_size=16
    )
    model = BertForNegationScopeOA(config)
    model.base_model.requires_grad_(False)
    groups = backbone_and_head_groups(model, [], 0.1, 1e-5, 1e-3)
    assert {group["lr"] for group in groups} == {1e-3}


def test_the_order_depends_on_seed_and_epoch_only():
    lengths = torch.randint(5, 60, (300,), generator=torch.Generator().manual_seed(1)).tolist()
    sampler = EpochLengthGroupedSampler(8, lengths, seed=3)
    first = list(sampler)
    torch.rand(7)
    assert list(EpochLengthGroupedSampler(8, lengths, seed=3)) == first
    assert sorted(first) == list(range(300))
    sampler.set_epoch(1)
    assert list(sampler) != first
    assert list(EpochLengthGroupedSampler(8, lengths, seed=4)) != first
    padded = sum(8 * max(lengths[index] for index in first[start : start + 8]) for start in range(0, 300, 8))
    assert padded < 1.2 * sum(lengths)


def test_summary_is_mean_and_sample_deviation():
    runs = [{"dev": {"f1": 0.5, "pcs": 0.1}}, {"dev": {"f1": 0.7, "pcs": 0.1}}]
    summary = summarise(runs)
    assert summary["dev"]["f1"] == {"mean": pytest.approx(0.6), "std": pytest.approx(0.02**0.5), "runs": 2}
    assert summary_table(summary, ["f1", "pcs"]).splitlines()[-1] == "| dev | 60.00 ± 14.14 | 10.00 ± 0.00 |"
    assert summary_table(summarise(runs[:1]), ["f1"]).splitlines()[-1] == "| dev | 50.00 |"
