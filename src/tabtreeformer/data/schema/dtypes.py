"""pandas dtypes as names, and back to exactly the same dtype, under pandas 2.2 and 3."""

from __future__ import annotations

import re
import zoneinfo
from functools import cache
from typing import Any

import pandas as pd
from pandas.api import types as ptypes

from ...errors import SchemaError, import_extra

ARROW = "arrow:"
"""Prefix of Arrow type names, needed because pandas itself writes `string[pyarrow]` for two different dtypes."""

_UNITS = {"ns", "us", "ms", "s"}
_ZONED = re.compile(r"datetime64\[\w+, (.+)\]|arrow:timestamp\[\w+, tz=(.+)\]", re.DOTALL)
_OFFSET = re.compile(r"(UTC)?[+-]\d\d:\d\d(:\d\d)?|pytz\.FixedOffset\(-?\d{1,4}\)")


def dtype_name(dtype: Any) -> str:
    """A name from which `dtype_of` restores exactly the same dtype."""
    if isinstance(dtype, pd.StringDtype):
        return f"string[{dtype.storage}]" if dtype.na_value is pd.NA else "str"
    if isinstance(dtype, pd.ArrowDtype):
        return f"{ARROW}{dtype.pyarrow_dtype}"
    return str(dtype)


def dtype_of(name: str) -> Any:
    """The dtype with this name; an error if this version of pandas does not know it."""
    found = _ZONED.fullmatch(name)
    zone = found and (found[1] or found[2])
    if zone and zone not in _zones() and not _OFFSET.fullmatch(zone):  # for any other text, pandas may open a file
        raise SchemaError(f"there is no time zone {zone!r}; use a name such as 'Europe/Berlin', or an offset")
    try:
        return pd.ArrowDtype(_arrow_type(name[len(ARROW) :])) if name.startswith(ARROW) else ptypes.pandas_dtype(name)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise SchemaError(f"there is no dtype {name!r} in this pandas ({error})") from error


@cache
def _zones() -> set[str]:
    return zoneinfo.available_timezones() | {"UTC"}


def _arrow_type(name: str) -> Any:
    """Parse the printed form of a pyarrow type; pyarrow's own parser knows no parameters but units."""
    pa = import_extra("pyarrow", "parquet")
    if found := re.fullmatch(r"timestamp\[(\w+), tz=(.+)\]", name):
        return pa.timestamp(found[1], tz=found[2])
    if found := re.fullmatch(r"decimal(\d+)\((\d+), (-?\d+)\)", name):
        return getattr(pa, f"decimal{found[1]}")(int(found[2]), int(found[3]))
    if found := re.fullmatch(r"dictionary<values=(.+), indices=(\w+), ordered=([01])>", name):
        return pa.dictionary(pa.type_for_alias(found[2]), _arrow_type(found[1]), ordered=found[3] == "1")
    return pa.type_for_alias(name)


def arrow_family(dtype: Any) -> str:
    """The sort of values in an Arrow dtype: number, decimal, bool, text, date, time, duration, or other."""
    pa = import_extra("pyarrow", "parquet")
    kind, of = dtype.pyarrow_dtype, pa.types
    if of.is_dictionary(kind):
        kind = kind.value_type
        return "text" if of.is_string(kind) or of.is_large_string(kind) or of.is_integer(kind) else "other"
    tests = {
        "number": lambda t: of.is_integer(t) or of.is_floating(t),
        "decimal": of.is_decimal,
        "bool": of.is_boolean,
        "text": lambda t: of.is_string(t) or of.is_large_string(t) or t == getattr(pa, "string_view", pa.string)(),
        "time": lambda t: of.is_timestamp(t) or of.is_date(t),
        "duration": of.is_duration,
    }
    return next((family for family, test in tests.items() if test(kind)), "other")


def time_unit(dtype: Any) -> str:
    """The unit in which a column counts times or durations; seconds for plain dates."""
    if isinstance(dtype, pd.ArrowDtype):
        unit = getattr(dtype.pyarrow_dtype, "unit", "s")
        return unit if unit in _UNITS else "s"
    if isinstance(dtype, pd.DatetimeTZDtype):
        return str(dtype.unit)
    if isinstance(dtype, pd.PeriodDtype):
        return "us"
    found = re.search(r"\[(\w+)\]", str(dtype))
    return found[1] if found else "us"  # text and Python objects resolve microseconds


def time_zone(dtype: Any) -> Any | None:
    """The time zone of a dtype, or None."""
    if isinstance(dtype, pd.ArrowDtype):
        return getattr(dtype.pyarrow_dtype, "tz", None)
    return dtype.tz if isinstance(dtype, pd.DatetimeTZDtype) else None
