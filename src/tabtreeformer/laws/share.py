"""A column that is often a round share of another: a tax of 7 or 19 percent, a tip of a fifth, a discount.

    tax ~ share of net
    tip ~ share of total - tip    if the total is computed from the tip, its other parts and its residual

The share is learned instead of the column. It is a round number wherever that reproduces the value to the last decimal,
so that few shares cover most rows, and the exact quotient elsewhere. If the other rows are round themselves, e.g. tips
in whole dollars, only common shares are stored as shares: the learned column is then minus the share, or the value
itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.schema import NUMERIC, Column, Schema
from ..data.schema.numbers import count_decimals
from ..errors import SchemaError
from .base import Cells, Frame, Mask, Name, OneTarget, fresh, replaced
from .bits import BITS_PER_TERM, code_length
from .product import DOWN, HALF_UP, NEAREST, rounded
from .search import Candidate, Search
from .sentences import named, quoted

Floats = NDArray[np.float64]

MAX_DIGITS = 4
"""Maximum decimals of a round share, e.g. 0.19, 0.075 or 0.0825."""
MIN_ROUND, MAX_SHARES, MIN_ROWS = 0.3, 12, 50
"""Minimum share of rows with one of the most common round shares; maximum number of such shares; minimum total rows."""
MIN_COMMON, MAX_ROUND = 20, 0.98
"""Minimum rows of a common share; above this share of rows with a common share, all rows are stored as shares."""
MAX_SAME = 0.5
"""Maximum share of rows with the same value among the rows of a common share."""
ROUNDINGS = (NEAREST, HALF_UP, DOWN)
MIN_VALUES = 20
MIN_SAVED = 1.0
"""Minimum bits per row that it saves."""


@dataclass(frozen=True, kw_only=True)
class Share(OneTarget):
    """A column as a share of another."""

    form: ClassVar[str] = "share"
    exact: ClassVar[bool] = False
    target: Name
    base: Name
    without: bool = False
    """Whether the whole is the base minus the target, i.e. the other parts and the residual of a sum."""
    parts: tuple[Name, ...] = ()
    rest: tuple[Name, float] | None = None
    """The column of that residual, and the value of one count."""
    column: Name = ""
    """The column that replaces it."""
    common: tuple[float, ...] = ()
    """Shares that are stored as minus the share while other values stay unchanged; empty if all rows are shares."""
    decimals: int = 2
    rounding: str = NEAREST
    support: int = 0
    exceptions: int = 0

    @property
    def text(self) -> str:
        """The sentence."""
        minus = f" - {quoted(self.target)}" if self.without else ""
        return f"{quoted(self.target)} ~ share of {quoted(self.base)}{minus}"

    @property
    def said(self) -> str:
        """The sentence with its counts."""
        rows = self.support + self.exceptions
        return f"{self.text} ({rows:,} rows; the share is learned)"

    @property
    def reads(self) -> tuple[Name, ...]:
        """The whole."""
        if not self.without:
            return (self.base,)
        return self.parts if self.rest is None else (*self.parts, self.rest[0])

    def whole(self, frame: Frame) -> Floats:
        """The whole that the part is a share of."""
        if not self.without:
            return frame.floats(self.base)
        whole = np.zeros(frame.n_rows)
        for name in self.parts:
            whole = whole + frame.floats(name)
        return whole if self.rest is None else whole + frame.floats(self.rest[0]) * self.rest[1]

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Rows in which both are present, and rows with a round share."""
        applies = frame.present(self.target, *self.reads)
        return applies, applies & self.shares(frame)[1]

    def shares(self, frame: Frame) -> tuple[Floats, Mask]:
        """The share of each row (the part itself where the whole is 0 or missing), and whether it is round."""
        part, whole = frame.floats(self.target), self.whole(frame)
        usable = ~np.isnan(part) & ~np.isnan(whole) & (whole != 0)
        with np.errstate(all="ignore"):
            share = np.where(usable, part / np.where(usable, whole, 1.0), np.where(np.isnan(part), 0.0, part))
        found = np.zeros(len(part), dtype=bool)
        for digits in range(1, MAX_DIGITS + 1):
            short = np.asarray(np.round(share, digits), dtype=np.float64)
            fits = usable & ~found & (self._part(short, whole) == part)
            share, found = np.where(fits, short, share), found | fits
        return share, found

    def _part(self, share: Floats, whole: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            return np.asarray(rounded(share * whole, self.decimals, self.rounding))

    def learn(self, frame: Frame, floor: int) -> Share:
        """Determine how parts are rounded, and count round shares."""
        own = frame.floats(self.target)
        decimals = count_decimals(own[~np.isnan(own)])
        base = f"({self.base} - {self.target})" if self.without else self.base
        name = fresh(f"{self.target} / {base}", frame.schema)
        places = 9 if decimals is None else decimals
        ways = [replace(self, column=name, decimals=places, rounding=way) for way in ROUNDINGS]
        best = max(ways, key=lambda law: law._covered(frame))
        best = replace(best, common=best._find_common(frame, floor))
        return best.counted(frame)

    def _covered(self, frame: Frame) -> int:
        """Number of rows with one of the most common shares; it is largest for the correct rounding."""
        share, is_round = self.shares(frame)
        counts = np.unique(share[is_round & (share != 0)], return_counts=True)[1]
        return int(np.sort(counts)[::-1][:MAX_SHARES].sum())

    def _find_common(self, frame: Frame, floor: int) -> tuple[float, ...]:
        """Common shares, if the remaining rows take fewer bits unchanged."""
        part, (share, is_round) = frame.floats(self.target), self.shares(frame)
        telling = ~np.isnan(part) & (part != 0)
        values, counts = np.unique(share[is_round & telling & (share == np.round(share, 3))], return_counts=True)
        common = values[counts >= max(floor, MIN_COMMON)]
        common = np.array([s for s in common if _varied(part[is_round & telling & (share == s)])])
        rare = telling & ~(is_round & np.isin(share, common))
        if not MIN_ROUND <= 1 - rare.sum() / max(telling.sum(), 1) <= MAX_ROUND or np.nanmin(part) < 0:
            return ()
        lengths = [
            code_length(own[rare][::2], own[rare][1::2], step)
            for own, step in ((part, 10.0**-self.decimals), (share, 10.0**-MAX_DIGITS))
        ]
        return tuple(common[common > 0].tolist()) if lengths[0] < lengths[1] else ()

    def reshape(self, schema: Schema) -> Schema:
        """Replace the part by the share."""
        why = f"{self.target!r} as a share of {self.base!r}"
        return replaced(schema, self.target, [Column(self.column, NUMERIC, "float64", why=why)])

    def express(self, frame: Frame) -> Frame:
        """Part → share."""
        gaps = frame.gaps(self.target)
        share, is_round = self.shares(frame)
        if self.common:
            share = np.where(is_round & np.isin(share, self.common), -share, frame.floats(self.target))
        return frame.changed(self.reshape(frame.schema), {self.column: Cells(np.where(gaps, 0.0, share), gaps)})

    def log_scale(self, frame: Frame) -> Floats:
        """One over the whole for shares; 1 for unchanged values."""
        whole = np.abs(self.whole(frame))
        usable = ~np.isnan(whole) & (whole > 0) & (not self.common)
        return np.where(usable, -np.log(np.where(usable, whole, 1.0)), 0.0)

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Share → part."""
        cells, whole = frame.cells(self.column), self.whole(frame)
        share = np.where(cells.gaps, 0.0, cells.values.astype(np.float64))
        usable = ~np.isnan(whole) & (whole != 0)
        plain = np.round(share, self.decimals)
        if self.common:
            known = np.array(self.common)
            nearest = known[np.abs(known + share[:, None]).argmin(1)]
            plain, share, usable = np.maximum(plain, 0.0), nearest, usable & (share < 0)
        own = np.where(usable, self._part(share, np.where(usable, whole, 0.0)), plain)
        return frame.changed(schema, {self.target: Cells(own, cells.gaps)})

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            **own,
            "common": list(self.common),
            "parts": list(self.parts),
            "rest": None if self.rest is None else list(self.rest),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Share:
        """Inverse of `to_json`."""
        if data["rounding"] not in ROUNDINGS or not 0 <= int(data["decimals"]) <= 15:
            raise ValueError("unknown rounding of a share")
        rest = None if data["rest"] is None else (data["rest"][0], float(data["rest"][1]))
        common = tuple(float(share) for share in data["common"])
        return cls(**{**data, "common": common, "parts": tuple(data["parts"]), "rest": rest})


def _varied(parts: Floats) -> bool:
    """Whether a share occurs with different values: one dollar is 10.8 % of 9.30, but that share was not chosen."""
    counts = np.unique(parts, return_counts=True)[1]
    return bool(counts.max() <= MAX_SAME * len(parts))


def find(search: Search) -> Sequence[Candidate]:
    """Find columns that are one of a few round shares of another in many rows."""
    numbers = search.numbers
    usable = [
        i
        for i in range(len(numbers.names))
        if numbers.distinct[i] >= MIN_VALUES and numbers.decimals[i] is not None and (numbers.decimals[i] or 0) <= 4
    ]
    seen = search.rows[0]
    some = numbers.matrix[seen[:: max(1, len(seen) // 300)]]
    found = []
    for target in usable:
        for base in usable:
            if base != target and often_round(some[:, target], some[:, base], numbers.decimals[target] or 0):
                candidate = _checked(target, base, search)
                if candidate is not None:
                    found.append(candidate)
    return sorted(found, key=lambda c: -c.bits)


def often_round(part: Floats, whole: Floats, decimals: int) -> bool:
    """Whether a few shares of two decimals explain enough of the probe rows for which a share is meaningful."""
    telling = ~np.isnan(part) & ~np.isnan(whole) & (part != 0) & (np.abs(whole) > 20 * 10.0**-decimals)
    part, whole = part[telling], whole[telling]
    if len(part) < MIN_ROWS:
        return False
    short = np.round(part / whole, 3)
    fits = (np.abs(short * whole - part) <= 0.5001 * 10.0**-decimals) & (np.abs(short) < 2) & (short != 1)
    counts = np.unique(short[fits], return_counts=True)[1]
    # A part with few significant digits matches many round shares, so few shares must be enough.
    return bool(np.sort(counts)[::-1][:MAX_SHARES].sum() >= MIN_ROUND * len(part) and (counts >= 5).any())


def _checked(target: int, base: int, search: Search) -> Candidate | None:
    numbers = search.numbers
    law = Share(target=numbers.names[target], base=numbers.names[base])
    return checked(law, numbers.matrix[:, target], numbers.matrix[:, base], search)


def checked(law: Share, part: Floats, whole: Floats, search: Search) -> Candidate | None:
    """The candidate, if few round shares cover enough rows."""
    law = law.learn(search.frame, search.floor)
    there = ~np.isnan(part)
    if (there & (np.isnan(whole) | ((whole == 0) & (part != 0)))).sum() >= max(search.floor, 1):
        return None  # rows without a share
    share, is_round = law.shares(search.frame)
    telling = there & is_round & (part != 0)
    values, counts = np.unique(share[telling], return_counts=True)
    if len(counts) == 0 or counts.max() < max(20, search.floor) or len(np.unique(part[telling])) < MIN_VALUES:
        return None
    common = values[np.argsort(-counts)[:MAX_SHARES]]
    if np.isin(share[there & (part != 0)], common).mean() < MIN_ROUND:
        return None
    saved = _saved(share, part, whole, search) * float(there.mean()) - 2 * BITS_PER_TERM / len(search.rows[1])
    return Candidate(law, saved, exact=False) if saved >= MIN_SAVED else None


def _saved(share: Floats, part: Floats, whole: Floats, search: Search) -> float:
    """Held-out bits of the part minus those of the share, at equivalent steps."""
    seen, held = search.rows
    step = 10.0**-MAX_DIGITS
    own = search.length(part, 10.0 ** -(count_decimals(part[~np.isnan(part)]) or 0))
    known = ~np.isnan(part) & ~np.isnan(whole)
    values = np.where(known, share, np.nan)
    return own - code_length(values[seen], values[held], step)


_TEXT = re.compile(r"(`[^`]*`|[^\W\d]\w*) ~ share of (`[^`]*`|[^\W\d]\w*)(?: - (`[^`]*`|[^\W\d]\w*))?")


def parse(text: str, schema: Schema) -> Share | None:
    """Read `tax ~ share of net`."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        return None
    target, base = (named(found[k].strip("`"), text, schema) for k in (1, 2))
    for name in (target, base):
        if schema.column(name).kind != NUMERIC:
            raise SchemaError(f"constraint {text!r}: column {name!r} is {schema.column(name).kind}, not numeric")
    if target == base:
        raise SchemaError(f"constraint {text!r} names a column twice")
    if found[3] is not None and named(found[3].strip("`"), text, schema) != target:
        raise SchemaError(f"constraint {text!r} cannot be read; write it as 'tip ~ share of total - tip'")
    return Share(target=target, base=base, without=found[3] is not None)
