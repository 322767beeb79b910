"""Counts with noise: all that the codec learns from rows.

A row counts at most once in a histogram, so that adding or leaving it out changes one count by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri  # type: ignore[import-untyped]

from .budget import Plan
from .noise import Floats, Noise

CLEAR = 3.0
"""A count is taken for more than noise from so many standard deviations on, where nothing else decides."""


class Histograms:
    """Makes histograms with the noise that a plan has settled, and no more of them than it has counted on."""

    def __init__(self, plan: Plan, noise: Noise) -> None:
        self.sigma, self.threshold = plan.count_noise, plan.threshold
        self._noise, self._left, self._found_left = noise, plan.n_histograms, plan.n_found

    def count(self, cells: NDArray[np.int64], n_cells: int) -> Floats:
        """Noisy counts (n_cells,) of the cell of each row (N,); the cells there are must not come from the rows."""
        self._spend()
        counts = np.bincount(cells, minlength=n_cells)
        assert len(counts) == n_cells
        return self._noisy(counts)

    def find(self, values: Sequence[Any]) -> tuple[dict[Any, float], float]:
        """Values that many rows have, with their noisy counts, and the noisy count of rows without one (None).

        A value that a single row has is let through hardly ever.
        """
        self._spend()
        assert self._found_left > 0, "more lists of values than the plan has"
        self._found_left -= 1
        counts = Counter(values)
        n_missing = counts.pop(None, 0)
        names = sorted(counts, key=lambda v: (type(v).__name__, v))
        noisy = self._noisy(np.array([n_missing, *(counts[name] for name in names)], dtype=np.int64))
        found = {name: float(n) for name, n in zip(names, noisy[1:], strict=True) if n > self.threshold}
        return found, float(noisy[0])

    def clear(self, n_cells: int, wrong: float = 0.01) -> float:
        """A count that noise alone lifts any of so many empty cells to with this chance at most."""
        return self.sigma * max(CLEAR, float(ndtri(1 - wrong / n_cells)))

    def _spend(self) -> None:
        assert self._left > 0, "more histograms than the plan has"
        self._left -= 1

    def _noisy(self, counts: NDArray[np.int64]) -> Floats:
        # Rounded noise: the last bits of a float would tell which count it was added to.
        noisy: Floats = counts.astype(np.float64) + np.rint(self.sigma * self._noise.normal(len(counts)))
        return noisy
