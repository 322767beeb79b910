"""Parts of times: `month = month of date`, `hour = hour of stamp in Europe/Berlin`, `day = weekday (Monday is 0) of t`.

A time may be in UTC while its parts are local, so time zones and offsets are tried. Parts are computed from the time,
never the time from its parts, which could give a 30th of February.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pandas as pd

from ..data.schema import DATETIME, LABELLED, NUMERIC, Schema
from ..errors import SchemaError
from .base import Cells, DropsTarget, Frame, Mask, Name
from .clock import to_minutes
from .computed import Computed, Values
from .linear import PER_SECOND
from .words import column_name, different, number, quoted

Stamps: TypeAlias = Any
"""A `DatetimeIndex`."""


def _whole(values: Any) -> Values:
    return np.asarray(values, dtype=np.int64)


def _week(stamps: Stamps) -> Values:
    """Weeks of ISO 8601, counted in the year of their Thursday; a tenth of the time that `isocalendar` takes."""
    days = _whole(stamps.as_unit("s").asi8) // 86_400
    thursdays = days - (days + 3) % 7 + 3
    starts = thursdays.view("datetime64[D]").astype("datetime64[Y]").astype("datetime64[D]")
    return np.asarray((thursdays - starts.view(np.int64)) // 7 + 1)


PARTS: Mapping[str, Callable[[Stamps], Values]] = {
    "year": lambda t: _whole(t.year),
    "month": lambda t: _whole(t.month),
    "day": lambda t: _whole(t.day),
    "hour": lambda t: _whole(t.hour),
    "minute": lambda t: _whole(t.minute),
    "second": lambda t: _whole(t.second),
    "quarter": lambda t: _whole(t.quarter),
    "week": lambda t: _week(t),
    "day of the year": lambda t: _whole(t.day_of_year),
    "weekday (Monday is 0)": lambda t: _whole(t.day_of_week),
    "weekday (Monday is 1)": lambda t: _whole(t.day_of_week) + 1,
    "weekday (Sunday is 0)": lambda t: (_whole(t.day_of_week) + 1) % 7,
    "weekday (Sunday is 1)": lambda t: (_whole(t.day_of_week) + 1) % 7 + 1,
    "weekend": lambda t: _whole(t.day_of_week >= 5),
    "minute of the day": lambda t: _whole(t.hour) * 60 + _whole(t.minute),
    "clock number": lambda t: _whole(t.hour) * 100 + _whole(t.minute),
    "month number": lambda t: _whole(t.year) * 100 + _whole(t.month),
    "day number": lambda t: _whole(t.year) * 10_000 + _whole(t.month) * 100 + _whole(t.day),
    "days since 1970": lambda t: _whole(t.as_unit("s").asi8) // 86_400,
    "hours since 1970": lambda t: _whole(t.as_unit("s").asi8) // 3_600,
    "seconds since 1970": lambda t: _whole(t.as_unit("s").asi8),
    "milliseconds since 1970": lambda t: _whole(t.as_unit("ms").asi8),
}
CLOCK_PARTS = ("hour", "minute")
"""Parts of a clock time written as a number."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A time column, with an optional shift, from which parts are taken."""

    name: Name
    zone: str | None = None
    """The time is in UTC, the parts are local to this zone."""
    hours: float = 0
    """… or shifted by this many hours."""

    @property
    def text(self) -> str:
        """The source as written in sentences."""
        shift = f" {'+' if self.hours > 0 else '-'} {number(abs(self.hours))} hours" if self.hours else ""
        return f"{quoted(self.name)}{f' in {self.zone}' if self.zone else shift}"

    def stamps(self, frame: Frame) -> Stamps:
        """The time of each row; 1970 where it is missing."""
        column = frame.schema.column(self.name)
        counts = np.where(frame.gaps(self.name), 0, frame.values(self.name)).astype(np.int64)
        if column.kind == NUMERIC:  # a clock time written as a number
            return pd.DatetimeIndex((to_minutes(counts) * 60).astype("datetime64[s]"))
        room = 2 * 86400 * PER_SECOND[column.unit]  # for a change of the clock at the ends of what 64 bits hold
        inside = counts.clip(-(2**63) + 1 + room, 2**63 - 1 - room)
        shifted = inside + round(self.hours * 3600 * PER_SECOND[column.unit])
        stamps = pd.DatetimeIndex(shifted.view(f"datetime64[{column.unit}]"))
        return stamps if self.zone is None else stamps.tz_localize("UTC").tz_convert(self.zone).tz_localize(None)

    def part(self, frame: Frame, part: str) -> Values:
        """A part of the time of each row."""
        return PARTS[part](self.stamps(frame))


