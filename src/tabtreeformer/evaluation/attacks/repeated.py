"""Repeated rows: does the released table repeat training rows, exactly or nearly, more often than other rows?

A candidate is repeated if a released row is at most a tenth as far away as the nearest other candidate. Without a leak
this does not depend on membership, so members and others are repeated equally often and comparing the counts is an
exact test. It detects a few copies among thousands of rows, which no mean shows. Candidates with a twin among the
others are ignored.

Shapes: `N` candidates, `R` reference rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding import Table

Floats = NDArray[np.float64]
NEAR = 0.1
"""A released row repeats a candidate if its distance is at most this share of that to the nearest other candidate."""
MAX_CANDIDATES, MAX_RELEASED = 2_500, 10_000
"""Maximum number of candidates of either kind, and of released rows."""
BLOCK_CELLS = 1 << 17
"""Distances that are computed at once, few enough to stay in a core's cache."""


def repeated(population: Table, n_members: int, released: Table, n_learned: int) -> dict[str, Any]:
    """Count the repeated members (first in the population) and the repeated others.

    `copies` is the share of released rows that, as copies of the `n_learned` rows, would explain the difference.
    """
    released = released.take(slice(MAX_RELEASED))
    own = nearest(population, population, 2)[:, 1]
    counts = own > 0
    found = counts & (nearest(population, released, 1)[:, 0] <= NEAR * own)
    sides = [(int(found[rows].sum()), int(counts[rows].sum())) for rows in (slice(n_members), slice(n_members, None))]
    missed = [1 - (hits + 0.5) / (n + 1) for hits, n in sides]
    copies = n_learned / released.n_rows * math.log(missed[1] / missed[0])
    return {
        "members_repeated": sides[0][0], "members": sides[0][1],
        "others_repeated": sides[1][0], "others": sides[1][1],
        "released": released.n_rows, "copies": max(copies, 0.0),
    }  # fmt: skip


def nearest(queries: Table, reference: Table, n_nearest: int) -> Floats:
    """Ascending distances to the nearest reference rows (N, n_nearest): by ranks of numbers, 1 for other categories."""
    columns = []
    for feature, own, theirs in zip(queries.features, queries.columns, reference.columns, strict=True):
        if feature.categorical:
            columns.append((own, theirs, True))
        else:
            order = np.sort(own[~np.isnan(own)])
            columns.append((_ranks(own, order), _ranks(theirs, order), False))
    n_nearest = min(n_nearest, reference.n_rows)
    found = np.empty((queries.n_rows, n_nearest))
    rows = max(1, BLOCK_CELLS // reference.n_rows)
    part = np.empty((rows, reference.n_rows), dtype=np.float32)
    total = np.empty_like(part)
    for start in range(0, queries.n_rows, rows):
        n = min(rows, queries.n_rows - start)
        total[:n] = 0
        for own, theirs, categorical in columns:
            left, right = own[start : start + n, None], theirs[None, :]
            if categorical:
                np.not_equal(left, right, out=part[:n], casting="unsafe")
            else:
                np.abs(np.subtract(left, right, out=part[:n]), out=part[:n])
            total[:n] += part[:n]
        found[start : start + n] = np.sort(np.partition(total[:n], n_nearest - 1, axis=1)[:, :n_nearest], axis=1)
    return found


def _ranks(values: Floats, order: Floats) -> NDArray[np.float32]:
    """Share of the candidates below each value: one extreme value moves no other. A gap is 1 away from all values."""
    ranks = np.searchsorted(order, values) / max(len(order), 1)
    return np.where(np.isnan(values), 2.0, ranks).astype(np.float32)
