"""The order in which examples are trained on."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from transformers.trainer_pt_utils import LengthGroupedSampler, get_length_grouped_indices


class EpochLengthGroupedSampler(LengthGroupedSampler):
    """Batches of like lengths, in an order that depends on the seed and the epoch alone.

    `LengthGroupedSampler` draws from the global random state: a resumed run, or one on another number of processes,
    would see other batches.

    Args:
        batch_size: examples of one optimizer step, over all processes and accumulation steps.
        lengths: of the examples, in word pieces.
        seed: of the order.
    """

    def __init__(self, batch_size: int, lengths: list[int], seed: int) -> None:
        super().__init__(batch_size, lengths=lengths)
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch comes next; called by the data loader."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        """Indices of one epoch."""
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch)
        return iter(get_length_grouped_indices(self.lengths, self.batch_size, generator=generator))
