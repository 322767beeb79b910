"""Totals: columns of a parent that aggregate its children, e.g. the amount of an order from its items.

Counts, sums, means, minima and maxima are found, of a column of the children or of the product of two (pieces times
price). In a new database the parent's column is computed from the new children, and columns that laws compute from it
are updated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ..data.links import Link, Name
from ..laws import Laws
from .followed import Floats, as_numbers, decimals_of, is_measured, is_time, like, with_values
from .rows import Ints

MIN_PARENTS, MIN_SEVERAL, MIN_SHARE = 20, 12, 0.98
"""Minimum parents with children, minimum parents with several different children, and the share that must match."""
MIN_VALUES = {"count": 3, "mean": 8, "sum": 8, "first": 8, "last": 8}
"""Minimum number of distinct values of the parent's column, by kind of aggregate."""
MAX_COLUMNS, MAX_FACTORS = 20, 6
"""Maximum number of child columns to try, and of those whose products are tried."""
EXTREME = "max|min|best|worst|high|low|first|last|peak|top"
"""Words in the name of a column that is a minimum or maximum."""


@dataclass(frozen=True)
class Total:
    """A column of a parent that is an aggregate of its children by one link."""

    column: Name
    link: Link
    how: str
    """`count`, `sum`, `mean`, `first` (the minimum) or `last` (the maximum)."""
    parts: tuple[Name, ...]
    """The child column, or two columns that are multiplied; empty for `count`."""
    decimals: int
    empty: float | None
    """Value of parents without children; None keeps the drawn value."""

    @property
    def text(self) -> str:
        """The readable form."""
        of = " * ".join(f"{self.link.child}.{part}" for part in self.parts) or f"rows of {self.link.child}"
        said = {"count": "number of", "first": "lowest", "last": "highest"}.get(self.how, f"{self.how} of")
        return f"{self.link.parent}.{self.column} = {said} {of}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        own = {"column": self.column, "how": self.how, "parts": list(self.parts)}
        empty = "missing" if self.empty is not None and np.isnan(self.empty) else self.empty
        return {**own, "link": self.link.to_json(), "decimals": self.decimals, "empty": empty}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Total:
        """Inverse of `to_json`."""
        empty = None if data["empty"] is None else np.nan if data["empty"] == "missing" else float(data["empty"])
        link, parts = Link.from_json(data["link"]), tuple(data["parts"])
        return cls(data["column"], link, str(data["how"]), parts, int(data["decimals"]), empty)


@dataclass
class Tally:
    """Running aggregates of the children of each parent: number, sum, minimum and maximum."""

    number: Floats
    total: Floats
    low: Floats
    high: Floats

    @classmethod
    def empty(cls, n: int) -> Tally:
        """Of n parents without children."""
        return cls(np.zeros(n), np.zeros(n), np.full(n, np.inf), np.full(n, -np.inf))

    def add(self, parents: Ints, values: Floats) -> None:
        """Add children by parent number; missing values and rows without a parent are ignored."""
        known = (parents >= 0) & ~np.isnan(values)
        parents, values = parents[known], values[known]
        self.number += np.bincount(parents, minlength=len(self.number))
        self.total += np.bincount(parents, weights=values, minlength=len(self.number))
        np.minimum.at(self.low, parents, values)
        np.maximum.at(self.high, parents, values)

    def by(self, how: str) -> Floats:
        """The aggregate of each parent (n,); NaN without children, except for sums and counts."""
        if how in ("count", "sum"):
            return self.number if how == "count" else self.total
        found = {"mean": self.total / np.maximum(self.number, 1), "first": self.low, "last": self.high}[how]
        return np.where(self.number > 0, found, np.nan)