@dataclass(frozen=True, kw_only=True)
class Part(Computed):
    """A number that is part of a time."""

    form: ClassVar[str] = "part"
    part: str = "year"
    source: Name = ""
    zone: str | None = None
    hours: float = 0

    @property
    def reads(self) -> tuple[Name, ...]:
        return (self.source,)

    @property
    def _source(self) -> Source:
        return Source(name=self.source, zone=self.zone, hours=self.hours)

    @property
    def formula(self) -> str:
        return f"{self.part} of {self._source.text}"

    def expected(self, frame: Frame) -> Values:
        """The part; if the target is itself a time, the date in the target's unit."""
        target_unit = _unit(self, frame)
        if self.part == "date":
            return _whole(self._source.stamps(frame).normalize().as_unit(target_unit).asi8)
        return self._source.part(frame, self.part)

    unit: str = "us"
    """Unit of the target if it is a time."""

    def learn(self, frame: Frame, floor: int) -> Part:
        """Store the unit of the target, then learn like any computed column."""
        column = frame.schema.column(self.target)
        law = replace(self, unit=column.unit if column.kind == DATETIME else "us")
        return super(Part, law).learn(frame, floor)


def _unit(law: Part, frame: Frame) -> str:
    if law.target in frame.schema.names and frame.schema.column(law.target).kind == DATETIME:
        return frame.schema.column(law.target).unit
    return law.unit


@dataclass(frozen=True, kw_only=True)
class NamedPart(DropsTarget):
    """A label for a part of a time: Monday, March, Q2, weekend."""

    form: ClassVar[str] = "named part"
    target: Name
    part: str
    source: Name
    zone: str | None = None
    hours: float = 0
    names: tuple[tuple[int, Any], ...] = ()
    """Part and label, each pair of at least `floor` rows."""
    support: int = 0
    exceptions: int = 0

    @property
    def text(self) -> str:
        source = Source(name=self.source, zone=self.zone, hours=self.hours)
        return f"{quoted(self.target)} = name of {self.part} of {source.text}"

    @property
    def reads(self) -> tuple[Name, ...]:
        return (self.source,)

    def _parts(self, frame: Frame) -> Values:
        return Source(name=self.source, zone=self.zone, hours=self.hours).part(frame, self.part)

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Rows in which both are present and the part has a name, and those whose label is that name."""
        labels, parts, known = frame.labels(self.target), self._parts(frame), dict(self.names)
        applies = frame.present(self.target, self.source) & np.isin(parts, list(known))
        same = [known.get(part) == label for part, label in zip(parts.tolist(), labels.tolist(), strict=True)]
        return applies, applies & np.array(same, dtype=bool)

    def learn(self, frame: Frame, floor: int) -> NamedPart:
        """Store the names with enough rows."""
        there = frame.present(self.target, self.source)
        pairs = pd.DataFrame({"part": self._parts(frame)[there], "label": frame.labels(self.target)[there]})
        counts = pairs.value_counts(sort=False)
        names: dict[int, tuple[int, Any]] = {}
        for (part, label), count in counts.items():
            if count >= max(floor, 1) and count > names.get(int(part), (0, None))[0]:
                names[int(part)] = int(count), label
        law = replace(self, names=tuple((part, label) for part, (_, label) in sorted(names.items())))
        return law.counted(frame)

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Look up the name; a part without one gets the name of the nearest part."""
        known = np.array([part for part, _ in self.names])
        labels = np.empty(len(known), dtype=object)
        labels[:] = [label for _, label in self.names]
        nearest = np.abs(self._parts(frame)[:, None] - known).argmin(1)
        return frame.changed(schema, {self.target: Cells(labels[nearest], frame.gaps(self.source))})

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "form"}
        return {**own, "names": [list(pair) for pair in self.names]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> NamedPart:
        """Inverse of `to_json`."""
        if data["part"] not in PARTS:
            raise ValueError(f"unknown part {data['part']!r} of a time")
        return cls(**{**data, "names": tuple((part, label) for part, label in data["names"])})


_WORDS = "|".join(re.escape(part) for part in (*PARTS, "date"))
_SHIFT = r"(?: in ([A-Za-z_]+(?:/[A-Za-z_+\-0-9]+)*)| ([+-]) (\S+) hours)?"
_TEXT = re.compile(rf"(.+?) ([=~]) (name of )?({_WORDS}) of (.+?){_SHIFT}")


def parse(text: str, schema: Schema) -> Part | NamedPart | None:
    """Read `hour = hour of stamp in Europe/Berlin`."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        return None
    target, source = column_name(found[1], text, schema), column_name(found[5], text, schema)
    different((target, source), text)
    if schema.column(source).kind not in (DATETIME, NUMERIC):
        raise SchemaError(f"constraint {text!r}: column {source!r} is {schema.column(source).kind}, not a time")
    hours = 0.0 if found[8] is None else float(found[8]) * (1 if found[7] == "+" else -1)
    shift: dict[str, Any] = {"source": source, "zone": found[6], "hours": hours}
    if found[3] or schema.column(target).kind in LABELLED:
        return NamedPart(target=target, part=found[4], **shift)
    return Part(target=target, exact=found[2] == "=", part=found[4], **shift)


def parse_number(text: str, schema: Schema) -> Part | None:
    """A number that is part of a time."""
    law = parse(text, schema)
    return law if isinstance(law, Part) else None


def parse_named(text: str, schema: Schema) -> NamedPart | None:
    """A label that names a part of a time."""
    law = parse(text, schema)
    return law if isinstance(law, NamedPart) else None
