"""Values of any dtype as plain numbers, counts or labels."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types as ptypes

from .dtypes import arrow_family, time_zone

NUMBER, TIME, DURATION, LABEL = "number", "time", "duration", "label"
"""The four sorts of values."""
SINGLE = "numbers of 32 bits"
"""The form of 64-bit floats that have passed through 32 bits, as in statistics packages: 3.0999999046 is 3.1."""
MARKERS: Mapping[str, Any] = {"None": None, "NaN": math.nan, "NA": pd.NA, "NaT": pd.NaT}
"""Markers of missing values in an object column."""


def sort_of(dtype: Any) -> str:
    """How values of a dtype are read; `label` for anything that is neither a number nor a time."""
    if isinstance(dtype, pd.ArrowDtype):
        families = {"number": NUMBER, "decimal": NUMBER, "time": TIME, "duration": DURATION}
        return families.get(arrow_family(dtype), LABEL)
    if ptypes.is_bool_dtype(dtype) or isinstance(dtype, pd.IntervalDtype):
        return LABEL
    if isinstance(dtype, pd.PeriodDtype):
        return TIME
    if ptypes.is_datetime64_any_dtype(dtype):
        return TIME
    if ptypes.is_timedelta64_dtype(dtype):
        return DURATION
    return NUMBER if ptypes.is_integer_dtype(dtype) or ptypes.is_float_dtype(dtype) else LABEL


def as_numbers(series: pd.Series) -> Any:
    """Numbers of any dtype, none missing, as int64, uint64 or float64."""
    dtype = series.dtype
    if isinstance(dtype, pd.SparseDtype):
        series, dtype = series.sparse.to_dense(), dtype.subtype
    if ptypes.is_integer_dtype(dtype):
        unsigned = "uint64" in str(dtype).lower()
        return series.to_numpy(dtype=np.uint64 if unsigned else np.int64)
    if ptypes.is_float_dtype(dtype) and dtype.itemsize < 8:
        return shortest(series.to_numpy(dtype=f"float{dtype.itemsize * 8}"))
    return series.to_numpy(dtype=np.float64)


def shortest(values: NDArray[Any]) -> NDArray[np.float64]:
    """Floats of 32 bits or fewer as the shortest decimals that represent them: 0.1 is 0.1, not 0.10000000149."""
    distinct, codes = np.unique(values, return_inverse=True)
    return np.asarray(distinct.astype(str).astype(np.float64)[codes])


def widened(values: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers after passing through 32 bits: 0.1 becomes 0.10000000149."""
    with np.errstate(over="ignore"):  # numbers too large for 32 bits become infinite
        wide: NDArray[np.float64] = values.astype(np.float32).astype(np.float64)
    return wide


LAST_BIT = 4e-16
"""Relative error of numbers written as text and read back by a reader that rounds the last bit."""


def stored_in_32_bits(values: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers as read back after 32-bit storage: 0.1 stays 0.1, and about seven digits are kept."""
    with np.errstate(over="ignore"):
        return shortest(values.astype(np.float32))


def is_widened(values: NDArray[np.float64]) -> bool:
    """Whether all numbers have passed through 32 bits, which makes some of them longer to write."""
    with np.errstate(invalid="ignore"):  # infinities do not count
        near = np.abs(widened(values) - values) <= LAST_BIT * np.abs(values)
    return bool(near.all() and (stored_in_32_bits(values) != values).any())


def as_ticks(values: NDArray[Any]) -> NDArray[np.int64]:
    """Counts of times and durations as 64-bit integers, without the smallest one, which means "not a time"."""
    limits = np.iinfo(np.int64)
    if values.dtype.kind == "u":
        values = np.minimum(values, np.uint64(limits.max))
    ticks: NDArray[np.int64] = np.maximum(values.astype(np.int64), limits.min + 1)
    return ticks


def within_dtype(series: pd.Series, dtype: Any) -> pd.Series:
    """Clip whole numbers to the range of an integer dtype; casting alone would wrap them around."""
    if not (ptypes.is_integer_dtype(series.dtype) and ptypes.is_integer_dtype(dtype)):
        return series
    name = str(dtype).lower().removesuffix("[pyarrow]")
    limits = np.iinfo(name if name in ("int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64") else "int64")
    values, own = series.to_numpy(), np.iinfo(series.dtype.name)
    low, high = max(int(limits.min), int(own.min)), min(int(limits.max), int(own.max))
    return pd.Series(np.clip(values, values.dtype.type(low), values.dtype.type(high)), index=series.index)


def as_scalar(value: Any) -> Any:
    """A numpy scalar as a Python scalar."""
    return value.item() if isinstance(value, np.generic) else value


def as_counts(series: pd.Series, unit: str, family: str) -> NDArray[np.int64]:
    """Times or durations of any dtype as counts of a unit."""
    if isinstance(series.dtype, pd.ArrowDtype) and is_arrow_date(series.dtype):
        values = np.array(series.tolist(), dtype="datetime64[s]")
    else:
        if isinstance(series.dtype, pd.PeriodDtype):
            series = series.dt.to_timestamp()
        zone = time_zone(series.dtype)
        if zone is not None:
            series = series.astype(f"datetime64[{unit}, {zone}]").dt.tz_localize(None)
        values = series.to_numpy()
        if values.dtype == object:
            values = series.astype(f"{family}[{unit}]").to_numpy()
    counts: NDArray[np.int64] = values.astype(f"{family}[{unit}]").astype(np.int64)
    return counts


def interval_of(text: Any) -> Any:
    """The interval that a text such as `(0.5, 2.0]` represents; anything but text is returned unchanged."""
    found = _INTERVAL.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return text
    ends = [_end(found[2]), _end(found[3])]
    closed = {"[]": "both", "()": "neither", "[)": "left", "(]": "right"}[found[1] + found[4]]
    return pd.Interval(*ends, closed=closed)


def _end(text: str) -> Any:
    try:
        number = float(text)
    except ValueError:
        return pd.Timestamp(text)
    return int(text) if re.fullmatch(r"-?\d+", text) else number


_INTERVAL = re.compile(r"([\[(])(.+), (.+)([\])])")


def as_objects(values: Any) -> NDArray[Any]:
    """A one-dimensional array of arbitrary objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def is_arrow_date(dtype: Any) -> bool:
    return isinstance(dtype, pd.ArrowDtype) and str(dtype.pyarrow_dtype).startswith("date")


def is_single(dtype: Any) -> bool:
    """Whether a dtype holds 32-bit floats."""
    return dtype in ("float32", "Float32", "float[pyarrow]")


def is_decimal(dtype: Any) -> bool:
    return isinstance(dtype, pd.ArrowDtype) and arrow_family(dtype) == "decimal"
