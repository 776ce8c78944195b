"""The parts of training: splits, order of batches, rates, averages, replay, summaries."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import EarlyStoppingCallback, Trainer

from clozeformers import BertForNegationScopeOA, BertNegationScopeOAConfig
from clozeformers.training.arguments import ScriptTrainingArguments
from clozeformers.training.cpu_steps import CPUSteps
from clozeformers.training.ema import ExponentialMovingAverage
from clozeformers.training.results import summarize
from clozeformers.training.sampling import EpochLengthGroupedSampler, HardBatchReplaySampler
from clozeformers.training.splits import folds, hold_out
from clozeformers.training.trainer import LengthGroupedTrainer

groups = st.lists(st.integers(1, 3), min_size=4, max_size=40).map(
    lambda counts: [f"s{sentence}" for sentence, count in enumerate(counts) for _ in range(count)]
)


@pytest.mark.parametrize("num_folds", [2, 3])
@given(groups, st.integers(0, 5))
def test_folds_cover_the_corpus_once_and_keep_groups_together(num_folds: int, rows: list[str], seed: int) -> None:
    tested: list[int] = []
    for split in folds(rows, num_folds, seed):
        assert sorted([*split.train, *split.validation, *split.test]) == list(range(len(rows)))
        parts = [{rows[number] for number in part} for part in split]
        assert all(parts)
        assert not parts[0] & parts[1]
        assert not parts[0] & parts[2]
        assert not parts[1] & parts[2]
        assert len(parts[1]) <= len(parts[2])
        tested += split.test
    assert sorted(tested) == list(range(len(rows)))
    assert list(folds(rows, num_folds, seed)) == list(folds(rows, num_folds, seed))


@given(groups, st.floats(0.01, 0.5))
def test_held_out_groups_are_whole(rows: list[str], fraction: float) -> None:
    kept, held_out = hold_out(rows, fraction, 0)
    assert sorted(kept + held_out) == list(range(len(rows)))
    assert not {rows[number] for number in kept} & {rows[number] for number in held_out}
    assert len({rows[number] for number in held_out}) == max(1, round(fraction * len(set(rows))))


@pytest.mark.parametrize("frozen", [False, True])
def test_encoder_and_head_learn_at_their_own_rates(frozen: bool, tmp_path: Path) -> None:
    sizes = {"vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 1, "intermediate_size": 16}
    model = BertForNegationScopeOA(BertNegationScopeOAConfig(**sizes, num_attention_heads=4))
    model.base_model.requires_grad_(not frozen)
    settings: dict[str, Any] = {"learning_rate": 1e-5, "weight_decay": 0.1, "use_cpu": True}
    args = ScriptTrainingArguments(str(tmp_path), head_learning_rate=1e-3, **settings)
    trainer = LengthGroupedTrainer(model, args)
    decayed = trainer.get_decay_parameter_names(model)
    groups = trainer.create_optimizer().param_groups
    found = {id(value): (group["lr"], group["weight_decay"]) for group in groups for value in group["params"]}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            expected = (1e-5 if name.startswith("bert.") else 1e-3, 0.1 if name in decayed else 0.0)
            assert found.pop(id(parameter)) == expected, name
    assert not found
    one_rate = LengthGroupedTrainer(model, ScriptTrainingArguments(str(tmp_path), **settings)).create_optimizer()
    assert {group["lr"] for group in one_rate.param_groups} == {1e-5}


def test_the_order_depends_on_seed_and_epoch_only() -> None:
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


def test_a_resumed_epoch_has_its_own_order_and_patience(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With several processes, neither accelerate nor Trainer reaches the sampler of a loader that skips batches."""
    settings: dict[str, Any] = {
        "use_cpu": True,
        "report_to": "none",
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
    }
    args = ScriptTrainingArguments(str(tmp_path), early_stopping_patience=3, **settings)
    rows = Dataset.from_dict({"length": [*range(1, 33)]})
    trainer = LengthGroupedTrainer(nn.Linear(1, 1), args, train_dataset=rows, eval_dataset=rows)
    monkeypatch.setattr(Trainer, "_run_epoch", lambda self, *_, **__: None)
    sampler, other = trainer._get_train_sampler(), EpochLengthGroupedSampler(8, list(rows["length"]), args.seed)
    stopping = next(each for each in trainer.callback_handler.callbacks if isinstance(each, EarlyStoppingCallback))
    assert sampler is not None
    state = {"args": {}, "attributes": {"early_stopping_patience_counter": 2}}
    trainer.state.stateful_callbacks["EarlyStoppingCallback"] = state
    trainer.state.stateful_callbacks["_Clock"] = {"args": {}, "attributes": {"seconds": 60.0}}
    trainer.state.max_steps, trainer._restores_callbacks = 99, True
    for epoch in (2, 3):
        trainer._run_epoch(trainer.model, epoch, resume_from_checkpoint="checkpoint-9")
        other.set_epoch(epoch)
        assert list(sampler) == list(other)
        assert stopping.early_stopping_patience_counter == 2 + (epoch == 3)
        stopping.early_stopping_patience_counter = 3  # of an evaluation: kept in the next epoch
        assert trainer.earlier_seconds == 60