def find_totals(
    parent: pd.DataFrame, child: pd.DataFrame, parents: Ints, link: Link, own: tuple[Sequence[Name], Sequence[Name]]
) -> list[Total]:
    """Find columns of the parent that aggregate its children; `own` are the non-key columns of both."""
    wanted = {name: as_numbers(parent[name]) for name in own[0] if is_measured(parent[name])}
    found: dict[Name, Total] = {}
    if not wanted:
        return []
    for parts, values in _quantities(child, own[1]):
        tally = Tally.empty(len(parent))
        tally.add(parents, values)
        if (tally.number > 0).sum() < MIN_PARENTS:
            continue
        are_times = len(parts) == 1 and not pd.api.types.is_numeric_dtype(child[parts[0]].dtype)
        for name, numbers in wanted.items():
            for how in _possible(str(name), parts, is_time=are_times):
                if name not in found and are_times == is_time(parent[name]):
                    total = _checked(Total(name, link, how, parts, decimals_of(numbers), None), numbers, tally)
                    found |= {} if total is None else {name: total}
    return list(found.values())


def _possible(name: str, parts: tuple[Name, ...], *, is_time: bool) -> tuple[str, ...]:
    """Possible aggregates for a parent's column; minima and maxima only if the name suggests it, because they match by
    chance.
    """
    if not parts:
        return ("count",)
    ends = ("first", "last")
    if is_time:
        return ends
    return ("sum", "mean", *(ends if re.search(EXTREME, name.lower()) else ()))


def _checked(total: Total, numbers: Floats, tally: Tally) -> Total | None:
    """The total with the value of parents without children; None if it does not hold."""
    known, there = ~np.isnan(numbers), tally.number > 0
    differs = {"count": there, "sum": tally.total != 0}.get(total.how, tally.low < tally.high)
    several = (tally.number > 1) & differs  # of a single child, and of equal ones, all aggregates but the sum are equal
    if several.sum() < MIN_SEVERAL or len(np.unique(numbers[known & several])) < MIN_VALUES[total.how]:
        return None
    slack = 0.5001 * 10.0**-total.decimals if total.how == "mean" or len(total.parts) > 1 else 1e-9
    expected = tally.by(total.how)
    with np.errstate(invalid="ignore"):
        equal = np.abs(numbers - expected) <= slack + 1e-9 * np.abs(expected)
    kept = np.mean(equal[known & there]), np.mean(equal[known & several]), known[there].mean()
    if min(kept) < MIN_SHARE:
        return None
    empty = numbers[~there]
    same = len(empty) > 0 and np.mean(np.isnan(empty) if np.isnan(empty[0]) else empty == empty[0]) >= MIN_SHARE
    # Only a value that all of them share: a value of few parents would be a secret.
    fixed = float(empty[0]) if same and (np.isnan(empty[0]) or empty[0] == 0) else None
    return Total(total.column, total.link, total.how, total.parts, total.decimals, fixed)


def _quantities(child: pd.DataFrame, own: Sequence[Name]) -> Iterator[tuple[tuple[Name, ...], Floats]]:
    """What can be aggregated: nothing (for counts), child columns, and products of two numbers."""
    yield (), np.ones(len(child))
    measured = [name for name in own if is_measured(child[name])][:MAX_COLUMNS]
    values = {name: as_numbers(child[name]) for name in measured}
    yield from (((name,), values[name]) for name in measured)
    factors = [name for name in measured if not is_time(child[name]) and child[name].nunique() > 1][:MAX_FACTORS]
    yield from (((a, b), values[a] * values[b]) for a, b in combinations(factors, 2))


def quantity(child: pd.DataFrame, parts: Sequence[Name]) -> Floats:
    """The aggregated quantity of each child row."""
    product = np.ones(len(child))
    for name in parts:
        product = product * as_numbers(child[name])
    return product


def with_totals(
    parent: pd.DataFrame, found: Sequence[tuple[Total, Tally]], laws: Laws | None, seed: int
) -> pd.DataFrame:
    """The parents with their totals, and with the columns that laws compute from these."""
    new = {}
    for total, tally in found:
        drawn = as_numbers(parent[total.column])
        none = drawn if total.empty is None else np.full(len(drawn), total.empty)
        numbers = np.where(tally.number > 0, np.round(tally.by(total.how), total.decimals), none)
        new[total.column] = like(numbers, parent[total.column])
    return with_values(parent, new, laws, seed)
