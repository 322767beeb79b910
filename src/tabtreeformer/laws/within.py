"""A number with a separate range for each category: prices of a product, weights of a species.

Before tokenizing, the number is replaced by its position in the range of its category, between 0 and 1, so that every
drawn number is inside. Ranges, and the cells inside them, are means over enough rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.rare import supported_range
from ..data.schema import LABELLED, NUMERIC, Column, Schema
from ..data.schema.numbers import count_decimals
from ..errors import SchemaError
from .base import Cells, Frame, Mask, Name, OneTarget, fresh, replaced
from .codes import Coded, Codes
from .search import Candidate, Search
from .sentences import names_in, quoted

Floats = NDArray[np.float64]
Knots = tuple[float, ...]

ROWS_PER_CELL = 12
"""Minimum rows of a cell; or twice the floor, if larger."""
MAX_CELLS = 16
"""Maximum number of cells per category."""
MIN_ROWS = 20
"""Minimum rows of a category with a separate range."""
MIN_BITS = 1.5
"""Minimum bits per held-out row that the category must save."""
MIN_VALUES, MAX_MODE = 50, 0.1
"""Minimum distinct values, and maximum share of the most common one; otherwise the numbers are labels, not quantities.
"""
MIN_EXPLAINED = 0.5
"""Minimum share of the variance in ranks explained by the category, before it is examined more closely."""
MAX_CATEGORIES = 500
MAX_RANK_CORRELATION = 0.8
"""A numeric code such as a zip code can be the category if its rank correlation with the number is below this."""
MARK = " within "


@dataclass(frozen=True)
class Within(OneTarget):
    """`price within product`."""

    form: ClassVar[str] = "within"
    near: ClassVar[bool] = True
    target: Name
    by: Name
    knots: Mapping[Any, Knots] = field(default_factory=dict)
    """Edges of the cells per category."""
    rest: Knots = (0.0, 1.0)
    """The same for all rare categories together."""
    decimals: int | None = None
    column: Name = ""
    """The column of positions."""
    support: int = 0
    exceptions: int = 0

    @property
    def text(self) -> str:
        return f"{quoted(self.target)}{MARK}{quoted(self.by)}"

    @property
    def reads(self) -> tuple[Name, ...]:
        return (self.by,)

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Applies to categories with a range; kept by numbers inside it, or less than half a range outside."""
        codes, numbers = self._codes(frame), frame.floats(self.target)
        applies = (codes < len(self.knots)) & ~np.isnan(numbers)
        ends = np.array([(own[0], own[-1]) for own in self._tables()])[codes]
        slack = 0.5 * (ends[:, 1] - ends[:, 0])
        with np.errstate(invalid="ignore"):
            return applies, applies & (numbers >= ends[:, 0] - slack) & (numbers <= ends[:, 1] + slack)

    def _tables(self) -> list[Floats]:
        return [np.array(own) for own in (*self.knots.values(), self.rest)]

    def _codes(self, frame: Frame) -> Codes:
        """Index of each row's table of cells; the last one is for all rare categories."""
        place = {value: code for code, value in enumerate(self.knots)}
        coded = Coded.read(frame, self.by)
        return np.array([place.get(value, len(place)) for value in coded.values], dtype=np.int64)[coded.codes]

    def learn(self, frame: Frame, floor: int) -> Within:
        """Fit the range and cells of each category with enough rows."""
        numbers = frame.floats(self.target)
        there = ~np.isnan(numbers)
        coded = Coded.read(frame, self.by)
        knots: dict[Any, Knots] = {}
        for code, value in enumerate(coded.values):
            own = numbers[there & (coded.codes == code)]
            if value is not None and len(own) >= max(MIN_ROWS, 4 * floor):
                knots[value] = _knots(own, floor)
        learned = replace(
            self,
            knots=knots,
            rest=_knots(numbers[there], floor) if there.sum() >= 3 * max(floor, 2) else self.rest,
            decimals=count_decimals(numbers[there], spare=len(numbers) // 100),
            column=fresh(f"{self.target} within {self.by}", frame.schema),
        )
        return learned.counted(frame)

    def reshape(self, schema: Schema) -> Schema:
        """Replace the target by a number between 0 and 1."""
        return replaced(schema, self.target, [Column(self.column, NUMERIC, "float64")])

    def express(self, frame: Frame) -> Frame:
        """Numbers → positions in their ranges."""
        tables = self._tables()
        numbers = frame.floats(self.target)
        placed = _per_code(self._codes(frame), numbers, lambda code, own: _place(own, tables[code]))
        return frame.changed(self.reshape(frame.schema), {self.column: _cells(placed)})

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Positions → numbers, rounded like the column."""
        tables = self._tables()
        places = np.clip(frame.floats(self.column), 0.0, 1.0)
        own = _per_code(self._codes(frame), places, lambda code, some: _back(some, tables[code]))
        own = own if self.decimals is None else np.round(own, self.decimals)
        gaps = np.isnan(own)
        if schema.column(self.target).whole:
            return frame.changed(schema, {self.target: Cells(np.rint(np.where(gaps, 0, own)).astype(np.int64), gaps)})
        return frame.changed(schema, {self.target: Cells(own, gaps)})

    def log_scale(self, frame: Frame) -> Floats:
        """Log of the change of position per unit of the number; large in narrow cells."""
        tables, numbers = self._tables(), frame.floats(self.target)

        def slopes(code: int, own: Floats) -> Floats:
            knots = tables[code]
            cell = np.clip(np.searchsorted(knots, own, side="right") - 1, 0, len(knots) - 2)
            return np.asarray(-np.log(np.diff(knots)[cell] * (len(knots) - 1)))

        return np.nan_to_num(_per_code(self._codes(frame), numbers, slopes))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        knots = [[value, list(own)] for value, own in self.knots.items()]
        plain = {"target": self.target, "by": self.by, "knots": knots, "rest": list(self.rest)}
        return plain | {name: getattr(self, name) for name in ("decimals", "column", "support", "exceptions")}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Within:
        """Inverse of `to_json`."""
        knots = {value: tuple(own) for value, own in data["knots"]}
        if any(len(own) < 2 or list(own) != sorted(own) for own in (*knots.values(), data["rest"])):
            raise ValueError(f"the ranges of {data['target']!r} are invalid")
        return cls(**{**data, "knots": knots, "rest": tuple(data["rest"])})


def parse(text: str, schema: Schema) -> Within | None:
    """Read `price within product`."""
    left, mark, right = text.partition(MARK)
    if not mark or len(targets := names_in(left, text, schema)) > 1:
        return None
    by = names_in(right, text, schema)
    if len(by) != 1 or by[0] in targets or schema.column(targets[0]).kind != NUMERIC:
        raise SchemaError(f"constraint {text!r} cannot be read; write it as `price within product`, of a number")
    return Within(targets[0], by[0])


# ---- cells


def _knots(values: Floats, floor: int) -> Knots:
    """Edges of cells of about equal mass; the outermost are supported by enough rows, inner ones are means."""
    floor = max(floor, 2)
    low, high = supported_range(*np.unique(values, return_counts=True), floor)
    n_cells = int(np.clip(len(values) // max(ROWS_PER_CELL, 2 * floor), 1, MAX_CELLS))
    ordered = np.sort(values)
    inner = []
    for k in range(1, n_cells):
        middle = k * len(ordered) // n_cells
        inner.append(float(np.mean(ordered[middle - floor // 2 : middle - floor // 2 + floor])))
    knots = np.unique(np.clip([low, *inner, high], low, high))
    if len(knots) < 2:
        width = max(abs(low) * 1e-9, 1e-9)
        return (low - width, low + width)
    return tuple(knots.tolist())


def _place(values: Floats, knots: Floats) -> Floats:
    """Numbers → positions from 0 to 1; numbers beyond an end are reflected, so that they do not pile up there."""
    shares = np.linspace(0, 1, len(knots))
    low, high = knots[0], knots[-1]
    folded = np.where(values < low, 2 * low - values, np.where(values > high, 2 * high - values, values))
    return np.asarray(np.round(np.interp(np.clip(folded, low, high), knots, shares), 9))


def _back(places: Floats, knots: Floats) -> Floats:
    return np.interp(places, np.linspace(0, 1, len(knots)), knots)


def _per_code(codes: Codes, values: Floats, change: Any) -> Floats:
    """Map values by the table of their code; NaN stays."""
    result = np.full(len(values), np.nan)
    order = np.argsort(codes, kind="stable")
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    for rows in np.split(order, cuts):
        own = rows[~np.isnan(values[rows])]
        if len(own):
            result[own] = change(int(codes[own[0]]), values[own])
    return result


def _cells(numbers: Floats) -> Cells:
    gaps = np.isnan(numbers)
    return Cells(np.where(gaps, 0.0, numbers), gaps)


# ---- search


def find(search: Search) -> Sequence[Candidate]:
    """Find numbers with a much narrower range in a category than in the table, each with the best category."""
    seen, held = search.seen, search.held
    names = positions(seen)
    if not names:
        return []
    best: dict[Name, tuple[float, Name]] = {}
    ranks = rank_matrix(seen, names)
    for by in categories(seen, search.floor):
        codes = Coded.read(seen, by).codes
        for name, own, share in zip(names, ranks, explained(ranks, codes), strict=True):
            if name == by or share < MIN_EXPLAINED or not code_like(seen, by, codes, own):
                continue
            bits = _saved(Within(name, by).learn(seen, search.floor), held)
            if bits >= max(MIN_BITS, best.get(name, (0.0, by))[0]):
                best[name] = bits, by
    found: list[Candidate] = []
    for name, (bits, by) in best.items():
        law = Within(name, by).learn(search.frame, search.floor)
        found.append(Candidate(law, bits - 10.0 * len(law.knots) / search.frame.n_rows, exact=False))
    return found


def positions(frame: Frame) -> list[Name]:
    """Numeric columns that are quantities: many values, none of them common."""
    return [c.name for c in frame.schema.columns if c.kind == NUMERIC and _is_position(frame, c.name)]


def code_like(frame: Frame, by: Name, codes: Codes, ranks: Floats) -> bool:
    """Whether a category is a code and not just a quantity that correlates with the number."""
    if frame.schema.column(by).kind != NUMERIC:
        return True
    counts = np.bincount(codes)
    if len(counts) < 4:
        return False
    means = np.bincount(codes, weights=ranks) / np.maximum(counts, 1)  # codes are in the order of the values
    return abs(float(np.corrcoef(np.argsort(np.argsort(means)), np.arange(len(means)))[0, 1])) < MAX_RANK_CORRELATION


def rank_matrix(frame: Frame, names: Sequence[Name]) -> Floats:
    """Ranks of the numbers (M, N), 0 in the middle and where missing."""
    ranks = np.zeros((len(names), frame.n_rows))
    for place, name in enumerate(names):
        numbers = frame.floats(name)
        there = np.flatnonzero(~np.isnan(numbers))
        ranks[place, there] = np.argsort(np.argsort(numbers[there])) / max(len(there) - 1, 1) - 0.5
    return ranks


def explained(ranks: Floats, codes: Codes) -> Floats:
    """Share of each number's rank variance that is between categories (M,)."""
    counts = np.bincount(codes)
    sums = np.array([np.bincount(codes, weights=own, minlength=len(counts)) for own in ranks])
    between = (sums**2 / np.maximum(counts, 1)).sum(1)
    return np.asarray(between / np.maximum((ranks**2).sum(1), 1e-12))


def _is_position(frame: Frame, name: Name) -> bool:
    numbers = frame.floats(name)
    numbers = numbers[~np.isnan(numbers)]
    counts = np.unique(numbers, return_counts=True)[1]
    return len(counts) >= MIN_VALUES and counts.max() <= MAX_MODE * len(numbers)


def categories(frame: Frame, floor: int) -> list[Name]:
    """Columns with few values, most of them with enough rows."""
    names = []
    for column in frame.schema.columns:
        if column.kind not in (*LABELLED, NUMERIC):
            continue
        coded = Coded.read(frame, column.name)
        counts = np.bincount(coded.codes)
        if not 2 <= coded.size <= min(MAX_CATEGORIES, frame.n_rows // MIN_ROWS):
            continue
        if counts[counts >= max(MIN_ROWS, 4 * floor)].sum() >= 0.8 * frame.n_rows:
            names.append(column.name)
    return names


def _saved(law: Within, held: Frame) -> float:
    """Bits per held-out row saved by the category's cells compared with one set of cells for the whole table."""
    numbers, codes, tables = held.floats(law.target), law._codes(held), law._tables()
    rows = np.flatnonzero(~np.isnan(numbers) & (codes < len(law.knots)))
    inside = _per_code(codes[rows], numbers[rows], lambda code, own: _log_density(own, tables[code]))
    return float((inside - _log_density(numbers[rows], tables[-1])).sum() / max(int((~np.isnan(numbers)).sum()), 1))


def _log_density(values: Floats, knots: Floats) -> Floats:
    """Log2 of a density that is constant inside each cell, with a thin tail beyond the ends."""
    cell = np.clip(np.searchsorted(knots, values, side="right") - 1, 0, len(knots) - 2)
    widths = np.diff(knots)
    outside = (values < knots[0]) | (values > knots[-1])
    reach = knots[-1] - knots[0]
    return np.where(outside, np.log2(0.05 / reach), np.log2(0.95 / (len(widths) * np.maximum(widths[cell], 1e-12))))