class Scaled(nn.Module):
    """A model whose logits are its input times its weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": self.weight.sum(), "logits": x * self.weight}


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_logits_that_are_no_numbers_are_no_prediction(wrong: float, tmp_path: Path) -> None:
    trainer = LengthGroupedTrainer(Scaled(), ScriptTrainingArguments(str(tmp_path), use_cpu=True))
    for low in (-math.inf, 1.0):  # as a mask writes it
        trainer.prediction_step(trainer.model, {"x": torch.tensor([low, 0.5])}, prediction_loss_only=False)
    with pytest.raises(ValueError, match="diverged: the logits of the model are NaN or infinite; give a lower"):
        trainer.prediction_step(trainer.model, {"x": torch.tensor([wrong, 0.5])}, prediction_loss_only=False)
    trainer.check_weights()
    trainer.model.weight.data.fill_(wrong)
    with pytest.raises(ValueError, match="diverged: weight is NaN or infinite"):
        trainer.check_weights()


def test_hard_batches_are_replayed() -> None:
    sampler = HardBatchReplaySampler(4, [*range(1, 31)], seed=0, num_replayed=2)
    assert len(sampler) == (7 + 2) * 4
    sampler.losses = [0.0, 5.0, 1.0, 2.0, 7.0, 99.0, 99.0]  # the last two are not known when replay begins
    order = list(sampler)
    batches = [order[first : first + 4] for first in range(0, len(order), 4)]
    assert len(batches) == 9
    assert batches[7:] == [batches[4], batches[1]]
    assert max(Counter(index for batch in batches[:7] for index in batch).values()) == 1
    sampler.set_epoch(1)
    assert list(sampler)[:28] != order[:28]
    with pytest.raises(ValueError, match="2 training examples fill no batch of 4; lower"):
        HardBatchReplaySampler(4, [1, 2], seed=0, num_replayed=1)


def test_averages_follow_their_definition() -> None:
    model = nn.Linear(2, 1, bias=False)
    model.weight.data = torch.tensor([[1.0, 2.0]])
    averages = ExponentialMovingAverage(model, 0.5)
    expected = model.weight.data.clone()
    for step in (1, 2, 3, 40):
        model.weight.data += step
        keep = min(0.5, (1 + step) / (10 + step))
        expected = keep * expected + (1 - keep) * model.weight.data
        averages.update(step)
    trained = model.weight.data.clone()
    with averages.applied() as weights:
        torch.testing.assert_close(model.weight.data, expected)
        assert torch.equal(weights["weight"], trained)
    with pytest.raises(RuntimeError), averages.applied():
        raise RuntimeError
    assert torch.equal(model.weight.data, trained)
    averages.copy_to_model()
    torch.testing.assert_close(model.weight.data, expected)
    with pytest.raises(ValueError, match="not this model's: other"):
        averages.resume({"other": torch.zeros(1, 2)})


def test_weights_that_are_split_are_not_averaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create = Trainer.create_accelerator_and_postprocess

    def with_fsdp(self: Any) -> None:
        create(self)
        self.is_fsdp_enabled = True

    monkeypatch.setattr(Trainer, "create_accelerator_and_postprocess", with_fsdp)
    args = ScriptTrainingArguments(str(tmp_path), use_cpu=True, ema_decay=0.9)
    with pytest.raises(ValueError, match="--ema_decay averages whole weights, which FSDP splits"):
        LengthGroupedTrainer(nn.Linear(1, 2), args)


def test_summary_is_mean_and_sample_deviation() -> None:
    runs = [{"dev": {"f1": 50.0, "pcs": 10.0}}, {"dev": {"f1": 70.0, "pcs": 10.0}}]
    summary = summarize(runs)
    assert summary["dev"]["f1"] == {"mean": pytest.approx(60), "std": pytest.approx(200**0.5), "runs": 2}
    assert summarize(runs[:1])["dev"]["pcs"] == {"mean": 10.0, "std": 0.0, "runs": 1}
    missing = summarize([{"dev": {"f1": 50.0}}, *runs])["dev"]
    assert (missing["f1"]["runs"], missing["pcs"]) == (3, {"mean": 10.0, "std": 0.0, "runs": 2})


@pytest.mark.parametrize("bf16", [False, True])
def test_fused_attention_is_float32_where_a_cpu_trains_in_bfloat16(bf16: bool, tmp_path: Path) -> None:
    sizes = {"vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 1, "intermediate_size": 16}
    model = BertForNegationScopeOA(
        BertNegationScopeOAConfig(**sizes, num_attention_heads=4, attention_probs_dropout_prob=0)
    )
    trainer = LengthGroupedTrainer(model, ScriptTrainingArguments(str(tmp_path), use_cpu=True, bf16=bf16))
    dtypes: list[torch.dtype] = []

    class Recording(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if "scaled_dot_product" in str(function) and "backward" not in str(function):
                dtypes.append(args[0].dtype)
            return function(*args, **kwargs or {})

    trainer.current_gradient_accumulation_steps = 1
    with Recording():
        trainer.training_step(model, {"input_ids": torch.randint(20, (2, 5)), "labels": torch.ones(2, 5).long()})
    assert len(dtypes) == 3, "one layer of the encoder, two blocks"
    assert set(dtypes) == {torch.float32}


def test_attention_in_float32_returns_the_dtype_of_its_input() -> None:
    query = torch.randn(2, 3, 5, 4, dtype=torch.bfloat16)
    mask = torch.ones(2, 1, 5, 5).tril().bool()
    attend = nn.functional.scaled_dot_product_attention
    expected = attend(*[query.float()] * 3, attn_mask=mask).bfloat16()
    with torch.autocast("cpu", torch.bfloat16), CPUSteps():
        given = attend(query, key=query, value=query, attn_mask=mask)
    assert given.dtype == torch.bfloat16
    assert torch.equal(given, expected)


def test_steps_with_gradient_checkpointing_have_the_gradients_of_those_without(tmp_path: Path) -> None:
    sizes = {"vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2, "intermediate_size": 16}
    model = BertForNegationScopeOA(BertNegationScopeOAConfig(**sizes, num_attention_heads=4))
    newer = hasattr(model, "activation_checkpointing_enable")
    (model.activation_checkpointing_enable if newer else model.gradient_checkpointing_enable)()
    trainer = LengthGroupedTrainer(model, ScriptTrainingArguments(str(tmp_path), use_cpu=True))
    trainer.current_gradient_accumulation_steps = 1
    inputs = {"input_ids": torch.randint(20, (2, 5)), "labels": torch.ones(2, 5).long()}
    gradients = []
    for step in (trainer.training_step, lambda model, inputs: model(**inputs).loss.backward()):
        torch.manual_seed(0)
        model.zero_grad()
        step(model.train(), dict(inputs))
        gradients.append(torch.cat([value.grad.flatten() for value in model.parameters() if value.grad is not None]))
    assert torch.equal(*gradients), "masks computed again are those of the forward pass"


def test_dropout_on_a_cpu() -> None:
    inputs = torch.randn(700, 999, requires_grad=True)
    with CPUSteps():
        outputs = nn.functional.dropout(inputs, 0.2)
    outputs.sum().backward()
    assert inputs.grad is not None
    dropped = 13107 / 65536  # the multiple of 2**-16 that is nearest to 0.2
    kept = inputs.grad != 0
    assert torch.allclose(inputs.grad[kept], torch.tensor(1 / (1 - dropped)))
    assert torch.equal(outputs.detach(), inputs.detach() * inputs.grad)
    deviation = (dropped * (1 - dropped) / inputs.numel()) ** 0.5
    assert abs(float(kept.double().mean()) - (1 - dropped)) < 4 * deviation
    neighbours = kept.flatten()[:-1] & kept.flatten()[1:]
    assert abs(float(neighbours.double().mean()) - (1 - dropped) ** 2) < 8 * deviation, "elements are independent"


def test_dropout_on_a_cpu_is_reproducible() -> None:
    layer, inputs = nn.Dropout(0.5), torch.ones(3, 5, dtype=torch.bfloat16)
    with CPUSteps():
        outputs = [layer(inputs) for _ in range(2) if torch.manual_seed(7)]
        assert torch.equal(*outputs)
        assert outputs[0].dtype == torch.bfloat16
        assert not torch.equal(layer(inputs), outputs[0])
        assert torch.equal(layer.eval()(inputs), inputs)
        assert torch.equal(nn.functional.dropout(inputs, 0.0), inputs)
        assert not nn.functional.dropout(inputs, 1.0).any()
        assert nn.functional.dropout(inputs[:0], 0.5).shape == (0, 5)


@pytest.mark.parametrize("kind", ["none", "boolean", "additive"])
def test_attention_with_dropout_on_a_cpu(kind: str) -> None:
    query, key, value = torch.randn(3, 2, 3, 5, 4)
    is_seen = torch.ones(2, 1, 5, 5, dtype=torch.bool).tril(-1)
    mask = {"none": None, "boolean": is_seen, "additive": torch.randn(2, 1, 5, 5)}[kind]
    attend = nn.functional.scaled_dot_product_attention
    expected = attend(query, key, value, attn_mask=mask)
    with CPUSteps():
        # With a probability of 2**-16, hardly any weight is dropped.
        attended = attend(query, key, value, attn_mask=mask, dropout_p=2**-16)
        mean = torch.stack([attend(query, key, value, attn_mask=mask, dropout_p=0.3) for _ in range(4000)]).mean(0)
    torch.testing.assert_close(attended, expected, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(mean, expected, atol=0.1, rtol=0.1)
