"""When to stop: after `patience` validations in a row that are no better than the best."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class EarlyStopping:
    """Remembers the best loss and how long ago it was."""

    patience: int
    best: float = math.inf
    waited: int = 0

    def improved(self, loss: float) -> bool:
        """Take one validation loss; say whether it is the best so far."""
        better = loss < self.best
        self.waited = 0 if better else self.waited + 1
        self.best = min(self.best, loss)
        return better

    @property
    def stop(self) -> bool:
        """Whether patience is at its end."""
        return self.waited >= self.patience
