"""The grid of decimals on which the numbers of a column lie."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..constraints.plain_columns import Bounds
from .base import Floats


def settled(values: NDArray[Any], bounds: Bounds, *, up: bool) -> Any:
    """Move numbers to the nearest that a numeric column may hold, upwards or downwards."""
    numbers = values.astype(np.float64)
    if bounds.decimals is not None:
        near = np.round(numbers, bounds.decimals)
        step = 10.0**-bounds.decimals
        moved = np.round(near + (step if up else -step), bounds.decimals)
        numbers = np.where(near < numbers if up else near > numbers, moved, near)
    if isinstance(bounds.low, int):
        return whole_numbers(numbers, bounds.low, int(bounds.high))
    return np.clip(numbers, bounds.low, bounds.high)


def next_to(value: float, decimals: int | None, *, up: bool) -> float:
    """A number just above or below: half a step of the grid, or the next float where there is no grid."""
    if decimals is None:
        return math.nextafter(value, math.inf if up else -math.inf)
    half = 0.5 * 10.0**-decimals
    return value + (half if up else -half)


def grid_point(count: Floats, decimals: int) -> Floats:
    """The number that this many steps of the last decimal make."""
    points: Floats = np.round(count / 10.0**decimals, decimals)
    return points


def whole_numbers(values: Floats, low: int, high: int) -> NDArray[Any]:
    """Cast to integers inside [low, high]; a plain cast overflows at the ends of the 64-bit types."""
    # Ends that were computed as floats may be just beyond the type: 2^63 - 1 is 2^63 there.
    dtype = np.uint64 if low >= 0 and high > np.iinfo(np.int64).max else np.int64
    low, high = (min(max(end, int(np.iinfo(dtype).min)), int(np.iinfo(dtype).max)) for end in (low, high))
    inner = np.rint(np.clip(values, float(low), float(high)))
    whole = np.full(len(values), low, dtype=dtype)
    fits = (inner > low) & (inner < high)
    whole[fits] = inner[fits].astype(dtype)
    whole[inner >= float(high)] = high
    return np.clip(whole, dtype(low), dtype(high))
