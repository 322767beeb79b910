"""Values as written by users in a condition → values as the column reads its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from ...data.schema import CONSTANT, MEASURED, Column
from ...errors import ConditionError, SchemaError


def plain_value(column: Column, value: Any) -> Any:
    """A value as written by a user → as the column reads its own."""
    try:
        if column.kind in MEASURED or (column.kind == CONSTANT and column.sort != "label"):
            return _measured_value(column, value)
        return column.read(pd.Series([value], dtype=object)).iloc[0]
    except (SchemaError, ValueError, TypeError, OverflowError) as error:
        raise ConditionError(f"column {column.name!r} is {column.kind} and cannot be {value!r}") from error


def _measured_value(column: Column, value: Any) -> Any:
    if column.sort == "number":
        if isinstance(value, str):
            return column.read(pd.Series([value], dtype=object)).iloc[0]
        number = value.item() if isinstance(value, np.generic) else value
        if isinstance(number, bool) or not math.isfinite(number):
            raise ValueError("not a finite number")
        return number if isinstance(number, int) else float(number)
    if column.sort == "duration":
        return int(pd.Timedelta(value).as_unit(column.unit).to_timedelta64().astype(np.int64))
    if isinstance(value, str) and column.form is not None:
        try:
            return int(column.read(pd.Series([value], dtype=object)).iloc[0])
        except SchemaError:
            pass  # not in the column's date form, but perhaps like 2024-01-31
    stamp = pd.Timestamp(value)
    if stamp.tzinfo is not None:
        stamp = (stamp if column.zone is None else stamp.tz_convert(column.zone)).tz_localize(None)
    return int(stamp.as_unit(column.unit).to_datetime64().astype(np.int64))
