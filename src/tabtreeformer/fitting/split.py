"""Which rows each of the two networks is trained on, and which it is validated on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


def split_rows(
    n_rows: int, rng: np.random.Generator, units: Rows | None = None
) -> tuple[tuple[Rows, Rows], tuple[Rows, Rows]]:
    """Training and validation rows of both networks: two random halves, each used to validate the other's network.

    An odd row goes to the second network. All rows of the same unit, by `units` (N,), go to the same network.
    """
    order = rng.permutation(n_rows)
    if units is not None:  # persons in random order, cut once half of the rows are reached
        _, numbers = np.unique(units, return_inverse=True)
        ranks = rng.permutation(int(numbers.max(initial=0)) + 1)
        order = order[np.argsort(ranks[numbers[order]], kind="stable")]
        ends = np.flatnonzero(np.diff(numbers[order], append=-1)) + 1
        cut = int(ends[np.argmin(np.abs(ends - n_rows // 2))])
        return (order[:cut], order[cut:]), (order[cut:], order[:cut])
    one, two = order[: n_rows // 2], order[n_rows // 2 :]
    return (one, two), (two, one)
