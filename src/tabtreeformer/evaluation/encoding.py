"""Tables from anywhere → columns of numbers and codes that mean the same in all of them.

The synthetic table may come from any tool: whole numbers as floats, categories as other types, columns in another
order, values that the training rows never had. All of this is resolved here, once; the metrics see only arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types as ptypes

from ..data.schema import CONSTANT, DATETIME, IDENTIFIER, LABELLED, TEXT, TIMEDELTA, Column, Schema, check_table
from ..data.schema.forms import NumberForm, is_date_form
from ..data.schema.values import LABEL
from ..errors import SchemaError

MISSING = 0
"""The code of a missing category: a category of its own, known in every column."""
LARGEST, SMALLEST = 1e300, 1e-290
"""Larger numbers are replaced by the first limit, so that sums stay finite; numbers nearer to 0 than the second are
replaced by 0, so that slopes stay finite."""


@dataclass(frozen=True)
class Feature:
    """One column of every table."""

    name: str | int
    categorical: bool
    labels: tuple[str, ...] = ()
    """The labels of the codes 1, 2, 3, … of a categorical column: values of the training rows, then all others."""
    n_known: int = 0
    """Number of labels in the training rows; a higher code is a value that they never had."""
    unit: str = ""
    """`time` for seconds since 1970, `duration` for seconds; empty for plain numbers and categories."""


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of one table as arrays: float64 with NaN where missing, or int32 codes."""

    features: tuple[Feature, ...]
    columns: tuple[NDArray[Any], ...]

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.columns[0])

    @property
    def numeric(self) -> list[int]:
        """Positions of the numeric columns."""
        return [place for place, feature in enumerate(self.features) if not feature.categorical]

    @property
    def categorical(self) -> list[int]:
        """Positions of the categorical columns."""
        return [place for place, feature in enumerate(self.features) if feature.categorical]

    def take(self, rows: NDArray[Any] | slice) -> Table:
        """Return the rows asked for: positions, a mask, or a slice."""
        return Table(self.features, tuple(column[rows] for column in self.columns))

    def without(self, place: int) -> Table:
        """Return the table without one column."""
        return Table(
            self.features[:place] + self.features[place + 1 :], self.columns[:place] + self.columns[place + 1 :]
        )

    def sample(self, n_rows: int, rng: np.random.Generator) -> Table:
        """Return this many rows drawn without replacement; the table itself if it has no more."""
        return self if n_rows >= self.n_rows else self.take(rng.choice(self.n_rows, n_rows, replace=False))


def both(first: Table, second: Table) -> Table:
    """The rows of two tables, one after the other."""
    pairs = zip(first.columns, second.columns, strict=True)
    return Table(first.features, tuple(np.concatenate(pair) for pair in pairs))


def left_out(schema: Schema) -> dict[str | int, str]:
    """Columns that are not compared: keys and free text are replaced, so they have no distribution to preserve."""
    reasons = {IDENTIFIER: "a key has no distribution", TEXT: "free text is not compared"}
    return {column.name: reasons[column.kind] for column in schema.columns if column.kind in reasons}


def encode(frames: Mapping[str, pd.DataFrame], schema: Schema) -> dict[str, Table]:
    """Turn tables, by their names in messages, into arrays with common meanings; the first is the training table.

    Columns are matched by name; those that the schema does not name are ignored, and so are keys and free text.
    """
    skipped = left_out(schema)
    if len(skipped) == len(schema.columns):
        raise SchemaError(f"no column can be compared: {', '.join(f'{n!r} ({why})' for n, why in skipped.items())}")
    chosen = {role: _matched(frame, role, schema) for role, frame in frames.items()}
    features: list[Feature] = []
    columns: dict[str, list[NDArray[Any]]] = {role: [] for role in frames}
    for column in schema.columns:
        if column.name in skipped:
            continue
        series = {role: frame[column.name] for role, frame in chosen.items()}
        coded = column.kind in LABELLED or (column.kind == CONSTANT and column.sort == LABEL)
        feature, arrays = _categories(column, series) if coded else _numbers(column, series)
        features.append(feature)
        for role, array in arrays.items():
            columns[role].append(array)
    return {role: Table(tuple(features), tuple(columns[role])) for role in frames}


