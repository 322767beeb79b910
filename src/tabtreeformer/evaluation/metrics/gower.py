"""The nearest row by Gower's distance, over any set of columns: what the linkability and inference attacks look for.

Numbers are at most 1 apart (their difference over the range of the column), categories 0 or 1, a missing value is 1
from any other and 0 from a missing one. Distances are whole numbers of a tiny unit, so that sums over columns are exact
and leaving out a column is a subtraction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._runtime.progress import Progress, stage
from ..encoding import Table

BLOCK_QUERIES, BLOCK_ROWS = 64, 4096
FINEST = 2**24
"""Units that make a distance of 1, unless this many columns would overflow their sum."""

# Legend of shapes: n queries, B queries of a block, R reference rows of a block.


@dataclass(frozen=True, eq=False)
class _Points:
    """Encoded rows: numbers in units, or codes; and where numbers are missing, if any are."""

    columns: tuple[NDArray[np.int32], ...]
    missing: tuple[NDArray[np.bool_] | None, ...]

    def take(self, rows: slice) -> _Points:
        missing = tuple(None if gaps is None else gaps[rows] for gaps in self.missing)
        return _Points(tuple(column[rows] for column in self.columns), missing)


class Gower:
    """A table in which nearest rows are searched."""

    def __init__(self, reference: Table, *others: Table) -> None:
        """Compute the range of each number from the reference and all tables that will be queried."""
        self.unit = min(FINEST, (2**31 - 1) // len(reference.features))
        self._ends = {place: _ends([t.columns[place] for t in (reference, *others)]) for place in reference.numeric}
        self._reference, self._n_rows = self._place(reference), reference.n_rows

    def nearest(
        self, queries: Table, groups: Sequence[Sequence[int]], progress: Progress, name: str
    ) -> NDArray[np.int64]:
        """Find each query's nearest reference row by each group of columns, (n, groups); of ties, the first."""

        def by_group(block: _Block) -> list[NDArray[np.int32]]:
            return [block.total(group) for group in groups]

        return self._search(queries, len(groups), by_group, progress, name)

    def nearest_without(
        self, queries: Table, left_out: Sequence[int], progress: Progress, name: str
    ) -> NDArray[np.int64]:
        """Find the nearest reference row of each query by all columns but one, for each of those, (n, left_out)."""

        def without(block: _Block) -> list[NDArray[np.int32]]:
            total = block.total(range(len(queries.features)))
            return [total - block.distance(place) for place in left_out]

        return self._search(queries, len(left_out), without, progress, name)

    def _search(
        self, queries: Table, n_answers: int, distances: _Distances, progress: Progress, name: str
    ) -> NDArray[np.int64]:
        """Walk over blocks of queries and of reference rows, keeping the best so far."""
        points = self._place(queries)
        found = np.zeros((queries.n_rows, n_answers), dtype=np.int64)
        with stage(progress, name, queries.n_rows) as advance:
            for start in range(0, queries.n_rows, BLOCK_QUERIES):
                some = points.take(slice(start, start + BLOCK_QUERIES))
                n_some = len(some.columns[0])
                best = np.full((n_answers, n_some), np.iinfo(np.int32).max, dtype=np.int32)
                for first in range(0, self._n_rows, BLOCK_ROWS):
                    rows = self._reference.take(slice(first, first + BLOCK_ROWS))
                    block = _Block(some, rows, self._ends, self.unit)
                    for answer, matrix in enumerate(distances(block)):
                        place = matrix.argmin(axis=1)
                        least = matrix[np.arange(n_some), place]
                        nearer = least < best[answer]
                        best[answer, nearer] = least[nearer]
                        found[start : start + n_some, answer][nearer] = place[nearer] + first
                advance(n_some)
        return found

    def _place(self, table: Table) -> _Points:
        columns: list[NDArray[np.int32]] = []
        missing: list[NDArray[np.bool_] | None] = []
        for place, column in enumerate(table.columns):
            if place not in self._ends:
                columns.append(column.astype(np.int32))
                missing.append(None)
                continue
            low, size = self._ends[place]
            gaps = np.isnan(column)
            # Halve first: the difference of two huge numbers would overflow.
            share = np.where(gaps, 0.0, (column / 2 - low / 2) / size)
            columns.append(np.rint(np.clip(share, 0, 1) * self.unit).astype(np.int32))
            missing.append(gaps if gaps.any() else None)
        return _Points(tuple(columns), tuple(missing))


class _Block:
    """Distances between some queries and some reference rows, column by column, (B, R)."""

    def __init__(self, queries: _Points, reference: _Points, numeric: Collection[int], unit: int) -> None:
        self._queries, self._reference = queries, reference
        self._numeric, self._unit = numeric, np.int32(unit)

    def total(self, places: Iterable[int]) -> NDArray[np.int32]:
        """Sum over columns."""
        shape = len(self._queries.columns[0]), len(self._reference.columns[0])
        total = np.zeros(shape, dtype=np.int32)
        for place in places:
            total += self.distance(place)
        return total

    def distance(self, place: int) -> NDArray[np.int32]:
        """In one column."""
        left, right = self._queries.columns[place][:, None], self._reference.columns[place][None, :]
        if place not in self._numeric:
            other: NDArray[np.int32] = np.multiply(left != right, self._unit, dtype=np.int32)
            return other
        distance: NDArray[np.int32] = left - right
        np.abs(distance, out=distance)
        gaps = self._queries.missing[place], self._reference.missing[place]
        if gaps[0] is not None or gaps[1] is not None:
            left_gap = np.False_ if gaps[0] is None else gaps[0][:, None]
            right_gap = np.False_ if gaps[1] is None else gaps[1][None, :]
            distance[np.broadcast_to(left_gap != right_gap, distance.shape)] = self._unit
        return distance


_Distances = Callable[[_Block], list[NDArray[np.int32]]]


def _ends(columns: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    """Smallest value, and half the range; 1 where there is none."""
    values = np.concatenate([column[~np.isnan(column)] for column in columns])
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    return low, (high / 2 - low / 2) or 1.0
