"""What is rejected before a table is learned: clashing names, too many columns, numbers that would lose digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import SchemaError
from .column import Column
from .infer import check_text
from .kinds import NUMERIC
from .values import as_numbers

MAX_COLUMNS = 10_000
"""Maximum columns: a model file allows no more, and each row is a sequence this long."""
MAX_EXACT = 2**53
"""Beyond this, floats cannot represent every whole number."""
MANY_ROWS = 5
"""A value that this many rows have is written back unchanged, so it must be exact."""
MAX_NUMBER = 1e300
"""Sums, differences and small multiples of larger numbers overflow."""


def check_table(df: Any) -> None:
    """Reject anything but a table with at least two rows and distinct, plain column names."""
    if not isinstance(df, pd.DataFrame):
        raise SchemaError(f"a pandas DataFrame is needed, got {type(df).__name__}")
    if df.shape[1] > MAX_COLUMNS:
        raise SchemaError(f"the table has {df.shape[1]:,} columns, more than {MAX_COLUMNS:,}; choose those that matter")
    if isinstance(df.columns, pd.MultiIndex):
        raise SchemaError("the columns have several levels; flatten them to one name per column first")
    odd = [name for name in df.columns if not isinstance(name, str | int | np.integer)]
    if odd:
        raise SchemaError(f"column name {odd[0]!r} is neither text nor a whole number; rename it")
    twice = df.columns[df.columns.duplicated()].unique().tolist()
    if twice:
        raise SchemaError(f"column name {twice[0]!r} occurs more than once; rename the columns")
    for name in df.columns:
        if isinstance(name, str) and not name.isascii():
            check_text(pd.Series([name], dtype=object), name)
    if df.shape[1] == 0:
        raise SchemaError("the table has no columns")
    if len(df) < 2:
        raise SchemaError(f"the table has {len(df)} row{'s' * (len(df) != 1)}; at least 2 are needed")


def refuse_extreme(series: pd.Series, column: Column) -> None:
    """Reject infinities, and in numeric columns numbers that floats cannot compute with or represent exactly."""
    name, computes = column.name, column.kind == NUMERIC
    numbers = as_numbers(series.dropna())
    if numbers.dtype.kind in "iu":
        if computes:
            _refuse_inexact(numbers, name)
        return
    values = numbers.astype(np.float64)
    extreme = ~(np.abs(values) <= (MAX_NUMBER if computes else np.finfo(np.float64).max))
    if not extreme.any():
        return
    bad = int(np.argmax(extreme))
    row = int(np.flatnonzero(series.notna().to_numpy())[bad])
    way_out = "replace infinities" if np.isinf(values[bad]) else f"scale the column to below {MAX_NUMBER:g}"
    raise SchemaError(f"column {name!r} holds {values[bad]} in row {row}; {way_out} or drop the rows")


def _refuse_inexact(numbers: NDArray[Any], name: str | int) -> None:
    """Reject whole numbers beyond 2^53 that would be rounded to a neighbour: codes rather than quantities."""
    if not len(numbers) or (numbers.max() <= MAX_EXACT and numbers.min() >= -MAX_EXACT):
        return
    distinct, counts = np.unique(numbers, return_counts=True)
    floats = distinct.astype(np.float64)
    inside = floats < float(np.iinfo(distinct.dtype).max)
    inexact = ~inside
    inexact[inside] = floats[inside].astype(distinct.dtype) != distinct[inside]
    merged = np.append(np.diff(floats) == 0, False)
    bad = merged | (inexact & (counts >= MANY_ROWS))
    if bad.any():
        raise SchemaError(
            f"column {name!r} holds {distinct[np.argmax(bad)]}, and numbers beyond 2**53 are not kept exactly; if it "
            f"is a code, make it categorical or text; if it is a quantity, subtract a constant or scale it"
        )