def _matched(frame: pd.DataFrame, role: str, schema: Schema) -> pd.DataFrame:
    """Return the columns of the schema under its names; 0 and "0" are the same name where only one of them exists."""
    try:
        check_table(frame)
    except SchemaError as error:
        raise SchemaError(f"the {role} table cannot be evaluated: {error}") from error
    by_text = {str(name): name for name in frame.columns}
    found = [name if name in frame.columns else by_text.get(str(name)) for name in schema.names]
    absent = [name for name, place in zip(schema.names, found, strict=True) if place is None]
    if absent:
        raise SchemaError(
            f"the {role} table lacks column {', '.join(map(repr, absent))}; it has "
            f"{', '.join(map(repr, frame.columns))}: add or rename it, or evaluate without that column"
        )
    chosen = frame[found]
    chosen.columns = pd.Index(list(schema.names), dtype=object)
    return chosen


# ---- numbers


def _numbers(column: Column, series: Mapping[str, pd.Series]) -> tuple[Feature, dict[str, NDArray[Any]]]:
    """Read a numeric column of every table."""
    arrays: dict[str, NDArray[Any]] = {}
    train: tuple[NDArray[np.float64], Any] | None = None
    for role, values in series.items():
        numbers, precision = _read(column, values, role)
        if train is None:
            train = np.unique(numbers[~np.isnan(numbers)]), precision
        else:
            numbers = _snapped(numbers, train[0], min(precision, train[1], key=lambda dtype: dtype.itemsize))
        arrays[role] = numbers
    unit = {"time": "time", "duration": "duration"}.get(column.sort, "")
    return Feature(column.name, categorical=False, unit=unit), arrays


def _read(column: Column, series: pd.Series, role: str) -> tuple[NDArray[np.float64], np.dtype[Any]]:
    """Return numbers, times as seconds since 1970 and durations as seconds."""
    if column.sort in ("time", "duration"):
        return _seconds(column, series, role), np.dtype(np.float64)
    if column.form is not None and not is_date_form(column.form) and "1" in column.form:
        texts = series.isna() | ~series.map(lambda value: isinstance(value, str)).astype(bool)
        if not texts.all():
            numbers = np.full(len(series), np.nan)
            there = series.notna().to_numpy()
            numbers[there] = NumberForm.parse(column.form).read([str(value) for value in series[there]])
            series = pd.Series(numbers, name=series.name)
    return _floats(series, column.name, role)


