"""The relations: each is enforced in rows while they are decoded.

Rows with a missing value in a column of the relation are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .plain_columns import Bounds, Name, Plain


def quoted(name: Name) -> str:
    """A name as written in sentences."""
    return str(name) if re.fullmatch(r"[^\W\d]\w*", str(name)) and str(name) != "from" else f"`{name}`"


@dataclass(frozen=True)
class AtLeast:
    """`greater >= lesser`; a row that breaks it gets a new value at a distance seen in the data."""

    greater: Name
    lesser: Name
    strict: bool = False
    gaps: tuple[float, ...] = ()
    """Quantiles of greater - lesser in the training rows."""
    moves_greater: bool = True

    @property
    def text(self) -> str:
        return f"{quoted(self.greater)} {'>' if self.strict else '>='} {quoted(self.lesser)}"

    @property
    def reads(self) -> tuple[Name, ...]:
        return (self.lesser,) if self.moves_greater else (self.greater,)

    @property
    def writes(self) -> Name:
        return self.greater if self.moves_greater else self.lesser

    def broken(self, plain: Plain) -> NDArray[np.bool_]:
        """Rows that break it."""
        difference = self._difference(plain)
        return plain.present(self.greater, self.lesser) & (difference <= 0 if self.strict else difference < 0)

    def _difference(self, plain: Plain) -> NDArray[Any]:
        greater, lesser = plain.values[self.greater], plain.values[self.lesser]
        if greater.dtype.kind == "u" or lesser.dtype.kind == "u":
            greater, lesser = greater.astype(np.float64), lesser.astype(np.float64)
        return np.asarray(greater - lesser)

    def keep(self, plain: Plain, bounds: Mapping[Name, Bounds], rng: np.random.Generator) -> None:
        """Move values in rows that break it, or whose values are further apart than in any row seen."""
        difference = self._difference(plain)
        outside = (difference < self.gaps[0]) | (difference > self.gaps[-1])
        rows = np.flatnonzero(plain.present(self.greater, self.lesser) & (self.broken(plain) | outside))
        if not len(rows):
            return
        gaps = np.interp(rng.random(len(rows)), np.linspace(0, 1, len(self.gaps)), self.gaps)
        moved, fixed = (self.greater, self.lesser) if self.moves_greater else (self.lesser, self.greater)
        anchor = plain.values[fixed][rows]
        gap = np.rint(gaps).astype(np.int64) if anchor.dtype.kind in "iu" else gaps
        goal = anchor + gap if self.moves_greater else anchor - gap
        plain.values[moved][rows] = bounds[moved].settle(goal, up=self.moves_greater)
        self._yield(plain, bounds, rows, moved, fixed)

    def _yield(
        self, plain: Plain, bounds: Mapping[Name, Bounds], rows: NDArray[np.int64], moved: Name, fixed: Name
    ) -> None:
        """If the range of the moved column ends too early, move the other column."""
        left = rows[self.broken(plain)[rows]]
        if len(left):
            plain.values[fixed][left] = bounds[fixed].settle(plain.values[moved][left], up=not self.moves_greater)

    def state(self) -> dict[str, Any]:
        """What was learned, as plain data."""
        return {"gaps": list(self.gaps), "moves_greater": self.moves_greater}

    def with_state(self, state: Mapping[str, Any]) -> AtLeast:
        """Inverse of `state`."""
        return replace(self, gaps=tuple(state["gaps"]), moves_greater=state["moves_greater"])


@dataclass(frozen=True)
class Sum:
    """`total = a + b - c`, to the decimals of the total."""

    total: Name
    parts: tuple[tuple[int, Name], ...]
    """Sign and column."""

    @property
    def text(self) -> str:
        words = "".join(f" {'+' if sign > 0 else '-'} {quoted(name)}" for sign, name in self.parts)
        return f"{quoted(self.total)} = {words[3:] if self.parts[0][0] > 0 else words[1:]}"

    @property
    def reads(self) -> tuple[Name, ...]:
        return tuple(name for _, name in self.parts)

    @property
    def writes(self) -> Name:
        return self.total

    def _value(self, plain: Plain) -> NDArray[np.float64]:
        return np.asarray(sum(sign * plain.values[name].astype(np.float64) for sign, name in self.parts))

    def keep(self, plain: Plain, bounds: Mapping[Name, Bounds], rng: np.random.Generator) -> None:
        """Compute the total; if it is out of range, change the parts within their ranges."""
        rows = np.flatnonzero(plain.present(self.total, *self.reads))
        total, own = self._value(plain)[rows], bounds[self.total]
        excess = total - np.clip(total, float(own.low), float(own.high))
        for sign, name in self.parts:
            values = plain.values[name][rows].astype(np.float64)
            moved = np.where(excess == 0, values, values - sign * excess)
            moved = np.clip(_rounded(moved, bounds[name].decimals), float(bounds[name].low), float(bounds[name].high))
            moved = np.where(excess == 0, values, moved)
            excess = np.where(np.abs(excess) > 0, excess - sign * (values - moved), 0.0)
            _store(plain, name, rows, moved, excess_only=moved != values)
        _store(plain, self.total, rows, _rounded(self._value(plain)[rows], own.decimals))

    def state(self) -> dict[str, Any]:
        """What was learned, as plain data."""
        return {}

    def with_state(self, state: Mapping[str, Any]) -> Sum:
        """Inverse of `state`."""
        return self


@dataclass(frozen=True)
class Product:
    """`total = a * b`, to the decimals of the total."""

    total: Name
    factors: tuple[Name, ...]

    @property
    def text(self) -> str:
        return f"{quoted(self.total)} = {' * '.join(quoted(name) for name in self.factors)}"

    @property
    def reads(self) -> tuple[Name, ...]:
        return self.factors

    @property
    def writes(self) -> Name:
        return self.total

    def _value(self, plain: Plain) -> NDArray[np.float64]:
        value = np.ones(len(plain.values[self.total]))
        for name in self.factors:
            value = value * plain.values[name].astype(np.float64)
        return value

    def keep(self, plain: Plain, bounds: Mapping[Name, Bounds], rng: np.random.Generator) -> None:
        """Compute the total."""
        rows = np.flatnonzero(plain.present(self.total, *self.factors))
        _store(plain, self.total, rows, _rounded(self._value(plain)[rows], bounds[self.total].decimals))

    def state(self) -> dict[str, Any]:
        """What was learned, as plain data."""
        return {}

    def with_state(self, state: Mapping[str, Any]) -> Product:
        """Inverse of `state`."""
        return self


@dataclass(frozen=True)
class Lookup:
    """`target from source`: rows with the same source have the same target; missing counts as a value."""

    target: Name
    source: Name
    pairs: tuple[tuple[Any, Any], ...] = ()
    """Values of the source, each with its target value; None is a missing value."""

    @property
    def text(self) -> str:
        return f"{quoted(self.target)} from {quoted(self.source)}"

    @property
    def reads(self) -> tuple[Name, ...]:
        return (self.source,)

    @property
    def writes(self) -> Name:
        return self.target

    def keep(self, plain: Plain, bounds: Mapping[Name, Bounds], rng: np.random.Generator) -> None:
        """Look up the target; an unseen source leaves it unchanged."""
        known = dict(self.pairs)
        codes, distinct = pd.factorize(plain.labels(self.source), use_na_sentinel=False)
        for code, value in enumerate(distinct):
            key = None if value is None or value != value else value
            if key in known:
                rows = codes == code
                plain.gaps[self.target][rows] = known[key] is None
                if known[key] is not None:
                    plain.values[self.target][rows] = known[key]

    def state(self) -> dict[str, Any]:
        """What was learned, as plain data."""
        return {"pairs": [list(pair) for pair in self.pairs]}

    def with_state(self, state: Mapping[str, Any]) -> Lookup:
        """Inverse of `state`."""
        return replace(self, pairs=tuple((source, target) for source, target in state["pairs"]))


Rule = AtLeast | Sum | Product | Lookup


def _rounded(values: NDArray[np.float64], decimals: int | None) -> NDArray[np.float64]:
    return values if decimals is None else np.round(values, decimals)


def _store(
    plain: Plain,
    name: Name,
    rows: NDArray[np.int64],
    numbers: NDArray[np.float64],
    excess_only: NDArray[np.bool_] | None = None,
) -> None:
    """Put numbers into a column without changing its type; if a mask is given, only where it is set."""
    column = plain.values[name]
    if excess_only is not None:
        rows, numbers = rows[excess_only], numbers[excess_only]
    if column.dtype.kind in "iu":
        limits = np.iinfo(column.dtype)
        numbers = np.clip(np.rint(numbers), float(limits.min), np.nextafter(float(limits.max), 0))
    column[rows] = numbers.astype(column.dtype)
