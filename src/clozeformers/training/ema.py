"""Exponential moving averages of a model's weights (Yu et al., 2018, section 4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class ExponentialMovingAverage:
    """Moving averages of all trained parameters, which start at the parameters themselves.

    Args:
        model: its parameters are read at each update.
        decay: weight of the average in an update; at first at most ``(1 + t) / (10 + t)``, so that the initial weights
            are soon forgotten.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self._trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
        self.averages = {name: value.detach().clone() for name, value in self._trained.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Update the averages after a training step, counted from 1."""
        keep = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(list(self.averages.values()), list(self._trained.values()), 1 - keep)

    @torch.no_grad()
    def copy_to_model(self) -> None:
        """Copy the averages to the model."""
        for name, value in self._trained.items():
            value.copy_(self.averages[name])

    @contextmanager
    def applied(self) -> Iterator[dict[str, Tensor]]:
        """Give the model the averages within the context; yields the weights that it trains on."""
        weights = {name: value.detach().clone() for name, value in self._trained.items()}
        self.copy_to_model()
        try:
            yield weights
        finally:
            with torch.no_grad():
                for name, value in self._trained.items():
                    value.copy_(weights[name])

    @torch.no_grad()
    def resume(self, weights: dict[str, Tensor]) -> None:
        """Resume from a checkpoint: take the averages from the model, and give it the weights that it trains on.

        Raises:
            ValueError: the names of the weights are not those of the model.
        """
        if weights.keys() != self._trained.keys():
            names = sorted(weights.keys() ^ self._trained.keys())
            raise ValueError(f"the checkpoint's training weights are not this model's: {', '.join(names[:5])}")
        for name, value in self._trained.items():
            self.averages[name].copy_(value)
            value.copy_(weights[name])
