"""Columns from the plain Python objects that JSON, Excel and databases return."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any

import numpy as np
import pandas as pd


def column(values: list[Any]) -> pd.Series:
    """Give values the narrowest dtype that preserves all of them; integers stay integers even with missing values."""
    kinds = {type(v) for v in values if v is not None}
    gaps = any(v is None for v in values)
    if kinds == {bool}:
        return pd.Series(values, dtype="boolean" if gaps else "bool")
    if decimal.Decimal in kinds and kinds <= {decimal.Decimal, int, float}:
        return column([_from_decimal(v) for v in values])
    if kinds == {int}:
        return _whole(values, gaps)
    if kinds and kinds <= {int, float}:
        return pd.Series([np.nan if v is None else float(v) for v in values], dtype="float64")
    if kinds == {datetime.date}:
        return pd.Series(np.array(values, dtype="datetime64[s]"))
    if kinds == {datetime.datetime}:
        return _moments(values)
    if kinds == {datetime.timedelta}:
        return pd.Series(np.array(values, dtype="timedelta64[us]"))
    if kinds == {uuid.UUID}:
        return column([None if v is None else str(v) for v in values])
    if not kinds:
        return pd.Series(values, dtype="float64")
    return pd.Series(values, dtype=object).infer_objects()


def from_rows(names: list[str], columns: list[list[Any]]) -> pd.DataFrame:
    """Combine columns under their names, which must be unique."""
    if not names:
        return pd.DataFrame()
    frame = pd.concat([column(values) for values in columns], axis=1)
    frame.columns = pd.Index(names)
    return frame


def _whole(values: list[Any], gaps: bool) -> pd.Series:
    known = [v for v in values if v is not None]
    low, high = min(known), max(known)
    if low >= -(2**63) and high < 2**63:
        return pd.Series(values, dtype="Int64" if gaps else "int64")
    if low >= 0 and high < 2**64:
        return pd.Series(pd.array(values, dtype="UInt64" if gaps else "uint64"))
    return column([None if v is None else str(v) for v in values])  # a code of many digits


def _from_decimal(value: Any) -> Any:
    """A number of a database's exact decimal type, as an integer where it must be one."""
    if not isinstance(value, decimal.Decimal):
        return value
    if not value.is_finite():
        return float(value)
    exponent = value.as_tuple().exponent
    return int(value) if isinstance(exponent, int) and exponent >= 0 else float(value)


def _moments(values: list[Any]) -> pd.Series:
    zones = {v.tzinfo is not None for v in values if v is not None}
    if zones == {False}:
        return pd.Series(np.array(values, dtype="datetime64[us]"))
    if zones == {True}:
        return pd.Series(pd.to_datetime(values, utc=len({v.tzinfo for v in values if v is not None}) > 1))
    return pd.Series(values, dtype=object)
