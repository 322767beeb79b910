"""Which rows each of the two networks is trained on, and which it is validated on."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


def split_rows(n_rows: int, share: float, rng: np.random.Generator) -> tuple[tuple[Rows, Rows], tuple[Rows, Rows]]:
    """Training and validation rows of both networks, at random.

    Each network is validated on a share of the rows of its own. With a share of one half they are the paper's two
    halves: one trains on what the other is validated on; an odd row goes to the second network.
    """
    order = rng.permutation(n_rows)
    last, first = n_rows - max(1, math.ceil(n_rows * share)), max(1, int(n_rows * share))
    return (order[:last], order[last:]), (order[first:], order[:first])
