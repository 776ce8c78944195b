"""Exponential moving averages of a model's weights (Yu et al., 2018, section 4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class ExponentialMovingAverage:
    """Averages of all trained parameters, begun at the model's own.

    Args:
        model: the model; its parameters are read at each update.
        decay: share of the average that an update keeps. In the first steps less is kept, ``(1 + t) / (10 + t)`` after
            t updates, so that the weights that training began with are soon forgotten.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self._trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
        self.averages = {name: value.detach().clone() for name, value in self._trained.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the model's weights after the step of this number, counted from 1."""
        keep = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(list(self.averages.values()), list(self._trained.values()), 1 - keep)

    @torch.no_grad()
    def copy_to_model(self) -> None:
        """Make the averages the model's weights."""
        for name, value in self._trained.items():
            value.copy_(self.averages[name])

    @contextmanager
    def applied(self) -> Iterator[dict[str, Tensor]]:
        """Let the model have the averages for a while; gives the weights that it trains on."""
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
        """Go on from a checkpoint: the model holds the averages, and is given the weights that it trains on.

        Raises:
            ValueError: if weights are missing, or another model's.
        """
        if weights.keys() != self._trained.keys():
            names = sorted(weights.keys() ^ self._trained.keys())
            raise ValueError(f"the checkpoint's training weights are not this model's: {', '.join(names[:5])}")
        for name, value in self._trained.items():
            self.averages[name].copy_(value)
            value.copy_(weights[name])
