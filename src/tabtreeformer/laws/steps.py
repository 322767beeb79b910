"""Numbers whose rounding depends on a label: yen are whole, euros have cents.

The general rounding of a column is learned with its numbers. Here it depends on a category: its numbers are multiples
of a step, and the others are not. The column stays unchanged; rows of the category are rounded to the step.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.rare import supported_range
from ..data.schema import LABELLED, NUMERIC, Schema
from ..errors import SchemaError
from .base import Cells, Frame, Mask, Name, OneTarget
from .clock import are_clock_times
from .codes import Coded
from .correcting import Correcting
from .implication import MARK
from .search import Candidate, Search
from .sentences import named, quoted
from .states import State, read_state
from .words import number

MIN_ROWS = 100
"""Minimum rows of a category; or the floor, if larger."""
MAX_P = 1e-6
"""Maximum p-value, corrected for the number of laws tried."""
MAX_SHARE = 0.9
"""Maximum share of the other rows that are multiples too; above it, the step belongs to the whole column."""
MAX_LABELS = 60
MANTISSAS = (1, 2, 5, 10, 25, 50)
MAX_STEPS = 24
MIN_VALUES = 10
"""Minimum distinct numbers of a category; fewer are labels, or not meaningful."""
MIN_SHARE = 0.02
"""Minimum share of all rows that are multiples of a step."""
LARGEST = 2.0**53
Bound = tuple[Name, bool]
_CLAUSE = re.compile(r"\s*(?:`([^`]*)`|([^\W\d]\w*)) in steps of ([0-9.]+(?:e[-+]?[0-9]+)?)\s*")


@dataclass(frozen=True)
class Steps(OneTarget, Correcting):
    """`amount in steps of 1 where currency = 'JPY' or currency = 'KRW'`."""

    form: ClassVar[str] = "steps"
    target: Name
    clauses: tuple[tuple[float, State], ...]
    """Step and cause."""
    high: float | None = None
    """Maximum of the column, supported by enough rows: 58 minutes are never rounded to 60."""
    down: bool = False
    """Whether to round down: the clock time 1158 must not become 1160."""
    floors: tuple[Bound, ...] = ()
    """Columns that the rounded one must not fall below, by other laws, and whether equality is excluded."""
    ceilings: tuple[Bound, ...] = ()
    """Columns that it must not exceed."""
    support: int = 0
    exceptions: int = 0

    @property
    def text(self) -> str:
        words: dict[float, list[str]] = {}
        for step, cause in self.clauses:
            words.setdefault(step, []).append(cause.text)
        name = quoted(self.target)
        return "; ".join(f"{name} in steps of {number(s)}{MARK}{' or '.join(c)}" for s, c in words.items())

    @property
    def reads(self) -> tuple[Name, ...]:
        return tuple(dict.fromkeys([c.name for _, c in self.clauses] + [n for n, _ in self.floors + self.ceilings]))

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Applies to rows of the categories."""
        numbers, there = frame.floats(self.target), ~frame.gaps(self.target)
        applies, broken = np.zeros(frame.n_rows, dtype=bool), np.zeros(frame.n_rows, dtype=bool)
        for step, cause in self.clauses:
            rows = cause.mask(frame) & there
            applies |= rows
            broken[rows] |= ~_multiples(numbers[rows], step)
        return applies, applies & ~broken

    def learn(self, frame: Frame, floor: int) -> Steps:
        """Determine the maximum and whether the column is a clock time, and count the rows that keep the law."""
        there = frame.floats(self.target)[~frame.gaps(self.target)]
        if not len(there):
            return self.counted(frame)
        high = supported_range(*np.unique(there, return_counts=True), max(floor, 1))[1]
        return replace(self, high=high, down=are_clock_times(there)).counted(frame)

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Round the numbers of the categories."""
        cells = frame.cells(self.target)
        values = cells.values.copy()
        for step, cause in self.clauses:
            rows = cause.mask(frame) & ~cells.gaps
            rows[rows] = ~_multiples(values[rows].astype(np.float64), step)
            rounded = _rounded(values[rows], step, self.high, down=self.down)
            values[rows] = self._between(rounded, frame, rows, step).astype(values.dtype)
        return frame.changed(schema, {self.target: Cells(values, cells.gaps)})

    def _between(self, rounded: NDArray[np.float64], frame: Frame, rows: Mask, step: float) -> NDArray[np.float64]:
        """The nearest multiples that other laws allow; if there are none, those laws take precedence."""
        least, most = (
            _ends(frame, bounds, rows, step, sign) for bounds, sign in ((self.floors, 1), (self.ceilings, -1))
        )
        decimals = _decimals(step)
        moved = np.where(rounded > most, np.round(np.floor(most / step + 1e-9) * step, decimals), rounded)
        moved = np.where(moved < least, np.round(np.ceil(least / step - 1e-9) * step, decimals), moved)
        over_the_hour = self.down & (moved != rounded) & (moved % 100 >= 60)
        return np.asarray(np.where(over_the_hour, (moved // 100 + 1) * 100, moved))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        clauses = [[step, cause.to_json()] for step, cause in self.clauses]
        rest = ("high", "down", "support", "exceptions")
        bounds = {key: [list(b) for b in getattr(self, key)] for key in ("floors", "ceilings") if getattr(self, key)}
        return {"target": self.target, "clauses": clauses, **{name: getattr(self, name) for name in rest}} | bounds

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Steps:
        """Inverse of `to_json`."""
        clauses = tuple((float(step), State(*cause)) for step, cause in data["clauses"])
        if not all(0 < step < np.inf for step, _ in clauses):
            raise ValueError(f"{data['target']!r} has invalid steps")
        bounds = {k: tuple((name, bool(strict)) for name, strict in data.get(k, ())) for k in ("floors", "ceilings")}
        return cls(**{**data, "clauses": clauses, **bounds})


def parse(text: str, schema: Schema) -> Steps | None:
    """Read `amount in steps of 1 where currency = 'JPY'`; clauses are separated by semicolons."""
    if " in steps of " not in text or MARK not in text:
        return None
    clauses: list[tuple[float, State]] = []
    names: set[Name] = set()
    for part in text.split(";"):
        left, _, right = part.partition(MARK)
        found = _CLAUSE.fullmatch(left)
        causes = [read_state(cause, text, schema) for cause in right.split(" or ")]
        if found is None or None in causes or not float(found[3]) > 0:
            raise SchemaError(f"constraint {text!r} cannot be read; write it as `price in steps of 5 where kind = 'a'`")
        names.add(named(found[1] if found[1] is not None else found[2], text, schema))
        clauses += [(float(found[3]), cause) for cause in causes if cause is not None]
    target = names.pop()
    if names or schema.column(target).kind != NUMERIC or target in {cause.name for _, cause in clauses}:
        raise SchemaError(f"constraint {text!r} must have one numeric target, and conditions on other columns")
    return Steps(target, tuple(clauses))


def find(search: Search) -> Sequence[Candidate]:
    """Find numbers that are coarser in some categories than in others, with the label that explains the most rows."""
    frame, numbers = search.frame, search.numbers
    labels = _labels(frame, search.floor)
    if not labels:
        return []
    tests = max(1, len(labels) * len(numbers.names))
    found: list[Candidate] = []
    for place, name in enumerate(numbers.names):
        decimals, own = numbers.decimals[place], numbers.matrix[:, place]
        if decimals is None or numbers.distinct[place] < 20 or np.nanmax(np.abs(own)) * 10.0**decimals > LARGEST:
            continue
        best: tuple[float, Steps] | None = None
        counts, steps = _frequent(own, decimals)
        for label, coded in labels if steps else ():
            whole = _clauses(steps, counts != 0, label, coded, search.floor, tests) if label != name else []
            whole = [(step, cause) for step, cause in whole if len(np.unique(counts[cause.mask(frame)])) >= MIN_VALUES]
            clauses = [(float(np.round(step / 10.0**decimals, decimals)), cause) for step, cause in whole]
            if clauses:
                law = Steps(name, tuple(clauses)).learn(frame, search.floor)
                if best is None or law.support > best[1].support:
                    best = law.support / frame.n_rows, law
        if best is not None:
            found.append(Candidate(best[1], best[0], exact=False, share=1.0))
    return found


def _labels(frame: Frame, floor: int) -> list[tuple[Name, Coded]]:
    """Labels with few values, some of them with enough rows."""
    found = []
    for column in frame.schema.columns:
        if column.kind in LABELLED:
            coded = Coded.read(frame, column.name)
            counts = np.bincount(coded.codes, minlength=1)
            if 2 <= coded.size <= MAX_LABELS and counts.max() >= max(MIN_ROWS, floor):
                found.append((column.name, coded))
    return found


def _frequent(own: NDArray[np.float64], decimals: int) -> tuple[NDArray[np.int64], list[tuple[int, Mask]]]:
    """Numbers as counts of the last decimal, and the steps that divide more of them than by chance.

    0 is a multiple of everything and does not count.
    """
    counts = np.rint(np.nan_to_num(own) * 10.0**decimals).astype(np.int64)
    there = counts != 0
    found = []
    for step in [m * 10**k for k in range(0, 8, 2) for m in MANTISSAS if m * 10**k > 1][:MAX_STEPS]:
        broken = there & (counts % step != 0)
        share = 1 - broken.sum() / max(there.sum(), 1)
        if max(1.5 / step, MIN_SHARE) <= share < 1:
            found.append((step, broken))
    return counts, found


def _clauses(
    steps: Sequence[tuple[int, Mask]], there: Mask, label: Name, coded: Coded, floor: int, tests: int
) -> list[tuple[int, State]]:
    """For each value of the label, the largest step that divides all its numbers but not the others."""
    rows = np.bincount(coded.codes[there], minlength=coded.size)
    total, found = int(rows.sum()), dict[int, int]()
    enough = (rows >= max(MIN_ROWS, floor)) & (total - rows >= MIN_ROWS)
    for step, broken in steps:
        missed = np.bincount(coded.codes[broken], minlength=coded.size)
        kept = rows - missed
        for code in np.flatnonzero((missed == 0) & enough):
            others = (kept.sum() - kept[code] + 0.5) / (total - rows[code] + 1)
            if others < MAX_SHARE and -rows[code] * np.log(others) > np.log(tests / MAX_P):
                found[int(code)] = step
    return [(step, State(label, coded.values[code])) for code, step in found.items() if coded.values[code] is not None]


def _multiples(values: NDArray[np.float64], step: float) -> Mask:
    """Mask of the numbers that are multiples, up to a millionth of the step."""
    return np.asarray(np.abs(values / step - np.rint(values / step)) < 1e-6)


def _rounded(values: NDArray[Any], step: float, high: float | None, *, down: bool) -> NDArray[np.float64]:
    """Round numbers to multiples of the step, never above the maximum of the column."""
    places = values.astype(np.float64) / step
    lower = np.floor(places + 1e-9)
    beyond = down | ((lower + 1) * step > (np.inf if high is None else high))
    return np.asarray(np.round(np.where(beyond, lower, np.rint(places)) * step, _decimals(step)))


def _decimals(step: float) -> int:
    return max(0, -int(np.floor(np.log10(step))) + 2)


def _ends(frame: Frame, bounds: Sequence[Bound], rows: Mask, step: float, sign: int) -> NDArray[np.float64]:
    """The greatest of some columns, or the least if `sign` is -1; moved by half a step where equality is excluded."""
    end = np.full(int(rows.sum()), -np.inf)
    for name, strict in bounds:
        own = sign * frame.floats(name)[rows] + strict * step / 2
        end = np.fmax(end, own)
    return sign * end
