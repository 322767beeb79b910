"""A moving average of a network's weights."""

from __future__ import annotations

import copy
from typing import Generic, TypeVar

import torch
from torch import nn

_Network = TypeVar("_Network", bound=nn.Module)


class WeightAverage(Generic[_Network]):
    """The network that is validated and kept: a moving average of the trained one, or the trained one itself."""

    def __init__(self, model: _Network, share: float) -> None:
        """Follow `model`; each step keeps `share` of the average so far; 0 means no average."""
        self._model, self._share = model, share
        self.network = copy.deepcopy(model) if share else model

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """Move the average towards the weights, faster at first so that it forgets the initial weights."""
        if self.network is not self._model:
            share = min(self._share, (1 + step) / (10 + step))
            torch._foreach_lerp_(list(self.network.parameters()), list(self._model.parameters()), 1 - share)
