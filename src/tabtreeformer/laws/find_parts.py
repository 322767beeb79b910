"""Finds columns that are parts of times, in the time's own clock, in another time zone, or shifted by hours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.schema import BOOLEAN, CATEGORICAL, DATETIME
from .base import Frame, Mask, Name
from .bits import label_length
from .clock import CLOCK
from .find_clock import clock_columns
from .parts import CLOCK_PARTS, PARTS, NamedPart, Part, Source
from .search import Candidate, Search

ZONES = (
    *("America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles", "America/Sao_Paulo"),
    *("Europe/London", "Europe/Berlin", "Europe/Helsinki", "Europe/Istanbul", "Africa/Cairo"),
    *("Asia/Kolkata", "Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney", "Pacific/Auckland"),
)
"""Tried if the parts of a time do not match its own clock."""
OFFSETS = (*range(-12, 0), *range(1, 15), 5.5, 9.5)
PROBES = 300
MIN_PROBE, MIN_SHARE = 0.97, 0.97
"""Minimum share of rows in which a part equals the target: of the probe rows, and of all rows read."""
MIN_ROWS = 50
MAX_LABELS = 60
NAMED = ("month", "weekday (Monday is 0)", "quarter", "weekend", "hour", "year", "month number", "day number", "week")
"""Parts that can have a name."""
MIN_YEARS, FIRST, LAST = 3, 1500, 2200
"""Minimum span of times in years for finding a nearby year, and the range of numbers that can be years."""
MIN_SAVED = 1.0
"""Minimum bits per row saved by writing a year as a difference."""
LONG = ("days since 1970", "hours since 1970", "seconds since 1970", "milliseconds since 1970", "day number")


def find(search: Search) -> Sequence[Candidate]:
    """Find numbers that are parts of times."""
    return [candidate for candidate in search.once("parts", _all) if isinstance(candidate.law, Part)]


def find_named(search: Search) -> Sequence[Candidate]:
    """Find labels that name parts of times."""
    return [candidate for candidate in search.once("parts", _all) if isinstance(candidate.law, NamedPart)]


def _all(search: Search) -> list[Candidate]:
    return list(_each(search))


def _each(search: Search) -> Iterator[Candidate]:
    schema = search.frame.schema
    stamps = [c.name for c in schema.columns if c.kind == DATETIME]
    clocks = [name for name, notation in clock_columns(search).items() if notation == CLOCK]
    if not stamps and not clocks:
        return
    seen = search.seen
    probe = seen.take(np.linspace(0, seen.n_rows - 1, min(PROBES, seen.n_rows)).astype(np.int64))
    numbers = {n: probe.floats(n) for n in search.numbers.names}
    for clock in clocks:
        for part in CLOCK_PARTS:
            yield from _matches(Source(name=clock), (part,), numbers, probe, search)
    for stamp in stamps:
        yield from _days(stamp, stamps, search)
        yield from _of(stamp, numbers, probe, search)
        yield from _seasons(stamp, search)


def _of(stamp: Name, numbers: dict[Name, NDArray[np.float64]], probe: Frame, search: Search) -> Iterator[Candidate]:
    """Parts of one time: in its own clock, and in the first other clock that explains further columns exactly."""
    left, named = dict(numbers), [Source(name=stamp)]
    for source in _shifts(stamp):
        found = list(_matches(source, tuple(PARTS), left, probe, search))
        yield from found
        exact = {c.law.writes[0] for c in found if c.exact}
        left = {name: values for name, values in left.items() if name not in exact}
        if exact and (source.zone or source.hours):
            named.append(source)
            break
    for source in named:
        yield from _named(source, search)


def _shifts(stamp: Name) -> Iterator[Source]:
    yield Source(name=stamp)
    yield from (Source(name=stamp, zone=zone) for zone in ZONES)
    yield from (Source(name=stamp, hours=hours) for hours in OFFSETS)


def _matches(
    source: Source,
    parts: Sequence[str],
    numbers: dict[Name, NDArray[np.float64]],
    probe: Frame,
    search: Search,
) -> Iterator[Candidate]:
    """Numeric columns that are a part of the time."""
    left = dict(_whole_numbers(source.name, numbers, probe))
    stamps = source.stamps(probe).array if left else None  # without an index around each part
    for part in parts if left else ():
        if (source.zone or source.hours) and part in ("minute", "second", *LONG, "weekend", "quarter"):
            # minutes and seconds are the same in all zones, and the other parts are too coarse to tell zones apart
            continue
        values = PARTS[part](stamps)
        for name, (there, own) in list(left.items()):
            if np.mean(values[there] == own) >= MIN_PROBE:
                law = Part(target=name, part=part, source=source.name, zone=source.zone, hours=source.hours)
                candidate = _checked(law, search)
                if candidate is not None:
                    del left[name]
                    yield candidate


def _whole_numbers(
    stamp: Name, numbers: dict[Name, NDArray[np.float64]], probe: Frame
) -> Iterator[tuple[Name, tuple[Mask, NDArray[np.float64]]]]:
    """Columns that may be a part of a time: the rows in which both are there, and their numbers."""
    gaps = probe.gaps(stamp)
    for name, own in numbers.items():
        there = ~np.isnan(own) & ~gaps
        if name == stamp or there.sum() < MIN_ROWS or np.ptp(own[there]) == 0:
            continue
        if np.mean(own[there] % 1 == 0) >= MIN_PROBE:
            yield name, (there, own[there])


def _checked(law: Part, search: Search) -> Candidate | None:
    frame = search.frame
    learned = law.learn(frame, search.floor)
    applies, kept = learned.holds(frame)
    share = float(kept.sum() / max(applies.sum(), 1))
    target = frame.floats(law.target)[kept]
    if share < MIN_SHARE or not len(target):
        return None
    off_mode = len(target) - int(np.unique(target, return_counts=True)[1].max())
    if off_mode < max(20, search.floor):
        return None
    bits = search.bits.get(law.target, 10.0)
    return Candidate(law, bits * share, bool(kept[applies].all()), share)


def _seasons(stamp: Name, search: Search) -> Iterator[Candidate]:
    """Years that are close to the year of a time but not equal: seasons, school years, model years."""
    frame, numbers = search.frame, search.numbers
    years = np.where(frame.gaps(stamp), np.nan, Source(name=stamp).part(frame, "year"))
    if np.nanmax(years, initial=0) - np.nanmin(years, initial=9999) < MIN_YEARS:
        return
    for place, name in enumerate(numbers.names):
        own = numbers.matrix[:, place]
        there = ~np.isnan(own) & ~np.isnan(years)
        if numbers.decimals[place] != 0 or there.sum() < MIN_ROWS or not FIRST <= np.median(own[there]) <= LAST:
            continue
        rests = own - years
        saved = (search.bits[name] - search.length(rests, 1.0)) * float(there.mean())
        share = float(np.mean(rests[there] == 0))
        if saved >= MIN_SAVED and share < MIN_SHARE:
            yield Candidate(Part(target=name, part="year", source=stamp, exact=False), saved, False, share)


def _days(stamp: Name, stamps: Sequence[Name], search: Search) -> Iterator[Candidate]:
    """Other columns that are the date of this time."""
    schema = search.frame.schema
    for other in stamps:
        if other != stamp and str(schema.column(other).zone) == str(schema.column(stamp).zone):
            law = Part(target=other, part="date", source=stamp)
            learned = law.learn(search.frame, search.floor)
            applies, kept = learned.holds(search.frame)
            own = search.frame.values(other)
            if applies.sum() >= MIN_ROWS and kept.sum() >= MIN_SHARE * applies.sum() and len(np.unique(own)) >= 5:
                same = search.frame.values(stamp)[applies] == own[applies]
                bits = 8.0 if not same.all() else 7.9
                yield Candidate(law, bits, bool(kept[applies].all()), float(kept.sum() / applies.sum()))


def _named(source: Source, search: Search) -> Iterator[Candidate]:
    """Labels that are a function of a part of the time."""
    frame, stamp = search.frame, source.name
    known: dict[str, NDArray[np.int64]] = {}
    for column in frame.schema.columns:
        if column.kind not in (CATEGORICAL, BOOLEAN):
            continue
        there = frame.present(column.name, stamp)
        gaps_agree = bool((frame.gaps(column.name) == frame.gaps(stamp)).all())
        labels = frame.labels(column.name)[there]
        codes, distinct = pd.factorize(labels)
        if not gaps_agree or not 2 <= len(distinct) <= MAX_LABELS or there.sum() < MIN_ROWS:
            continue
        rows = np.flatnonzero(there)
        for part in NAMED:
            if part not in known:
                known[part] = source.part(frame, part)
            if _is_function(known[part][rows], codes, len(distinct)):
                bits = label_length(codes[: len(codes) // 2], codes[len(codes) // 2 :])
                law = NamedPart(target=column.name, part=part, source=stamp, zone=source.zone, hours=source.hours)
                yield Candidate(law, bits, exact=True, share=1.0)
                break


def _is_function(parts: NDArray[np.int64], codes: NDArray[np.int64], n_labels: int) -> bool:
    """Whether each value of the part has one label, with too many rows for that to be chance."""
    own, values = pd.factorize(parts)
    if not 2 <= len(values) <= MAX_LABELS or n_labels > len(values) or len(values) * 5 > len(parts):
        return False
    first = np.zeros(len(values), dtype=np.int64)
    first[own[::-1]] = codes[::-1]
    if (first[own] != codes).any():
        return False
    common = np.bincount(codes).argmax()
    return int((codes != common).sum()) >= 50
