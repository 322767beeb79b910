"""How precisely the numbers of a column are written."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MAX_DECIMALS = 15
"""A double holds no more; columns that need more have no grid."""


def count_decimals(values: NDArray[np.float64]) -> int | None:
    """Fewest decimals that write every value exactly, or None."""
    with np.errstate(over="ignore", invalid="ignore"):  # numbers too large for so many decimals are not equal
        for decimals in range(MAX_DECIMALS + 1):
            if np.array_equal(np.round(values, decimals), values):
                return decimals
    return None
