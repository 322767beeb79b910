"""Running totals of ordered rows: `balance = running total of amount by account`.

Each total is that of the previous row plus the row's own amount. Held-out rows leave gaps where this fails, so the law
is accepted if most pairs of neighbours add up. New rows are added up in the order in which they are written, with the
same start in each block of rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.schema import LABELLED, NUMERIC, Schema
from ..data.schema.numbers import count_decimals
from ..errors import SchemaError
from .base import Cells, DropsTarget, Frame, Mask, Name
from .codes import Coded, Codes
from .search import Candidate, Search
from .words import column_name, different, quoted

Floats = NDArray[np.float64]
MIN_SHARE, MIN_ROWS, MIN_VALUES = 0.6, 50, 10
"""Minimum share and number of neighbours that add up, and minimum number of distinct amounts."""
MAX_GROUPS = 0.2
"""Maximum number of groups, as a share of the rows."""
MAX_RESTARTS = 0.01
"""Maximum share of rows with a total but no amount."""
MAX_REACH = 2.0
"""Maximum range of totals after shuffling the amounts, relative to the table's range."""
PROBES = 60


@dataclass(frozen=True, kw_only=True)
class Running(DropsTarget):
    """A column that is the running total of another."""

    form: ClassVar[str] = "running"
    exact: ClassVar[bool] = True
    min_share: ClassVar[float] = MIN_SHARE
    target: Name
    part: Name
    by: Name | None = None
    """The column whose groups of rows are added up separately."""
    start: float = 0.0
    """Start value, chosen so that the mean of the totals equals the table's."""
    decimals: int = 0
    support: int = 0
    exceptions: int = 0

    @property
    def text(self) -> str:
        by = "" if self.by is None else f" by {quoted(self.by)}"
        return f"{quoted(self.target)} = running total of {quoted(self.part)}{by}"

    @property
    def said(self) -> str:
        """The sentence with its counts."""
        return f"{self.text} ({self.support:,} of {self.support + self.exceptions:,} neighbours; rows are in order)"

    @property
    def reads(self) -> tuple[Name, ...]:
        return (self.part,) if self.by is None else (self.part, self.by)

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Applies to rows with a previous row, and is kept where the total grew by the row's amount."""
        before = _before(self._codes(frame))
        own, part = frame.floats(self.target), frame.floats(self.part)
        left = own - own[before] - part
        applies = (before >= 0) & ~np.isnan(left)
        with np.errstate(invalid="ignore"):
            return applies, applies & (np.abs(left) <= 0.501 * 10.0**-self.decimals)

    def _codes(self, frame: Frame) -> Codes:
        return np.zeros(frame.n_rows, dtype=np.int64) if self.by is None else Coded.read(frame, self.by).codes

    def learn(self, frame: Frame, floor: int) -> Running:
        """Determine the start value, and count neighbours."""
        own, part = frame.floats(self.target), np.nan_to_num(frame.floats(self.part))
        there = own[~np.isnan(own)]
        decimals = count_decimals(there, spare=len(there) // 100) if len(there) else 0
        decimals = 9 if decimals is None else min(decimals, 9)
        middle = float(np.nanmean(own) - np.mean(_totals(self._codes(frame), part))) if len(there) else 0.0
        law = replace(self, decimals=decimals, start=round(middle, decimals))
        return law.counted(frame)

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Add up the amounts; a missing one counts as 0."""
        totals = self.start + _totals(self._codes(frame), np.nan_to_num(frame.floats(self.part)))
        totals = np.round(totals, self.decimals)
        own = np.rint(totals).astype(np.int64) if schema.column(self.target).whole else totals
        return frame.changed(schema, {self.target: Cells(own, np.zeros(frame.n_rows, dtype=bool))})

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Running:
        """Inverse of `to_json`."""
        if not np.isfinite(float(data["start"])) or not 0 <= int(data["decimals"]) <= 15:
            raise ValueError(f"the running total {data['target']!r} has an invalid start or number of decimals")
        return cls(**data)


def _before(codes: Codes) -> Codes:
    """Index of the previous row with the same code; -1 for the first."""
    order = np.argsort(codes, kind="stable")
    before = np.full(len(codes), -1, dtype=np.int64)
    same = codes[order][1:] == codes[order][:-1]
    before[order[1:][same]] = order[:-1][same]
    return before


def _totals(codes: Codes, part: Floats) -> Floats:
    """Running totals in row order, separately for each code."""
    order = np.argsort(codes, kind="stable")
    totals = np.cumsum(part[order])
    first = np.flatnonzero(np.append(True, codes[order][1:] != codes[order][:-1]))
    offset = np.repeat(totals[first] - part[order][first], np.diff(np.append(first, len(codes))))
    result = np.empty(len(part))
    result[order] = totals - offset
    return result


def find(search: Search) -> Sequence[Candidate]:
    """Find running totals of other columns, over all rows or per label."""
    frame, numbers = search.ordered, search.numbers
    many = [
        n for i, n in enumerate(numbers.names) if numbers.distinct[i] >= MIN_VALUES and numbers.decimals[i] is not None
    ]
    groups: list[Name | None] = [None]
    for column in frame.schema.columns:
        if column.kind in LABELLED and 2 <= Coded.read(frame, column.name).size <= MAX_GROUPS * frame.n_rows:
            groups.append(column.name)
    matrix = np.array([frame.floats(name) for name in many]).reshape(len(many), frame.n_rows)
    steps = np.array([10.0 ** -(numbers.decimals[numbers.names.index(name)] or 0) for name in many])
    found: dict[Name, Candidate] = {}
    for by in groups:
        codes = np.zeros(frame.n_rows, dtype=np.int64) if by is None else Coded.read(frame, by).codes
        before = _before(codes)
        rows = np.flatnonzero(before >= 0)
        if len(rows) < MIN_ROWS:
            continue
        some = rows[np.linspace(0, len(rows) - 1, PROBES).astype(np.int64)]
        grown = matrix[:, some] - matrix[:, before[some]]  # (M, P)
        fits = np.abs(grown[:, None] - matrix[None, :, some]) <= 0.501 * steps[:, None, None]
        share = (fits & (grown != 0)[:, None]).mean(2)
        np.fill_diagonal(share, 0.0)
        for target, part in np.argwhere(share >= 0.7 * MIN_SHARE):
            if many[target] not in found:
                candidate = _checked(Running(target=many[target], part=many[part], by=by), search)
                found |= {} if candidate is None else {many[target]: candidate}
    return list(found.values())


def _checked(law: Running, search: Search) -> Candidate | None:
    """The law, if most neighbours add up and the amounts vary."""
    frame = search.ordered
    learned = law.learn(frame, search.floor)
    applies, kept = learned.holds(frame)
    # As the totals are rounded: shares of 0.97 that are added up to whole years are all the same amount.
    amounts = np.round(frame.floats(law.part)[kept], learned.decimals)
    share = float(kept.sum() / max(applies.sum(), 1))
    common = np.unique(amounts, return_counts=True)[1].max(initial=0)
    if kept.sum() < MIN_ROWS or share < MIN_SHARE or len(amounts) - common < MIN_ROWS:
        return None
    if _restarts(law, frame) or _wanders(learned, frame, search.rng):
        return None
    return Candidate(law, search.bits[law.target], exact=True, share=share)


def _restarts(law: Running, frame: Frame) -> bool:
    """Whether totals continue where the amount is missing: rows of several units, the first of which has no previous
    row.
    """
    going_on = frame.present(law.target) & frame.gaps(law.part)
    return bool(going_on.mean() > MAX_RESTARTS)


def _wanders(law: Running, frame: Frame, rng: np.random.Generator) -> bool:
    """Whether shuffled amounts, as in new rows, add up to totals far outside the table's range."""
    own, part, codes = frame.floats(law.target), np.nan_to_num(frame.floats(law.part)), law._codes(frame)
    reach = np.nanmax(own) - np.nanmin(own)
    reaches = [np.ptp(_totals(codes, rng.permutation(part))) for _ in range(5)]
    return bool(np.median(reaches) > MAX_REACH * reach)


_TEXT = re.compile(r"(.+?) = running total of (`[^`]*`|[^\W\d]\w*)(?: by (`[^`]*`|[^\W\d]\w*))?")


def parse(text: str, schema: Schema) -> Running | None:
    """Read `balance = running total of amount by account`."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        return None
    target, part = (column_name(found[k], text, schema) for k in (1, 2))
    by = None if found[3] is None else column_name(found[3], text, schema)
    different((target, part) if by is None else (target, part, by), text)
    for name in (target, part):
        if schema.column(name).kind != NUMERIC:
            raise SchemaError(f"constraint {text!r}: column {name!r} is {schema.column(name).kind}, not numeric")
    return Running(target=target, part=part, by=by)
