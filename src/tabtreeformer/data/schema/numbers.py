"""How precisely the numbers of a column are written."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MAX_DECIMALS = 15
"""Maximum decimals of a double; columns that need more have no grid."""
CLEAR = 0.001
"""Noise is at most this share of a grid step; anything larger is a digit."""
MIN_NOISY = 20
"""Minimum number of distinct values; fewer could be near a grid by chance."""


def count_decimals(values: NDArray[np.float64], spare: int = 0) -> int | None:
    """Fewest decimals that represent all values, except up to `spare`, exactly; None if no number of decimals does."""
    with np.errstate(over="ignore", invalid="ignore"):  # numbers too large for this many decimals are not equal
        for decimals in range(MAX_DECIMALS + 1):
            if np.count_nonzero(np.round(values, decimals) != values) <= spare:
                return decimals
    return None


def decimals_under_noise(values: NDArray[np.float64], *, single: bool) -> int | None:
    """Decimals of numbers with rounding noise from arithmetic: 0.30000000000000004 and 2.5 have one.

    None if there is no noise, or if the numbers need many decimals. 32-bit numbers have more noise.
    """
    own = count_decimals(values)
    if own is not None and own <= (4 if single else 9):
        return None
    largest = float(np.abs(values).max(initial=0.0))
    relative, near_zero = (1e-6, 5e-7 * largest) if single else (1e-12, 1e-15 * largest)
    for decimals in range(5 if single else 7):
        grid = np.round(values, decimals)
        noise = np.abs(values - grid)
        if np.all(noise <= np.maximum(relative * np.abs(grid), near_zero)):
            clear = noise.max(initial=0.0) <= CLEAR * 10.0**-decimals
            return decimals if clear and len(np.unique(grid)) >= MIN_NOISY else None
    return None
