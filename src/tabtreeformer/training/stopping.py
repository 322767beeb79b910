"""When to stop: no better validations for a while, no time left, or somebody asked."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field


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

    def give_up(self) -> None:
        """Have no patience left."""
        self.waited = self.patience

    @property
    def stop(self) -> bool:
        """Whether patience is at its end."""
        return self.waited >= self.patience


@dataclass
class Allowance:
    """The time that a run may take, from now on, and a way to end it from another thread."""

    seconds: float = math.inf
    asked: threading.Event = field(default_factory=threading.Event)
    started: float = field(default_factory=lambda: time.monotonic())

    @property
    def used(self) -> float:
        """Share of the time that is over, 0 where there is no limit."""
        return self.elapsed / max(self.seconds, 1e-9)

    def less(self, seconds: float) -> Allowance:
        """The same time, ending so many seconds earlier, which are needed for something else."""
        return Allowance(max(self.seconds - seconds, 0.0), self.asked, self.started)

    def part(self, share: float) -> Allowance:
        """A share of the time that is left, starting now."""
        left = self.seconds - self.elapsed
        return Allowance(max(left, 0.0) * share, self.asked)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def after(self, elapsed: float) -> Allowance:
        """The same time from now on, for work that had taken some before it was cut short."""
        return Allowance(self.seconds + elapsed, self.asked, time.monotonic() - elapsed)
