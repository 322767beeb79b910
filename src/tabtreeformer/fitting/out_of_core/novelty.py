"""Which rows of a table that is read in parts show something new.

A random sample misses what is rare: a category with five rows, the largest value, the only gap, the only time not at
midnight. Rows that show such things join the sample, so that whatever is learned from it (what a column is, which
categories there are, how far numbers reach, how many decimals they have) is the same as if all rows had been read.

Shapes: `n` rows of a part.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types as ptypes

from ...data.schema import CATEGORICAL, LABELLED, Column
from ...data.schema.dtypes import dtype_name
from ...data.schema.forms import DATE_FORMS, DAY_NUMBER, find_number_form, read_dates, write_dates
from ...data.schema.infer import is_postal
from ...data.schema.numbers import count_decimals
from ...data.schema.values import as_numbers
from ...errors import SchemaError
from ...tokens.codecs.ticks import DAY_SECONDS, UNITS, clock_steps

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]

FEW_NUMBERS = 1024
"""Numbers are tracked one by one while there are at most this many distinct ones."""
FEW_TEXTS = 2000
"""Texts with more distinct values than this are not categories, unless the user declares them so."""
MAX_CATEGORIES = 50_000
"""Maximum number of categories of a column."""
MAX_RUNS = 6
"""Maximum number of counters inside a text, from the left."""


class FirstRows:
    """The first rows of each value, until there are too many values for categories."""

    def __init__(self, copies: int, most: int) -> None:
        self.copies, self.most = copies, most
        self.seen: dict[Any, int] = {}
        self.over = False

    def look(self, values: Any) -> Rows:
        """Rows of the part that are among the first with their value."""
        if self.over:
            return np.empty(0, dtype=np.int64)
        codes, index = pd.factorize(values)
        distinct = list(index)
        before = np.array([self.seen.get(value, 0) for value in distinct], dtype=np.int64)
        new = np.cumsum(before == 0)  # in the order in which they appear
        room = self.most + 1 - len(self.seen)
        self.over = bool(len(new) and new[-1] >= room)
        wanted = np.where((before == 0) & (new > room), 0, self.copies - before)
        rows: Rows = np.flatnonzero(wanted[codes] > 0) if len(distinct) else np.empty(0, dtype=np.int64)
        nth = pd.Series(codes[rows]).groupby(codes[rows]).cumcount().to_numpy()
        rows = rows[nth < wanted[codes[rows]]]
        for code, count in zip(*np.unique(codes[rows], return_counts=True), strict=True):
            self.seen[distinct[code]] = int(before[code] + count)
        return rows


class Ends:
    """Rows with the smallest and the largest numbers, `copies` of each."""

    def __init__(self, copies: int) -> None:
        self.copies = copies
        self.low: NDArray[Any] | None = None
        self.high: NDArray[Any] | None = None

    def look(self, values: NDArray[Any]) -> Rows:
        """Rows of the part that are among the smallest or largest so far."""
        if not len(values):
            return np.empty(0, dtype=np.int64)
        full = self.low is not None and len(self.low) == self.copies
        rows = []
        for side in ("low", "high"):
            known = getattr(self, side)
            near = np.arange(len(values))
            if full:
                near = np.flatnonzero(values < known[-1] if side == "low" else values > known[0])
            order = near[np.argsort(values[near], kind="stable")]
            best = order[: self.copies] if side == "low" else order[-self.copies :]
            both = values[best] if known is None else np.concatenate([known, values[best]])
            ends = np.sort(both)
            setattr(self, side, ends[: self.copies] if side == "low" else ends[-self.copies :])
            rows.append(best)
        return np.concatenate(rows)


class Decimals:
    """Rows with more decimals than any before."""

    def __init__(self) -> None:
        self.most: int | None = 0

    def look(self, values: NDArray[np.float64]) -> Rows:
        """The row of the part with the most decimals, if no earlier row had that many."""
        if self.most is None or not len(values):
            return np.empty(0, dtype=np.int64)
        with np.errstate(over="ignore", invalid="ignore"):
            if np.array_equal(np.round(values, self.most), values):
                return np.empty(0, dtype=np.int64)
            self.most = count_decimals(values)
            finest = np.round(values, 15 if self.most is None else self.most - 1)
        return np.flatnonzero(finest != values)[:1]


class Steps:
    """Rows that fall between the steps of a clock: for each step, the first such row."""

    def __init__(self, unit: str) -> None:
        self.kept = clock_steps(unit)

    def look(self, counts: NDArray[np.int64]) -> Rows:
        """Rows of the part that are not multiples of the common step so far."""
        rows = []
        for step in tuple(self.kept):
            off = counts % step != 0
            if off.any():
                self.kept.remove(step)
                rows.append(int(np.argmax(off)))
        return np.array(rows, dtype=np.int64)


class Times:
    """Rows whose time is a new extreme, falls between the steps of the clock, or is on a new day or at a new hour."""

    def __init__(self, unit: str, copies: int) -> None:
        self.day = DAY_SECONDS * UNITS[unit]
        self.parts = [FirstRows(copies, FEW_NUMBERS) for _ in range(3)]
        self.ends, self.clock, self.steps = Ends(copies), Ends(copies), Steps(unit)

    def look(self, counts: NDArray[np.int64]) -> Rows:
        """Rows of the part that show something new."""
        days = counts // self.day
        clock = counts - days * self.day
        dates = days.astype("datetime64[D]")
        months = dates.astype("datetime64[M]")
        first, last = months.astype("datetime64[D]") == dates, (months + 1).astype("datetime64[D]") - 1 == dates
        places = days % 7 + 8 * first + 16 * last  # what a calendar of weekdays or ends of months distinguishes
        seen = [part.look(values) for part, values in zip(self.parts, (days, clock, places), strict=True)]
        return np.concatenate([*seen, self.ends.look(counts), self.clock.look(clock), self.steps.look(clock)])


class Forms:
    """Texts not written like all those before: a column is read as dates or numbers only if all its texts are.

    While they are, their extremes and clocks are tracked like those of any dates and numbers.
    """

    def __init__(self, texts: list[str], copies: int) -> None:
        """Start with the first texts, which are in the sample."""
        self.dates = {form: Times("us", copies) for form in DATE_FORMS if _read_dates(texts, form) is not None}
        self.number = find_number_form(texts)
        self.ends = Ends(copies)

    def look(self, texts: list[str]) -> Rows:
        """For each form that no longer fits, the first row that shows it; for the others, rows with a new extreme."""
        rows = [np.empty(0, dtype=np.int64)]
        for form in tuple(self.dates):
            counts = _read_dates(texts, form)
            if counts is None:
                del self.dates[form]
                odd = next(i for i, text in enumerate(texts) if _read_dates([text], form) is None)
                rows.append(np.array([odd]))
            else:
                rows.append(self.dates[form].look(counts))
        if self.number is not None:
            numbers = self.number.read(texts)
            wrong = np.flatnonzero(np.isnan(numbers))
            if not len(wrong):
                again = self.number.write(numbers)
                wrong = np.array([i for i, text in enumerate(texts) if again[i] != text], dtype=np.int64)
            rows.append(wrong[:1] if len(wrong) else self.ends.look(numbers))
            self.number = None if len(wrong) else self.number
        return np.concatenate(rows)


def _read_dates(texts: list[str], form: str) -> NDArray[np.int64] | None:
    """The texts as dates of a form that restores them exactly, else None; the first text rules out most forms."""
    if not texts:
        return np.empty(0, dtype=np.int64)
    dates = read_dates(texts[:1], form)
    dates = None if dates is None else read_dates(texts, form)
    return dates if dates is not None and write_dates(dates, form) == texts else None


class Counters:
    """Texts with a larger number than any before: new keys continue after the largest."""

    def __init__(self) -> None:
        self.most: dict[int, int] = {}

    def look(self, texts: list[str]) -> Rows:
        """For the first, second, … number in the texts, the row of the part with the largest."""
        found: dict[int, int] = {}
        for row, text in enumerate(texts):
            for place, digits in enumerate(re.findall(r"\d+", text)[:MAX_RUNS]):
                number = int(digits)
                if number > self.most.get(place, -1):
                    self.most[place] = number
                    found[place] = row
        return np.array(list(found.values()), dtype=np.int64)


class Running:
    """Whether a column increases from row to row throughout."""

    def __init__(self) -> None:
        self.first: int | None = None
        self.last = 0
        self.n_rows = 0
        self.up = True

    def look(self, values: NDArray[Any], complete: bool) -> None:
        """Add a part; a column with gaps is not a running number."""
        self.n_rows += len(values)
        if not self.up or not len(values):
            return
        steps = np.diff(values.astype(np.float64))
        self.up = complete and bool((steps > 0).all()) and (self.first is None or int(values[0]) > self.last)
        self.first = int(values[0]) if self.first is None else self.first
        self.last = int(values[-1])

    def __bool__(self) -> bool:
        """Most steps are of one; a few rows may have been removed."""
        return self.up and self.first is not None and self.last - self.first <= 3 * (self.n_rows - 1)


class ColumnNovelty:
    """What has been seen of one column so far."""

    def __init__(self, series: pd.Series, name: str | int, copies: int, listed: bool) -> None:
        """Take a first part, for its dtype; `listed` says that the values are a list of any length."""
        dtype = series.dtype
        self.name, self.copies, self.listed = name, copies, listed or isinstance(dtype, pd.CategoricalDtype)
        self.gaps = 0
        self.whole = ptypes.is_integer_dtype(dtype)
        self.number = ptypes.is_numeric_dtype(dtype) and not ptypes.is_bool_dtype(dtype)
        self.time = ptypes.is_datetime64_any_dtype(dtype)
        self.duration = ptypes.is_timedelta64_dtype(dtype)
        self.listed |= self.whole and is_postal(name)
        self.values = FirstRows(copies, MAX_CATEGORIES if self.listed else FEW_NUMBERS if self.number else FEW_TEXTS)
        self.ends, self.decimals, self.running = Ends(copies), Decimals(), Running()
        self.days = self.whole
        self.forms: Forms | None = None
        self.counters = Counters()
        if self.time or self.duration:
            self.column = Column(name, CATEGORICAL, dtype_name(dtype))
            self.steps, self.times = Steps(self.column.unit), Times(self.column.unit, copies)

    def look(self, series: pd.Series, first_row: int) -> Rows:
        """Rows of the part that show something new."""
        there = np.flatnonzero(series.notna())
        gaps = np.flatnonzero(series.isna())[: self.copies - self.gaps]
        self.gaps += len(gaps)
        present = series.iloc[there]
        if self.number:
            rows = self._numbers(present, len(there) == len(series), there, first_row)
        elif self.time or self.duration:
            rows = self._times(self.column.read(present).to_numpy())
        else:
            rows = self._labels(present)
        return np.concatenate([gaps, there[rows]])

    def _numbers(self, present: pd.Series, complete: bool, there: Rows, first_row: int) -> Rows:
        values = as_numbers(present)
        if self.whole:
            self.running.look(values, complete)
            return np.concatenate([self._listed(values), self.ends.look(values), self._day_numbers(values)])
        values = values.astype(np.float64)
        if not np.isfinite(values).all():
            bad = int(np.argmax(~np.isfinite(values)))
            raise SchemaError(
                f"column {self.name!r} holds {values[bad]} in row {first_row + int(there[bad]):,}; "
                f"replace infinities or drop the rows"
            )
        return np.concatenate([self._listed(values), self.ends.look(values), self.decimals.look(values)])

    def _day_numbers(self, values: NDArray[Any]) -> Rows:
        """The first integer that is not a day such as 20240131; numbers out of range are extremes."""
        if not self.days or not len(values):
            return np.empty(0, dtype=np.int64)
        odd = np.flatnonzero((values < 19000101) | (values > 21001231))
        if not len(odd):
            codes, distinct = pd.factorize(values)
            bad = [i for i, value in enumerate(distinct) if read_dates([str(value)], DAY_NUMBER) is None]
            odd = np.flatnonzero(np.isin(codes, bad))
        self.days = not len(odd)
        return odd[:1]

    def _times(self, counts: NDArray[np.int64]) -> Rows:
        if self.time:
            return self.times.look(counts)
        return np.concatenate([self.ends.look(counts), self.steps.look(counts), self.values.look(counts)])

    def _labels(self, present: pd.Series) -> Rows:
        rows = self._listed(present)
        texts = present.tolist() if self.values.over else []
        if not texts or not all(isinstance(text, str) for text in texts):
            return rows
        if self.forms is None:
            self.forms = Forms([text for text in self.values.seen if isinstance(text, str)], self.copies)
        return np.concatenate([rows, self.forms.look(texts), self.counters.look(texts)])

    def _listed(self, values: Any) -> Rows:
        rows = self.values.look(values)
        if self.values.over and self.listed:
            raise SchemaError(
                f"column {self.name!r} has more than {MAX_CATEGORIES:,} categories, too many for a table that is read "
                f"in parts; group its values, drop it, or make it text: kinds={{{self.name!r}: 'text'}}"
            )
        return rows


class Novelty:
    """What has been seen of a table so far."""

    def __init__(self, first: pd.DataFrame, copies: int, target: str | int | None, kinds: dict[str | int, str]) -> None:
        """Take a first part; `copies` rows of each rare value are wanted. `kinds` are the kinds already known."""
        self.columns = {}
        for name in first.columns:
            series = first[name]
            text = not ptypes.is_numeric_dtype(series.dtype)
            listed = kinds[name] in LABELLED if name in kinds else name == target and text
            self.columns[name] = ColumnNovelty(series, name, copies, listed)

    def look(self, part: pd.DataFrame, first_row: int) -> Mask:
        """Which rows of the part show something new, (n,)."""
        shown = np.zeros(len(part), dtype=bool)
        for name, column in self.columns.items():
            shown[column.look(part[name], first_row)] = True
        return shown

    @property
    def running(self) -> frozenset[str | int]:
        """Columns that are running numbers."""
        return frozenset(name for name, column in self.columns.items() if column.whole and column.running)
