"""What a search has found so far; apart from the search, which imports Optuna."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Trials:
    """Scores of the trials so far, in order, of a search that may be cut short.

    One that is continued draws the same parameters again from the same seed and looks their scores up.
    """

    scores: list[float] = field(default_factory=list)
    seconds: float = 0.0
    """Time that they took."""
    keep: Callable[[Trials], None] = lambda trials: None
    """Called after each new trial."""
