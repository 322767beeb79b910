"""One column: what it is, how its values become plain numbers or labels, and how its exact dtype is restored.

Whatever the dtype, values are *read* as one of four sorts, which is all that the layers above need to know:

    number    whole numbers (int64, uint64) or float64
    time      whole numbers: counts of the column's unit since 1970, on the clock of its own time zone
    duration  whole numbers: counts of the column's unit
    label     text, numbers or booleans, as plain Python objects

Missing values are removed before reading and put back when writing.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types as ptypes

from ...errors import SchemaError
from .dtypes import arrow_family, dtype_of, time_unit, time_zone
from .forms import DAY_NUMBER, NumberForm, dates_in, is_date_form, numbers_in, write_dates
from .kinds import CATEGORICAL, CONSTANT, DATETIME, IDENTIFIER, KINDS, NUMERIC, TEXT, TIMEDELTA
from .meanings import MEANINGS
from .numbers import MAX_DECIMALS
from .values import (
    DURATION,
    LABEL,
    MARKERS,
    NUMBER,
    SINGLE,
    TIME,
    as_counts,
    as_numbers,
    as_objects,
    as_scalar,
    as_ticks,
    interval_of,
    is_decimal,
    is_single,
    sort_of,
    stored_in_32_bits,
    widened,
    within_dtype,
)

Scalar = str | int | float | bool

NUMBER_OBJECT, DECIMAL_OBJECT = "number objects", "decimal objects"
DATE_OBJECT, DATETIME_OBJECT = "date objects", "datetime objects"
"""Forms of object columns: Python's own numbers, decimals, dates and datetimes."""


