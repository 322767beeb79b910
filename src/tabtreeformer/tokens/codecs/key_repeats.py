"""Keys that several rows share: the sales of one house, the orders of one customer.

Rows are cut into cycles of fifty keys. Which rows of a cycle share a key depends only on the seed of the call, so
parts of a table can be written anywhere.

What all rows of a key have in common (the sex of a patient, the time of an order) is written once per key.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .row_numbers import RowNumbers

CYCLE = 50
"""Keys per cycle: few, so that rows sharing a key are close together even if few rows are written."""
MAX_ROWS = 20
"""Keys with more rows than this are counted as having this many."""
MIN_SHARED, MIN_EVIDENCE = 0.98, 30.0
"""Minimum share of a key's other rows that agree with its first, and minimum evidence against chance, in nats."""


def learn_repeats(values: pd.Series, floor: int) -> tuple[float, ...]:
    """Shares of keys with one, two, three … rows; empty if none repeats, or too few to estimate the shares."""
    sizes = np.minimum(values.value_counts().to_numpy(), MAX_ROWS)
    counts = np.bincount(sizes, minlength=2)[1:]
    for place in range(len(counts) - 1, 0, -1):  # sizes with too few keys count as the next smaller size
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


def learn_shared(keys: pd.Series, columns: pd.DataFrame, floor: int) -> tuple[str | int, ...]:
    """Columns with the same value in all rows of a key, apart from errors."""
    owner, first, further = _first_rows(pd.factorize(keys)[0])
    found = []
    for name in columns.columns:
        codes = pd.factorize(columns[name], use_na_sentinel=False)[0]
        agree = codes[first[owner[further]]] == codes[further]
        by_chance = float(np.sum((np.bincount(codes) / max(len(codes), 1)) ** 2))
        enough = len(further) >= max(floor, 1) and -len(further) * np.log(max(by_chance, 1e-9)) >= MIN_EVIDENCE
        if enough and agree.mean() >= MIN_SHARED:
            found.append(name)
    return tuple(found)


def with_shared(columns: pd.DataFrame, names: Sequence[str | int], keys: RowNumbers) -> pd.DataFrame:
    """Rows whose shared columns are copied from the first row of their key."""
    owner, first, further = _first_rows(np.unique(keys.numbers, return_inverse=True)[1])
    if not len(further) or not names:
        return columns
    taken = np.arange(len(columns))
    taken[further] = first[owner[further]]
    changed = columns.copy()
    for name in names:
        changed[name] = columns[name].take(taken).set_axis(columns.index)
    return changed


def _first_rows(owner: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The key number of each row, the first row of each key, and all rows that are not the first of their key."""
    first = np.unique(owner, return_index=True)[1]
    return owner, first, np.setdiff1d(np.arange(len(owner)), first)
