"""Which rows each of the two networks is trained on, and which it is validated on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


def split_rows(n_rows: int, rng: np.random.Generator) -> tuple[tuple[Rows, Rows], tuple[Rows, Rows]]:
    """Training and validation rows of both networks: two random halves, each validating the network of the other.

    An odd row goes to the second network.
    """
    order = rng.permutation(n_rows)
    one, two = order[: n_rows // 2], order[n_rows // 2 :]
    return (one, two), (two, one)
