"""Distillation of an encoder: a smaller one is trained on its hidden states, on plain text."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from statistics import fmean
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from transformers import get_linear_schedule_with_warmup, set_seed
from transformers.utils.logging import tqdm

from .cpu_steps import CPUSteps

_BATCH_SIZE = 32
_MAX_PIECES = 64
_BATCHES_A_GROUP = 50  # of which each is sorted by length
_LEARNING_RATE = 5e-4
_WARMUP = 0.05
_LAST_STEPS = 100


def distill_encoder(
    student: Any, teacher: Any, tokenizer: Any, lines: Sequence[str], *, steps: int, seed: int = 0
) -> float:
    """Train an encoder on the last hidden states of another one.

    Args:
        student: with hidden states of the teacher's size; is trained in place.
        teacher: another encoder.
        tokenizer: of both.
        lines: plain texts; longer ones are cut into inputs of 64 word pieces.
        steps: of 32 inputs each.
        seed: of their order, and of dropout.

    Returns:
        The mean squared error per number of a state, over the last 100 steps.

    Raises:
        ValueError: there is no text.
    """
    set_seed(seed)
    device = next(student.parameters()).device
    teacher.to(device).eval()
    student.train()
    optimizer = torch.optim.AdamW(student.parameters(), lr=_LEARNING_RATE, weight_decay=0.01, fused=True)
    schedule = get_linear_schedule_with_warmup(optimizer, int(_WARMUP * steps), steps)
    losses: list[float] = []
    for _, ids in zip(tqdm(range(steps), unit="step"), _batches(tokenizer, lines, seed), strict=False):
        batch = tokenizer.pad({"input_ids": ids}, return_tensors="pt").to(device)
        with CPUSteps() if device.type == "cpu" else nullcontext(), torch.autocast(device.type, torch.bfloat16):
            with torch.no_grad():
                expected = teacher(**batch).last_hidden_state
            states = student(**batch).last_hidden_state
        loss = _error(states.float(), expected.float(), batch["attention_mask"])
        loss.backward()
        clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    student.eval()
    return fmean(losses[-_LAST_STEPS:])


def _error(states: Tensor, expected: Tensor, mask: Tensor) -> Tensor:
    return (states - expected).square().mean(-1)[mask.bool()].mean()


def _batches(tokenizer: Any, lines: Sequence[str], seed: int) -> Iterator[list[list[int]]]:
    """Batches of inputs of similar length, endlessly."""
    encoded = tokenizer(list(lines), truncation=True, max_length=_MAX_PIECES, return_overflowing_tokens=True)
    inputs = [ids for ids in encoded["input_ids"] if len(ids) > tokenizer.num_special_tokens_to_add()]
    if not inputs:
        raise ValueError("there is no text to learn from; give --texts files with words")
    rng = random.Random(seed)
    while True:
        rng.shuffle(inputs)
        for first in range(0, len(inputs), _BATCHES_A_GROUP * _BATCH_SIZE):
            group = sorted(inputs[first : first + _BATCHES_A_GROUP * _BATCH_SIZE], key=len)
            batches = [group[start : start + _BATCH_SIZE] for start in range(0, len(group), _BATCH_SIZE)]
            rng.shuffle(batches)
            yield from batches
