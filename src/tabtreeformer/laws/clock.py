"""Clock times written as one number (1435 is 14:35), and differences between them that wrap around midnight.

dep_time is a clock time                          minutes since midnight are learned instead of the number
dep_time = sched_dep_time + delay minutes         wraps around midnight; with `~` the residual is learned
delay = minutes from sched_dep_time to dep_time   the time from one clock time to another
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..data.schema import DATETIME, NUMERIC, Column, Schema
from ..errors import SchemaError
from .base import Cells, Frame, Mask, Name, OneTarget, fresh, replaced
from .computed import WHOLE, Computed, Values
from .grid import to_whole
from .linear import PER_SECOND
from .words import column_name, different, known, quoted

DAY = 1440
"""Minutes."""
NOTATIONS = {"a clock time": (60, 0), "a clock time with seconds": (60, 0), "a month number": (12, 1)}
"""Formats of such numbers: 1435, 143507 (hours, minutes, seconds) or 202412 (year and month)."""
CLOCK, SECONDS, MONTH = NOTATIONS

Self = TypeVar("Self", bound="ClockNumber")


def to_minutes(numbers: Values) -> Values:
    """1435 → 875; 2400 → 1440."""
    whole = to_whole(numbers)
    return np.asarray(whole // 100 * 60 + whole % 100)


def from_minutes(minutes: Values, *, midnight: int = 0) -> Values:
    """875 → 1435; midnight is written as 0 or 2400."""
    whole = to_whole(minutes)
    return np.where((whole == 0) & (midnight != 0), midnight, whole // 60 * 100 + whole % 60)


def on_clock(times: NDArray[np.float64], least: NDArray[np.float64], *, strict: bool) -> NDArray[np.float64]:
    """Clock times of numbers: minutes beyond 59 are taken back, but not to or below what a time must stay above."""
    over = times % 100 >= 60
    hour = times - times % 100
    nearest = np.where(hour + 59 > least, hour + 59, hour + 100) if strict else least
    return np.where(over, np.where(times - 40 > least, times - 40, nearest), times)


def are_clock_times(numbers: NDArray[np.float64], notation: str = CLOCK) -> bool:
    """Whether all numbers are valid clock times, with too many distinct values for that to be chance."""
    if not len(numbers) or (numbers != np.rint(numbers)).any() or numbers.min() < 0 or numbers.max() > 1e9:
        return False
    distinct = np.unique(numbers).astype(np.int64)
    last, low = NOTATIONS[notation]
    pairs = distinct % 100
    if notation == SECONDS and ((distinct // 100 % 100).max() >= 60 or not 10_000 <= distinct.max() <= 240_000):
        return False
    if notation == CLOCK and (distinct.max() > 2400 or distinct.max() < 1000):
        return False
    if notation == MONTH and not (distinct.min() >= 190_000 and distinct.max() <= 210_012):
        return False
    if pairs.max() >= last + low or pairs.min() < low:
        return False
    # Share of numbers with such last digits by chance; the values must also spread over the hours.
    nats = -len(distinct) * np.log(last / 100)
    hours = len(np.unique(distinct // 100))
    return bool(nats >= 15 and hours >= 3 and (notation != CLOCK or len(np.unique(pairs)) >= 3))


@dataclass(frozen=True, kw_only=True)
class ClockNumber(OneTarget):
    """A number in hours and minutes (or years and months) that is learned as one count."""

    form: ClassVar[str] = "clock number"
    target: Name
    notation: str = CLOCK
    counts: Name = ""
    """The column of counts that replaces it."""
    support: int = 0
    exceptions: int = 0

    @property
    def text(self) -> str:
        return f"{quoted(self.target)} is {self.notation}"

    @property
    def reads(self) -> tuple[Name, ...]:
        return ()

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Rows with a value, and rows with a valid clock time."""
        applies = frame.present(self.target)
        values = frame.floats(self.target)
        again = self._number(self._count(np.where(applies, values, 0)))
        return applies, applies & (again == values)

    def learn(self: Self, frame: Frame, floor: int) -> Self:
        """Count the rows that keep it."""
        name = fresh(f"{self.target} in {'months' if self.notation == MONTH else 'minutes'}", frame.schema)
        if self.notation == SECONDS:
            name = fresh(f"{self.target} in seconds", frame.schema)
        return replace(self, counts=name).counted(frame)

    def _count(self, numbers: Values) -> Values:
        whole = to_whole(np.asarray(numbers))
        if self.notation == CLOCK:
            return to_minutes(whole)
        if self.notation == MONTH:
            return np.asarray(whole // 100 * 12 + whole % 100 - 1)
        return np.asarray(whole // 10_000 * 3600 + whole // 100 % 100 * 60 + whole % 100)

    def _number(self, counts: Values) -> Values:
        whole = np.maximum(to_whole(np.asarray(counts)), 0)
        if self.notation == CLOCK:
            return from_minutes(np.minimum(whole, DAY))
        if self.notation == MONTH:
            return np.asarray(whole // 12 * 100 + whole % 12 + 1)
        whole = np.minimum(whole, DAY * 60)
        return np.asarray(whole // 3600 * 10_000 + whole // 60 % 60 * 100 + whole % 60)

    def reshape(self, schema: Schema) -> Schema:
        """Counts instead of the number."""
        why = f"{self.target!r} is {self.notation}"
        return replaced(schema, self.target, [Column(self.counts, NUMERIC, WHOLE, why=why)])

    def express(self, frame: Frame) -> Frame:
        """Number → count."""
        cells = frame.cells(self.target)
        counts = self._count(np.where(cells.gaps, 0, cells.values))
        return frame.changed(self.reshape(frame.schema), {self.counts: Cells(counts, cells.gaps)})

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Count → number."""
        cells = frame.cells(self.counts)
        numbers = self._number(np.where(cells.gaps, 0, cells.values))
        return frame.changed(schema, {self.target: Cells(numbers, cells.gaps)})

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        own = {"target": self.target, "notation": self.notation, "counts": self.counts}
        return {**own, "support": self.support, "exceptions": self.exceptions}

    @classmethod
    def from_json(cls: type[Self], data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        if data["notation"] not in NOTATIONS:
            raise ValueError(f"unknown notation {data['notation']!r}")
        return cls(**data)


@dataclass(frozen=True, kw_only=True)
class ClockSum(Computed):
    """A clock time that is another one plus or minus minutes, modulo one day."""

    form: ClassVar[str] = "clock sum"
    start: Name = ""
    """A clock time written as a number, or a timestamp."""
    minutes: tuple[tuple[int, Name], ...] = ()
    """Sign and column."""
    midnight: int = 0
    """How the target writes midnight: 0 or 2400."""

    @property
    def reads(self) -> tuple[Name, ...]:
        return (self.start, *(name for _, name in self.minutes))

    @property
    def formula(self) -> str:
        words = "".join(f" {'+' if sign > 0 else '-'} {quoted(name)} minutes" for sign, name in self.minutes)
        return f"clock of {quoted(self.start)}{words}"

    @property
    def cycle(self) -> int | None:
        return DAY

    def expected(self, frame: Frame) -> Values:
        """Minutes since midnight."""
        total = clock_minutes(frame, self.start)
        for sign, name in self.minutes:
            total = total + sign * to_whole(np.where(frame.gaps(name), 0, frame.values(name)))
        return total

    def levels(self, values: Values) -> Values:
        return to_minutes(values)

    def unlevelled(self, levels: Values) -> Values:
        return from_minutes(levels, midnight=self.midnight)

    def learn(self, frame: Frame, floor: int) -> ClockSum:
        """Determine how midnight is written, then learn like any computed column."""
        values = frame.floats(self.target)
        late = bool((values == 2400).any()) and not bool((values == 0).any())
        law = replace(self, midnight=2400 if late else 0, whole=True)
        return super(ClockSum, law).learn(frame, floor)

    def _is_whole(self, values: Values) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class ClockGap(Computed):
    """The minutes from one clock time to another, modulo one day."""

    form: ClassVar[str] = "clock gap"
    start: Name = ""
    end: Name = ""
    first: int = -DAY // 2
    """The smallest value; all others are less than a day above it."""

    @property
    def reads(self) -> tuple[Name, ...]:
        return (self.start, self.end)

    @property
    def formula(self) -> str:
        return f"minutes from {quoted(self.start)} to {quoted(self.end)} around the clock"

    def expected(self, frame: Frame) -> Values:
        """Minutes."""
        gap = clock_minutes(frame, self.end) - clock_minutes(frame, self.start)
        return (gap - self.first) % DAY + self.first

    def learn(self, frame: Frame, floor: int) -> ClockGap:
        """Determine the smallest value, then learn like any computed column."""
        values = frame.floats(self.target)
        low = int(np.nanmin(values)) if (~np.isnan(values)).any() else 0
        # Rounded to a full hour, so that the smallest value itself is not stored.
        return super(ClockGap, replace(self, first=max(low // 60 * 60, -DAY))).learn(frame, floor)


def clock_minutes(frame: Frame, name: Name) -> Values:
    """Minutes since midnight of clock numbers, or of timestamps; 0 where missing."""
    column, gaps = frame.schema.column(name), frame.gaps(name)
    values = np.where(gaps, 0, frame.values(name))
    if column.kind == DATETIME:
        per_minute = 60 * PER_SECOND[column.unit]
        return np.asarray(values // per_minute % DAY)
    return to_minutes(values)


_IS = re.compile(rf"(.+?) is ({'|'.join(NOTATIONS)})")
_GAP = re.compile(r"(.+?) ([=~]) minutes from (.+?) to (.+?) around the clock")
_SUM = re.compile(r"(.+?) ([=~]) clock of (.+)")


def parse_number(text: str, schema: Schema) -> ClockNumber | None:
    """Read `dep_time is a clock time`."""
    found = _IS.fullmatch(text.strip())
    if found is None:
        return None
    return ClockNumber(target=_numeric(found[1], text, schema), notation=found[2])


def parse_gap(text: str, schema: Schema) -> ClockGap | None:
    """Read `delay = minutes from a to b around the clock`."""
    found = _GAP.fullmatch(text.strip())
    if found is None:
        return None
    target, start, end = (column_name(found[k], text, schema) for k in (1, 3, 4))
    different((target, start, end), text)
    return ClockGap(target=target, exact=found[2] == "=", start=start, end=end)


def parse_sum(text: str, schema: Schema) -> ClockSum | None:
    """Read `dep_time = clock of sched_dep_time + delay minutes`."""
    found = _SUM.fullmatch(text.strip())
    if found is None:
        return None
    first, *others = re.split(r" ([+-]) (?=(?:[^`]*`[^`]*`)*[^`]*$)", found[3])
    minutes = []
    for sign, words in zip(others[::2], others[1::2], strict=True):
        if not words.endswith(" minutes"):
            raise SchemaError(f"constraint {text!r} cannot be read; write it as 'b = clock of a + delay minutes'")
        minutes.append((1 if sign == "+" else -1, _numeric(words.removesuffix(" minutes"), text, schema)))
    target, start = _numeric(found[1], text, schema), column_name(first, text, schema)
    law = ClockSum(target=target, exact=found[2] == "=", start=start, minutes=tuple(minutes))
    different((target, *law.reads), text)
    return law


def _numeric(name: str, text: str, schema: Schema) -> Name:
    own = column_name(name, text, schema)
    if schema.column(own).kind != NUMERIC or known(name, schema) is None:
        raise SchemaError(f"constraint {text!r}: column {own!r} is {schema.column(own).kind}, not numeric")
    return own
