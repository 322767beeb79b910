"""A value that occurs only under a condition: `fare = 52 only where from = 'Queens' or to = 'Queens'`.

The column stays unchanged. A row that has the value although the condition does not hold gets a nearby number instead,
except for the table's share of exceptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.rare import slice_means
from ..data.schema import NUMERIC, Schema
from ..errors import SchemaError
from .base import Cells, Frame, Mask, Name, OneTarget
from .correcting import Correcting
from .grid import grid_of
from .sentences import said, unsaid
from .states import State, alternatives, read_state

MARK = " only where "
POINTS = 21
"""Number of nearby values that are stored."""
NEAR_ROWS = 30
"""Minimum rows on either side that they summarise."""

COARSER, MIN_ROUND = (100, 50, 25, 20, 10, 5, 2), 0.95
"""Typical rounding steps, and minimum share of nearby numbers that are multiples of them."""


@dataclass(frozen=True)
class Only(OneTarget, Correcting):
    """A value of the target, and states of other columns; the value occurs only if one of these holds."""

    form: ClassVar[str] = "only"
    target: Name
    value: Any
    causes: tuple[State, ...]
    beside: tuple[float, ...] = ()
    """Means of nearby numbers, ascending, without the value itself."""
    grid: tuple[float, float] | None = None
    support: int = 0
    exceptions: int = 0
    near: bool = False
    """Whether rows of the table break it."""

    @property
    def state(self) -> State:
        """The target with its value."""
        return State(self.target, self.value)

    @property
    def text(self) -> str:
        words = f"{self.state.text}{MARK}{' or '.join(cause.text for cause in self.causes)}"
        return said(words, near=self.near)

    @property
    def reads(self) -> tuple[Name, ...]:
        return tuple(dict.fromkeys(cause.name for cause in self.causes))

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Applies where the value occurs; a missing cause does not break it."""
        applies, may = self.state.mask(frame), np.zeros(frame.n_rows, dtype=bool)
        for cause in self.causes:
            may |= cause.mask(frame) | frame.gaps(cause.name)
        return applies, applies & may

    def learn(self, frame: Frame, floor: int) -> Only:
        """Count the rows that keep it, and summarise the nearby numbers."""
        counted, numbers = self.counted(frame), frame.floats(self.target)
        there = numbers[~np.isnan(numbers)]
        others = np.sort(there[there != self.value])
        place = int(np.searchsorted(others, self.value))
        reach = max(NEAR_ROWS, 5 * floor, (len(there) - len(others)) // 2)
        window = others[max(place - reach, 0) : place + reach]
        return replace(
            counted,
            beside=tuple(slice_means(window, max(floor, 1), POINTS).tolist()) if len(window) else (),
            grid=_round_grid(window, grid_of(there, whole=frame.values(self.target).dtype.kind in "iu")),
            near=self.near or counted.exceptions > 0,
        )

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Replace the value where none of the causes holds."""
        applies, keeps = self.holds(frame)
        rows = np.flatnonzero(applies & ~keeps & ~self.spared(applies, keeps, rng))
        if not len(rows) or not self.beside:
            return frame.changed(schema, {})
        drawn = np.interp(rng.random(len(rows)), np.linspace(0, 1, len(self.beside)), self.beside)
        if self.grid is not None:
            step, first = self.grid
            places, own = np.rint((drawn - first) / step), np.rint((self.value - first) / step)
            places = np.where(places == own, places + np.where(drawn < self.value, -1, 1), places)
            drawn = np.round(places * step + first, 9)
        cells = frame.cells(self.target)
        values = cells.values.copy()
        values[rows] = drawn.astype(values.dtype)
        return frame.changed(schema, {self.target: Cells(values, cells.gaps)})

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        plain = {name: getattr(self, name) for name in ("support", "exceptions", "near")}
        own = {"target": self.target, "value": self.value, "causes": [cause.to_json() for cause in self.causes]}
        return {**own, "beside": list(self.beside), "grid": None if self.grid is None else list(self.grid), **plain}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Only:
        """Inverse of `to_json`."""
        causes = tuple(State(*cause) for cause in data["causes"])
        grid = None if data["grid"] is None else (float(data["grid"][0]), float(data["grid"][1]))
        beside = tuple(float(number) for number in data["beside"])
        if list(beside) != sorted(beside) or (grid is not None and grid[0] <= 0):
            raise ValueError(f"the nearby numbers of {data['target']!r} are invalid")
        return cls(**{**data, "causes": causes, "beside": beside, "grid": grid})


def _round_grid(values: NDArray[np.float64], grid: tuple[float, float] | None) -> tuple[float, float] | None:
    """The grid of a column, or the coarser one on which nearly all of these numbers are: half dollars, not cents."""
    if grid is None or not len(values):
        return grid
    counts = np.rint((values - grid[1]) / grid[0])
    coarser = next((c for c in COARSER if np.mean(counts % c == 0) >= MIN_ROUND), 1)
    return grid[0] * coarser, grid[1]


def parse(text: str, schema: Schema) -> Only | None:
    """Read `fare = 52 only where from = 'Queens' or to = 'Queens'`."""
    words, near = unsaid(text)
    left, mark, right = words.partition(MARK)
    if not mark:
        return None
    state = read_state(left, text, schema)
    causes = [read_state(part, text, schema) for part in alternatives(right)]
    known = tuple(cause for cause in causes if cause is not None)
    is_number = state is not None and state.value is not None and schema.column(state.name).kind == NUMERIC
    if state is None or not is_number or len(known) < len(causes) or any(own.name == state.name for own in known):
        raise SchemaError(
            f"constraint {text!r} cannot be read; write it as `fare = 52 only where zone = 'airport'`, of a number"
        )
    return Only(state.name, state.value, known, near=near)
