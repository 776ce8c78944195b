"""The order in which examples are trained on."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from datasets import Dataset
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
        """Set the number of the next epoch; called by the data loader."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        """Indices of one epoch."""
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch)
        return iter(get_length_grouped_indices(self.lengths, self.batch_size, generator=generator))


class HardBatchReplaySampler(EpochLengthGroupedSampler):
    """Whole batches, and at the end of the epoch those with the highest loss again (Jain & Dutta, section 5).

    Examples that fill no whole batch are left out; each epoch draws them anew. The last two batches are not replayed:
    their losses are not known when the data loader fetches the first replayed batch.

    Args:
        batch_size: examples of one batch over all processes.
        lengths: of the examples.
        seed: of the order.
        num_replayed: maximum number of batches to replay.

    Attributes:
        losses: of the epoch's batches so far, in order; appended to by the trainer.
    """

    _UNKNOWN_YET = 2

    def __init__(self, batch_size: int, lengths: list[int], seed: int, num_replayed: int) -> None:
        super().__init__(batch_size, lengths, seed)
        self.num_batches = len(lengths) // batch_size
        if not self.num_batches:
            raise ValueError(
                f"--replay_batches: {len(lengths)} training examples fill no batch of {batch_size}; lower "
                "--per_device_train_batch_size, or leave out --replay_batches"
            )
        self.num_replayed = max(min(num_replayed, self.num_batches - self._UNKNOWN_YET), 0)
        self.losses: list[float] = []

    def __len__(self) -> int:
        """Number of indices in an epoch."""
        return (self.num_batches + self.num_replayed) * self.batch_size

    def __iter__(self) -> Iterator[int]:
        """Indices of one epoch, the replayed batches last, the hardest of them first."""
        order = list(super().__iter__())
        batches = [order[first : first + self.batch_size] for first in range(0, len(order), self.batch_size)]
        batches = batches[: self.num_batches]
        for batch in batches:
            yield from batch
        known = self.losses[: self.num_batches - self._UNKNOWN_YET]
        for number in sorted(range(len(known)), key=lambda number: -known[number])[: self.num_replayed]:
            yield from batches[number]


def sort_by_length(features: Dataset) -> Dataset:
    """Longest first: batches have similar lengths, and a batch too large for the memory fails at once."""
    lengths = features["length"]
    return features.select(sorted(range(len(features)), key=lambda number: -lengths[number]), keep_in_memory=True)
