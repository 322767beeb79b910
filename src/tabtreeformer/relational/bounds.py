"""Limits that a parent sets for its rows: no visit after the patient's death, no order before the sign-up.

A limit is a column of the parent that a time or the ordering column of its rows never exceeds, although it would often
exceed the limit of other parents. In new rows, values beyond their limit are moved to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .rows import Ints

MIN_ROWS, MIN_EXCEEDED = 20, 12
"""Minimum rows for finding a limit, and minimum rows that must exceed the limits of other parents."""


@dataclass(frozen=True)
class Bound:
    """`column <= limit` or `column >= limit`, where the limit is a column of the parent."""

    column: str
    limit: str
    at_most: bool

    @property
    def text(self) -> str:
        """The readable form."""
        return f"{self.column} {'<=' if self.at_most else '>='} {self.limit}"

    def to_json(self) -> list[Any]:
        """Plain data."""
        return [self.column, self.limit, self.at_most]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Bound:
        """Inverse of `to_json`."""
        column, limit, at_most = data
        return cls(str(column), str(limit), bool(at_most))


def find_bounds(
    own: pd.DataFrame, order: str | None, carried: pd.DataFrame, parents: Ints, rng: np.random.Generator
) -> list[Bound]:
    """Find the limits of a child table, from its own columns (N,) and its parents' columns (N,)."""
    limits = {name: carried[name] for name in carried.columns if _family(carried[name]) is not None}
    found = []
    for name in own.columns:
        family = _family(own[name])
        if family is None or (family == "number" and str(name) != order):
            continue
        for limit, values in limits.items():
            if _family(values) == family:
                found += _between(str(name), own[name], limit, values, parents, rng)
    return found


def _between(
    name: str, values: pd.Series, limit: str, limits: pd.Series, parents: Ints, rng: np.random.Generator
) -> list[Bound]:
    left, right = values.to_numpy(), limits.to_numpy()
    known = np.flatnonzero(values.notna().to_numpy() & limits.notna().to_numpy() & (parents >= 0))
    if len(known) < MIN_ROWS:
        return []
    # With the limits of other parents, this many rows exceed them.
    own = parents[known]
    several = np.unique(own)
    swapped = dict(zip(several.tolist(), rng.permutation(several).tolist(), strict=True))
    first = dict(zip(own[::-1].tolist(), known[::-1].tolist(), strict=True))
    others = right[[first[swapped[parent]] for parent in own.tolist()]]
    bounds = []
    for at_most in (True, False):
        beyond = np.greater if at_most else np.less
        if not beyond(left[known], right[known]).any() and beyond(left[known], others).sum() >= MIN_EXCEEDED:
            bounds.append(Bound(name, limit, at_most))
    return bounds


def _family(values: pd.Series) -> str | None:
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return f"time {getattr(values.dt, 'tz', None)}"
    number = pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)
    return "number" if number else None


def within(values: pd.Series, name: str, bounds: Sequence[Bound], carried: pd.DataFrame) -> pd.Series:
    """Move values of a column to their limits; a missing limit is no limit."""
    for bound in bounds:
        if bound.column != name:
            continue
        limit = pd.Series(np.asarray(carried[bound.limit]), index=values.index)
        beyond = values > limit if bound.at_most else values < limit
        values = values.where(~(beyond & limit.notna()), limit.astype(values.dtype))
    return values


def checked(frame: pd.DataFrame, bounds: Sequence[Bound], order: Any, carried: pd.DataFrame) -> pd.DataFrame:
    """Extended rows with all columns except the ordering one moved within their limits."""
    names = {bound.column for bound in bounds if bound.column != str(order)}
    return frame.assign(**{name: within(frame[name], name, bounds, carried) for name in names}) if names else frame


def largest_step(
    reached: pd.Series, order: str, bounds: Sequence[Bound], carried: pd.DataFrame, last: Any
) -> pd.Series:
    """The largest step of the ordering column that exceeds neither its last value nor a limit of the parent."""
    top = pd.Series([last] * len(reached), index=reached.index).astype(reached.dtype)
    top = within(top, order, [bound for bound in bounds if bound.at_most], carried)
    return (top - reached).clip(lower=reached.iloc[0] - reached.iloc[0])
