"""Noisy counts: the only statistics that the codec learns from rows.

A row counts at most once per histogram, so adding or removing it changes one count by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri  # type: ignore[import-untyped]

from .budget import Plan
from .noise import Floats, Noise

CLEAR = 3.0
"""Default number of standard deviations from which a count is considered more than noise."""

_Rows = TypeVar("_Rows", bound=np.generic)
_New = TypeVar("_New", bound=np.generic)


class Secret(Generic[_Rows]):
    """The values of a column, which only noisy histograms may read.

    It has no length, sum or items: code that learns a codec can map each row separately and count the results with
    noise. Exact statistics cannot reach a codec unnoticed, because computing one is a type error. Public facts (the
    number of rows, the schema) are passed separately.
    """

    def __init__(self, present: NDArray[_Rows], n_missing: int = 0) -> None:
        """`present` are the non-missing values."""
        self._present, self._n_missing = present, n_missing

    def map(self, of_each: Callable[[NDArray[_Rows]], NDArray[_New]]) -> Secret[_New]:
        """Apply a function to each value; it must treat every row separately."""
        new = of_each(self._present)
        assert len(new) == len(self._present)
        return Secret(new, self._n_missing)


class Histograms:
    """Creates histograms with the noise of a plan, and not more of them than planned."""

    def __init__(self, plan: Plan, noise: Noise, n_rows: int) -> None:
        """`n_rows` is the number of all rows of the table, which is public."""
        self.sigma, self.threshold, self.n_rows = plan.count_noise, plan.threshold, n_rows
        self._noise, self._left, self._found_left = noise, plan.n_histograms, plan.n_found

    def count(self, cells: Secret[np.int64], n_cells: int) -> tuple[Floats, float]:
        """Noisy counts (n_cells,) of the cell of each row, and of rows without a value.

        The cells must not be derived from the rows.
        """
        self._spend()
        counts = np.append(np.bincount(cells._present, minlength=n_cells), cells._n_missing)
        assert len(counts) == n_cells + 1
        noisy = self._noisy(counts)
        return noisy[:-1], float(noisy[-1])

    def find(self, values: Secret[np.object_]) -> tuple[dict[Any, float], float]:
        """Frequent values with their noisy counts, and the noisy count of rows without a value.

        A value of a single row is hardly ever released.
        """
        self._spend()
        assert self._found_left > 0, "more lists of values than the plan has"
        self._found_left -= 1
        counts = Counter(values._present.tolist())
        names = sorted(counts, key=lambda v: (type(v).__name__, v))
        exact = np.array([values._n_missing, *(counts[name] for name in names)], dtype=np.int64)
        noisy = self._noisy(exact)
        found = {name: float(n) for name, n in zip(names, noisy[1:], strict=True) if n > self.threshold}
        return found, float(noisy[0])

    def clear(self, n_cells: int, wrong: float = 0.01) -> float:
        """The count that noise alone exceeds in any of `n_cells` empty cells with probability at most `wrong`."""
        return self.sigma * max(CLEAR, float(ndtri(1 - wrong / n_cells)))

    def present(self, missing: float) -> float:
        """Number of rows with a value, from the noisy count of missing ones."""
        return max(self.n_rows - max(missing, 0.0), 1.0)

    def _spend(self) -> None:
        assert self._left > 0, "more histograms than the plan has"
        self._left -= 1

    def _noisy(self, counts: NDArray[np.int64]) -> Floats:
        # Noise is rounded, because the last bits of a float would reveal the exact count.
        noisy: Floats = counts.astype(np.float64) + np.rint(self.sigma * self._noise.normal(len(counts)))
        return noisy
