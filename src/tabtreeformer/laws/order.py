"""Orders: one column is never, or hardly ever, below others: `end >= start`, `high >= open, close`.

The column stays unchanged. A row that breaks the law gets a new value, at a distance drawn from those of the table. If
the table itself has exceptions, the same share of rows is left broken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.rare import slice_means, supported_range
from ..data.schema import DATETIME, MEASURED, NUMERIC, TIMEDELTA, Schema
from ..errors import SchemaError
from .base import Cells, Frame, Law, Mask, Name
from .clock import are_clock_times, on_clock
from .correcting import Correcting
from .grid import as_round, grid_of
from .search import Candidate, Search
from .sentences import listed, names_in, quoted, said, unsaid
from .steps import Steps

POINTS = 101
"""Number of stored quantiles of the distance between two columns."""
MIN_SHUFFLED, MIN_SHARE, MIN_NEAR_SHARE = 20.0, 0.02, 0.03
"""Minimum violations after shuffling: their number, their share, and their share for a near law."""
MAX_SEEN, MAX_SEEN_RARE, RARE = 0.1, 0.03, 0.1
"""Maximum violations as a share of those; the second applies if those are less than a `RARE` share of all rows."""
MAX_EXCEPTIONS = 0.02
"""… and as a share of all rows."""
MIN_ROWS = 50
PROBES = 300
OR_ZERO = ", or 0"
"""Suffix of a sentence whose target is 0 for "none"."""
MIN_ZERO = 0.02
"""Minimum share of zeros in such a target."""


@dataclass(frozen=True)
class AtLeast(Correcting):
    """`target >= first, second`: not below any of them."""

    form: ClassVar[str] = "order"
    target: Name
    lowers: tuple[Name, ...]
    distances: tuple[float, ...] = ()
    """Quantiles of the distance to the greatest of the others, in rows that keep the law."""
    end: float | None = None
    """Limit of the moved column, supported by enough rows."""
    grid: tuple[float, float] | None = None
    """Step and first value of the moved column; None if it has no step."""
    strict: bool = False
    """Never equal either: `end > start`."""
    downward: bool = False
    """Whether the (single) lesser column is moved, because a law computes the greater one."""
    support: int = 0
    exceptions: int = 0
    near: bool = False
    """Whether rows of the table break it."""
    zero: bool = False
    """Whether a target of 0 means "none": a house was renovated after it was built, or never renovated."""
    clock: bool = False
    """Whether the moved column holds clock times: 1160 is none."""
    limits: tuple[tuple[Name, bool], ...] = ()
    """Columns that limit the moved column on the other side, by other laws, and whether equality is excluded."""

    @property
    def text(self) -> str:
        words = f"{quoted(self.target)} {'>' if self.strict else '>='} {listed(self.lowers)}"
        return said(words + (OR_ZERO if self.zero else ""), near=self.near)

    @property
    def reads(self) -> tuple[Name, ...]:
        return (*((self.target,) if self.downward else self.lowers), *(name for name, _ in self.limits))

    @property
    def writes(self) -> tuple[Name, ...]:
        return (self._moves,)

    @property
    def _moves(self) -> Name:
        return self.lowers[0] if self.downward else self.target

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Applies where the target and at least one of the others have a value."""
        distance = self._own(frame) - self._greatest(frame)
        applies = ~np.isnan(distance)
        with np.errstate(invalid="ignore"):
            return applies, applies & ~(distance <= 0 if self.strict else distance < 0)

    def _own(self, frame: Frame) -> NDArray[np.float64]:
        """The target, NaN where it means "none"."""
        own = frame.floats(self.target)
        return np.where(own == 0, np.nan, own) if self.zero else own

    def _greatest(self, frame: Frame) -> NDArray[np.float64]:
        """The greatest of the others, NaN where all are missing."""
        numbers = [np.where(frame.gaps(name), -np.inf, frame.values(name).astype(np.float64)) for name in self.lowers]
        greatest = np.maximum.reduce(numbers)
        return np.where(np.isneginf(greatest), np.nan, greatest)

    def learn(self, frame: Frame, floor: int) -> AtLeast:
        """Store the distances, and the limit and grid of the moved column."""
        counted = self.counted(frame)
        distances = (self._own(frame) - self._greatest(frame))[self.holds(frame)[1]]
        numbers = self._own(frame) if self._moves == self.target else frame.floats(self._moves)
        there = numbers[~np.isnan(numbers)]
        end = None
        if len(there):
            end = supported_range(*np.unique(there, return_counts=True), max(floor, 1))[0 if self.downward else 1]
        return replace(
            counted,
            distances=tuple(slice_means(distances, max(floor, 1), POINTS).tolist()) if len(distances) else (0.0,),
            end=end,
            grid=grid_of(there, whole=frame.values(self._moves).dtype.kind in "iu"),
            near=self.near or counted.exceptions > 0,
            clock=are_clock_times(there),
        )

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Move the target where it is below the others, except for the table's share of exceptions."""
        applies, keeps = self.holds(frame)
        broken = np.flatnonzero(applies & ~keeps & ~self.spared(applies, keeps, rng))
        if not len(broken):
            return frame.changed(schema, {})
        cells = frame.cells(self._moves)
        values = cells.values.copy()
        values[broken] = self._moved(frame, broken, rng).astype(values.dtype)
        return frame.changed(schema, {self._moves: Cells(values, cells.gaps)})

    def _moved(self, frame: Frame, rows: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """New values at distances drawn from those of the table, on the column's grid, never beyond the others."""
        sign = -1.0 if self.downward else 1.0
        anchor = sign * (frame.floats(self.target) if self.downward else self._greatest(frame))[rows]
        points = self.distances or (0.0,)
        distance = np.interp(rng.random(len(rows)), np.linspace(0, 1, len(points)), points)
        goal = anchor + np.maximum(distance, 0.0)
        if self.end is not None:
            goal = np.minimum(goal, np.maximum(sign * self.end, anchor))
        moved = self._settled(frame, rows, anchor, goal, sign)
        if not self.clock:
            return moved
        least = anchor if sign > 0 else -self._limit(frame, sign)[rows]
        return on_clock(np.rint(moved), least, strict=self.strict and sign > 0)

    def _settled(
        self, frame: Frame, rows: NDArray[np.int64], anchor: NDArray[np.float64], goal: NDArray[np.float64], sign: float
    ) -> NDArray[Any]:
        """The goals on the column's grid, between the others and the limits; `sign` is -1 where the column falls."""
        if self.grid is not None:
            step, first = self.grid[0], sign * self.grid[1]
            least = np.ceil(np.round((anchor - first) / step, 6))
            least = np.where(self.strict & (least * step + first <= anchor), least + 1, least)
            most = np.floor(np.round((self._limit(frame, sign)[rows] - first) / step, 6))
            drawn = np.round((sign * frame.values(self._moves)[rows].astype(np.float64) - first) / step)
            places = as_round((goal - first) / step, drawn if first == 0 else np.ones(len(rows)), least, most)
            if step >= 1:  # whole numbers may be too large for floats
                return int(sign) * (places.astype(np.int64) * int(step) + int(first))
            goal = np.round(places * step + first, 9)
        else:
            goal = np.minimum(goal, self._limit(frame, sign)[rows])
        return sign * np.maximum(goal, anchor)

    def _limit(self, frame: Frame, sign: float) -> NDArray[np.float64]:
        """Limit of the moved column by other laws; infinite if there is none."""
        limit = np.full(frame.n_rows, np.inf)
        for name, strict in self.limits:
            own = np.where(frame.gaps(name), np.inf, sign * frame.values(name).astype(np.float64))
            limit = np.minimum(limit, own - (self.grid[0] if self.grid is not None else 0.0) * strict)
        return limit

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        plain = {"target": self.target, "lowers": list(self.lowers), "distances": list(self.distances)}
        rest = ("end", "strict", "downward", "support", "exceptions", "near", "zero", "clock")
        grid = None if self.grid is None else list(self.grid)
        limits = {"limits": [list(pair) for pair in self.limits]} if self.limits else {}
        return plain | {name: getattr(self, name) for name in rest} | {"grid": grid} | limits

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> AtLeast:
        """Inverse of `to_json`."""
        grid = None if data["grid"] is None else (float(data["grid"][0]), float(data["grid"][1]))
        plain = {**data, "lowers": tuple(data["lowers"]), "distances": tuple(data["distances"]), "grid": grid}
        return cls(**plain | {"limits": tuple((name, bool(strict)) for name, strict in data.get("limits", ()))})


def limited(laws: Sequence[Law]) -> list[Law]:
    """The same laws, with limits: a moved or rounded column must not break the orders of other laws."""
    orders = [law for law in laws if isinstance(law, AtLeast) and not law.near]
    own: list[Law] = []
    for law in laws:
        if isinstance(law, AtLeast):
            others = [o for o in orders if o.writes == law.writes and o.downward != law.downward and not o.zero]
            found = [(name, o.strict) for o in others for name in ((o.target,) if o.downward else o.lowers)]
            law = replace(law, limits=tuple(dict.fromkeys(found)))
        if isinstance(law, Steps):
            floors = [
                (name, o.strict) for o in orders if o.writes == law.writes and not o.downward for name in o.lowers
            ]
            tops = [(o.target, o.strict) for o in orders if o.writes == law.writes and o.downward]
            law = replace(law, floors=tuple(dict.fromkeys(floors)), ceilings=tuple(dict.fromkeys(tops)))
        own.append(law)
    return own


_TEXT = re.compile(r"((?:[^`<>]|`[^`]*`)+?) (>=|<=|>|<) ((?:[^`<>]|`[^`]*`)+)")


def parse(text: str, schema: Schema) -> AtLeast | None:
    """Read `end >= start` or `start <= end`, `end > start` or `start < end`; `renovated >= built, or 0`."""
    words, near = unsaid(text)
    zero = words.endswith(OR_ZERO)
    words = words.removesuffix(OR_ZERO)
    found = _TEXT.fullmatch(words)
    if found is None:
        return None
    left, right = (found[1], found[3]) if found[2][0] == ">" else (found[3], found[1])
    targets, lowers = names_in(left, text, schema), names_in(right, text, schema)
    if len(targets) > 1 and len(lowers) > 1:
        raise SchemaError(f"constraint {text!r} has several columns on both sides; write a sentence for each")
    if len(targets) > 1:
        raise SchemaError(f"constraint {text!r}: write one column on the greater side, or a sentence for each")
    kinds = {comparable(schema, name) for name in (*targets, *lowers)}
    if len(kinds) > 1 or None in kinds or targets[0] in lowers:
        raise SchemaError(f"constraint {text!r} compares columns that have no common order; name numbers or times")
    return AtLeast(targets[0], tuple(lowers), strict=len(found[2]) == 1, near=near, zero=zero)


def comparable(schema: Schema, name: Name) -> tuple[str, str] | None:
    """A key that is equal for comparable columns: numbers, times of one unit, durations of one unit."""
    column = schema.column(name)
    if column.kind not in MEASURED:
        return None
    return (column.kind, column.unit if column.kind in (DATETIME, TIMEDELTA) else "")


def find(search: Search) -> Sequence[Candidate]:
    """Find columns that are never below others, beyond chance, and not because of a third column."""
    frame = search.frame
    groups: dict[Any, list[Name]] = {}
    for column in frame.schema.columns:
        if column.kind in MEASURED and (column.kind != NUMERIC or len(np.unique(frame.floats(column.name))) > 2):
            groups.setdefault(comparable(frame.schema, column.name), []).append(column.name)
    found: list[Candidate] = []
    for names in groups.values():
        exact, near = _pairs(frame, names)
        exact = _reduced(exact)
        near &= ~_closure(exact)
        for place, name in enumerate(names):
            for pairs in (exact, near):
                lowers = tuple(names[j] for j in np.flatnonzero(pairs[place]))
                if lowers:
                    law = AtLeast(name, lowers).learn(frame, search.floor)
                    kept = law.support / max(law.support + law.exceptions, 1)
                    found.append(Candidate(law, _bits(frame, law), exact=False, share=kept))
                    if pairs is exact:
                        break
        found += _or_zero(search, names, _closure(exact) | near)
    return found


def _or_zero(search: Search, names: list[Name], known: NDArray[np.bool_]) -> list[Candidate]:
    """Orders that hold wherever the greater column is not 0, but not in general."""
    frame, found = search.frame, list[Candidate]()
    matrix = np.array([frame.floats(name) for name in names]).reshape(len(names), frame.n_rows)
    ordered = [np.sort(row[~np.isnan(row)]) for row in matrix]
    for place, name in enumerate(names):
        own = np.where(matrix[place] == 0, np.nan, matrix[place])
        if frame.schema.column(name).kind != NUMERIC or np.nanmin(own, initial=np.inf) < 0:
            continue
        if not MIN_ZERO <= np.mean(matrix[place] == 0) <= 1 - MIN_ZERO:
            continue
        some = np.flatnonzero(~np.isnan(own))[:PROBES]
        with np.errstate(invalid="ignore"):
            never = ~(own[some] < matrix[:, some]).any(1) & ~known[place] & (np.arange(len(names)) != place)
        below = [int(j) for j in np.flatnonzero(never) if _compare(own, matrix[j], ordered[j]) == 2]
        # Among ordered columns, the greatest implies the others.
        lowers = tuple(names[j] for j in below if not any(known[k, j] for k in below))
        if lowers:
            law = AtLeast(name, lowers, zero=True).learn(frame, search.floor)
            share = law.support / frame.n_rows
            found.append(Candidate(law, _bits(frame, law) * share, exact=False, share=1.0))
    return found


def _pairs(frame: Frame, names: list[Name]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Pairs of columns of which one is never, or hardly ever, below the other."""
    matrix = np.array([frame.floats(name) for name in names]).reshape(len(names), frame.n_rows)
    probes = np.unique(np.linspace(0, frame.n_rows - 1, min(frame.n_rows, PROBES)).astype(np.int64))
    exact = np.zeros((len(names), len(names)), dtype=bool)
    near = exact.copy()
    ordered = [np.sort(row[~np.isnan(row)]) for row in matrix]
    some = np.ascontiguousarray(matrix[:, probes])
    for i in range(len(names)):
        with np.errstate(invalid="ignore"):
            share = (some[i] < some).sum(1) / np.maximum((~np.isnan(some[i] + some)).sum(1), 1)
        for j in np.flatnonzero(share <= 3 * MAX_EXCEPTIONS):
            if i != j:
                verdict = _compare(matrix[i], matrix[j], ordered[j])
                exact[i, j], near[i, j] = verdict == 2, verdict == 1
    return exact, near


def _compare(greater: NDArray[np.float64], lesser: NDArray[np.float64], ordered: NDArray[np.float64]) -> int:
    """2 if one is never below the other, 1 if hardly ever, 0 otherwise or if this means nothing."""
    there = ~(np.isnan(greater) | np.isnan(lesser))
    n_rows = int(there.sum())
    greater, lesser = greater[there], lesser[there]
    if n_rows < MIN_ROWS or (greater == lesser).all():
        return 0
    seen = int((greater < lesser).sum())
    shuffled = float(np.mean(1 - np.searchsorted(ordered, greater, side="right") / len(ordered))) * n_rows
    share = MIN_NEAR_SHARE if seen else MIN_SHARE
    most = MAX_SEEN if shuffled >= RARE * n_rows else MAX_SEEN_RARE
    if shuffled < max(MIN_SHUFFLED, share * n_rows) or seen > min(most * shuffled, MAX_EXCEPTIONS * n_rows):
        return 0
    return 1 if seen else 2


def _closure(pairs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The transitive closure of the pairs."""
    reach = pairs.copy()
    for _ in range(max(1, int(np.ceil(np.log2(max(len(pairs), 2)))))):
        reach |= (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
    return reach


def _reduced(pairs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The pairs without those that follow from two others."""
    pairs = pairs & ~(pairs & pairs.T & np.tri(len(pairs), dtype=bool))
    follows = (pairs.astype(np.float32) @ _closure(pairs).astype(np.float32)) > 0
    return pairs & ~follows


def _bits(frame: Frame, law: AtLeast) -> float:
    """Information of the law: minus the log of the share of shuffled rows that would keep it."""
    greatest = law._greatest(frame)
    numbers = law._own(frame)
    ordered = np.sort(greatest[~np.isnan(greatest)])
    own = numbers[~np.isnan(numbers)]
    kept = float(np.mean(np.searchsorted(ordered, own, side="right") / max(len(ordered), 1)))
    return float(-np.log2(max(kept, 1e-3))) - 10 * (1 + len(law.lowers)) / frame.n_rows
