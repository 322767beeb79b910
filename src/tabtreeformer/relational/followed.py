"""Changes values in some columns of rows and updates the columns that laws compute from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.links import Name
from ..laws import Laws

Floats = NDArray[np.float64]
Restore = Callable[[pd.DataFrame], pd.DataFrame]
"""Expressed rows → restored rows."""

STEPS = 4
"""Maximum steps of moving a column until the column computed from it has the new value."""
MAX_DECIMALS = 6


def with_values(frame: pd.DataFrame, new: Mapping[Name, pd.Series], laws: Laws | None, seed: int) -> pd.DataFrame:
    """The frame with new values in some columns and in the columns computed from them."""
    changed = frame.copy()
    for name, values in new.items():
        changed[name] = values
    known = () if laws is None else tuple(name for name in new if name in laws.schema.names)
    if laws is None or not known:
        return changed
    followed = _followed(changed[list(laws.schema.names)], known, laws, seed)
    changed[list(followed.columns)] = followed
    return changed


def _followed(frame: pd.DataFrame, new: tuple[Name, ...], laws: Laws, seed: int) -> pd.DataFrame:
    """Rows with exactly the values `new`, if laws allow it; the columns that these are computed from are moved."""

    def restored(expressed: pd.DataFrame) -> pd.DataFrame:
        return laws.restore(expressed, np.random.default_rng(seed)).set_axis(frame.index)

    expressed = laws.express(frame)
    for name in new:
        if name not in laws.expressed_schema.names and is_measured(frame[name]):
            expressed = _moved(expressed, name, as_numbers(frame[name]), restored, laws.given)
    whole = restored(expressed)
    for name in new:  # the new value, where fewer rows break a law than would miss it
        kept = whole.copy()
        kept[name] = frame[name]
        missed = int((~_same(whole[name], frame[name])).sum())
        if name in laws.expressed_schema.names or laws.n_broken(kept) <= laws.n_broken(whole) + missed:
            whole = kept
    return whole


def _moved(
    expressed: pd.DataFrame, column: Name, new: Floats, restored: Restore, given: Sequence[Name]
) -> pd.DataFrame:
    """Expressed rows in which a computed column has new values, as far as moving one column allows."""
    lever, slope = _lever(expressed, column, restored, given)
    if lever is None:
        return expressed
    places, start = decimals_of(as_numbers(expressed[lever])), as_numbers(expressed[lever])
    before = np.abs(np.nan_to_num(new - as_numbers(restored(expressed)[column])))
    for _ in range(STEPS):
        gap = np.nan_to_num(new - as_numbers(restored(expressed)[column]))
        step = np.where(slope != 0, gap / np.where(slope != 0, slope, 1.0), 0.0)
        expressed = _put(expressed, lever, np.round(as_numbers(expressed[lever]) + step, places))
    after = np.abs(np.nan_to_num(new - as_numbers(restored(expressed)[column])))
    # A limit may hold a row where it is: it is left as it was.
    return _put(expressed, lever, np.where(after < before, as_numbers(expressed[lever]), start))


def _same(one: pd.Series, other: pd.Series) -> pd.Series:
    return (one == other) | (one.isna() & other.isna())


def _lever(
    expressed: pd.DataFrame, column: Name, restored: Restore, given: Sequence[Name]
) -> tuple[Name | None, Floats]:
    """The column, not a given one, through which a computed one moves in most rows, and by how much per unit."""
    whole = restored(expressed)
    before = as_numbers(whole[column])
    best, slope, rank = None, np.zeros(len(expressed)), (0, 0)
    for name in expressed.columns:
        if name in given or not pd.api.types.is_numeric_dtype(expressed[name].dtype) or is_flag(expressed[name]):
            continue
        values = as_numbers(expressed[name])
        step = float(max(np.round(np.nanstd(values)), 1.0))
        moved = restored(_put(expressed, name, values + step))
        own = np.nan_to_num((as_numbers(moved[column]) - before) / step)
        # Of columns that move it in as many rows, the one that moves the fewest others: children may depend on these.
        others = sum(not moved[other].equals(whole[other]) for other in whole.columns)
        if (own != 0).any() and (int((own != 0).sum()), -others) > rank:
            best, slope, rank = name, own, (int((own != 0).sum()), -others)
    return best, slope


def _put(frame: pd.DataFrame, name: Name, numbers: Floats) -> pd.DataFrame:
    """The frame with other numbers in a column."""
    changed = frame.copy()
    changed[name] = like(numbers, frame[name])
    return changed


def like(numbers: Floats, column: pd.Series) -> pd.Series:
    """Numbers in the dtype of a column, which keeps its value where they are missing and it cannot be."""
    if is_time(column):
        times = pd.Series(pd.to_datetime(numbers, unit="us"), index=column.index)
        return times.astype(column.dtype)
    whole = pd.api.types.is_integer_dtype(column.dtype)
    series = pd.Series(np.round(numbers) if whole else numbers, index=column.index)
    if whole and not pd.api.types.is_extension_array_dtype(column.dtype):
        series = series.where(series.notna(), column)
    return series.astype(column.dtype)


def as_numbers(values: pd.Series) -> Floats:
    """Numbers, or times as microseconds, which floats hold exactly."""
    if is_time(values):
        numbers = values.to_numpy().astype("datetime64[us]").astype(np.int64).astype(np.float64)
        return np.where(values.isna().to_numpy(), np.nan, numbers).astype(np.float64)
    plain: Floats = values.to_numpy(dtype=np.float64, na_value=np.nan)
    return plain


def is_time(values: pd.Series) -> bool:
    return pd.api.types.is_datetime64_any_dtype(values.dtype) and getattr(values.dt, "tz", None) is None


def is_flag(values: pd.Series) -> bool:
    return bool(pd.api.types.is_bool_dtype(values.dtype))


def is_measured(values: pd.Series) -> bool:
    return is_time(values) or (pd.api.types.is_numeric_dtype(values.dtype) and not is_flag(values))


def decimals_of(numbers: Floats) -> int:
    """Number of decimals of the numbers."""
    known = numbers[~np.isnan(numbers)][:10_000]
    for places in range(MAX_DECIMALS):
        if np.abs(known - np.round(known, places)).max(initial=0) <= 1e-9 * max(1.0, np.abs(known).max(initial=0)):
            return places
    return MAX_DECIMALS
