"""Finds clock times written as numbers, and relations between them modulo one day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from ..data.schema import DATETIME, NUMERIC
from .base import Name
from .bits import BITS_PER_TERM
from .clock import CLOCK, DAY, MONTH, SECONDS, ClockGap, ClockNumber, ClockSum, are_clock_times, clock_minutes
from .search import Candidate, Search

Floats = NDArray[np.float64]

MIN_SHARE = 0.95
MIN_ROWS = 50
MIN_SAVED = 1.0
"""Minimum bits that a difference of clock times saves."""
MIN_THERE = 0.98
"""Minimum share of the target's rows in which a near law applies."""
LAST = 0.01
"""Bits of a law that only describes how a number is written: every other law for the column comes first."""


def clock_columns(search: Search) -> dict[Name, str]:
    """Numeric columns that are clock times or month numbers, with their notation."""
    return search.once("clocks", _clock_columns)


def _clock_columns(search: Search) -> dict[Name, str]:
    found: dict[Name, str] = {}
    numbers = search.numbers
    for i, name in enumerate(numbers.names):
        if numbers.decimals[i] == 0 and numbers.distinct[i] >= 10:
            own = numbers.matrix[:, i]
            there = own[~np.isnan(own)]
            notation = next((n for n in (CLOCK, SECONDS, MONTH) if are_clock_times(there, n)), None)
            if notation is not None and not {0.0, 2400.0} <= set(np.unique(there).tolist()):
                found[name] = notation
    return found


def find_numbers(search: Search) -> Sequence[Candidate]:
    """Find clock times that no other law explains."""
    return [
        Candidate(ClockNumber(target=name, notation=notation), LAST, exact=False)
        for name, notation in clock_columns(search).items()
    ]


def find_sums(search: Search) -> Sequence[Candidate]:
    """Find clock times that follow from others, and minutes between them."""
    clocks = [name for name, notation in clock_columns(search).items() if notation == CLOCK]
    stamps = [c.name for c in search.frame.schema.columns if c.kind == DATETIME]
    if not clocks:
        return []
    minutes = {n: _minutes(search, n) for n in (*clocks, *stamps)}
    counts = {n: search.frame.floats(n) for n in _counts(search, set(clocks))}
    found: list[Candidate] = []
    for start, end in permutations(minutes, 2):
        if end in clocks:
            found.extend(_between(start, end, minutes, counts, search))
    return sorted(found, key=lambda c: -c.bits)


def _minutes(search: Search, name: Name) -> Floats:
    return np.where(search.frame.gaps(name), np.nan, clock_minutes(search.frame, name).astype(np.float64))


def _counts(search: Search, clocks: set[Name]) -> Iterator[Name]:
    """Numeric columns that may count minutes."""
    numbers = search.numbers
    for i, name in enumerate(numbers.names):
        many = name not in clocks and numbers.decimals[i] == 0 and numbers.distinct[i] >= 10
        if many and np.nanmax(np.abs(numbers.matrix[:, i])) <= 4 * DAY:
            yield name


def _between(
    start: Name, end: Name, minutes: dict[Name, Floats], counts: dict[Name, Floats], search: Search
) -> Iterator[Candidate]:
    """Laws for the time from one clock time to another."""
    gap = (minutes[end] - minutes[start]) % DAY
    there = ~np.isnan(gap)
    if there.sum() < MIN_ROWS:
        return
    bits, plain = search.length(minutes[end], 1.0), search.length(_centred(gap), 1.0)
    cost = BITS_PER_TERM * 3 / len(search.rows[1])
    best: tuple[float, Name] | None = None
    for name, count in counts.items():
        left = (gap - count) % DAY
        known = ~np.isnan(left)
        if known.sum() < MIN_ROWS or known.sum() < 0.5 * there.sum():
            continue
        share = float(np.mean(left[known] == 0))
        if share >= MIN_SHARE:
            yield from _exact(start, end, name, share, (bits, search.length(count, 1.0)), search)
            return
        if known.sum() < MIN_THERE * (~np.isnan(minutes[end])).sum():
            continue  # with missing minutes, the residual would be the whole difference
        length = search.length(_centred(left), 1.0)
        if best is None or length < best[0]:
            best = length, name
    if best is not None and best[0] < plain - MIN_SAVED and best[0] < bits - MIN_SAVED:
        law = ClockSum(target=end, exact=False, start=start, minutes=((1, best[1]),))
        yield Candidate(law, bits - best[0] - cost, exact=False)
    if plain < bits - MIN_SAVED and there.sum() >= MIN_THERE * (~np.isnan(minutes[end])).sum():
        yield Candidate(ClockSum(target=end, exact=False, start=start), bits - plain - cost, exact=False)


def _exact(
    start: Name, end: Name, count: Name, share: float, bits: tuple[float, float], search: Search
) -> Iterator[Candidate]:
    """The clock time from the other and the minutes, or the minutes from both."""
    exact = share == 1.0
    weight = 1.0 if exact else share
    kinds = {c.name: c.kind for c in search.frame.schema.columns}
    yield Candidate(ClockSum(target=end, start=start, minutes=((1, count),)), bits[0] * weight, exact, share)
    if kinds[start] == NUMERIC:
        own = search.length(search.frame.floats(start), 1.0)
        law = ClockSum(target=start, start=end, minutes=((-1, count),))
        yield Candidate(law, 0.9 * own * weight, exact, share)
    gap = ClockGap(target=count, start=start, end=end)
    yield Candidate(gap, 0.5 * bits[1] * weight, exact, share)


def _centred(gap: Floats) -> Floats:
    """Minutes of a day that starts in the emptiest hour."""
    there = gap[~np.isnan(gap)]
    counts = np.histogram(there, bins=24, range=(0, DAY))[0]
    first = int(np.argmin(counts)) * 60
    return np.where(np.isnan(gap), np.nan, (gap - first) % DAY + first)
