"""Nearest rows by cosine distance, among millions, in bounded memory.

Rows are compared as the paper does for its distance to the closest record: numbers by their quantile among the training
rows, categories one-hot, cosine distance. The one-hot matrix is never built: two rows share as many ones as they share
categories, so comparing codes is enough, and costs the same for two categories as for a million.

Memory, whatever the number of rows: one block of BLOCK_QUERIES × BLOCK_ROWS comparisons (7 bytes each, 14 MiB) plus
the reference rows, of which 4 bytes per number, 1, 2 or 4 per category (by their count) and 8 per row are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._runtime.progress import Progress, stage
from ..encoding import MISSING, Table

BLOCK_QUERIES, BLOCK_ROWS = 512, 4096
QUANTILES = 1000

# Legend of shapes: B queries of a block, R reference rows of a block, P numeric columns, n queries, N reference rows.


@dataclass(frozen=True, eq=False)
class Points:
    """Rows as they are compared."""

    numbers: NDArray[np.float32]  # (N, P)
    codes: tuple[NDArray[Any], ...]  # (N,) each
    norms: NDArray[np.float64]  # (N,)

    def take(self, rows: NDArray[Any] | slice) -> Points:
        """Return the rows asked for; a slice costs no memory."""
        return Points(self.numbers[rows], tuple(codes[rows] for codes in self.codes), self.norms[rows])


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest and the second nearest reference row of each query, column 0 and 1."""

    distances: NDArray[np.float64]  # (n, 2)
    """Cosine distances; NaN for the second one where there is a single reference row."""
    rows: NDArray[np.int64]  # (n, 2)


class Space:
    """A table whose rows can be searched; the scale of distances is learned from them."""

    def __init__(self, reference: Table) -> None:
        """Learn the quantiles of the numbers (missing ones are placed at the median), and the categories."""
        columns = [reference.columns[place] for place in reference.numeric]
        self._medians = [_median(column) for column in columns]
        self._scales = [Quantiles(_filled(column, m)) for column, m in zip(columns, self._medians, strict=True)]
        self._known = [_seen(reference.columns[p], len(reference.features[p].labels)) for p in reference.categorical]
        self._reference = self._place(reference)

    def nearest(self, queries: Table, progress: Progress, name: str) -> Neighbours:
        """Find the two nearest reference rows of each query."""
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        points, n_queries = self._place(queries), queries.n_rows
        distances, rows = np.empty((n_queries, 2)), np.empty((n_queries, 2), dtype=np.int64)
        # On a busy machine, threads that wait for each other cost more than they gain for products this small.
        with threadpool_limits(1, "blas"), stage(progress, name, n_queries) as advance:
            for start in range(0, n_queries, BLOCK_QUERIES):
                block = slice(start, start + BLOCK_QUERIES)
                some = points.take(block)
                rows[block] = _candidates(some, self._reference)
                distances[block] = _distances(some, self._reference, rows[block])
                advance(len(some.norms))
        # The nearer row in single precision may turn out to be slightly farther in double precision.
        swap = distances[:, 1] < distances[:, 0]
        distances[swap], rows[swap] = distances[swap, ::-1], rows[swap, ::-1]
        return Neighbours(distances, rows)

    def _place(self, table: Table) -> Points:
        """Return the rows of a table as points.

        Like a one-hot encoder that ignores unknown values, categories that no reference row has are skipped: their
        codes match no other, and they do not count in the norm.
        """
        numbers = np.empty((table.n_rows, len(self._scales)), dtype=np.float32)
        for column, (place, median, scale) in enumerate(zip(table.numeric, self._medians, self._scales, strict=True)):
            numbers[:, column] = scale(_filled(table.columns[place], median))
        squares = np.einsum("np,np->n", numbers, numbers, dtype=np.float64)
        codes = []
        for place, seen in zip(table.categorical, self._known, strict=True):
            squares += seen[table.columns[place]]
            codes.append(table.columns[place].astype(np.min_scalar_type(len(seen))))
        return Points(numbers, tuple(codes), np.sqrt(squares))


