"""Rare values of the training table, which could identify a person, and how to recognise them in a file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...data.rare import likely_range
from ...data.schema import Column
from ...data.schema.numbers import count_decimals
from ...tokens.codecs.atoms import grid_decimals

DISTINCTIVE = 5
"""Numbers with fewer significant digits match anywhere by chance."""
NEAR = 0.1
"""The density of rare values near a number is measured within this share of it."""
LONG_TEXT = 6
"""Texts of at least this many letters are searched inside other texts too."""
MAX_TEXTS = 5000
"""Maximum number of texts to search inside others, the longest first."""


@dataclass(frozen=True, eq=False)
class RareValues:
    """The rare values of one column."""

    name: str | int
    values: pd.Series
    """The non-missing values in plain form: numbers, counts of a time unit, or labels."""
    numeric: bool
    floor: int

    @classmethod
    def of(cls, series: pd.Series, column: Column, floor: int) -> RareValues:
        """Read a column of the training table."""
        values = column.read(series[series.notna()])
        if column.values is not None:  # declared public, however rare
            values = values[~values.isin(list(column.values))]
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
        rare = self._rare_numbers
        with np.errstate(over="ignore"):
            single = rare.astype(np.float32).astype(np.float64)
        return frozenset(rare.tolist()) | frozenset(single[np.isfinite(single)].tolist())

    @cached_property
    def _telling(self) -> NDArray[np.bool_]:
        """Gaps between neighbours of which one is rare, unless they are adjacent on the column's grid."""
        distinct, counts = self._numbers
        rare = counts < self.floor
        gaps = np.diff(distinct)
        # A midpoint of 41 and 42 reveals nothing: only gaps wider than the column's step count.
        telling: NDArray[np.bool_] = (rare[1:] | rare[:-1]) & (gaps > 1.5 * gaps.min(initial=np.inf))
        return telling

    @cached_property
    def _midpoints(self) -> NDArray[np.float64]:
        """The middles of those gaps."""
        distinct = self._numbers[0]
        middles: NDArray[np.float64] = (distinct[1:] / 2 + distinct[:-1] / 2)[self._telling]
        return middles

    @cached_property
    def _rare_numbers(self) -> NDArray[np.float64]:
        """Rare values that are numbers or numeric texts, ascending."""
        if self.numeric:
            distinct, counts = self._numbers
            return distinct[counts < self.floor]
        written = pd.to_numeric(pd.Series(sorted(self.texts), dtype=object), errors="coerce").to_numpy(np.float64)
        return np.unique(written[np.isfinite(written)])

    @cached_property
    def _step(self) -> float:
        """The step of the grid on which a codec places this column's intervals; 0 if there is none."""
        decimals = grid_decimals(self.values.to_numpy(dtype=np.float64), self.floor)
        return 0.0 if decimals is None else 10.0**-decimals

    def chance(self, value: float) -> float:
        """Probability that a random nearby number with the same decimals is a rare value of this column."""
        decimals = count_decimals(np.array([value], dtype=np.float64))
        if decimals is None:  # numbers with this many digits do not match by chance
            return 0.0
        reach, step = NEAR * abs(value), 10.0**-decimals
        ends = np.searchsorted(self._rare_numbers, [value - reach, value + reach])
        near = self._rare_numbers[slice(*ends)] / step
        return min(1.0, float(np.isclose(near, np.round(near), rtol=0, atol=1e-6).sum()) * step / (2 * reach))

    def midpoint_chance(self, value: float) -> float:
        """Probability that an interval end, placed at random in its gap half a step off the grid, is the midpoint."""
        distinct = self._numbers[0]
        place = int(np.searchsorted(distinct, value))
        if not self._step or not 0 < place < len(distinct) or not self._telling[place - 1]:
            return 0.0
        low, high = distinct[place - 1], distinct[place]
        beside = np.array([value, low / 2 + high / 2]) / self._step % 1
        return min(1.0, self._step / (high - low)) if np.allclose(beside, 0.5, rtol=0, atol=1e-6) else 0.0

    def holds(self, value: Any) -> bool:
        """Whether a value of this column in the file is a rare one."""
        if isinstance(value, bool | str):
            return str(value) in self.texts and not (self.numeric and isinstance(value, bool))
        if isinstance(value, int | float) and self.numeric:
            return float(value) in self.numbers
        return str(value) in self.texts

    def is_midpoint(self, value: Any) -> bool:
        """Whether a number is halfway between two neighbours of which one is rare."""
        if not self.numeric or isinstance(value, bool | str) or not len(self._midpoints):
            return False
        place = int(np.searchsorted(self._midpoints, value))
        near = self._midpoints[max(place - 1, 0) : place + 1]
        return bool(np.isclose(near, float(value), rtol=1e-9, atol=0).any()) and float(value) not in self._numbers[0]

    def told_by_few(self, low: float, high: float) -> bool:
        """Whether an end has rows at or beyond it, but too few, and is not determined by the other rows either."""
        likely = likely_range(*np.unique(self.values.to_numpy(dtype=np.float64), return_counts=True), self.floor)
        farther = low < likely[0], high > likely[1]
        return any(
            out and 0 < rows < self.floor for out, rows in zip(farther, self.rows_beyond(low, high), strict=True)
        )

    def rows_beyond(self, low: float, high: float) -> tuple[int, int]:
        """Number of rows at or below the lower end, and at or above the upper end."""
        there = self.values.to_numpy(dtype=np.float64)
        return int((there <= low).sum()), int((there >= high).sum())


def is_distinctive(value: Any) -> bool:
    """Whether a number has so many digits that a match is no coincidence."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value == 0:
        return False
    digits = f"{abs(value):.15e}".split("e")[0].replace(".", "").rstrip("0")
    return len(digits) >= DISTINCTIVE


def texts_inside(members: Mapping[str, bytes], columns: list[RareValues]) -> Iterator[tuple[str, RareValues, str]]:
    """Search for long rare texts anywhere in the unpacked bytes of the members."""
    wanted = [(text, column) for column in columns if not column.numeric for text in column.texts]
    wanted = sorted((w for w in wanted if len(w[0]) >= LONG_TEXT), key=lambda w: -len(w[0]))[:MAX_TEXTS]
    for member, data in members.items():
        for text, column in wanted:
            if any(_is_inside(form, data) for form in {text.encode(), json_escaped(text)}):
                yield member, column, text


def _is_inside(text: bytes, data: bytes) -> bool:
    """Whether bytes contain a text as a whole word: ticket 113806 is not in 0.001138062."""
    start = data.find(text)
    while start >= 0:
        before, after = data[max(start - 1, 0) : start], data[start + len(text) : start + len(text) + 1]
        if not (_joins(before, text[:1]) or _joins(after, text[-1:])):
            return True
        start = data.find(text, start + 1)
    return False


def _joins(beside: bytes, end: bytes) -> bool:
    """Whether an adjacent character continues a text: digits continue digits and points, letters continue letters."""
    if end.isdigit():
        return beside.isdigit() or beside == b"."
    return end.isalpha() and beside.isalpha()


def json_escaped(text: str) -> bytes:
    """The text as ASCII-only JSON."""
    return text.encode("ascii", "backslashreplace")
