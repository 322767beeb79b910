"""Finds sums of up to six columns that hold to the last decimal, also among columns that nearly copy each other.

Each column is hashed to one 64-bit number: a random linear combination of its values in a few rows. The hash of a sum
of columns is the sum of their hashes, so columns that add up are found by looking up sums in sorted tables.
Correlations are not needed, which matters because they can mislead: net pay correlates with a tax that is a share of
the gross pay.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from .find_linear import Fit, oriented
from .search import Candidate, Search

PROBES = 24
"""Rows per number."""
TRIES = 3
"""Number of tries with different rows, because a try fails if one of its rows breaks the law."""
MAX_PAIRS, MAX_TRIPLES = 160, 40
"""Maximum number of columns for pairs and triples."""
MAX_DECIMALS = 6
MIN_SHARE = 0.9
MAX_FOUND = 200

Signs = tuple[tuple[int, int], ...]
"""Column and sign of each term of a sum that is 0."""


def find(search: Search) -> list[Candidate]:
    """Find independent sums of columns, shortest first, each in all orientations that can be computed."""
    numbers = search.numbers
    gridded = [d is not None and d <= MAX_DECIMALS for d in numbers.decimals]
    usable = np.flatnonzero(np.array(gridded, dtype=bool) & (numbers.distinct >= 2))
    if len(usable) < 3:
        return []
    scale = 10 ** max(numbers.decimals[i] or 0 for i in usable)
    if np.nanmax(np.abs(numbers.matrix[:, usable]), initial=0.0) * scale > 2.0**52:
        return []
    found: dict[Signs, None] = {}
    for places in _probes(usable, search):
        found.update(dict.fromkeys(_sums(usable, np.rint(numbers.matrix[np.ix_(places, usable)] * scale))))
    candidates: list[Candidate] = []
    basis: list[NDArray[np.float64]] = []
    for signs in sorted(found, key=lambda own: (len(own), own))[:MAX_FOUND]:
        row = np.zeros(len(numbers.names))
        row[[c for c, _ in signs]] = [s for _, s in signs]
        fit = _fit(signs, search)
        if fit is not None and np.linalg.matrix_rank(np.array([*basis, row])) > len(basis):
            basis.append(row)
            candidates.extend(oriented(*fit, search))
    return candidates


def _probes(usable: NDArray[np.int64], search: Search) -> Iterator[NDArray[np.int64]]:
    """Sets of rows with few gaps and few zeros."""
    matrix = search.numbers.matrix[np.ix_(search.rows[0], usable)]
    order = np.argsort((np.isnan(matrix) * 2 + (matrix == 0)).sum(1), kind="stable")
    for start in range(0, min(TRIES * PROBES, len(order) - PROBES + 1), PROBES):
        yield search.rows[0][order[start : start + PROBES]]


def _sums(usable: NDArray[np.int64], counts: NDArray[np.float64]) -> Iterator[Signs]:
    """Signed columns that add up to 0 in all rows of `counts` (P, M)."""
    there = np.flatnonzero(~np.isnan(counts).any(0) & (counts != 0).any(0))
    weights = np.random.default_rng(0).integers(1, 2**62, len(counts), dtype=np.int64)
    with np.errstate(over="ignore"):
        hashes = (counts[:, there].astype(np.int64) * weights[:, None]).sum(0)
    _, first = np.unique(hashes, return_index=True)  # one of several copies
    columns, hashes = usable[there[np.sort(first)]], hashes[np.sort(first)]
    if not 3 <= len(columns) <= MAX_PAIRS:
        return
    singles = np.arange(len(columns))[:, None], np.ones((len(columns), 1), dtype=np.int64)
    tables = [singles, _signed(len(columns), 2)]
    if len(columns) <= MAX_TRIPLES:
        tables.append(_signed(len(columns), 3))
    for k, left in enumerate(tables):
        for right in tables[max(k, 1) :]:
            yield from _matches(left, right, columns, hashes)


def _signed(n: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All sets of columns with all signs, up to a global sign: (S, width) each."""
    sets = np.array(list(combinations(range(n), width)), dtype=np.int64)
    signs = np.array([[1, *(1 - 2 * (k >> i & 1) for i in range(width - 1))] for k in range(2 ** (width - 1))])
    return np.repeat(sets, len(signs), axis=0), np.tile(signs, (len(sets), 1))


def _matches(
    left: tuple[NDArray[np.int64], NDArray[np.int64]],
    right: tuple[NDArray[np.int64], NDArray[np.int64]],
    columns: NDArray[np.int64],
    hashes: NDArray[np.int64],
) -> Iterator[Signs]:
    """Pairs of signed sets, one from each table, that add up to 0 and share no column."""
    with np.errstate(over="ignore"):
        own, other = ((signs * hashes[sets]).sum(1) for sets, signs in (left, right))
        order = np.argsort(other)
        for sign in (1, -1):
            start, end = (np.searchsorted(other[order], -sign * own, side=side) for side in ("left", "right"))
            for i in np.flatnonzero(end > start)[:MAX_FOUND]:
                for j in order[start[i] : end[i]][:8]:
                    ends = [
                        *zip(left[0][i], sign * left[1][i], strict=True),
                        *zip(right[0][j], right[1][j], strict=True),
                    ]
                    members = sorted((int(columns[c]), int(s)) for c, s in ends)
                    if len({c for c, _ in members}) == len(members):
                        turn = members[0][1]
                        yield tuple((c, s * turn) for c, s in members)


def _fit(signs: Signs, search: Search) -> tuple[int, Fit] | None:
    """The sum, solved for its total: the only column with its sign, or otherwise the one with the largest values."""
    matrix = search.numbers.matrix[search.rows[0]][:, [c for c, _ in signs]]
    known = matrix[~np.isnan(matrix).any(1)]
    factors = np.array([s for _, s in signs])
    step = min(search.numbers.step(c) for c, _ in signs)
    left = np.abs(known @ factors) <= 0.5 * step + 1e-12 * np.abs(known).sum(1)
    if len(known) < 50 or left.mean() < MIN_SHARE:
        return None
    lone = [k for k, s in enumerate(factors) if (factors == s).sum() == 1]
    sizes = np.abs(known).mean(0)
    total = max(lone or range(len(signs)), key=lambda k: sizes[k])
    parts = tuple(c for k, (c, _) in enumerate(signs) if k != total)
    turned = tuple(int(-s * factors[total]) for k, (_, s) in enumerate(signs) if k != total)
    return signs[total][0], Fit(parts, turned, 0.0, float(left.mean()))
