"""Durations between times: `end = start + duration minutes`, `duration = minutes from start to end`.

If the duration is exact, the end is computed; if it is rounded, the duration is computed from both times. Ages are
whole calendar years (`age = years from born to seen`) or days divided by 365.25.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.schema import DATETIME, NUMERIC, TIMEDELTA, Schema
from ..errors import SchemaError
from .base import Frame, Name
from .computed import Values
from .linear import PER_SECOND, UNITS, Linear
from .product import DOWN, HALF_UP, NEAREST, UP, Rounded, rounded
from .search import Candidate, Search
from .words import column_name, different, quoted

MIN_SHARE, MIN_ROWS, PROBES = 0.95, 50, 200
MIN_VARIED = 20
"""Minimum rows without the most common duration."""
JULIAN = "years of 365.25 days"
COUNTS = {JULIAN: 365.25 * 86_400, "years": 0, "months": 0, **UNITS}
"""Units in seconds; whole years and months follow the calendar and have no fixed length."""


@dataclass(frozen=True, kw_only=True)
class Elapsed(Rounded):
    """The time from one moment to another in a unit, rounded like the target."""

    form: ClassVar[str] = "elapsed"
    start: Name = ""
    end: Name = ""
    count: str = "minutes"
    """The unit."""
    rounding: str = NEAREST

    @property
    def reads(self) -> tuple[Name, ...]:
        return (self.start, self.end)

    @property
    def formula(self) -> str:
        way = f" rounded {self.rounding}" if self.rounding in (DOWN, UP) else ""
        return f"{self.count} from {quoted(self.start)} to {quoted(self.end)}{way}"

    def exact_results(self, frame: Frame) -> Values:
        """The unrounded duration; 0 where a time is missing."""
        there = frame.present(self.start, self.end)
        if not COUNTS[self.count]:
            return np.where(there, _calendar(frame, self.start, self.end, self.count), 0)
        gap = np.where(there, frame.values(self.end) - frame.values(self.start), 0).astype(np.float64)
        return np.asarray(gap / (COUNTS[self.count] * PER_SECOND[frame.schema.column(self.start).unit]))


def _calendar(frame: Frame, start: Name, end: Name, count: str) -> Values:
    """Completed years or months, as for ages; arbitrary where a time is missing."""
    times = []
    for name in (start, end):
        counts = np.where(frame.gaps(name), 0, frame.values(name)).astype(np.int64)
        times.append(pd.DatetimeIndex(counts.view(f"datetime64[{frame.schema.column(name).unit}]")))
    first, last = times
    months = (last.year - first.year) * 12 + last.month - first.month - (last.day < first.day)
    return np.asarray(months // 12 if count == "years" else months, dtype=np.int64)


def find(search: Search) -> Sequence[Candidate]:
    """Find ends that follow from start and duration, and durations that follow from both."""
    schema = search.frame.schema
    stamps = [c for c in schema.columns if c.kind == DATETIME]
    found: list[Candidate] = []
    for start, end in permutations(stamps, 2):
        if (start.unit, str(start.zone)) == (end.unit, str(end.zone)):
            found.extend(_between(start.name, end.name, search))
    return found


def _between(start: Name, end: Name, search: Search) -> Iterator[Candidate]:
    frame = search.frame
    unit = PER_SECOND[frame.schema.column(start).unit]
    there = np.flatnonzero(frame.present(start, end))
    if len(there) < MIN_ROWS:
        return
    gap = np.full(frame.n_rows, np.nan)
    gap[there] = (frame.values(end)[there] - frame.values(start)[there]).astype(np.float64)
    if not _varies(gap[there]):
        return
    for column in frame.schema.columns:
        if column.kind == TIMEDELTA and column.unit == frame.schema.column(start).unit:
            yield from _spans(start, end, column.name, gap, search)
    numbers = search.numbers
    for i in np.flatnonzero(numbers.distinct >= 2):
        for count, seconds in COUNTS.items():
            if seconds:
                yield from _counted(start, end, int(i), (count, seconds * unit), gap, search)
        yield from _passed(start, end, int(i), search)


def _passed(start: Name, end: Name, place: int, search: Search) -> Iterator[Candidate]:
    """Completed calendar years or months."""
    own, name = search.numbers.matrix[:, place], search.numbers.names[place]
    known = np.flatnonzero(search.frame.present(start, end) & ~np.isnan(own))
    if search.numbers.decimals[place] != 0 or len(known) < MIN_ROWS or not _varies(own[known]):
        return
    probe = search.frame.take(known[np.linspace(0, len(known) - 1, min(PROBES, len(known))).astype(np.int64)])
    for count in ("years", "months"):
        if np.mean(_calendar(probe, start, end, count) == probe.floats(name)) < MIN_SHARE:
            continue
        share = float(np.mean(_calendar(search.frame, start, end, count)[known] == own[known]))
        if share >= MIN_SHARE:
            law = Elapsed(target=name, start=start, end=end, count=count)
            yield Candidate(law, search.bits[name] * share, share == 1.0, share)


def _varies(durations: NDArray[np.float64]) -> bool:
    """Whether durations vary: between any two days of one month, the number of years is 0."""
    return bool(np.sort(np.unique(durations, return_counts=True)[1])[:-1].sum() >= MIN_VARIED)


def _spans(start: Name, end: Name, span: Name, gap: NDArray[np.float64], search: Search) -> Iterator[Candidate]:
    """Durations with a timedelta dtype."""
    own = search.frame.floats(span)
    known = ~np.isnan(gap) & ~np.isnan(own)
    share = float(np.mean(gap[known] == own[known])) if known.sum() >= MIN_ROWS else 0.0
    if share >= MIN_SHARE:
        law = Linear(target=end, exact=share == 1.0, terms=((1, start), (1, span)))
        yield Candidate(law, 15.0 * share, share == 1.0, share)


def _counted(
    start: Name, end: Name, place: int, unit: tuple[str, float], gap: NDArray[np.float64], search: Search
) -> Iterator[Candidate]:
    """Durations stored as plain numbers."""
    numbers = search.numbers
    name, own, decimals = numbers.names[place], numbers.matrix[:, place], numbers.decimals[place]
    known = np.flatnonzero(~np.isnan(gap) & ~np.isnan(own))
    if len(known) < MIN_ROWS:
        return
    if not _varies(own[known]):
        return
    probe = known[np.linspace(0, len(known) - 1, min(PROBES, len(known))).astype(np.int64)]
    step = numbers.step(place)
    if np.mean(np.abs(gap[probe] / unit[1] - own[probe]) <= 1.001 * step + 1e-9 * np.abs(own[probe])) < MIN_SHARE:
        return
    back = float(np.mean(np.rint(own[known] * unit[1]) == gap[known]))
    bits = 20.0
    if back >= MIN_SHARE and decimals is not None and unit[0] in UNITS:
        law = Linear(target=end, exact=back == 1.0, terms=((1, start), (1, name)), units=(None, unit[0]))
        yield Candidate(law, bits * back, back == 1.0, back)
    value = gap[known] / unit[1]
    shares = {
        way: float(np.mean((value if decimals is None else rounded(value, decimals, way)) == own[known]))
        for way in (NEAREST, HALF_UP, DOWN, UP)
    }
    way = max(shares, key=lambda w: shares[w])
    if shares[way] >= MIN_SHARE:
        law_of_count = Elapsed(target=name, start=start, end=end, count=unit[0], rounding=way)
        exact = shares[way] == 1.0
        yield Candidate(law_of_count, search.bits[name] * shares[way], exact, shares[way])


_TEXT = re.compile(rf"(.+?) ([=~]) ({'|'.join(COUNTS)}) from (.+?) to (.+?)(?: rounded (down|up))?")


def parse(text: str, schema: Schema) -> Elapsed | None:
    """Read `duration = minutes from start to end rounded down`."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        return None
    target, start, end = (column_name(found[k], text, schema) for k in (1, 4, 5))
    different((target, start, end), text)
    for name in (start, end):
        if schema.column(name).kind != DATETIME:
            raise SchemaError(f"constraint {text!r}: column {name!r} is {schema.column(name).kind}, not a time")
    if schema.column(target).kind != NUMERIC:
        raise SchemaError(f"constraint {text!r}: column {target!r} is {schema.column(target).kind}, not numeric")
    return Elapsed(
        target=target, exact=found[2] == "=", start=start, end=end, count=found[3], rounding=found[6] or NEAREST
    )
