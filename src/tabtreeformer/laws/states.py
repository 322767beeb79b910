"""States of a column that other columns can depend on: missing, or one value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.schema import LABELLED, MEASURED, NUMERIC, TEXT, Schema
from .base import Cells, Frame, Mask, Name
from .codes import Coded
from .sentences import named, quoted, value_of, written

NONE_LIKE = {"none", "no", "n", "na", "n/a", "nan", "null", "0", "-", "--", "", "not applicable", "nothing", "false"}
"""Labels that mean "none"."""
MAX_LABELS = 60
"""Columns with more values have only the states "missing" and 0."""
OR, AND = " or ", " and "
_STATE = re.compile(r"\s*(?:`([^`]*)`|([^\W\d]\w*))\s+(?:(is missing)|=\s*(.+?))\s*")


@dataclass(frozen=True)
class State:
    """The state that a column has one value, or is missing if `value` is None."""

    name: Name
    value: Any

    @property
    def names(self) -> tuple[Name, ...]:
        """Its column."""
        return (self.name,)

    @property
    def text(self) -> str:
        return (
            f"{quoted(self.name)} is missing" if self.value is None else f"{quoted(self.name)} = {written(self.value)}"
        )

    def mask(self, frame: Frame) -> Mask:
        """Rows in which the column has the state."""
        cells = frame.cells(self.name)
        if self.value is None:
            return cells.gaps
        return np.asarray(~cells.gaps & (cells.values == self.value), dtype=bool)

    def put(self, cells: Cells, rows: Mask) -> Cells:
        """Cells with the state in some rows."""
        return put(cells, self.value, rows)

    @property
    def is_empty(self) -> bool:
        """Whether it means "none"."""
        if isinstance(self.value, str):
            return self.value.strip().lower() in NONE_LIKE
        return self.value is None or self.value == 0

    def to_json(self) -> list[Any]:
        """Plain data."""
        return [self.name, self.value]


@dataclass(frozen=True)
class Both:
    """States of several columns, all of which hold."""

    states: tuple[State, ...]

    @property
    def names(self) -> tuple[Name, ...]:
        """Their columns."""
        return tuple(state.name for state in self.states)

    @property
    def text(self) -> str:
        return AND.join(state.text for state in self.states)

    def mask(self, frame: Frame) -> Mask:
        """Rows in which all of them hold."""
        return np.asarray(np.logical_and.reduce([state.mask(frame) for state in self.states]), dtype=bool)

    def to_json(self) -> list[Any]:
        """Plain data."""
        return [state.to_json() for state in self.states]


def put(cells: Cells, value: Any, rows: Mask) -> Cells:
    """Set cells to one value, or to missing, in some rows."""
    gaps = cells.gaps.copy()
    gaps[rows] = value is None
    if value is None or not rows.any():
        return Cells(cells.values, gaps)
    values = cells.values.copy()
    if values.dtype.kind in "iu" and isinstance(value, float) and not value.is_integer():
        values = values.astype(np.float64)
    values[rows] = value
    return Cells(values, gaps)


def alternatives(words: str, mark: str = OR) -> list[str]:
    """Split a sentence at a mark, ignoring marks inside names and texts."""
    parts, last = list[str](), 0
    for found in re.finditer(rf"`[^`]*`|'[^']*'|({re.escape(mark)})", words):
        if found[1]:
            parts.append(words[last : found.start()])
            last = found.end()
    return [*parts, words[last:]]


def read_cause(words: str, text: str, schema: Schema) -> State | Both | None:
    """Parse a state, or several joined by `and`."""
    states = [read_state(part, text, schema) for part in alternatives(words, AND)]
    if len(states) == 1:
        return states[0]
    known = tuple(state for state in states if state is not None)
    return Both(known) if len(known) == len(states) else None


def cause_from_json(data: list[Any]) -> State | Both:
    """Inverse of `to_json` of either."""
    return Both(tuple(State(*state) for state in data)) if isinstance(data[0], list) else State(*data)


def read_state(words: str, text: str, schema: Schema) -> State | None:
    """Parse a part of a sentence as a state; None if it is not one."""
    found = _STATE.fullmatch(words)
    if found is None:
        return None
    name = named(found[1] if found[1] is not None else found[2], text, schema)
    return State(name, None if found[3] else value_of(found[4], schema.column(name), text))


@dataclass(frozen=True)
class States:
    """All states of a table with enough rows, and the rows of each."""

    states: tuple[State, ...]
    masks: NDArray[np.bool_]  # (S, N)
    kinds: Mapping[Name, str]

    @classmethod
    def read(cls, frame: Frame, least: int, *, values: bool) -> States:
        """Collect missing, 0 and labels for "none"; with `values`, every value of at least `least` rows."""
        states: list[State] = []
        masks: list[Mask] = []
        for column in frame.schema.columns:
            if column.kind not in (*LABELLED, *MEASURED, TEXT):
                continue
            cells = frame.cells(column.name)
            for state, mask in _of(frame, column.name, column.kind, cells, least, values=values):
                if min(mask.sum(), len(mask) - mask.sum()) >= least:
                    states.append(state)
                    masks.append(mask)
        kinds = {column.name: column.kind for column in frame.schema.columns}
        return cls(tuple(states), np.array(masks, dtype=bool).reshape(len(states), frame.n_rows), kinds)


def _of(
    frame: Frame, name: Name, kind: str, cells: Cells, least: int, *, values: bool
) -> list[tuple[State, NDArray[np.bool_]]]:
    """States of one column."""
    found = [(State(name, None), cells.gaps)] if cells.gaps.any() else []
    if (kind in MEASURED and kind != NUMERIC) or kind == TEXT:
        return found
    if kind == NUMERIC and not values:
        zero = ~cells.gaps & (cells.values == 0)
        return [*found, (State(name, cells.values.dtype.type(0).item()), zero)] if zero.any() else found
    coded = Coded.read(frame, name)
    counts = np.bincount(coded.codes, minlength=coded.size)
    if kind != NUMERIC and coded.size > MAX_LABELS:
        return found
    for code in np.flatnonzero(counts >= least):
        if coded.values[code] is not None:
            found.append((State(name, coded.values[code]), coded.codes == code))
    return found
