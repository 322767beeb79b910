"""Random numbers for noise and for the rows of a batch.

Noise that can be reproduced can be removed. So without a seed it comes from the operating system's cryptographic
generator. With a seed it is reproducible: use this for tests only, because anyone who knows or guesses the seed can
remove it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri  # type: ignore[import-untyped]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """A source of uniform and normal numbers."""

    seeded: np.random.Generator | None = None

    def uniform(self, n: int) -> Floats:
        """Numbers above 0 and below 1, (n,)."""
        if self.seeded is not None:
            return self.seeded.random(n)
        bits = np.frombuffer(os.urandom(8 * n), dtype=np.uint64) >> np.uint64(11)
        numbers: Floats = (bits.astype(np.float64) + 0.5) * 2.0**-53
        return numbers

    def normal(self, n: int) -> Floats:
        """Standard normal numbers, (n,)."""
        if self.seeded is not None:
            return self.seeded.standard_normal(n)
        numbers: Floats = ndtri(self.uniform(n))
        return numbers

    @property
    def origin(self) -> str:
        """Where the numbers come from, for the record."""
        return "the operating system" if self.seeded is None else "a seed: reproducible, for tests only"
