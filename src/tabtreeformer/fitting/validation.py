"""Validation: how well a network predicts rows of the other half and, for the memorisation meter, rows of its own.

Shapes: `N` rows, `L` positions.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..model import Network, build_row_losses
from . import memorization as meter
from .preparation import Prepared
from .update import Updater


class Validation:
    """The same rows under the same masks and orders each time, so that only the network changes."""

    def __init__(self, network: Network, others: Tensor, own: Tensor, prepared: Prepared, updater: Updater) -> None:
        """`others` (N, L) are rows of the other half and `prepared` their masks and orders; the meter reads `own`.

        The updater's precision, batch size and team apply here too.
        """
        self.network, self.others, self.own, self.prepared, self.updater = network, others, own, prepared, updater
        self.row_losses, self.n_tokens = build_row_losses(network, updater.config)

    def read(self, step: int) -> tuple[float, meter.Reading]:
        """The validation loss per token after a step, and the memorisation meter."""
        others = self.losses_of_others()
        own = self._losses(meter.as_masked(self.own, self.prepared), self.own)
        return float(others.mean()), meter.read(step, own, others, self.n_tokens)

    def losses_of_others(self) -> NDArray[np.float64]:
        """Loss per token of each row of the other half."""
        return self._losses(self.prepared, self.others)

    @torch.inference_mode()
    def _losses(self, prepared: Prepared, rows: Tensor) -> NDArray[np.float64]:
        self.network.eval()
        (masked, order), team, size = prepared, self.updater.team, self.updater.batch_size
        losses = torch.zeros(len(rows), dtype=torch.float64)
        own = team.part(len(rows))
        for start in range(own.start, own.stop, size):
            part = slice(start, min(start + size, own.stop))
            with self.updater.autocast():
                losses[part] = self.row_losses(masked[part], None if order is None else order[part], rows[part]).cpu()
        return team.total(losses).numpy()
