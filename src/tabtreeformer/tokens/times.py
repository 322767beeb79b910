"""Times and durations: whole numbers on the column's own clock.

A time is a day and an hour. Few days are kept exactly. Many are a week and a weekday, so that the rhythm of the week is
learned with all else (a column of business days has five weekdays to choose from), or a month where every day is the
first or the last of one. The ids of days, weeks and months follow time, so that a range of times is a range of ids. A
column that only knows midnight has no slot for the hour.

Shapes: `N` values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..config import TokenConfig
from .atoms import AtomCodec
from .layout import Slot
from .numeric import Ids, NumericCodec

DAY_SECONDS = 86_400
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""How many of a unit make a second."""
STEPS = (86_400, 43_200, 21_600, 10_800, 7_200, 3_600, 1_800, 900, 600, 300, 60, 30, 15, 10, 5, 1)
"""Steps of a clock that people use, in seconds; below a second they are powers of ten."""
FEW_DAYS = 60
"""Up to this many different days are kept one by one."""
RARE_DAYS = 0.1
"""Share of rows whose day is rare up to which days are kept one by one."""
MOST_DAYS = 10_000
"""Days of one interval that are listed."""
MONDAY = 3
"""Days from a Monday to 1970-01-01, which was a Thursday."""

DAYS, WEEKS, MONTH_STARTS, MONTH_ENDS = "days", "weeks", "month starts", "month ends"


