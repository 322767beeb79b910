"""The two halves of the table: each network trains on one and is validated on the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def split_halves(n_rows: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers of both halves, at random; an odd row goes to the second."""
    order = rng.permutation(n_rows)
    return order[: n_rows // 2], order[n_rows // 2 :]
