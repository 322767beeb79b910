"""The grid of decimals on which the numbers of a column lie."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..constraints.plain_columns import Bounds
from .base import Floats


def settled(values: NDArray[Any], bounds: Bounds, *, up: bool) -> Any:
    """Move numbers up or down to the nearest one that a numeric column may have."""
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
    """A number just above or below: half a grid step away, or the next float if there is no grid."""
    if decimals is None:
        return math.nextafter(value, math.inf if up else -math.inf)
    half = 0.5 * 10.0**-decimals
    return value + (half if up else -half)


def grid_point(count: Floats, decimals: int) -> Floats:
    """The number at this many steps of the last decimal."""
    points: Floats = np.round(count / 10.0**decimals, decimals)
    return points


def whole_numbers(values: Floats, low: int, high: int) -> NDArray[Any]:
    """Cast to integers within [low, high]; a plain cast overflows at the limits of the 64-bit types."""
    # Ends computed as floats may be just outside the type: 2^63 - 1 becomes 2^63.
    dtype = np.uint64 if low >= 0 and high > np.iinfo(np.int64).max else np.int64
    low, high = (min(max(end, int(np.iinfo(dtype).min)), int(np.iinfo(dtype).max)) for end in (low, high))
    inner = np.rint(np.clip(values, float(low), float(high)))
    whole = np.full(len(values), low, dtype=dtype)
    fits = (inner > low) & (inner < high)
    whole[fits] = inner[fits].astype(dtype)
    whole[inner >= float(high)] = high
    return np.clip(whole, dtype(low), dtype(high))
