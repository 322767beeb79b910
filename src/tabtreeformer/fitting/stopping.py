"""When to stop: no better validation for a while, no time left, or a request."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field


@dataclass
class EarlyStopping:
    """Remembers the best validation loss and how many validations ago it was."""

    patience: int
    best: float = math.inf
    waited: int = 0

    def improved(self, loss: float) -> bool:
        """Take one validation loss; return whether it is the best so far."""
        better = loss < self.best
        self.waited = 0 if better else self.waited + 1
        self.best = min(self.best, loss)
        return better

    def give_up(self) -> None:
        """Stop at once."""
        self.waited = self.patience

    @property
    def stop(self) -> bool:
        """Whether training should stop."""
        return self.waited >= self.patience


@dataclass
class Allowance:
    """The time that a run may take from now on, and a way to end it from another thread."""

    seconds: float = math.inf
    asked: threading.Event = field(default_factory=threading.Event)
    started: float = field(default_factory=lambda: time.monotonic())

    @property
    def used(self) -> float:
        """Share of the time that is used up; 0 if there is no limit."""
        return self.elapsed / max(self.seconds, 1e-9)

    def part(self, share: float) -> Allowance:
        """A share of the time that is left, starting now."""
        left = self.seconds - self.elapsed
        return Allowance(max(left, 0.0) * share, self.asked)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def after(self, elapsed: float) -> Allowance:
        """The same time from now on, for work that had already run for a while before it was interrupted."""
        return Allowance(self.seconds + elapsed, self.asked, time.monotonic() - elapsed)
