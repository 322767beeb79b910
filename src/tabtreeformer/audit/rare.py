"""Values of the training table that so few rows have that they could name somebody, and where they would be found."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..schema import Column
from ..support import likely_range

DISTINCTIVE = 5
"""A number of so many significant digits is no coincidence, wherever it stands."""
LONG_TEXT = 6
"""A text of so many letters is looked for inside others too."""
MOST_TEXTS = 5000
"""Texts that are looked for inside others, the longest first."""


@dataclass(frozen=True, eq=False)
class RareValues:
    """Those of one column."""

    name: str | int
    values: pd.Series
    """Those that are there, as the column reads them: numbers, counts of a unit of time, or labels."""
    numeric: bool
    floor: int

    @classmethod
    def of(cls, series: pd.Series, column: Column, floor: int) -> RareValues:
        """Read a column of the training table."""
        values = column.read(series[series.notna()])
        return cls(column.name, values, pd.api.types.is_numeric_dtype(values.dtype), floor)

    @cached_property
    def _numbers(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Distinct numbers, ascending, and how many rows have each."""
        there = self.values.to_numpy(dtype=np.float64)
        distinct, counts = np.unique(there, return_counts=True)
        return distinct, counts

    @cached_property
    def texts(self) -> frozenset[str]:
        """Rare values as text."""
        counts = self.values.astype(object).map(str).value_counts()
        return frozenset(counts.index[counts < self.floor].tolist())

    @cached_property
    def numbers(self) -> frozenset[float]:
        """Rare values as numbers, in double and in single precision."""
        if not self.numeric:
            return frozenset()
        distinct, counts = self._numbers
        rare = distinct[counts < self.floor]
        with np.errstate(over="ignore"):
            single = rare.astype(np.float32).astype(np.float64)
        return frozenset(rare.tolist()) | frozenset(single[np.isfinite(single)].tolist())

    @cached_property
    def _midpoints(self) -> NDArray[np.float64]:
        """Half way between neighbours of which one is rare, unless they are as near as values of the column get."""
        distinct, counts = self._numbers
        rare = counts < self.floor
        gaps = np.diff(distinct)
        middle = distinct[1:] / 2 + distinct[:-1] / 2
        # Between 41 and 42 there is nothing to give away: only what lies farther apart than the column's own step.
        wide = gaps > 1.5 * gaps.min(initial=np.inf)
        kept: NDArray[np.float64] = middle[(rare[1:] | rare[:-1]) & wide]
        return kept

    def holds(self, value: Any) -> bool:
        """Whether a value of this column in the file is a rare one."""
        if isinstance(value, bool | str):
            return str(value) in self.texts and not (self.numeric and isinstance(value, bool))
        if isinstance(value, int | float) and self.numeric:
            return float(value) in self.numbers
        return str(value) in self.texts

    def is_midpoint(self, value: Any) -> bool:
        """Whether a number lies half way between two neighbours of which one is rare."""
        if not self.numeric or isinstance(value, bool | str) or not len(self._midpoints):
            return False
        place = int(np.searchsorted(self._midpoints, value))
        near = self._midpoints[max(place - 1, 0) : place + 1]
        return bool(np.isclose(near, float(value), rtol=1e-9, atol=0).any()) and float(value) not in self._numbers[0]

    def told_by_few(self, low: float, high: float) -> bool:
        """Whether rows lie at or beyond one end, too few to tell it, and the others do not tell it either."""
        likely = likely_range(*np.unique(self.values.to_numpy(dtype=np.float64), return_counts=True), self.floor)
        farther = low < likely[0], high > likely[1]
        return any(
            out and 0 < rows < self.floor for out, rows in zip(farther, self.rows_beyond(low, high), strict=True)
        )

    def rows_beyond(self, low: float, high: float) -> tuple[int, int]:
        """Rows at or below the one end, and at or above the other."""
        there = self.values.to_numpy(dtype=np.float64)
        return int((there <= low).sum()), int((there >= high).sum())


def is_distinctive(value: Any) -> bool:
    """Whether a number has so many digits that meeting it twice is no chance."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value == 0:
        return False
    digits = f"{abs(value):.15e}".split("e")[0].replace(".", "").rstrip("0")
    return len(digits) >= DISTINCTIVE


def texts_inside(members: Mapping[str, bytes], columns: list[RareValues]) -> Iterator[tuple[str, RareValues, str]]:
    """Look for long rare texts anywhere in the unpacked bytes of the members."""
    wanted = [(text, column) for column in columns if not column.numeric for text in column.texts]
    wanted = sorted((w for w in wanted if len(w[0]) >= LONG_TEXT), key=lambda w: -len(w[0]))[:MOST_TEXTS]
    for member, data in members.items():
        for text, column in wanted:
            if text.encode() in data or json_escaped(text) in data:
                yield member, column, text


def json_escaped(text: str) -> bytes:
    """The text as JSON without letters beyond ASCII writes it."""
    return text.encode("ascii", "backslashreplace")
