"""A number that equals another one, clipped at a limit: `capped = value at most 100`, `age_group = age at least 18`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..data.schema import NUMERIC, Schema
from ..errors import SchemaError
from .base import Frame, Name
from .computed import Computed, Values
from .search import Candidate, Search
from .words import column_name, different, number, quoted

PROBES = 400
MIN_VALUES = 10
MIN_ROWS = 20
"""Minimum number of clipped rows, and of distinct values that are not clipped; or the floor, if larger."""


@dataclass(frozen=True, kw_only=True)
class Clip(Computed):
    """A column clipped at a minimum or maximum."""

    form: ClassVar[str] = "clip"
    source: Name = ""
    low: float | None = None
    high: float | None = None
    """Limits; at least `floor` rows are at each of them."""

    @property
    def reads(self) -> tuple[Name, ...]:
        return (self.source,)

    @property
    def formula(self) -> str:
        low = "" if self.low is None else f" at least {number(self.low)}"
        high = "" if self.high is None else f" at most {number(self.high)}"
        return f"{quoted(self.source)}{low}{' and' if low and high else ''}{high}"

    def expected(self, frame: Frame) -> Values:
        """The other column, clipped."""
        values = np.where(frame.gaps(self.source), 0, frame.values(self.source))
        low, high = self.low, self.high
        if values.dtype.kind in "iu":
            low, high = (None if end is None else int(end) for end in (low, high))
        return np.clip(values, low, high)


def find(search: Search) -> Sequence[Candidate]:
    """Find columns that equal another one except at their own minimum or maximum."""
    numbers = search.numbers
    useful = np.flatnonzero(numbers.distinct >= MIN_VALUES)
    probe = numbers.matrix[np.linspace(0, len(numbers.matrix) - 1, min(PROBES, len(numbers.matrix))).astype(np.int64)]
    found: list[Candidate] = []
    for target in useful:
        own = numbers.matrix[:, target]
        low, high = float(np.nanmin(own)), float(np.nanmax(own))
        with np.errstate(invalid="ignore"):
            broken = np.clip(probe[:, useful], low, high) != probe[:, [target]]
        broken &= ~np.isnan(probe[:, useful]) & ~np.isnan(probe[:, [target]])
        for source in useful[~broken.any(0)]:
            if source != target and (law := _checked(int(target), int(source), low, high, search)) is not None:
                found.append(Candidate(law, search.bits[law.target], True, 1.0))
    return found


def _checked(target: int, source: int, low: float, high: float, search: Search) -> Clip | None:
    """The law, if it holds in all rows and enough rows are clipped and not clipped."""
    numbers, least = search.numbers, max(MIN_ROWS, search.floor)
    own, base = numbers.matrix[:, target], numbers.matrix[:, source]
    there = ~np.isnan(own) & ~np.isnan(base)
    own, base = own[there], base[there]
    below, above = base < low, base > high
    inside = own[~below & ~above]
    if not len(inside) or not np.array_equal(own, np.clip(base, low, high)):
        return None
    if below.sum() + above.sum() < least or len(inside) - np.unique(inside, return_counts=True)[1].max() < least:
        return None
    if 0 < below.sum() < search.floor or 0 < above.sum() < search.floor:
        return None
    return Clip(
        target=numbers.names[target],
        source=numbers.names[source],
        low=low if below.any() else None,
        high=high if above.any() else None,
    )


_TEXT = re.compile(r"(.+?) ([=~]) (`[^`]*`|[^\W\d]\w*)(?: at least (-?[\d.]+))?(?: and)?(?: at most (-?[\d.]+))?")


def parse(text: str, schema: Schema) -> Clip | None:
    """Read `capped = value at most 100`."""
    found = _TEXT.fullmatch(text.strip())
    if found is None or (found[4] is None and found[5] is None):
        return None
    target, source = column_name(found[1], text, schema), column_name(found[3], text, schema)
    different((target, source), text)
    for name in (target, source):
        if schema.column(name).kind != NUMERIC:
            raise SchemaError(f"constraint {text!r}: column {name!r} is {schema.column(name).kind}, not numeric")
    low, high = (None if end is None else float(end) for end in (found[4], found[5]))
    return Clip(target=target, exact=found[2] == "=", source=source, low=low, high=high)
