"""What metrics receive besides the tables, and what they remember from one table to the next."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Literal, TypeVar, cast

import numpy as np

from .._runtime.progress import Progress, Silent
from .attacks.risk import CONFIDENCE

UtilityMode = Literal["quick", "tuned"]

# NOTE[PAPER]: the paper says every held-out row, and as many synthetic ones; we use at most this many of each,
# because time grows with them and 20,000 against 20,000 rows decide the test. The paper's own tables have fewer.
MAX_QUERIES = 20_000
"""Rows whose nearest neighbours are searched for, by default."""
MAX_ATTACKS = 2_000
"""Rows, or sentences about rows, that each attack is tried on, by default."""

SYNTHETIC = "synthetic rows"
"""Name of the table under evaluation, unless it is a reference."""

_T = TypeVar("_T")


@dataclass(kw_only=True)
class Context:
    """Settings, randomness and progress of an evaluation."""

    target: int | None = None
    """Position of the column to predict."""
    utility: UtilityMode = "quick"
    max_queries: int = MAX_QUERIES
    max_attacks: int = MAX_ATTACKS
    sensitive: tuple[int, ...] = ()
    """Positions of the columns whose values an attacker would like to know; if empty, all of them."""
    confidence: float = CONFIDENCE
    """Share of intervals that contain the true rate; raise it where many are tested together."""
    seed: int = 0
    progress: Progress = field(default_factory=Silent)
    label: str = SYNTHETIC
    """The name of the table where progress is shown."""
    memory: dict[Hashable, object] = field(default_factory=dict)
    """Results that other tables or other metrics reuse."""

    def rng(self) -> np.random.Generator:
        """Return a new generator: the same for each table and each metric, so that equal tables score equal."""
        return np.random.default_rng(self.seed)

    def once(self, key: Hashable, compute: Callable[[], _T]) -> _T:
        """Return the result stored under this key, computing it the first time."""
        if key not in self.memory:
            self.memory[key] = compute()
        return cast(_T, self.memory[key])