@dataclass(frozen=True)
class Column:
    """One column: `dtype` is a name that `dtype_of` understands, or `category` with its list of values."""

    name: str | int
    kind: str
    dtype: str
    categories: tuple[Scalar, ...] | None = None
    """All values of a pandas `category` dtype, used or not, in their order."""
    categories_dtype: str | None = None
    ordered: bool = False
    form: str | None = None
    """How numbers or dates are written if the dtype does not say: `$1,000.00`, `%Y-%m-%d`, `date objects`."""
    decimals: int | None = None
    """Decimals of floats with rounding noise from arithmetic, which is dropped: 0.30000000000000004 is 0.3."""
    missing: str = "None"
    """The marker of missing values in an object column: None, NaN, NA or NaT."""
    placeholder: str | None = None
    """In a text column: what to write for rare values, e.g. `(name {n})`; by default texts of their pattern, if any."""
    meaning: str | None = None
    """What its texts mean, e.g. `email` or `person`; made-up values have the same meaning."""
    locale: str | None = None
    """The country that names and addresses are made up for, e.g. `de_DE`; by default the one that fits the rows."""
    stand_in: str | None = None
    """How realistic words are chosen; set when fitting, if the extra `fakes` is installed."""
    values: tuple[Scalar, ...] | None = None
    """All possible values, if publicly known: all are kept, however rare."""
    low: Scalar | None = None
    high: Scalar | None = None
    """Ends of its range, if publicly known: numbers, or dates as text; only read under differential privacy."""
    why: str = field(default="", compare=False)
    """Why the column is of this kind."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SchemaError(f"column {self.name!r} cannot be of kind {self.kind!r}; known kinds: {', '.join(KINDS)}")
        if self.decimals is not None and not 0 <= self.decimals <= MAX_DECIMALS:
            raise SchemaError(f"column {self.name!r} cannot have {self.decimals!r} decimals; 0 to {MAX_DECIMALS} can")
        if self.meaning is not None and self.meaning not in MEANINGS:
            raise SchemaError(
                f"column {self.name!r} cannot mean {self.meaning!r}; known meanings: {', '.join(MEANINGS)}"
            )

    def to_json(self) -> dict[str, Any]:
        """Plain data, without empty fields."""
        plain: dict[str, Any] = {"name": self.name, "kind": self.kind, "dtype": self.dtype}
        if self.categories is not None:
            plain |= {"categories": list(self.categories), "categories_dtype": self.categories_dtype}
            plain |= {"ordered": self.ordered}
        names = ("form", "decimals", "placeholder", "meaning", "locale", "stand_in", "low", "high")
        extras: dict[str, Any] = {name: getattr(self, name) for name in names}
        extras |= {"values": None if self.values is None else list(self.values), "why": self.why or None}
        if self.dtype == "object":
            extras["missing"] = self.missing
        return plain | {name: value for name, value in extras.items() if value is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Column:
        """Inverse of `to_json`; an unknown field is an error."""
        fields = dict(data)
        unknown = set(fields) - set(cls.__dataclass_fields__)
        if unknown:
            raise SchemaError(
                f"column {fields.get('name')!r} has no field {min(unknown)!r}; known: "
                f"{', '.join(cls.__dataclass_fields__)}"
            )
        for name in ("categories", "values"):
            if fields.get(name) is not None:
                fields[name] = tuple(fields[name])
        column = cls(**fields)
        column._check()
        return column

    @cached_property
    def _dtype(self) -> Any:
        return dtype_of(self.categories_dtype or "object") if self.categories is not None else dtype_of(self.dtype)

    @cached_property
    def sort(self) -> str:
        """How the values are read: number, time, duration or label."""
        if self.form in (NUMBER_OBJECT, DECIMAL_OBJECT):
            return NUMBER
        if self.form is not None:
            return TIME if self.form in (DATE_OBJECT, DATETIME_OBJECT) or is_date_form(self.form) else NUMBER
        return LABEL if self.categories is not None else sort_of(self._dtype)

    @property
    def whole(self) -> bool:
        """Whether values are read as whole numbers."""
        if self.sort != NUMBER:
            return self.sort != LABEL
        return self.form is None and ptypes.is_integer_dtype(self._dtype)

    @property
    def single(self) -> bool:
        """Whether values are 32-bit floats; they are read as the shortest decimals that represent them."""
        return self.form == SINGLE or (self.form is None and is_single(self._dtype))

    @property
    def unit(self) -> str:
        """The unit in which times and durations are counted."""
        return time_unit(self._dtype) if self.form is None else "us"

    @property
    def zone(self) -> Any:
        """The time zone in whose clock times are read, or None."""
        return time_zone(self._dtype) if self.form is None and self.sort == TIME else None

    def number(self, end: Scalar) -> float:
        """An end of the range as a number: dates and durations in counts of the unit."""
        try:
            if self.sort == NUMBER:
                return float(end)
            moment = pd.Timestamp(end) if self.sort == TIME else pd.Timedelta(end)
            return float(moment.as_unit(self.unit).asm8.astype(np.int64))
        except (TypeError, ValueError, OverflowError) as error:
            raise SchemaError(f"column {self.name!r}: {end!r} cannot be the end of a range of {self.sort}s") from error

    def with_kind(self, kind: str) -> Column:
        """Return the column with another kind; an error if that is impossible."""
        form = self.form if {TIME: DATETIME, NUMBER: NUMERIC}.get(self.sort) == kind or kind == CONSTANT else None
        changed = replace(self, kind=kind, form=form, why="as asked for")
        changed._check()
        return changed

    def _check(self) -> None:
        """Reject a kind that does not fit the values."""
        sort, kind = self.sort, self.kind
        fits = {
            NUMERIC: sort == NUMBER,
            DATETIME: sort == TIME,
            TIMEDELTA: sort == DURATION,
            IDENTIFIER: (self.whole and sort == NUMBER)
            or (sort == LABEL and self.categories is None and self._is_text),
            TEXT: sort == LABEL and self.categories is None and self._is_text,
        }
        if not fits.get(kind, True):
            way_out = {
                NUMERIC: "convert it first",
                DATETIME: "convert it first with pd.to_datetime, or give its form, e.g. '%Y-%m-%d'",
                TIMEDELTA: "convert it first with pd.to_timedelta",
            }.get(kind, f"use kind {CATEGORICAL!r}")
            raise SchemaError(f"column {self.name!r} has dtype {self.dtype} and cannot be {kind}; {way_out}")

    @property
    def _is_text(self) -> bool:
        if isinstance(self._dtype, pd.ArrowDtype):
            return arrow_family(self._dtype) == "text"
        return not ptypes.is_bool_dtype(self._dtype)

    # ---- reading

    def read(self, series: pd.Series) -> pd.Series:
        """Values, none missing → plain values of the column's sort, with the same index."""
        if isinstance(series.dtype, pd.SparseDtype):
            series = series.sparse.to_dense()
        try:
            values = self._read(series)
            if self.decimals is not None:
                values = np.round(values, self.decimals)
        except (ValueError, TypeError, OverflowError, decimal.InvalidOperation) as error:
            if isinstance(error, SchemaError):
                raise
            raise SchemaError(
                f"column {self.name!r} is {self.kind} of dtype {self.dtype}, and holds values that are not: {error}; "
                f"clean it, or infer the schema again"
            ) from error
        return pd.Series(values, index=series.index, name=series.name)

    def _read(self, series: pd.Series) -> Any:
        if self.categories is not None:
            return self._read_categories(series)
        if self.sort == NUMBER:
            return self._read_numbers(series)
        if self.sort == TIME:
            return self._read_times(series)
        if self.sort == DURATION:
            return as_counts(series, self.unit, "timedelta64")
        values = series.astype(str).tolist() if isinstance(series.dtype, pd.IntervalDtype) else series.tolist()
        return as_objects([as_scalar(value) for value in values] if series.dtype == object else values)

    def _read_categories(self, series: pd.Series) -> Any:
        """Return categories of any dtype as plain labels."""
        if not isinstance(series.dtype, pd.CategoricalDtype):
            return as_objects([as_scalar(value) for value in series.tolist()])
        inner = Column(self.name, CATEGORICAL, self.categories_dtype or "object")
        labels = inner.read(pd.Series(series.cat.categories)).tolist()
        return as_objects(labels)[series.cat.codes.to_numpy()]

    def _read_numbers(self, series: pd.Series) -> Any:
        if self.form == SINGLE:
            return stored_in_32_bits(series.to_numpy(dtype=np.float64))
        if self.form in (NUMBER_OBJECT, DECIMAL_OBJECT) or self.form is None:
            if self.form == NUMBER_OBJECT and all(isinstance(v, int | np.integer) for v in series.tolist()):
                return np.array([int(v) for v in series.tolist()], dtype=np.int64)
            return as_numbers(series)
        texts = [str(value) for value in series.tolist()]
        return numbers_in(texts, self.form, self.name)

    def _read_times(self, series: pd.Series) -> NDArray[np.int64]:
        if self.form is None:
            return as_counts(series, self.unit, "datetime64")
        if self.form in (DATE_OBJECT, DATETIME_OBJECT):
            return np.array(series.tolist(), dtype="datetime64[us]").astype(np.int64)
        texts = series.astype(str).tolist() if self.form == DAY_NUMBER else series.tolist()
        return dates_in(texts, self.form, self.name)

    # ---- writing

    def write(self, values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> pd.Series:
        """Plain values → the column's own dtype; where `missing`, its missing marker."""
        gaps = np.zeros(len(values), dtype=bool) if missing is None else missing
        if gaps.all() and self.sort != LABEL:
            values = np.zeros(len(values), dtype=np.int64)
        if self.categories is not None:
            return self._write_categories(values, gaps)
        if self.sort == NUMBER:
            series = self._write_numbers(values)
        elif self.sort == TIME:
            series = self._write_times(as_ticks(values))
        elif self.sort == DURATION:
            series = pd.Series(as_ticks(values).view(f"timedelta64[{self.unit}]"))
        else:
            series = self._write_labels(values, gaps)
        series = self._marked(series, gaps)
        series.name = self.name
        return series

    def _marked(self, series: pd.Series, gaps: NDArray[np.bool_]) -> pd.Series:
        """Cast the series to its dtype and insert the missing values."""
        if self.dtype == "object":
            values = series.to_numpy(dtype=object).copy()
            values[gaps] = MARKERS[self.missing]
            return pd.Series(values, dtype=object)
        if series.dtype != self._dtype:
            if ptypes.is_float_dtype(series.dtype) and ptypes.is_integer_dtype(self._dtype):
                series = series.round()
            series = within_dtype(series, self._dtype).astype(self._dtype)
        return series.mask(gaps) if gaps.any() else series

    def _write_categories(self, values: NDArray[Any], gaps: NDArray[np.bool_]) -> pd.Series:
        assert self.categories is not None
        inner = Column(self.name, CATEGORICAL, self.categories_dtype or "object")
        index = pd.Index(inner.write(as_objects(self.categories)), dtype=self._dtype).rename(None)
        place = {label: code for code, label in enumerate(self.categories)}
        codes = np.array([-1 if gap else place[value] for value, gap in zip(values.tolist(), gaps, strict=True)])
        dtype = pd.CategoricalDtype(index, ordered=self.ordered)
        return pd.Series(pd.Categorical.from_codes(codes.astype(np.int64), dtype=dtype), name=self.name)

    def _write_numbers(self, values: NDArray[Any]) -> pd.Series:
        if self.form == DECIMAL_OBJECT or is_decimal(self._dtype):
            places = "" if self.form else f".{self._dtype.pyarrow_dtype.scale}f"
            texts = [format(v, places) if places else repr(v) for v in values.tolist()]
            return pd.Series([decimal.Decimal(text) for text in texts], dtype=object)
        if self.form == NUMBER_OBJECT:
            return pd.Series(values.tolist(), dtype=object)
        if self.form == SINGLE:
            return pd.Series(widened(values))
        if self.form is not None:
            return pd.Series(NumberForm.parse(self.form).write(values), dtype=object)
        return pd.Series(values)

    def _write_times(self, counts: NDArray[np.int64]) -> pd.Series:
        times = pd.Series(counts.view(f"datetime64[{self.unit}]"))
        if self.form == DATE_OBJECT:
            return pd.Series(as_objects([time.date() for time in times]), dtype=object)
        if self.form == DATETIME_OBJECT:
            return pd.Series(as_objects([time.to_pydatetime() for time in times]), dtype=object)
        if self.form is not None:
            codes, distinct = pd.factorize(counts)
            return pd.Series(as_objects(write_dates(distinct, self.form))[codes])
        if isinstance(self._dtype, pd.PeriodDtype):
            return times.dt.to_period(self._dtype.freq)
        zone = time_zone(self._dtype)
        if zone is None:
            return times
        first = np.ones(len(times), dtype=bool)  # if an hour occurs twice on the clock, the first one
        return times.dt.tz_localize(zone, ambiguous=first, nonexistent="shift_forward")

    def _write_labels(self, values: NDArray[Any], gaps: NDArray[np.bool_]) -> pd.Series:
        labels = np.asarray(values, dtype=object)
        if gaps.any():
            labels = labels.copy()
            labels[gaps] = None
        if self.dtype == "object":
            return pd.Series(labels, dtype=object)
        if ptypes.is_bool_dtype(self._dtype) and not gaps.any():
            return pd.Series(labels.astype(bool))
        if isinstance(self._dtype, pd.IntervalDtype):
            labels = as_objects([interval_of(label) for label in labels])
        return pd.Series(pd.array(list(labels), dtype=self._dtype))
