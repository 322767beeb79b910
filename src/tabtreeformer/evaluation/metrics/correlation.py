"""Pearson correlations of many columns at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ROWS = 65_536
"""Rows standardised at a time: memory follows this, not the table."""


def correlations(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the correlation of each pair over the rows in which both have a value, (P, P).

    NaN for a constant column, and where fewer than two rows, or only rows with the same value, are left.
    """
    result = np.full((len(columns), len(columns)), np.nan)
    varying = [place for place, column in enumerate(columns) if _varies(column[~np.isnan(column)])]
    complete = [place for place in varying if not np.isnan(columns[place]).any()]
    if complete:
        result[np.ix_(complete, complete)] = _complete([columns[place] for place in complete])
    result[varying, varying] = 1
    gappy = set(varying) - set(complete)
    for i in varying:
        for j in varying:
            if i < j and (i in gappy or j in gappy):
                result[i, j] = result[j, i] = _pairwise(columns[i], columns[j])
    return result


def _varies(values: NDArray[np.float64]) -> bool:
    return len(values) > 1 and bool((values != values[0]).any())


def _complete(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the correlations of columns without gaps: one matrix product, a block of rows at a time."""
    scales = [_centre_and_norm(column) for column in columns]
    total = np.zeros((len(columns), len(columns)))
    for start in range(0, len(columns[0]), ROWS):
        block = [
            (column[start : start + ROWS] - centre) / norm
            for column, (centre, norm) in zip(columns, scales, strict=True)
        ]
        matrix = np.stack(block)  # (P, rows)
        total += matrix @ matrix.T
    return np.clip(total, -1, 1)


def _pairwise(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """Return the correlation over the rows in which both columns have a value."""
    both = ~np.isnan(left) & ~np.isnan(right)
    left, right = left[both], right[both]
    if not (_varies(left) and _varies(right)):
        return float("nan")
    return float(_complete([left, right])[0, 1])


def _centre_and_norm(column: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean, and the norm of the residuals, computed so that squares do not overflow."""
    centre = float(column.mean())
    rest = column - centre
    largest = float(np.abs(rest).max())
    return centre, largest * float(np.linalg.norm(rest / largest))
