"""Times that are all in one year or month: `year of stamp in America/New_York = 2013`.

A column with the same year in every row is a constant and not computed from the time. Instead, the time is kept within
that year.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from ..data.schema import CONSTANT, DATETIME, NUMERIC, Schema
from ..errors import SchemaError
from .base import Cells, Frame, Mask, Name
from .correcting import Correcting
from .find_parts import ZONES
from .linear import PER_SECOND
from .parts import Source
from .search import Candidate, Search
from .words import column_name

PERIODS = {"year": (1900, 2100), "month number": (190_001, 210_012)}
"""Parts that can be constant, with their valid ranges."""
MIN_ROWS = 50


@dataclass(frozen=True, kw_only=True)
class Period(Correcting):
    """A time inside one year or month."""

    form: ClassVar[str] = "period"
    part: str
    source: Name
    value: int
    zone: str | None = None
    support: int = 0
    exceptions: int = 0

    @property
    def text(self) -> str:
        """The sentence."""
        return f"{self.part} of {self._source.text} = {self.value}"

    @property
    def _source(self) -> Source:
        return Source(name=self.source, zone=self.zone)

    @property
    def reads(self) -> tuple[Name, ...]:
        return ()

    @property
    def writes(self) -> tuple[Name, ...]:
        return (self.source,)

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Rows with a time, and rows with a time in the period."""
        applies = frame.present(self.source)
        return applies, applies & (self._source.part(frame, self.part) == self.value)

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Reflect times outside the period at its ends, by whole days, so that the time of day is unchanged."""
        applies, keeps = self.holds(frame)
        rows = np.flatnonzero(applies & ~keeps)
        if not len(rows):
            return frame.changed(schema, {})
        cells = frame.cells(self.source)
        values, day = cells.values.copy(), 86_400 * PER_SECOND[schema.column(self.source).unit]
        days = self._source.stamps(frame.take(rows)).normalize().to_numpy().astype("datetime64[D]").astype(np.int64)
        first, last = self._ends
        mirrored = np.where(days < first, np.minimum(2 * first - days, last), np.maximum(2 * last - days, first))
        values[rows] += (mirrored - days) * day
        return frame.changed(schema, {self.source: Cells(values, cells.gaps)})

    @property
    def _ends(self) -> tuple[int, int]:
        """First and last day, counted from 1970, one day inside the period, so that clock changes cannot leave it."""
        year, month = (self.value, None) if self.part == "year" else divmod(self.value, 100)
        if month is None:
            ends = np.datetime64(f"{year}-01-01", "D"), np.datetime64(f"{year}-12-31", "D")
        else:
            start = np.datetime64(f"{year}-{month:02d}", "M")
            ends = start.astype("datetime64[D]"), (start + 1).astype("datetime64[D]") - 1
        return int(ends[0].astype(np.int64)), int(ends[1].astype(np.int64))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Period:
        """Inverse of `to_json`."""
        low, high = PERIODS[data["part"]]
        if not low <= int(data["value"]) <= high or (not 1 <= int(data["value"]) % 100 <= 12 and high > 9999):
            raise ValueError(f"{data['value']!r} is not a valid {data['part']}")
        return cls(**data)


def find(search: Search) -> Sequence[Candidate]:
    """Find constant columns that are the year or month of a time in every row."""
    frame = search.frame
    stamps = [c.name for c in frame.schema.columns if c.kind == DATETIME]
    found: dict[Name, Candidate] = {}
    for column in frame.schema.columns if stamps else ():
        if column.kind not in (CONSTANT, NUMERIC) or column.sort == "label" or frame.gaps(column.name).any():
            continue
        values = np.unique(frame.floats(column.name))
        for law in _laws(values[0], stamps) if len(values) == 1 else ():
            applies, keeps = law.holds(frame)
            if law.source not in found and applies.sum() >= MIN_ROWS and keeps[applies].all():
                found[law.source] = Candidate(law.counted(frame), 1.0, exact=False, share=1.0)
    return list(found.values())


def _laws(value: float, stamps: Sequence[Name]) -> Iterator[Period]:
    for stamp in stamps:
        for part, (low, high) in PERIODS.items():
            if low <= value <= high and value == round(value):
                for zone in (None, *ZONES):
                    yield Period(part=part, source=stamp, value=int(value), zone=zone)


_TEXT = re.compile(rf"({'|'.join(PERIODS)}) of (.+?)(?: in ([A-Za-z_]+(?:/[A-Za-z_+\-0-9]+)*))? = (\d+)")


def parse(text: str, schema: Schema) -> Period | None:
    """Read `year of stamp = 2013`."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        return None
    source = column_name(found[2], text, schema)
    if schema.column(source).kind != DATETIME:
        raise SchemaError(f"constraint {text!r}: column {source!r} is {schema.column(source).kind}, not a time")
    return Period(part=found[1], source=source, value=int(found[4]), zone=found[3])