def _seconds(column: Column, series: pd.Series, role: str) -> NDArray[np.float64]:
    """Read times or durations, whatever type the tool that wrote them gave them."""
    seconds = np.full(len(series), np.nan)
    there = series.notna().to_numpy()
    values = series[there]
    if not len(values):
        return seconds
    try:
        try:
            counts = column.read(values).to_numpy(dtype=np.float64)
            seconds[there] = counts / {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[column.unit]
        except (SchemaError, AttributeError):
            # Text where the training table has times, or the reverse.
            parse = pd.to_timedelta if column.kind == TIMEDELTA else pd.to_datetime
            options = {} if column.kind == TIMEDELTA else {"format": "mixed"}
            parsed = pd.Series(parse(values.astype(str), **options))
            if column.kind == DATETIME and parsed.dt.tz is not None:
                parsed = parsed.dt.tz_localize(None)
            family = "timedelta64" if column.kind == TIMEDELTA else "datetime64"
            seconds[there] = parsed.to_numpy().astype(f"{family}[us]").astype(np.int64) / 1e6
    except (ValueError, TypeError, AttributeError) as error:
        raise SchemaError(f"column {column.name!r} of the {role} table should hold {column.sort}s: {error}") from error
    return seconds


def _floats(series: pd.Series, name: str | int, role: str) -> tuple[NDArray[np.float64], np.dtype[Any]]:
    """Return the numbers, NaN where missing, and their original precision."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        series = series.astype(object)
    if ptypes.is_datetime64_any_dtype(dtype) or ptypes.is_complex_dtype(dtype):
        raise SchemaError(f"column {name!r} of the {role} table has dtype {dtype}, not numbers; convert it first")
    try:
        numbers = pd.to_numeric(series).to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise SchemaError(
            f"column {name!r} of the {role} table should hold numbers: {error}; "
            f"clean it, or give a schema in which the column is categorical"
        ) from error
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        raise SchemaError(
            f"column {name!r} of the {role} table holds {numbers[row]} in row {row}; "
            f"replace infinities by missing values, or drop the rows"
        )
    precision = np.dtype(getattr(dtype, "numpy_dtype", dtype)) if ptypes.is_float_dtype(dtype) else np.dtype(np.float64)
    numbers = np.where(np.abs(numbers) < SMALLEST, 0.0, numbers)
    return np.clip(numbers, -LARGEST, LARGEST), precision


def _snapped(numbers: NDArray[np.float64], known: NDArray[np.float64], precision: np.dtype[Any]) -> NDArray[np.float64]:
    """Map a number that went through a coarser type back to its training value: 0.1 as float32 is 0.1 again.

    Otherwise no row of such a table would be a copy, and no value would be shared with the training rows.
    """
    if precision.itemsize >= 8 or not len(known):
        return numbers
    with np.errstate(over="ignore"):
        coarse_known, coarse = known.astype(precision), numbers.astype(precision)
    place = np.minimum(np.searchsorted(coarse_known, coarse), len(known) - 1)
    return np.where(coarse_known[place] == coarse, known[place], numbers)


# ---- categories


def _categories(column: Column, series: Mapping[str, pd.Series]) -> tuple[Feature, dict[str, NDArray[Any]]]:
    """Read a categorical column of every table."""
    vocabulary: _Vocabulary | None = None
    arrays: dict[str, NDArray[Any]] = {}
    for role, values in series.items():
        try:
            places, distinct = pd.factorize(values)
        except TypeError as error:
            raise SchemaError(f"column {column.name!r} of the {role} table holds lists or the like: {error}") from error
        keys = [_key(value) for value in distinct]
        if vocabulary is None:
            ordered = values.dtype.categories if isinstance(values.dtype, pd.CategoricalDtype) else None
            vocabulary = _Vocabulary(keys, None if ordered is None else [_key(value) for value in ordered])
            n_known = len(vocabulary.codes)
        codes = np.array([*(vocabulary.code(key) for key in keys), MISSING], dtype=np.int32)
        arrays[role] = codes[places]  # factorize returns -1 for missing, which indexes the last entry
    assert vocabulary is not None
    return Feature(column.name, categorical=True, labels=tuple(vocabulary.codes), n_known=n_known), arrays


class _Vocabulary:
    """The codes of a column's values, and how values of another type are matched to them."""

    def __init__(self, keys: list[str], order: list[str] | None) -> None:
        """Number the values of the training rows: in the order of their dtype, else by size or by letter."""
        used = set(keys)
        ordered = sorted(used, key=_by_size) if order is None else [key for key in dict.fromkeys(order) if key in used]
        self.codes = {key: code for code, key in enumerate(ordered, start=1)}
        self._by_number = {_number(key): code for key, code in reversed(self.codes.items()) if _number(key) is not None}

    def code(self, key: str) -> int:
        """Return the code of a value; one known neither as text nor as a number gets the next code."""
        if key in self.codes:
            return self.codes[key]
        number = _number(key)
        if number in self._by_number:
            return self._by_number[number]
        code = len(self.codes) + 1
        self.codes[key] = code
        if number is not None:
            self._by_number[number] = code
        return code


def _key(value: Any) -> str:
    """Return the text that identifies a value whatever its type: 1, 1.0 and "1" are the same."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value)


def _number(key: str) -> float | None:
    """Return the number that a text represents, with booleans as 1 and 0; None for any other text."""
    truth = {"true": 1.0, "false": 0.0}.get(key.lower())
    if truth is not None:
        return truth
    try:
        number = float(key)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _by_size(key: str) -> tuple[bool, float, str]:
    number = _number(key)
    return number is None, number or 0.0, key
