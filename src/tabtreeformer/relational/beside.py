"""Columns of a child computed from others: running balances, and times relative to a time of the parent.

A balance adds up a column over the rows of a parent. A sample taken on the day of the visit is learned as the time
since the visit, because a separately drawn date would miss the day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..data.links import Name
from ..data.schema.dtypes import dtype_name, dtype_of
from .followed import Floats, as_numbers, decimals_of, is_measured, is_time
from .rows import Groups, Ints

MIN_ROWS, MIN_VALUES, MIN_SHARE = 50, 8, 0.98
"""Minimum number of neighbours that add up and of distinct steps, and minimum share of neighbours that add up."""
MAX_SPREAD = 0.3
"""A time is stored relative to one of the parent if this leaves at most this share of its spread."""
UNITS = (86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 1)
"""Days, hours, minutes, seconds and microseconds, in microseconds; the largest unit that divides all
distances is used.
"""


@dataclass(frozen=True)
class Balance:
    """`column` of a row is that of the row of the same parent before it, plus or minus `part`; or its place."""

    column: Name
    part: Name | None
    """None: rows are counted."""
    factor: int
    from_zero: bool
    """Whether the first row equals its part; otherwise its value is drawn."""
    decimals: int

    @property
    def text(self) -> str:
        """The readable form."""
        if self.part is None:
            return f"{self.column} = number of the row, for each parent"
        return f"{self.column} = running total of {'-' if self.factor < 0 else ''}{self.part}, for each parent"

    def to_json(self) -> list[Any]:
        """Plain data."""
        return [self.column, self.part, self.factor, self.from_zero, self.decimals]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Balance:
        """Inverse of `to_json`."""
        column, part, factor, from_zero, decimals = data
        return cls(column, part, 1 if factor > 0 else -1, bool(from_zero), int(decimals))

    def added_up(self, frame: pd.DataFrame, parents: Ints) -> Floats:
        """The column for rows sorted by parent (N,)."""
        part = np.ones(len(frame)) if self.part is None else np.nan_to_num(as_numbers(frame[self.part]))
        steps = pd.Series(self.factor * part)
        group = np.cumsum((np.diff(parents, prepend=-2) != 0) | (parents < 0))
        total = steps.groupby(group).cumsum()
        if not self.from_zero:
            total += pd.Series(as_numbers(frame[self.column]) - steps).groupby(group).transform("first")
        added: Floats = np.round(total.to_numpy(dtype=np.float64), self.decimals)
        return added


def find_balances(frame: pd.DataFrame, own: Sequence[Name], parents: Ints, order: pd.Series | None) -> list[Balance]:
    """Find columns that add up another over the rows of a parent."""
    groups = Groups.of(parents, order)
    numbers = [n for n in own if is_measured(frame[n]) and not is_time(frame[n])]
    names = [name for name in numbers if frame[name].nunique() >= MIN_VALUES]
    follows = np.flatnonzero((groups.place > 1) & (groups.parents >= 0))
    if len(follows) < MIN_ROWS:
        return []
    values = {name: as_numbers(frame[name])[groups.order] for name in names}
    first = (groups.place == 1) & (groups.parents >= 0)
    found: dict[Name, Balance] = {}
    for column in numbers if order is not None else ():
        counted = as_numbers(frame[column])[groups.order] == groups.place
        if counted[groups.parents >= 0].mean() >= MIN_SHARE:
            found[column] = Balance(column, None, 1, True, 0)
    for column in names:
        steps = values[column][follows] - values[column][follows - 1]
        decimals = decimals_of(values[column])
        slack = 0.5001 * 10.0**-decimals
        for part in (name for name in names if name != column and name not in found):
            for factor in (1, -1):
                known = ~np.isnan(steps) & ~np.isnan(values[part][follows])
                equal = np.abs(steps - factor * values[part][follows])[known] <= slack
                if known.sum() >= MIN_ROWS and equal.mean() >= MIN_SHARE and column not in found:
                    starts = np.abs(values[column] - factor * values[part])[first] <= slack
                    found[column] = Balance(column, part, factor, bool(starts.mean() >= MIN_SHARE), decimals)
    return list(found.values())


@dataclass(frozen=True)
class Since:
    """`column`, a time, is learned as the time since the `source` column of the parent."""

    column: Name
    source: Name
    unit: int
    """In microseconds."""
    dtype: str
    limits: tuple[tuple[Name, bool], ...]
    """Other times of the parent: True if never exceeded, False if never preceded."""

    @property
    def text(self) -> str:
        """The readable form."""
        return f"{self.column} is learned as the time since {self.source}"

    def to_json(self) -> list[Any]:
        """Plain data."""
        return [self.column, self.source, self.unit, self.dtype, [list(limit) for limit in self.limits]]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Since:
        """Inverse of `to_json`."""
        column, source, unit, dtype, limits = data
        return cls(column, source, int(unit), str(dtype), tuple((name, bool(at_most)) for name, at_most in limits))

    def counted(self, values: pd.Series, parent: pd.DataFrame, parents: Ints) -> pd.Series:
        """Times → integer units since the source."""
        passed = (as_numbers(values) - _of_parents(parent[self.source], parents)) / self.unit
        return pd.Series(np.round(passed), index=values.index, name=values.name)

    def times(self, passed: pd.Series, parent: pd.DataFrame, parents: Ints) -> pd.Series:
        """Inverse of `counted`; times beyond a limit are moved to it."""
        times = _of_parents(parent[self.source], parents) + passed.to_numpy(dtype=np.float64) * self.unit
        for name, at_most in self.limits:
            limit = _of_parents(parent[name], parents)
            times = (np.fmin if at_most else np.fmax)(times, np.where(np.isnan(times), np.nan, limit))
        found = pd.Series(pd.to_datetime(times, unit="us"), index=passed.index, name=passed.name)
        return found.astype(dtype_of(self.dtype))


def _of_parents(values: pd.Series, parents: Ints) -> Floats:
    return np.where(parents >= 0, as_numbers(values)[np.maximum(parents, 0)], np.nan)


def find_since(
    frame: pd.DataFrame, own: Sequence[Name], parent: pd.DataFrame, theirs: Sequence[Name], parents: Ints
) -> list[Since]:
    """Find times of a child that are close to a time of its parent."""
    sources = {name: _of_parents(parent[name], parents) for name in theirs if is_time(parent[name])}
    found = []
    for name in own:
        if not sources or not is_time(frame[name]):
            continue
        times = as_numbers(frame[name])
        spreads = {}
        for other, values in sources.items():
            known = ~np.isnan(times) & ~np.isnan(values)
            if known.sum() >= MIN_ROWS and known.sum() >= MIN_SHARE * (~np.isnan(times)).sum():
                spreads[other] = float(np.std((times - values)[known])) / max(float(np.std(times[known])), 1.0)
        if not spreads or min(spreads.values()) > MAX_SPREAD:
            continue
        source = min(spreads, key=lambda n: spreads[n])
        passed = (times - sources[source])[~np.isnan(times - sources[source])]
        unit = next(unit for unit in UNITS if (np.abs(passed) % unit == 0).all() or unit == 1)
        limits = [
            (other, at_most)
            for other, values in sources.items()
            for at_most in (True, False)
            if other != source and not (times > values if at_most else times < values).any()
        ]
        found.append(Since(name, source, unit, dtype_name(frame[name].dtype), tuple(limits)))
    return found
