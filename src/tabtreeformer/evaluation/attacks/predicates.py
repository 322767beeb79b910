"""Predicates on a row ("age ≥ 71 and city = Bern"), and how many rows of a table satisfy them."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding import MISSING, Table


class Relation(enum.Enum):
    """How a column compares with a value; for a missing value only the last two can be true."""

    EQUAL = "="
    OTHER = "≠"
    AT_LEAST = "≥"
    AT_MOST = "≤"
    ABOVE = ">"
    BELOW = "<"
    MISSING = "is missing"
    THERE = "is there"


_COMPARE: dict[Relation, Any] = {
    Relation.EQUAL: np.equal,
    Relation.OTHER: np.not_equal,
    Relation.AT_LEAST: np.greater_equal,
    Relation.AT_MOST: np.less_equal,
    Relation.ABOVE: np.greater,
    Relation.BELOW: np.less,
}


@dataclass(frozen=True)
class Clause:
    """One column, a relation, a value (a code where the column is categorical)."""

    place: int
    relation: Relation
    value: float | int = 0

    @classmethod
    def about(cls, table: Table, place: int, relation: Relation, value: float | int) -> Clause:
        """Make a clause; a missing value can only be tested for being missing."""
        missing = value == MISSING if table.features[place].categorical else bool(np.isnan(value))
        if missing:
            return cls(place, Relation.THERE if relation is Relation.OTHER else Relation.MISSING)
        return cls(place, relation, value)

    def holds(self, table: Table) -> NDArray[np.bool_]:
        """Return for each row whether the clause is true."""
        column = table.columns[self.place]
        if self.relation in _COMPARE:
            true: NDArray[np.bool_] = _COMPARE[self.relation](column, self.value)
            return true & self._there(table) if self.relation is Relation.OTHER else true
        there = self._there(table)
        return there if self.relation is Relation.THERE else ~there

    def _there(self, table: Table) -> NDArray[np.bool_]:
        column = table.columns[self.place]
        there: NDArray[np.bool_] = column != MISSING if table.features[self.place].categorical else ~np.isnan(column)
        return there


Predicate = tuple[Clause, ...]
"""Clauses that must all be true."""


@dataclass(frozen=True, eq=False)
class Matches:
    """The rows of a table that satisfy each predicate."""

    counts: NDArray[np.int64]
    """Number of rows that satisfy each predicate."""
    rows: NDArray[np.int64]
    """The first of them, 0 where there is none."""

    @property
    def alone(self) -> NDArray[np.bool_]:
        """The predicates that exactly one row satisfies."""
        alone: NDArray[np.bool_] = self.counts == 1
        return alone

    def crowding(self) -> float:
        """How many predicates single out the same row, averaged over the predicates that single out; at least 1."""
        times = np.bincount(self.rows[self.alone])
        return float(np.square(times).sum() / times.sum()) if times.sum() else 1.0


def count(predicate: Predicate, table: Table) -> int:
    """Rows of the table that satisfy a predicate."""
    return int(np.count_nonzero(_holds(predicate, table)))


def match(predicates: Sequence[Predicate], table: Table) -> Matches:
    """Find the rows of the table that satisfy each predicate."""
    found = Matches(np.zeros(len(predicates), dtype=np.int64), np.zeros(len(predicates), dtype=np.int64))
    by_place: dict[int, list[int]] = {}
    for index, predicate in enumerate(predicates):
        clause = predicate[0]
        if len(predicate) == 1 and clause.relation in (Relation.EQUAL, Relation.AT_LEAST, Relation.AT_MOST):
            by_place.setdefault(clause.place, []).append(index)
        else:
            rows = _holds(predicate, table)
            found.counts[index], found.rows[index] = np.count_nonzero(rows), np.argmax(rows)
    for place, indices in by_place.items():
        _look_up(place, indices, predicates, table, found)
    return found


def _holds(predicate: Predicate, table: Table) -> NDArray[np.bool_]:
    rows = predicate[0].holds(table)
    for clause in predicate[1:]:
        rows &= clause.holds(table)
    return rows


def _look_up(place: int, indices: Sequence[int], predicates: Sequence[Predicate], table: Table, found: Matches) -> None:
    """Find single clauses about one column by its order, as there may be one per value."""
    column = table.columns[place]
    order = np.argsort(column, kind="stable")
    there = len(column) if table.features[place].categorical else np.count_nonzero(~np.isnan(column))
    ascending = column[order[:there]]  # missing numbers are at the end
    for index in indices:
        clause = predicates[index][0]
        low = 0 if clause.relation is Relation.AT_MOST else np.searchsorted(ascending, clause.value, side="left")
        if clause.relation is Relation.AT_LEAST:
            high = len(ascending)
        else:
            high = int(np.searchsorted(ascending, clause.value, side="right"))
        found.counts[index] = high - low
        found.rows[index] = order[low] if high > low else 0
