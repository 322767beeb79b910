"""Times from noisy histograms: the time step, the calendar, and the ids of days, weeks and times of day."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...tokens.codecs.atoms import AtomCodec
from ...tokens.codecs.ticks import UNITS
from ...tokens.codecs.times import DAYS, MONTH_ENDS, MONTH_STARTS, WEEKS, TimeCodec, split_days
from .histograms import Histograms, Secret
from .noise import Floats
from .numbers import first_clear, learn_number

N_TIME_HISTOGRAMS = 5
"""Time step, calendar, day (or week and weekday), and time of day; years need another one."""
YEARS = range(1678, 2262)
"""Years that nanosecond timestamps can represent."""
FEW_DAYS = 60
CHAIN = (86_400, 3_600, 900, 300, 60, 1)
"""Time steps, each a multiple of the next, so that a time counts once: at the largest step that divides it."""

Ints = NDArray[np.int64]


def steps_of(unit: str) -> tuple[int, ...]:
    """The chain of steps in counts of a unit, down to one."""
    second = UNITS[unit]
    below = [second // 1000**k for k in range(1, 4) if second // 1000**k >= 1]
    return tuple(step * second for step in CHAIN) + tuple(below)


def find_step(counts: Secret[np.int64], steps: Sequence[int], make: Histograms) -> int:
    """The largest step that divides nearly all counts; one histogram."""

    def needs(numbers: Ints) -> Ints:
        found = np.full(len(numbers), len(steps) - 1)
        for place in range(len(steps) - 1, -1, -1):
            found[numbers % steps[place] == 0] = place
        return found

    noisy, _ = make.count(counts.map(needs), len(steps))
    return steps[first_clear(noisy, make)]


def learn_times(
    counts: Secret[np.int64], unit: str, ends: tuple[float, float] | None, most: int, make: Histograms
) -> tuple[TimeCodec, list[Floats], float]:
    """Learn a column of times; returns the codec, the noisy rows of its ids by slot, and of missing values."""
    day = 86_400 * UNITS[unit]
    days = counts.map(lambda numbers: numbers // day)
    first, last = find_years(days, make) if ends is None else (int(ends[0]) // day, int(ends[1]) // day)
    step = find_step(counts.map(lambda numbers: numbers % day), steps_of(unit), make)
    calendar = _calendar(days, make) if last - first >= FEW_DAYS else DAYS
    span = split_days(np.array([first, last], dtype=np.int64), calendar)
    reaches = [(float(span[0][0]), float(span[0][1])), *[(0.0, 6.0)] * (len(span) - 1), (0.0, float(day // step - 1))]

    def part(place: int) -> Secret[np.float64]:
        """The day, the week or the weekday, followed by the time of day."""
        if place == len(span):
            return counts.map(lambda numbers: (numbers % day // step).astype(np.float64))
        return days.map(lambda numbers: split_days(np.clip(numbers, first, last), calendar)[place].astype(np.float64))

    parts: list[AtomCodec] = []
    slots: list[Floats] = []
    missing: float | None = None
    for place, reach in enumerate(reaches):
        learned = learn_number(part(place), missing, reach, 0, True, most, make)
        missing = learned.missing
        parts.append(learned.codec)
        slots += [learned.mass] if len(learned.mass) > 1 else []
    codec = TimeCodec(day, step, calendar, tuple(parts), first * day, last * day + day - step)
    return codec, slots, missing or 0.0


def find_years(days: Secret[np.int64], make: Histograms) -> tuple[int, int]:
    """First and last day of the years with more rows than noise; one histogram."""

    def cell(numbers: Ints) -> Ints:
        years = numbers.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970
        return np.clip(years, YEARS[0], YEARS[-1]) - YEARS[0]

    counts, _ = make.count(days.map(cell), len(YEARS))
    seen = np.flatnonzero(counts > make.clear(len(counts)))
    seen = seen if len(seen) else np.array([np.argmax(counts)])
    first, last = YEARS[int(seen[0])], YEARS[int(seen[-1])] + 1
    start, stop = (np.array([year - 1970]).astype("datetime64[Y]").astype("datetime64[D]") for year in (first, last))
    return int(start.astype(np.int64)[0]), int(stop.astype(np.int64)[0]) - 1


def _calendar(days: Secret[np.int64], make: Histograms) -> str:
    """First or last days of months if nearly all are, otherwise weeks; one histogram."""

    def cell(numbers: Ints) -> Ints:
        dates = numbers.astype("datetime64[D]")
        starts = dates == dates.astype("datetime64[M]").astype("datetime64[D]")
        ends = (dates + 1) == (dates + 1).astype("datetime64[M]").astype("datetime64[D]")
        return np.where(starts, 0, np.where(ends, 1, 2)).astype(np.int64)

    counts, _ = make.count(days.map(cell), 3)
    if counts[2] > max(make.clear(3), 0.01 * counts.sum()):
        return WEEKS
    if min(counts[:2]) > max(make.clear(3), 0.01 * counts.sum()):
        return WEEKS
    return MONTH_STARTS if counts[0] > counts[1] else MONTH_ENDS
