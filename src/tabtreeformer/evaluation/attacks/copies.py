"""Finds rows that are in two tables, or twice in one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding import Table

DIGITS = 12
"""Numbers that agree to this many significant digits count as equal: scaling there and back loses the last ones."""


def found_in(queries: Table, reference: Table) -> NDArray[np.bool_]:
    """Return for each query row whether the reference table has a row equal in all columns; missing equals missing.

    Rows are looked up by a hash of 64 bits and then compared value by value, so that time and memory are linear.
    """
    known, wanted = _hashes(reference), _hashes(queries)
    order = np.argsort(known, kind="stable")
    place = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
    rows = order[place]
    same: NDArray[np.bool_] = known[rows] == wanted
    for left, right, feature in zip(queries.columns, reference.columns, queries.features, strict=True):
        if feature.categorical:
            same &= left == right[rows]
        else:
            same &= _bits(left) == _bits(right[rows])
    return same


def distinct(table: Table) -> Table:
    """Return the table without duplicate rows, in their order; rows with equal hashes count as equal."""
    _, first = np.unique(_hashes(table), return_index=True)
    return table if len(first) == table.n_rows else table.take(np.sort(first))


def _hashes(table: Table) -> NDArray[np.uint64]:
    """Return one hash per row; the columns' order matters."""
    total = np.zeros(table.n_rows, dtype=np.uint64)
    for column, feature in zip(table.columns, table.features, strict=True):
        bits = column.astype(np.uint64) if feature.categorical else _bits(column)
        total = _mixed(total * np.uint64(0x9E3779B97F4A7C15) + bits)
    return total


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every bit over all others (the finaliser of SplitMix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _bits(numbers: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return the numbers, rounded to significant digits, as bits in which equal values are equal."""
    bits: NDArray[np.uint64] = (significant(numbers) + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0
    bits[np.isnan(numbers)] = np.iinfo(np.uint64).max
    return bits


def significant(numbers: NDArray[np.float64]) -> NDArray[Any]:
    """Round to DIGITS significant digits."""
    size = np.abs(numbers)
    plain = np.isnan(numbers) | (size < 1e-280) | (size > 1e280)
    exponent = DIGITS - 1 - np.floor(np.log10(np.where(plain, 1.0, size)))
    # Ten to a negative power is inexact, so that large numbers are divided by a positive one instead.
    up, down = 10.0 ** np.maximum(exponent, 0), 10.0 ** np.maximum(-exponent, 0)
    rounded = np.round(np.where(plain, 0.0, numbers) * up / down) * down / up
    return np.where(plain, numbers, rounded)
