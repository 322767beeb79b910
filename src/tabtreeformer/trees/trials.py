"""What a search has found so far; separate from the search itself, which imports Optuna."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Trials:
    """Scores of the trials so far, in order, in a search that may be cut short.

    A resumed search draws the same parameters again from the same seed and looks up their scores.
    """

    scores: list[float] = field(default_factory=list)
    seconds: float = 0.0
    """Time that the trials took."""
    keep: Callable[[Trials], None] = lambda trials: None
    """Called after each new trial."""
