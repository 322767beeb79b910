"""Times and durations: whole numbers on the column's own clock.

A time is a day and a time of day. If there are few days, they are kept exactly. If there are many, they are encoded as
a week and a weekday, so that the weekly rhythm is learned too (a column of business days has five weekdays to choose
from), or as a month if every day is the first or last of a month. If there are more weeks than ids, the year comes
before the week of the year: weeks sharing an id would lose the seasons. The ids of days, weeks and months are in
chronological order, so a range of times is a range of ids. A column with only midnights has no slot for the time of
day.

Shapes: `N` values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...config.settings import TokenConfig
from ...data.schema import DATETIME, Column
from ..constraints.plain_columns import Bounds
from ..layout import Slot
from .atoms import AtomCodec
from .base import Floats, Ids, Mask, Span
from .measured import MeasuredCodec
from .row_numbers import RowNumbers
from .ticks import DAY_SECONDS, UNITS, widest_step

if TYPE_CHECKING:
    from typing_extensions import Self

FEW_DAYS = 60
"""Up to this many distinct days are kept individually."""
RARE_DAYS = 0.1
"""Maximum share of rows with a rare day if days are to be kept individually."""
MAX_DAYS = 10_000
"""Maximum days to list of one interval."""
MONDAY = 3
"""Days from a Monday to 1970-01-01, which was a Thursday."""

THURSDAY = 3
"""Days from a Monday to the Thursday of its week, which decides which year the week belongs to (ISO 8601)."""
MIN_YEARS = 3
"""Minimum number of years in a column for its seasons to be learned separately from its years."""

DAYS, WEEKS, YEARS, MONTH_STARTS, MONTH_ENDS = "days", "weeks", "years", "month starts", "month ends"
WEEKDAYS = {WEEKS: 1, YEARS: 2}
"""The position of the weekday among the parts, for calendars that have one."""


@dataclass(frozen=True)
class TimeCodec(MeasuredCodec):
    """Fitted state of a column of times."""

    name: ClassVar[str] = "times"
    kinds: ClassVar[tuple[str, ...]] = (DATETIME,)

    day: int
    """Counts of the column's unit per day."""
    step: int
    """Counts between two distinguishable times of day."""
    calendar: str
    """How a day is encoded: `days`, `weeks` (a week and a weekday), `years` (a year followed by these), `month starts`
    or `month ends`."""
    parts: tuple[AtomCodec, ...]
    """Codecs of the day, or the (year,) week and weekday, or the month; then that of the time of day."""
    low: int
    high: int
    """First and last time seen; with a floor, the first and last that the parts allow, in weeks with enough rows."""

    @classmethod
    def learn(cls, values: pd.Series, column: Column, config: TokenConfig) -> Self:
        """Find the calendar and the clock, and cut both into ids."""
        counts = values.to_numpy(dtype=np.int64)
        day = DAY_SECONDS * UNITS[column.unit]
        days = counts // day
        clock = counts - days * day
        step = widest_step(clock, column.unit)
        calendar = _calendar(days, config.quantiles, config.rare_floor)
        parts = [*split_days(days, calendar), clock // step]
        codecs = tuple(AtomCodec.learn(pd.Series(part), column, config) for part in parts)
        if config.rare_floor <= 1:
            return cls(day, step, calendar, codecs, int(counts.min()), int(counts.max()))
        if calendar != YEARS:
            return cls._within_parts(day, step, calendar, codecs)
        weeks = AtomCodec.learn(pd.Series(split_days(days, WEEKS)[0]), column, config)
        return cls._within_weeks(day, step, codecs, (int(weeks.low), int(weeks.high)))

    @classmethod
    def _within_parts(cls, day: int, step: int, calendar: str, parts: tuple[AtomCodec, ...]) -> Self:
        """A codec whose range is everything that its parts can represent."""
        *date, clock = parts
        ends = []
        for end in ("low", "high"):
            days = join_days([np.array([int(getattr(part, end))]) for part in date], calendar)
            ends.append(int(days[0]) * day + int(getattr(clock, end)) * step)
        return cls(day, step, calendar, parts, *ends)

    @classmethod
    def _within_weeks(cls, day: int, step: int, parts: tuple[AtomCodec, ...], weeks: tuple[int, int]) -> Self:
        """A codec of years limited to two weeks: otherwise its first and last year would allow any week."""
        _, _, weekday, clock = parts
        low = (weeks[0] * 7 + int(weekday.low) - MONDAY) * day + int(clock.low) * step
        high = (weeks[1] * 7 + int(weekday.high) - MONDAY) * day + int(clock.high) * step
        return cls(day, step, YEARS, parts, low, high)

    def slots(self, column: int) -> tuple[Slot, ...]:
        """The slots of the parts that vary, from longer to shorter periods."""
        return tuple(slot for part in self.parts if _varies(part) for slot in part.slots(column))

    def encode(self, values: pd.Series) -> Ids:
        """Counts (N,) → ids."""
        counts = np.clip(values.to_numpy(dtype=np.int64), self.low, self.high)
        days = counts // self.day
        parts = [*split_days(days, self.calendar), (counts - days * self.day) // self.step]
        ids = [codec.encode(pd.Series(part)) for codec, part in zip(self.parts, parts, strict=True) if _varies(codec)]
        return np.concatenate(ids, axis=1) if ids else np.empty((len(values), 0), dtype=np.int64)

    def decode(self, ids: NDArray[Any], rng: np.random.Generator, rows: RowNumbers | None = None) -> NDArray[np.int64]:
        """Ids → counts (N,), inside the range seen."""
        parts, start = [], 0
        for codec in self.parts:
            width = 1 if _varies(codec) else 0
            own = ids[:, start : start + width] if width else np.zeros((len(ids), 1), dtype=np.int64)
            parts.append(codec.decode(own, rng).astype(np.int64))
            start += width
        *date, clock = parts
        days = self._within(join_days(date, self.calendar))
        counts: NDArray[np.int64] = np.clip(days * self.day + clock * self.step, self.low, self.high)
        return counts

    def reach(self, spans: Sequence[Span]) -> list[Mask | None]:
        """Ids of the first slot that allow a time inside a span; for spans within one year also those of its weeks."""
        ends = [split_days(np.array([int(low), int(high)]) // self.day, self.calendar) for low, high in spans]
        masks: list[Mask | None] = []
        for place, part in enumerate(self.parts):
            if not _varies(part):
                continue
            if place > 0 and (self.calendar != YEARS or place > 1 or any(own[0][0] != own[0][1] for own in ends)):
                masks.append(None)
                continue
            reached = np.zeros(len(part.lows), dtype=bool)
            for own in ends:
                reached |= (part.highs >= own[place][0]) & (part.lows <= own[place][1])
            masks.append(reached)
        return masks

    def draw_within(
        self, spans: Sequence[Span], ids: NDArray[Any], values: NDArray[Any], rng: np.random.Generator
    ) -> NDArray[Any]:
        """The nearest times inside a span that the clock can show; with years, any time of the year inside the span."""
        ends = np.array([end for span in spans for end in span], dtype=values.dtype)
        nearest = np.abs(values[:, None] - ends).argmin(1)
        if self.calendar != YEARS:
            return np.asarray(ends[nearest])
        lows, highs = (np.array([span[side] for span in spans], dtype=np.int64)[nearest // 2] for side in (0, 1))
        own = (values // self.day).astype("datetime64[D]").astype("datetime64[Y]")
        first, last = (year.astype("datetime64[D]").astype(np.int64) * self.day for year in (own, own + 1))
        lows, highs = np.maximum(lows, first), np.minimum(highs, last - 1)
        # Move by whole weeks, to keep the weekday and the time of day.
        week = 7 * self.day
        least, most = -((values - lows) // week), (highs - values) // week
        moved = values + week * (least + np.floor(rng.random(len(values)) * (most - least + 1)).astype(np.int64))
        return np.asarray(np.where(least <= most, moved, ends[nearest]))

    def log_widths(self, ids: NDArray[Any]) -> Floats:
        """Log of the number of clock steps that each row's ids represent (N,)."""
        logs, stop = np.zeros(len(ids)), 0
        for part in self.parts:
            if _varies(part):
                stop += 1
                logs += part.log_widths(ids[:, :stop])
        return logs

    def bounds(self) -> Bounds:
        """The values that the column may have."""
        return Bounds(self.settle, self.low, self.high, 0)

    def beside(self, value: Any, *, up: bool) -> Any:
        """One clock count more or less."""
        return value + (1 if up else -1)

    def _within(self, days: NDArray[np.int64]) -> NDArray[np.int64]:
        """Move days of the first or last week that are out of range by whole weeks: Mondays stay Mondays."""
        first, last = self.low // self.day, self.high // self.day
        if self.calendar not in WEEKDAYS:
            return np.clip(days, first, last)
        days = np.where(days < first, days + 7 * -((days - first) // 7), days)
        days = np.where(days > last, days - 7 * -((last - days) // 7), days)
        return np.clip(days, first, last)

    def settle(self, values: NDArray[Any], *, up: bool) -> Any:
        """Move times up or down to the nearest one that the column may have."""
        counts = np.clip(values.astype(np.int64), self.low, self.high)
        days, clock = counts // self.day, counts % self.day
        steps = -(-clock // self.step) if up else clock // self.step
        first, last = int(self.parts[-1].low), int(self.parts[-1].high)
        # A time of day beyond those seen moves to the next or previous day.
        beyond = steps > last if up else steps < first
        days = days + np.where(beyond, 1 if up else -1, 0)
        moved = self._settle_days(days, up=up)
        steps = np.where(beyond | (moved != days), first if up else last, np.clip(steps, first, last))
        return np.clip(moved * self.day + steps * self.step, self.low, self.high)

    def _settle_days(self, days: NDArray[np.int64], *, up: bool) -> NDArray[np.int64]:
        part = self.parts[WEEKDAYS.get(self.calendar, 0)]
        known = _whole_inside(part) if self.calendar in (DAYS, *WEEKDAYS) else np.empty(0, dtype=np.int64)
        if self.calendar == DAYS:
            place = np.searchsorted(known, days, side="left" if up else "right") - (0 if up else 1)
            return known[np.clip(place, 0, len(known) - 1)]
        if self.calendar in WEEKDAYS:
            settled = days.copy()
            for _ in range(6):
                wrong = ~np.isin((settled + MONDAY) % 7, known)
                settled += np.where(wrong, 1 if up else -1, 0)
            return settled
        months = split_days(days, self.calendar)[0]
        same = join_days([months], self.calendar)
        months += np.where(same < days, 1, 0) if up else np.where(same > days, -1, 0)
        return join_days([months], self.calendar)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        derived = all(part.protected for part in self.parts)
        names = ("day", "step", "calendar") if derived else ("day", "step", "calendar", "low", "high")
        fields = {name: getattr(self, name) for name in names}
        if derived and self.calendar == YEARS:
            fields["weeks"] = [(end // self.day + MONDAY) // 7 for end in (self.low, self.high)]
        return {**fields, "parts": [part.to_json() for part in self.parts]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        if data["calendar"] not in (DAYS, *WEEKDAYS, MONTH_STARTS, MONTH_ENDS):
            raise ValueError(f"unknown calendar {data['calendar']!r}")
        if any(type(data[name]) is not int or data[name] < 1 for name in ("day", "step")):
            raise ValueError("days and steps of a column of times must be whole numbers from 1")
        parts = tuple(AtomCodec.from_json(part) for part in data["parts"])
        if len(parts) != WEEKDAYS.get(data["calendar"], 0) + 2:
            raise ValueError("a column of times has parts that do not fit its calendar")
        if "weeks" in data:
            return cls._within_weeks(data["day"], data["step"], parts, _weeks(data["weeks"], data["day"]))
        if "low" not in data:
            return cls._within_parts(data["day"], data["step"], data["calendar"], parts)
        return cls(**{**data, "parts": parts})


def _weeks(stored: Any, day: int) -> tuple[int, int]:
    """The first and last week of a column, as stored in a file."""
    if not isinstance(stored, list) or len(stored) != 2 or any(type(week) is not int for week in stored):
        raise ValueError("the weeks of a column of times must be two whole numbers")
    low, high = stored
    if low > high or max(abs(low), abs(high)) * 7 * day >= 2**62:
        raise ValueError(f"a column of times cannot last from week {low} to week {high}")
    return low, high


def _calendar(days: NDArray[np.int64], ids: int, floor: int) -> str:
    """How to encode days as at most `ids` ids: individually only if few, and nearly all rows share their day."""
    distinct, counts = np.unique(days, return_counts=True)
    if len(distinct) <= min(FEW_DAYS, ids) and counts[counts < floor].sum() <= RARE_DAYS * len(days):
        return DAYS
    for calendar in (MONTH_STARTS, MONTH_ENDS):
        if np.array_equal(join_days(split_days(distinct, calendar), calendar), distinct):
            return calendar
    years, weeks, _ = split_days(distinct, YEARS)
    # No more weeks can be distinguished than there are ids, or groups with enough rows.
    many = len(np.unique(np.stack([years, weeks]), axis=1).T) > min(ids, len(days) / max(floor, 1))
    return YEARS if many and years[-1] - years[0] >= MIN_YEARS else WEEKS


def split_days(days: NDArray[np.int64], calendar: str) -> list[NDArray[np.int64]]:
    """Day numbers since 1970 → their parts in the calendar."""
    if calendar == DAYS:
        return [days]
    if calendar == WEEKS:
        return [(days + MONDAY) // 7, (days + MONDAY) % 7]
    if calendar == YEARS:
        weeks = (days + MONDAY) // 7
        years = _years_of(weeks)
        return [years, weeks - _first_weeks(years), (days + MONDAY) % 7]
    return [days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)]


def join_days(parts: list[NDArray[np.int64]], calendar: str) -> NDArray[np.int64]:
    """Inverse of `split_days`."""
    if calendar == DAYS:
        return parts[0]
    if calendar == WEEKS:
        return parts[0] * 7 + parts[1] - MONDAY
    if calendar == YEARS:
        return (_first_weeks(parts[0]) + parts[1]) * 7 + parts[2] - MONDAY
    months = parts[0] + (calendar == MONTH_ENDS)
    days: NDArray[np.int64] = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return days - (calendar == MONTH_ENDS)


def _years_of(weeks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Years since 1970 to which weeks belong: the years of their Thursdays."""
    thursdays = weeks * 7 - MONDAY + THURSDAY
    return thursdays.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64)


def _first_weeks(years: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first week of each year: the one with January 4."""
    starts: NDArray[np.int64] = years.astype("datetime64[Y]").astype("datetime64[D]").astype(np.int64)
    return (starts + 3 + MONDAY) // 7


def _whole_inside(part: AtomCodec) -> NDArray[np.int64]:
    """The whole numbers that the ids of a part represent, ascending."""
    lows, highs = np.ceil(part.lows).astype(np.int64), np.floor(part.highs).astype(np.int64)
    if part.protected and (highs - lows).sum() <= MAX_DAYS:
        return np.concatenate([np.arange(a, b + 1) for a, b in zip(lows, highs, strict=True)])
    return lows


def _varies(part: AtomCodec) -> bool:
    return len(part.lows) > 1
