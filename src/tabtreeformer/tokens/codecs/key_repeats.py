"""Keys that several rows share: the sales of one house, the orders of one customer.

Rows are cut into cycles of fifty keys. Which rows of a cycle share a key depends on the seed of the call alone, so
that parts of a table can be written anywhere.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from .row_numbers import RowNumbers

CYCLE = 50
"""Keys per cycle: few, so that rows that share a key are near each other even where few rows are written."""
MAX_ROWS = 20
"""Rows of a key that are counted one by one."""


def learn_repeats(values: pd.Series, floor: int) -> tuple[float, ...]:
    """Shares of keys with one row, two, three …; empty where none repeats, or too few to estimate them."""
    sizes = np.minimum(values.value_counts().to_numpy(), MAX_ROWS)
    counts = np.bincount(sizes, minlength=2)[1:]
    for place in range(len(counts) - 1, 0, -1):  # numbers that too few keys have count as the next smaller one
        if counts[place] < max(floor, 1):
            counts[place - 1] += counts[place]
            counts[place] = 0
    counts = np.trim_zeros(counts, "b")
    return tuple((counts / counts.sum()).tolist()) if len(counts) > 1 else ()


def shared_numbers(rows: RowNumbers, repeats: tuple[float, ...]) -> RowNumbers:
    """The number of the key of each row."""
    if not repeats:
        return rows
    sizes = np.repeat(np.arange(1, len(repeats) + 1), np.diff(np.rint(np.cumsum((0.0, *repeats)) * CYCLE).astype(int)))
    owners = np.repeat(np.arange(len(sizes)), sizes)
    cycle, place = np.divmod(rows.numbers, len(owners))
    scattered = RowNumbers(place, rows.seed).scattered(len(owners))
    return RowNumbers(cycle * len(sizes) + owners[scattered], rows.seed)