@dataclass(frozen=True)
class TickCodec:
    """Durations: a number of steps."""

    step: int
    ticks: NumericCodec | AtomCodec

    @classmethod
    def learn(cls, values: pd.Series, unit: str, config: TokenConfig) -> TickCodec:
        """Find the widest step of which every value is a multiple."""
        step = widest_step(values.to_numpy(), unit)
        codec = AtomCodec if config.scheme == "atoms" else NumericCodec
        return cls(step, codec.learn(values // step, config))

    @property
    def low(self) -> int:
        """Shortest duration seen."""
        return int(self.ticks.low) * self.step

    @property
    def high(self) -> int:
        """Longest duration seen."""
        return int(self.ticks.high) * self.step

    def slots(self, column: int) -> tuple[Slot, ...]:
        """Those of the number."""
        return self.ticks.slots(column)

    def encode(self, values: pd.Series) -> Ids:
        """Counts (N,) → ids."""
        return self.ticks.encode(values // self.step)

    def decode(self, ids: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Ids → counts (N,)."""
        counts: NDArray[np.int64] = self.ticks.decode(ids, rng).astype(np.int64) * self.step
        return counts

    def settle(self, values: NDArray[Any], *, up: bool) -> Any:
        """Move values to the nearest that the column may hold, upwards or downwards."""
        steps = -(-values // self.step) if up else values // self.step
        return np.clip(steps, int(self.ticks.low), int(self.ticks.high)) * self.step

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        name = "atoms" if isinstance(self.ticks, AtomCodec) else "quantile"
        return {"step": self.step, name: self.ticks.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TickCodec:
        """Inverse of `to_json`."""
        codec = AtomCodec if "atoms" in data else NumericCodec
        return cls(data["step"], codec.from_json(data["atoms" if "atoms" in data else "quantile"]))


@dataclass(frozen=True)
class TimeCodec:
    """Fitted state of a column of times."""

    day: int
    """Counts of the column's unit a day."""
    step: int
    """Counts between two times of day that the column tells apart."""
    calendar: str
    """How a day is told: `days`, `weeks` (a week and a weekday), `month starts` or `month ends`."""
    parts: tuple[AtomCodec, ...]
    """Codecs of the day, or the week and the weekday, or the month; then that of the time of day."""
    low: int
    high: int
    """First and last time seen; with a floor, those that the parts can make."""

    @classmethod
    def learn(cls, values: pd.Series, unit: str, config: TokenConfig) -> TimeCodec:
        """Find the calendar and the clock, and cut both into ids."""
        counts = values.to_numpy(dtype=np.int64)
        day = DAY_SECONDS * UNITS[unit]
        days = counts // day
        clock = counts - days * day
        step = widest_step(clock, unit)
        calendar = _calendar(days, min(FEW_DAYS, config.quantiles), config.rare_floor)
        parts = [*split_days(days, calendar), clock // step]
        codecs = tuple(AtomCodec.learn(pd.Series(part), config) for part in parts)
        if config.rare_floor > 1:
            return cls._within_parts(day, step, calendar, codecs)
        return cls(day, step, calendar, codecs, int(counts.min()), int(counts.max()))

    @classmethod
    def _within_parts(cls, day: int, step: int, calendar: str, parts: tuple[AtomCodec, ...]) -> TimeCodec:
        """A codec whose range is what its parts can make."""
        *date, clock = parts
        ends = []
        for end in ("low", "high"):
            days = _join([np.array([int(getattr(part, end))]) for part in date], calendar)
            ends.append(int(days[0]) * day + int(getattr(clock, end)) * step)
        return cls(day, step, calendar, parts, *ends)

    def slots(self, column: int) -> tuple[Slot, ...]:
        """Those of the parts that vary, the longer time before the shorter."""
        return tuple(slot for part in self.parts if _varies(part) for slot in part.slots(column))

    def encode(self, values: pd.Series) -> Ids:
        """Counts (N,) → ids."""
        counts = np.clip(values.to_numpy(dtype=np.int64), self.low, self.high)
        days = counts // self.day
        parts = [*split_days(days, self.calendar), (counts - days * self.day) // self.step]
        ids = [codec.encode(pd.Series(part)) for codec, part in zip(self.parts, parts, strict=True) if _varies(codec)]
        return np.concatenate(ids, axis=1) if ids else np.empty((len(values), 0), dtype=np.int64)

    def decode(self, ids: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Ids → counts (N,), inside the range seen."""
        parts, start = [], 0
        for codec in self.parts:
            width = len(codec.sizes) if _varies(codec) else 0
            own = ids[:, start : start + width] if width else np.zeros((len(ids), 1), dtype=np.int64)
            parts.append(codec.decode(own, rng).astype(np.int64))
            start += width
        *date, clock = parts
        days = self._within(_join(date, self.calendar))
        counts: NDArray[np.int64] = np.clip(days * self.day + clock * self.step, self.low, self.high)
        return counts

    def reaching(self, spans: Sequence[tuple[float, float]]) -> NDArray[np.bool_] | None:
        """Ids of the first slot from which a time inside a span can be reached; None where it says nothing."""
        if not _varies(self.parts[0]):
            return None
        part = self.parts[0]
        reached = np.zeros(len(part.lows), dtype=bool)
        for low, high in spans:
            days = np.array([int(low) // self.day, int(high) // self.day])
            first, last = split_days(days, self.calendar)[0]
            reached |= (part.highs >= first) & (part.lows <= last)
        if not part.bin_starts:
            return reached
        return np.array([reached[start:stop].any() for start, stop in part.ranges])

    def _within(self, days: NDArray[np.int64]) -> NDArray[np.int64]:
        """Move a day of the first or last week that lies outside the range by whole weeks: Mondays stay Mondays."""
        first, last = self.low // self.day, self.high // self.day
        if self.calendar != WEEKS:
            return np.clip(days, first, last)
        days = np.where(days < first, days + 7 * -((days - first) // 7), days)
        days = np.where(days > last, days - 7 * -((last - days) // 7), days)
        return np.clip(days, first, last)

    def settle(self, values: NDArray[Any], *, up: bool) -> Any:
        """Move times to the nearest that the column may hold, upwards or downwards."""
        counts = np.clip(values.astype(np.int64), self.low, self.high)
        days, clock = counts // self.day, counts % self.day
        steps = -(-clock // self.step) if up else clock // self.step
        first, last = int(self.parts[-1].low), int(self.parts[-1].high)
        # A time of day outside those seen belongs to the day after, or before.
        beyond = steps > last if up else steps < first
        days = days + np.where(beyond, 1 if up else -1, 0)
        moved = self._settle_days(days, up=up)
        steps = np.where(beyond | (moved != days), first if up else last, np.clip(steps, first, last))
        return np.clip(moved * self.day + steps * self.step, self.low, self.high)

    def _settle_days(self, days: NDArray[np.int64], *, up: bool) -> NDArray[np.int64]:
        part = self.parts[1 if self.calendar == WEEKS else 0]
        known = _whole_inside(part) if self.calendar in (DAYS, WEEKS) else np.empty(0, dtype=np.int64)
        if self.calendar == DAYS:
            place = np.searchsorted(known, days, side="left" if up else "right") - (0 if up else 1)
            return known[np.clip(place, 0, len(known) - 1)]
        if self.calendar == WEEKS:
            settled = days.copy()
            for _ in range(6):
                wrong = ~np.isin((settled + MONDAY) % 7, known)
                settled += np.where(wrong, 1 if up else -1, 0)
            return settled
        months = split_days(days, self.calendar)[0]
        same = _join([months], self.calendar)
        months += np.where(same < days, 1, 0) if up else np.where(same > days, -1, 0)
        return _join([months], self.calendar)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        derived = all(part.protected for part in self.parts)
        names = ("day", "step", "calendar") if derived else ("day", "step", "calendar", "low", "high")
        fields = {name: getattr(self, name) for name in names}
        return {**fields, "parts": [part.to_json() for part in self.parts]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TimeCodec:
        """Inverse of `to_json`."""
        parts = tuple(AtomCodec.from_json(part) for part in data["parts"])
        if "low" not in data:
            return cls._within_parts(data["day"], data["step"], data["calendar"], parts)
        return cls(**{**data, "parts": parts})


def widest_step(counts: NDArray[np.int64], unit: str) -> int:
    """The widest step that people use of which every count is a multiple."""
    return next((step for step in clock_steps(unit) if not (counts % step).any()), 1)


def clock_steps(unit: str) -> list[int]:
    """Steps that people use, in counts of a unit, from the widest on."""
    second = UNITS[unit]
    return [step * second for step in STEPS] + [second // 10**k for k in range(1, len(str(second)))]


def _calendar(days: NDArray[np.int64], most: int, floor: int) -> str:
    """How days are told; one by one only if they are few, and nearly all rows have a day that enough others have."""
    distinct, counts = np.unique(days, return_counts=True)
    if len(distinct) <= most and counts[counts < floor].sum() <= RARE_DAYS * len(days):
        return DAYS
    for calendar in (MONTH_STARTS, MONTH_ENDS):
        if np.array_equal(_join(split_days(distinct, calendar), calendar), distinct):
            return calendar
    return WEEKS


def split_days(days: NDArray[np.int64], calendar: str) -> list[NDArray[np.int64]]:
    """Day numbers since 1970 → the parts of which the calendar makes them."""
    if calendar == DAYS:
        return [days]
    if calendar == WEEKS:
        return [(days + MONDAY) // 7, (days + MONDAY) % 7]
    return [days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)]


def _join(parts: list[NDArray[np.int64]], calendar: str) -> NDArray[np.int64]:
    """Inverse of `_split`."""
    if calendar == DAYS:
        return parts[0]
    if calendar == WEEKS:
        return parts[0] * 7 + parts[1] - MONDAY
    months = parts[0] + (calendar == MONTH_ENDS)
    days: NDArray[np.int64] = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return days - (calendar == MONTH_ENDS)


def _whole_inside(part: AtomCodec) -> NDArray[np.int64]:
    """The whole numbers that the ids of a part stand for, ascending."""
    lows, highs = np.ceil(part.lows).astype(np.int64), np.floor(part.highs).astype(np.int64)
    if part.protected and (highs - lows).sum() <= MOST_DAYS:
        return np.concatenate([np.arange(a, b + 1) for a, b in zip(lows, highs, strict=True)])
    return lows


def _varies(part: AtomCodec) -> bool:
    return len(part.lows) > 1
