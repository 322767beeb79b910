"""Integers, steps and ranges of computed columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.rare import likely_range
from ..data.schema import NUMERIC, Column
from ..data.schema.numbers import count_decimals

Values = NDArray[Any]
LARGEST = 2**62
"""Larger integers are skipped: a difference could overflow."""


def tolerance(*, in_32_bits: bool) -> float:
    """Relative tolerance for equal results: the last digits depend on the order of operations."""
    return 3e-7 if in_32_bits else 1e-9


def to_whole(numbers: Values) -> Values:
    """Round floats to integers; values outside 64 bits become 0."""
    if numbers.dtype.kind == "i":
        return numbers
    with np.errstate(invalid="ignore"):
        safe = np.where(np.abs(numbers) < float(LARGEST), numbers, 0.0)
    return np.rint(safe).astype(np.int64)


def dtype_ends(column: Column) -> tuple[float, float] | None:
    """Limits of an integer dtype other than int64; None for any other column, e.g. days written as 20240131."""
    if column.kind != NUMERIC:
        return None
    name = column.dtype.lower().removeprefix("arrow:").removesuffix("[pyarrow]")
    if name in ("int8", "int16", "int32", "uint8", "uint16", "uint32"):
        limits = np.iinfo(name)
        return float(limits.min), float(limits.max)
    if name == "uint64":
        return 0.0, float(LARGEST)
    return None


def step_of(counts: Values, floor: int) -> int:
    """The largest step that divides all integers, except for fewer than `floor` of them."""
    spare, step = max(floor - 1, 0), 1
    if not len(counts) or np.count_nonzero(counts) <= spare:
        return 1
    for factor in (1000, 60, 10, 7, 5, 3, 2):
        while np.count_nonzero(counts % (step * factor)) <= spare and step < LARGEST // 10**6:
            step *= factor
    return step


ROUND = (1000, 500, 100, 50, 10, 5)
"""Typical multiples of rounded numbers, in steps of their column."""


def as_round(goal: Values, drawn: Values, least: Values, most: Values) -> Values:
    """Integers near a goal, as round as the drawn numbers, unless this more than doubles their distance to the least.

    Example: 2.5 instead of 2.47 if 3.1 was drawn, although the column has two decimals. Never below the least.
    """
    places = np.maximum(np.minimum(np.round(goal), most), least)
    left = drawn != 0
    for unit in ROUND:
        rounded = np.round(goal / unit) * unit
        rounded = np.maximum(np.minimum(rounded, np.floor(most / unit) * unit), np.ceil(least / unit) * unit)
        near = (rounded <= most) & (np.abs(rounded - places) <= np.maximum(places - least, 0))
        chosen = left & (drawn % unit == 0) & near
        places, left = np.where(chosen, rounded, places), left & ~chosen
    return np.asarray(places)


def grid_of(values: NDArray[np.float64], *, whole: bool) -> tuple[float, float] | None:
    """Step and first value of a column."""
    if not len(values):
        return None
    if whole:
        steps = (values - values.min()).astype(np.int64)
        step = float(max(int(np.gcd.reduce(steps)), 1))
        return step, float(values.min() % step)
    decimals = count_decimals(values, spare=len(values) // 100)
    return None if decimals is None else (10.0**-decimals, 0.0)


def reach_of(values: NDArray[np.float64], floor: int) -> tuple[float, float]:
    """The range of numbers supported by enough rows."""
    distinct, counts = np.unique(values, return_counts=True)
    if floor <= 1:
        return float(distinct[0]), float(distinct[-1])
    low, high = likely_range(distinct, counts, floor)
    return low, high
