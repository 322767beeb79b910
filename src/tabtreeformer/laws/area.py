"""Positions inside a category: `lat, long within zipcode`.

Two numbers that together nearly always determine a category. All three columns stay unchanged, so that a writer can
learn what depends on the position. If a position is outside the area of its category, the category is replaced by one
whose area contains it. A position outside every area is moved into the nearest one. An area consists of pieces, so that
it can have any shape, with holes. Each piece is described by its range, mean, spread and slant (the correlation of both
numbers), computed from enough rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.rare import supported_range
from ..data.schema import NUMERIC, Schema
from ..data.schema.numbers import count_decimals
from ..errors import SchemaError
from . import within
from .base import Cells, Frame, Mask, Name
from .codes import Coded, Codes
from .correcting import Correcting
from .search import Candidate, Search
from .sentences import cells_of, listed, names_in, quoted
from .within import MARK, categories, code_like, explained, positions, rank_matrix

Floats = NDArray[np.float64]

MIN_EXPLAINED = 0.5
"""Minimum share of the variance in ranks of both numbers that lies between the categories."""
MIN_DETERMINED = 0.7
"""Minimum share of held-out rows whose category follows from the position."""
PLAUSIBLE = 0.1
"""A position is not changed if it belongs to its category with at least this probability."""
MAX_SLANT = 0.95
PIECE_ROWS, MAX_PIECES = 20, 32
"""Minimum rows per piece of an area, and maximum pieces per area."""
FAR = 3.0
"""Deviations from the middle of a piece beyond which a position is moved into it."""
WIDE_GAP = 0.3
"""An area is cut at a gap instead of in its middle if the gap has at least this share of its extent."""
CHUNK = 4_000_000
"""Pairs of rows and areas that are computed at once."""

Piece = tuple[float, ...]
"""Share of all rows, low and high of both numbers, their means and deviations, and the slant."""


@dataclass(frozen=True)
class Area(Correcting):
    """Two numbers that lie inside their category."""

    form: ClassVar[str] = "area"
    near: ClassVar[bool] = True
    targets: tuple[Name, Name]
    by: Name
    areas: Mapping[Any, tuple[Piece, ...]] = field(default_factory=dict)
    """Pieces per category."""
    decimals: tuple[int | None, int | None] = (None, None)
    support: int = 0
    exceptions: int = 0

    @property
    def text(self) -> str:
        return f"{listed(self.targets)}{MARK}{quoted(self.by)}"

    @property
    def reads(self) -> tuple[Name, ...]:
        return ()

    @property
    def writes(self) -> tuple[Name, ...]:
        return (self.by, *self.targets)

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Applies to categories with an area; kept by positions inside it, or less than half a range outside."""
        points, codes = self._points(frame), self._codes(frame)
        applies = (codes >= 0) & ~np.isnan(points.sum(1))
        if not self.areas:
            return applies, applies
        low, high = self._extents
        slack = 0.5 * (high - low)
        with np.errstate(invalid="ignore"):
            inside = ((points >= (low - slack)[codes]) & (points <= (high + slack)[codes])).all(1)
        return applies, applies & inside

    def _points(self, frame: Frame) -> Floats:
        return np.stack([frame.floats(name) for name in self.targets], axis=1)  # (N, 2)

    def _codes(self, frame: Frame) -> Codes:
        """Index of each row's category among those with an area; -1 for any other."""
        place = {value: code for code, value in enumerate(self.areas)}
        coded = Coded.read(frame, self.by)
        return np.array([place.get(value, -1) for value in coded.values], dtype=np.int64)[coded.codes]

    @cached_property
    def _table(self) -> Floats:
        """All pieces, grouped by category (P, 10)."""
        return np.array([piece for pieces in self.areas.values() for piece in pieces])

    @cached_property
    def _starts(self) -> Codes:
        """Index of the first piece of each category (K,)."""
        return np.cumsum([0, *(len(pieces) for pieces in self.areas.values())])[:-1]

    @cached_property
    def _extents(self) -> tuple[Floats, Floats]:
        """Low and high of each category, of both numbers (K, 2)."""
        low, high = self._table[:, [1, 3]], self._table[:, [2, 4]]
        return np.minimum.reduceat(low, self._starts), np.maximum.reduceat(high, self._starts)

    @cached_property
    def _owners(self) -> Codes:
        """The category of each piece (P,)."""
        return np.repeat(np.arange(len(self._starts)), np.diff([*self._starts, len(self._table)]))

    def learn(self, frame: Frame, floor: int) -> Area:
        """Store the area of each category with enough rows."""
        points = self._points(frame)
        there = ~np.isnan(points.sum(1))
        coded = Coded.read(frame, self.by)
        scale = np.maximum(points[there].std(0), 1e-300) if there.any() else np.ones(2)
        areas: dict[Any, tuple[Piece, ...]] = {}
        for code, value in enumerate(coded.values):
            own = points[there & (coded.codes == code)]
            if value is not None and len(own) >= max(floor, 5):
                least = max(PIECE_ROWS, 4 * floor, len(own) // MAX_PIECES)
                parts = _cut(own, least, max(3 * floor, 5), scale)
                ends = _ends(own, floor)
                areas[value] = tuple(_piece(part, len(part) / len(points), floor, ends) for part in parts)
        decimals = [count_decimals(own[~np.isnan(own)], spare=len(own) // 100) for own in points.T]
        learned = replace(self, areas=areas, decimals=(decimals[0], decimals[1]))
        return learned.counted(frame) if areas else learned

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Change the category of rows whose position is outside its area."""
        points, codes = self._points(frame), self._codes(frame)
        rows = np.flatnonzero(~np.isnan(points.sum(1)) & ~frame.gaps(self.by))
        if not len(rows) or not self.areas:
            return frame.changed(schema, {})
        chosen, pieces = codes.copy(), np.zeros(len(codes), dtype=np.int64)
        for part in np.array_split(rows, max(1, len(rows) * len(self._table) // CHUNK)):
            chosen[part], pieces[part] = self._chosen(points[part], codes[part])
        low, high = (ends[chosen[rows]] for ends in self._extents)
        outside = ((points[rows] < low) | (points[rows] > high)).any(1) | self._far(points[rows], pieces[rows])
        moved = rows[outside]
        ends = self._table[pieces[moved]]
        points[moved] = _moved(points[moved], ends[:, [1, 3]], ends[:, [2, 4]], rng)
        changed = rows[chosen[rows] != codes[rows]]
        return frame.changed(schema, self._cells(frame, schema, points, moved, changed, chosen))

    def _chosen(self, points: Floats, codes: Codes) -> tuple[Codes, Codes]:
        """The category of each position (its own if plausible, otherwise the most likely one), and the most likely
        piece of it.
        """
        likely = self._likely(points)  # (N, P)
        by_category = self._of_categories(likely)  # (N, K)
        total = np.logaddexp.reduce(by_category, axis=1)
        plausible = by_category[np.arange(len(points)), codes] - total >= np.log(PLAUSIBLE)
        chosen = np.asarray(np.where((codes >= 0) & plausible, codes, by_category.argmax(1)))
        return chosen, np.asarray(np.where(self._owners != chosen[:, None], -np.inf, likely).argmax(1))

    def _of_categories(self, likely: Floats) -> Floats:
        """Log of the sum over the pieces of each category (N, P) → (N, K)."""
        return np.asarray(np.logaddexp.reduceat(likely, self._starts, axis=1))

    def _far(self, points: Floats, pieces: Codes) -> Mask:
        """Whether each position is outside its piece (N,)."""
        return np.asarray((np.abs(points - self._table[pieces, 5:7]) > FAR * self._table[pieces, 7:9]).any(1))

    def _likely(self, points: Floats) -> Floats:
        """Log-likelihood of each position under each piece (N, P), up to a constant per position."""
        table = self._table
        means, spreads, slant = table[:, 5:7], table[:, 7:9], table[:, 9]
        off = (points[:, None] - means) / spreads  # (N, P, 2)
        squares = (off**2).sum(2) - 2 * slant * off[:, :, 0] * off[:, :, 1]
        size = np.log(spreads.prod(1) * np.sqrt(1 - slant**2))
        return np.asarray(np.log(table[:, 0]) - size - squares / (2 * (1 - slant**2)))

    def _cells(
        self, frame: Frame, schema: Schema, points: Floats, moved: Codes, changed: Codes, chosen: Codes
    ) -> dict[Name, Cells]:
        """The columns after the changes."""
        cells: dict[Name, Cells] = {}
        for place, name in enumerate(self.targets):
            own, decimals = frame.cells(name), self.decimals[place]
            new = points[moved, place]
            values = own.values.copy()
            values[moved] = (new if decimals is None else np.round(new, decimals)).astype(values.dtype)
            cells[name] = Cells(values, own.gaps)
        known = cells_of(list(self.areas), schema.column(self.by))
        own = frame.cells(self.by)
        values = own.values.copy()
        values[changed] = known.values[chosen[changed]]
        return {**cells, self.by: Cells(values, own.gaps)}

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        areas = [[value, [list(piece) for piece in own]] for value, own in self.areas.items()]
        plain = {"targets": list(self.targets), "by": self.by, "areas": areas, "decimals": list(self.decimals)}
        return plain | {"support": self.support, "exceptions": self.exceptions}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Area:
        """Inverse of `to_json`."""
        areas = {
            value: tuple(tuple(float(number) for number in piece) for piece in own) for value, own in data["areas"]
        }
        for pieces in areas.values():
            if not 0 < len(pieces) <= 4 * MAX_PIECES or not all(_is_piece(piece) for piece in pieces):
                raise ValueError(f"the areas of {data['by']!r} are invalid")
        first, second = data["targets"]
        decimals = data["decimals"][0], data["decimals"][1]
        return cls((first, second), data["by"], areas, decimals, data["support"], data["exceptions"])


def parse(text: str, schema: Schema) -> Area | None:
    """Read `lat, long within zipcode`."""
    left, mark, right = text.partition(MARK)
    if not mark or len(targets := names_in(left, text, schema)) == 1:
        return None
    by = names_in(right, text, schema)
    if len({*targets, *by}) != 3 or len(by) != 1 or any(schema.column(name).kind != NUMERIC for name in targets):
        raise SchemaError(f"constraint {text!r} cannot be read; write it as `lat, long within zipcode`, of numbers")
    return Area((targets[0], targets[1]), by[0])


def find(search: Search) -> Sequence[Candidate]:
    """Find pairs of numbers that together determine a category and each depend on it."""
    return search.once("areas", _find)


def _find(search: Search) -> Sequence[Candidate]:
    seen, held = search.seen, search.held
    names = positions(seen)
    if len(names) < 2:
        return []
    found: list[Candidate] = []
    ranks = rank_matrix(seen, names)
    taken: set[Name] = set()
    for by in categories(seen, search.floor):
        codes = Coded.read(seen, by).codes
        shares = explained(ranks, codes)
        near = [
            k for k in np.argsort(-shares) if shares[k] >= MIN_EXPLAINED and names[k] != by and names[k] not in taken
        ]
        near = [k for k in near if code_like(seen, by, codes, ranks[k])][:2]
        if len(near) < 2 or by in taken:
            continue
        law = Area((names[near[0]], names[near[1]]), by)
        known = _recognised(law.learn(seen, search.floor), held)
        if known >= MIN_DETERMINED:
            law = law.learn(search.frame, search.floor)
            taken |= set(law.targets)
            kept = law.support / max(law.support + law.exceptions, 1)
            found.append(Candidate(law, known - 10 * len(law.areas) / search.frame.n_rows, exact=False, share=kept))
    return found


def find_single(search: Search) -> Sequence[Candidate]:
    """Find numbers with a separate range in each category, except for the numbers of a position."""
    taken = {name for candidate in find(search) for name in candidate.law.writes}
    return [candidate for candidate in within.find(search) if not taken & set(candidate.law.writes)]


def _recognised(law: Area, held: Frame) -> float:
    """Share of rows whose category is the most likely one for their position."""
    points, codes = law._points(held), law._codes(held)
    rows = np.flatnonzero(~np.isnan(points.sum(1)))
    if not len(rows) or not law.areas:
        return 0.0
    return float(np.mean(law._of_categories(law._likely(points[rows])).argmax(1) == codes[rows]))


def _is_piece(piece: Piece) -> bool:
    return len(piece) == 10 and piece[0] > 0 and min(piece[7:9]) > 0 and abs(piece[9]) < 1


def _cut(points: Floats, least: int, few: int, scale: Floats) -> list[Floats]:
    """Cut positions into pieces, across the longer side, at a wide gap or in the middle.

    Pieces have at least `least` positions, or `few` next to a gap; `scale` makes both sides comparable.
    """
    extent = np.ptp(points, axis=0)
    for axis in np.argsort(-extent / scale):
        own = points[np.argsort(points[:, axis], kind="stable")]
        steps = np.diff(own[:, axis])
        inner = steps[few - 1 : len(own) - few]
        place = few - 1 + int(inner.argmax()) if len(inner) else 0
        if not len(inner) or inner.max() < WIDE_GAP * extent[axis]:
            place = len(own) // 2 - 1 + int((steps[len(own) // 2 - 1 :] > 0).argmax())
            if len(own) < 2 * least or not least <= place + 1 <= len(own) - least:
                continue
        if steps[place] > 0:
            return [part for half in (own[: place + 1], own[place + 1 :]) for part in _cut(half, least, few, scale)]
    return [points]


def _ends(points: Floats, floor: int) -> Floats:
    """Low and high of each number, as far as enough rows support them (2, 2)."""
    return np.array([supported_range(*np.unique(own, return_counts=True), max(floor, 2)) for own in points.T])


def _piece(points: Floats, share: float, floor: int, ends: Floats) -> Piece:
    """Share, ranges, middle, spread and slant of positions in a category that reaches as far as its `ends`.

    A piece at the border extends to the `ends` of the category; positions beyond, of fewer rows than the floor, are
    ignored.
    """
    beyond = points.min(0) <= ends[:, 0], points.max(0) >= ends[:, 1]
    points = np.clip(points, ends[:, 0], ends[:, 1])
    means, spreads = points.mean(0), np.maximum(points.std(0), 1e-9 * np.maximum(np.abs(points).max(0), 1e-3))
    own = _ends(points, floor)
    own = np.where(np.stack(beyond, axis=1), ends, own)
    # too few rows to estimate both ends: use half a standard deviation around the mean
    narrow = own[:, 1] - own[:, 0] < spreads
    own[narrow] = np.stack([means - spreads / 2, means + spreads / 2], axis=1)[narrow]
    slant = float(np.mean(((points - means) / spreads).prod(1)))
    numbers = (share, *own.ravel(), *means, *spreads, float(np.clip(slant, -MAX_SLANT, MAX_SLANT)))
    return tuple(float(number) for number in numbers)


def _moved(points: Floats, low: Floats, high: Floats, rng: np.random.Generator) -> Floats:
    """Move positions outside of a range into its outer quarter."""
    inwards = rng.random(points.shape) * 0.25 * (high - low)
    return np.where(points < low, low + inwards, np.where(points > high, high - inwards, points))