class Quantiles:
    """Does what scikit-learn's QuantileTransformer does to one column, to the last bit, and many times faster."""

    # NOTE[PAPER]: the paper says 1000 quantiles, found by scikit-learn, whose default learns from a random 10,000 rows;
    # we learn from all of them, because distances should not depend on a seed.

    def __init__(self, values: NDArray[np.float64]) -> None:
        """Find the quantiles: 1000 of them, or one per row where there are fewer rows."""
        self._shares = np.linspace(0, 1, min(QUANTILES, len(values)))
        values = np.sort(values)
        # Through percentages, as in scikit-learn: a rounding error in a rank moves values that occur more than once.
        ranks = (len(values) - 1) * (self._shares * 100 / 100)
        lower = np.floor(ranks).astype(np.int64)
        upper, part = np.minimum(lower + 1, len(values) - 1), ranks - lower
        low, gap = values[lower], values[upper] - values[lower]
        self._values = np.where(part < 0.5, low + gap * part, values[upper] - gap * (1 - part))

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of rows below each value, from 0 to 1; halfway between both ends for ties."""
        upwards = np.interp(values, self._values, self._shares)
        downwards = -np.interp(-values, -self._values[::-1], -self._shares[::-1])
        result = 0.5 * (upwards + downwards)
        result[values == self._values[-1]] = 1
        result[values == self._values[0]] = 0
        return result


def _seen(codes: NDArray[np.int32], n_labels: int) -> NDArray[np.bool_]:
    """Return for each code whether the column has it, (n_labels + 1,); a missing value is always known."""
    seen = np.zeros(n_labels + 1, dtype=np.bool_)
    seen[codes] = True
    seen[MISSING] = True
    return seen


def _median(column: NDArray[np.float64]) -> float:
    values = column[~np.isnan(column)]
    return float(np.median(values)) if len(values) else 0.0


def _filled(column: NDArray[np.float64], value: float) -> NDArray[np.float64]:
    missing = np.isnan(column)
    return np.where(missing, value, column) if missing.any() else column


def _candidates(queries: Points, reference: Points) -> NDArray[np.int64]:
    """Return the two most similar rows of each query, in single precision; -1 where there is no second, (B, 2)."""
    n_queries, n_rows = len(queries.norms), len(reference.norms)
    inverse = _inverse(reference.norms).astype(np.float32)
    best = np.full((n_queries, 2), -np.inf, dtype=np.float32)
    rows = np.full((n_queries, 2), -1, dtype=np.int64)
    every = np.arange(n_queries)
    room = _Room(n_queries, min(n_rows, BLOCK_ROWS), len(queries.codes))
    for start in range(0, n_rows, BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        similarity = room.products(queries, reference.take(block))  # (B, R)
        similarity *= inverse[block]
        for _ in range(min(2, similarity.shape[1])):
            place = similarity.argmax(axis=1)  # (B,)
            found = similarity[every, place]
            similarity[every, place] = -np.inf
            first, second = found > best[:, 0], found > best[:, 1]
            best[second, 1], rows[second, 1] = found[second], place[second] + start
            best[first], rows[first] = best[first, ::-1], rows[first, ::-1]
    return rows


class _Room:
    """The memory of one block of comparisons, reused for the next."""

    def __init__(self, n_queries: int, n_rows: int, n_codes: int) -> None:
        self._products = np.empty((n_queries, n_rows), dtype=np.float32)
        self._same = np.empty((n_queries, n_rows), dtype=np.bool_)
        self._shared = np.empty((n_queries, n_rows), dtype=np.min_scalar_type(n_codes))

    def products(self, queries: Points, reference: Points) -> NDArray[np.float32]:
        """Return the scalar products of the rows: of their numbers, and one for each category they share, (B, R)."""
        n_rows = len(reference.norms)
        products, same, shared = self._products[:, :n_rows], self._same[:, :n_rows], self._shared[:, :n_rows]
        np.matmul(queries.numbers, reference.numbers.T, out=products)
        if queries.codes:
            shared[:] = 0
            for left, right in zip(queries.codes, reference.codes, strict=True):
                np.equal(left[:, None], right[None, :], out=same)
                np.add(shared, same.view(np.uint8), out=shared)
            np.add(products, shared, out=products)
        return products


def _distances(queries: Points, reference: Points, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the exact distances to the rows found, (B, 2); equal rows are at distance 0, and ties stay ties."""
    found = reference.take(rows.ravel())
    numbers = found.numbers.reshape(*rows.shape, -1).astype(np.float64)  # (B, 2, P)
    products = np.einsum("bp,bkp->bk", queries.numbers.astype(np.float64), numbers)
    for left, right in zip(queries.codes, found.codes, strict=True):
        products += left[:, None] == right.reshape(rows.shape)
    products *= _inverse(queries.norms)[:, None] * _inverse(found.norms).reshape(rows.shape)
    # NOTE[PAPER]: the paper ranks distances as they come; we round them to twelve decimals, because what is equal in
    # exact arithmetic must not be ranked by its last bits.
    distances: NDArray[np.float64] = np.round(np.clip(1 - products, 0, 2), 12)
    distances[rows < 0] = np.nan
    return distances


def _inverse(norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one over the norms, 0 for a row of zeros: as in scikit-learn it is at distance 1 from all others."""
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
