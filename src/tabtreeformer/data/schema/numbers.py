"""How precisely the numbers of a column are written."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MAX_DECIMALS = 15
"""Maximum decimals of a double; columns that need more have no grid."""


def count_decimals(values: NDArray[np.float64], spare: int = 0) -> int | None:
    """Fewest decimals that write every value exactly, but for `spare` of them; None where there is no such number."""
    with np.errstate(over="ignore", invalid="ignore"):  # numbers too large for this many decimals are not equal
        for decimals in range(MAX_DECIMALS + 1):
            if np.count_nonzero(np.round(values, decimals) != values) <= spare:
                return decimals
    return None
