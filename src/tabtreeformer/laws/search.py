"""State shared by all searches: the search rows, the held-out rows, and the bits that a law saves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..data.schema import NUMERIC
from ..data.schema.numbers import count_decimals
from ..data.schema.values import stored_in_32_bits, widened
from .base import Frame, Law, Name
from .bits import code_length

T = TypeVar("T")
LARGEST = 2.0**62
"""Columns with larger numbers are skipped: sums and differences could overflow."""
MAX_ROWS = 10_000
"""Maximum number of rows that are read."""
SEEN = 0.7
"""Share of them in which laws are searched; the others are held out."""


@dataclass(frozen=True)
class Candidate:
    """A law that a search proposes."""

    law: Law
    bits: float
    """Held-out bits per row saved in the columns that it writes, minus the bits of its own description."""
    exact: bool
    """Whether no search row breaks it; exact laws are chosen before near ones."""
    share: float = 0.0
    """Share of applicable rows that keep it; laws that nearly always hold come before those that only save bits."""
    lost: float = 0.0
    """Share of the target's zeros or round numbers that are lost when it is computed."""
    coarse: bool = False
    """Whether the target has fewer decimals than a part, so that the part cannot be computed from it exactly."""
    gaps_only: bool = False
    """Whether it only determines where a column is missing, so that another law may still compute its values."""


@dataclass(frozen=True)
class Numbers:
    """The numeric columns as a matrix."""

    names: tuple[Name, ...]
    matrix: NDArray[np.float64]
    """(N, M), NaN where missing."""
    decimals: tuple[int | None, ...]
    distinct: NDArray[np.int64]
    single: NDArray[np.bool_]
    """Whether a column consists of 32-bit floats."""

    def is_short(self, i: int) -> bool:
        """Whether a column consists of 32-bit floats that are not all integers."""
        own = self.matrix[:, i][~np.isnan(self.matrix[:, i])]
        return bool(self.single[i] or (self.decimals[i] != 0 and (stored_in_32_bits(own) == own).all()))

    def stored(self, target: int) -> NDArray[np.float64]:
        """The matrix with 32-bit floats restored, as a law in 32 bits for this column reads it (`Computed.short`)."""
        short = self.single if self.single[target] else np.array([d != 0 for d in self.decimals])
        return np.where(short, widened(self.matrix), self.matrix)

    def step(self, i: int) -> float:
        """The grid of a column."""
        decimals = self.decimals[i]
        return 10.0 ** -(6 if decimals is None else decimals)


@dataclass(frozen=True)
class Search:
    """A table to search for laws."""

    frame: Frame
    """At most `MAX_ROWS` rows of the table."""
    floor: int
    """Values, categories and keys of fewer rows than this must not be stored."""
    rng: np.random.Generator
    ordered: Frame
    """Consecutive rows in their original order."""
    computed: frozenset[Name] = frozenset()
    """Columns that a law computes exactly; laws that correct rows should refer to learned columns."""
    own_gaps: frozenset[Name] = frozenset()
    """Those of them whose gaps differ from the gaps of their parts."""
    wanted: frozenset[Name] | None = None
    """Target columns of the search; None for all."""

    @classmethod
    def begin(cls, frame: Frame, floor: int, rng: np.random.Generator) -> Search:
        """Draw the search rows."""
        ordered = frame
        if frame.n_rows > MAX_ROWS:
            ordered = frame.take(np.arange(MAX_ROWS))
            frame = frame.take(np.sort(rng.choice(frame.n_rows, MAX_ROWS, replace=False)))
        return cls(frame, floor, rng, ordered)

    def knowing(self, computed: frozenset[Name], own_gaps: frozenset[Name]) -> Search:
        """The same search, sharing its cache, with the computed columns added."""
        own = Search(self.frame, self.floor, self.rng, self.ordered, computed, own_gaps)
        own.__dict__.update({name: value for name, value in self.__dict__.items() if name not in own.__dict__})
        return own

    def targets(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which of these numeric columns are targets of the search."""
        wanted = self.wanted
        if wanted is None:
            return places
        return np.array([i for i in places if self.numbers.names[i] in wanted], dtype=np.int64)

    def once(self, what: str, compute: Callable[[Search], T]) -> T:
        """Cached results that several searches need."""
        found: dict[str, Any] = self.__dict__.setdefault("_found", {})
        if what not in found:
            found[what] = compute(self)
        result: T = found[what]
        return result

    @cached_property
    def numbers(self) -> Numbers:
        """The numeric columns of the rows."""
        schema = self.frame.schema
        numeric = [(c.name, self.frame.floats(c.name)) for c in schema.columns if c.kind == NUMERIC]
        pairs = [(name, own) for name, own in numeric if np.nanmax(np.abs(own), initial=0.0) < LARGEST]
        names, columns = [name for name, _ in pairs], [own for _, own in pairs]
        matrix = np.stack(columns, axis=1) if names else np.empty((self.frame.n_rows, 0))
        decimals = tuple(_decimals(column) for column in columns)
        distinct = np.array([len(np.unique(column[~np.isnan(column)])) for column in columns], dtype=np.int64)
        single = np.array([schema.column(name).single for name in names], dtype=bool)
        return Numbers(tuple(names), matrix, decimals, distinct, single)

    @cached_property
    def bits(self) -> dict[Name, float]:
        """Held-out bits per row of each numeric column."""
        own = self.numbers
        return {name: self.length(own.matrix[:, i], own.step(i)) for i, name in enumerate(own.names)}

    def length(self, values: NDArray[np.float64], step: float) -> float:
        """Held-out bits per row of an array with one number per row."""
        seen, held = self.rows
        return code_length(values[seen], values[held], step)

    @cached_property
    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        order = self.rng.permutation(self.frame.n_rows)
        cut = round(SEEN * len(order))
        return np.sort(order[:cut]), np.sort(order[cut:])

    @cached_property
    def seen(self) -> Frame:
        """Rows that laws are found in."""
        return self.frame.take(self.rows[0])

    @cached_property
    def held(self) -> Frame:
        """Rows that are held out."""
        return self.frame.take(self.rows[1])


def _decimals(values: NDArray[np.float64]) -> int | None:
    decimals = count_decimals(values[~np.isnan(values)])
    return decimals if decimals is None or decimals <= 9 else None
