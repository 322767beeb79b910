"""Two networks that draw each row together, for tables so small that one network learns little from half of the rows.

Each network was trained on its own half, so their log-probabilities add up like independent evidence (Tresp, "A
Bayesian Committee Machine", 2000): the sum is sharper than either where they agree, and flat where they do not.
`sampling.committee` interpolates between mean and sum; the better the networks, the smaller it should be.

Shapes: `B` rows, `S` ids of a slot, `d` width.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..config.settings import SampleConfig
from ..model import Network
from ..model.fast_decode import Rows
from .sampler import Sampler


class Committee(Sampler):
    """Draws rows from two networks together."""

    def __init__(self, networks: Sequence[Network], config: SampleConfig) -> None:
        super().__init__(networks[0], config)
        self.networks = [network.eval() for network in networks]
        networks[1].fold()
        starts = [self._start_rows, networks[1].start_rows(cache=True)]
        self._start_rows = lambda tokens, order: _Rows([start(tokens, order) for start in starts])

    @property
    def weight(self) -> float:
        """Weight of each network's logits: 0.5 for their mean, 1 for their sum."""
        return (1 + self.config.committee) / 2

    def slot_logits(self, hidden: Tensor, slot: int) -> Tensor:
        """Hidden states of both (B, 2d) before a value slot → logits (B, S)."""
        parts = zip(self.networks, hidden.tensor_split(2, dim=1), strict=True)
        logits = [torch.log_softmax(network.slot_logits(own, slot), dim=1) for network, own in parts]
        return (logits[0] + logits[1]) * self.weight


class _Rows:
    """The prefix of the rows, as seen by both networks."""

    def __init__(self, rows: Sequence[Rows]) -> None:
        self.rows = rows

    def push(self, ids: Tensor) -> None:
        """Append the ids of the next slot (B,) for both networks."""
        for own in self.rows:
            own.push(ids)

    def hidden(self) -> Tensor:
        """Hidden states of both networks (B, 2d)."""
        return torch.cat([own.hidden() for own in self.rows], dim=1)
