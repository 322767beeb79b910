"""Columns that are empty in the same rows. Empty means missing, 0 or a word for "none".

One column, the leader, decides. In the other columns, the members, empty cells are filled with an ordinary value before
tokenizing, so that a writer does not learn to draw empty cells. They are emptied again wherever the leader is empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import lgamma
from typing import Any, ClassVar

import numpy as np

from ..data.schema import BOOLEAN, CATEGORICAL, NUMERIC, Schema
from ..data.schema.numbers import count_decimals
from ..data.schema.values import LABEL
from ..errors import SchemaError
from .base import Counted, Frame, Mask, Name
from .codes import Coded
from .search import Candidate, Search
from .states import State, States, put, read_state

MIN_NATS = 30.0
"""Minimum evidence that two columns are not empty together by chance."""
MARK = " exactly where "


@dataclass(frozen=True)
class Together(Counted):
    """`garage_year is missing exactly where garage = 'none'`."""

    form: ClassVar[str] = "gaps"
    member: State
    leader: State
    fill: Any = None
    """The value that fills the member's empty cells before tokenizing."""
    fills: bool = True
    """Whether empty cells are filled; not if another law computes the member, because filled values would be
    meaningless.
    """
    support: int = 0
    exceptions: int = 0

    @property
    def text(self) -> str:
        return f"{self.member.text}{MARK}{self.leader.text}"

    @property
    def reads(self) -> tuple[Name, ...]:
        return (self.leader.name,)

    @property
    def writes(self) -> tuple[Name, ...]:
        return (self.member.name,)

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Applies to rows in which either column is empty; unrelated gaps do not count."""
        member, leader = self.member.mask(frame), self.leader.mask(frame)
        silent = np.zeros(frame.n_rows, dtype=bool)
        for state in (self.member, self.leader):
            if state.value is not None:
                silent |= frame.gaps(state.name)
        applies = (member | leader) & ~silent
        return applies, applies & (member == leader)

    def learn(self, frame: Frame, floor: int) -> Together:
        """Choose the fill value, and count the rows that keep the law."""
        others = frame.take(np.flatnonzero(~self.member.mask(frame)))
        return replace(self, fill=typical(others, self.member.name, floor)).counted(frame)

    def reshape(self, schema: Schema) -> Schema:
        """No change: the columns stay the same."""
        return schema

    def express(self, frame: Frame) -> Frame:
        """Fill the member where the leader is empty."""
        if not self.fills:
            return frame
        name, rows = self.member.name, self.leader.mask(frame)
        return frame.changed(frame.schema, {name: put(frame.cells(name), self.fill, rows)})

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Empty the member where the leader is empty."""
        name, rows = self.member.name, self.leader.mask(frame)
        cells = frame.cells(name)
        if self.fill is not None:
            cells = put(cells, self.fill, self.member.mask(frame) & ~rows)  # the writer can still draw the empty state
        return frame.changed(schema, {name: self.member.put(cells, rows)})

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "member": self.member.to_json(),
            "leader": self.leader.to_json(),
            "fill": self.fill,
            "fills": self.fills,
            "support": self.support,
            "exceptions": self.exceptions,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Together:
        """Inverse of `to_json`."""
        rest = (data[name] for name in ("fill", "fills", "support", "exceptions"))
        return cls(State(*data["member"]), State(*data["leader"]), *rest)


def parse(text: str, schema: Schema) -> Together | None:
    """Read `area = 0 exactly where garage is missing`."""
    left, mark, right = text.partition(MARK)
    if not mark:
        return None
    member, leader = read_state(left, text, schema), read_state(right, text, schema)
    if member is None or leader is None or member.name == leader.name:
        raise SchemaError(
            f"constraint {text!r} cannot be read; write it as `area = 0 exactly where garage is missing`, "
            f"of two different columns"
        )
    return Together(member, leader)


def typical(frame: Frame, name: Name, floor: int) -> Any:
    """A typical value of a column that does not reveal any single row; None if there is none."""
    column, cells = frame.schema.column(name), frame.cells(name)
    there = cells.values[~cells.gaps]
    if not len(there):
        return None
    coded = Coded.read(frame, name)
    counts = np.bincount(coded.codes[~cells.gaps], minlength=coded.size)
    if column.sort == LABEL:
        return coded.values[int(np.argmax(counts))]
    if counts.max() >= max(floor, len(there) // 20):
        return coded.values[int(np.argmax(counts))]
    ordered, half = np.sort(there), max(floor, 1) / 2
    middle = len(ordered) / 2
    mean = float(np.mean(ordered[max(int(middle - half), 0) : int(np.ceil(middle + half))].astype(np.float64)))
    if there.dtype.kind in "iu":
        return round(mean)
    decimals = count_decimals(there)
    return mean if decimals is None else float(np.round(mean, decimals))


def find(search: Search) -> Sequence[Candidate]:
    """Find groups of columns that are empty in the same rows; one law per member, relating it to the leader."""
    frame = search.frame
    states = States.read(frame, max(search.floor, 1), values=False)
    groups: dict[bytes, list[int]] = {}
    for place, mask in enumerate(states.masks):
        groups.setdefault(np.packbits(mask).tobytes(), []).append(place)
    found: list[Candidate] = []
    for places in groups.values():
        on = int(states.masks[places[0]].sum())
        if len(places) < 2 or _nats(on, frame.n_rows) < MIN_NATS:
            continue
        leader = min(places, key=lambda place: (states.states[place].name in search.computed, *_rank(states, place)))
        for place in places:
            member = states.states[place]
            if member.is_empty and member.name != states.states[leader].name:
                law = Together(member, states.states[leader]).learn(frame, search.floor)
                bits = _bits(on / frame.n_rows) - 20 / frame.n_rows
                found.append(Candidate(law, bits, exact=False, share=1.0))
    return found


def _rank(states: States, place: int) -> tuple[int, int]:
    """Rank of a candidate for the leader: labels before numbers, values before gaps."""
    state = states.states[place]
    kind = states.kinds[state.name]
    order = {BOOLEAN: 0, CATEGORICAL: 1, NUMERIC: 3}.get(kind, 2)
    return (order + 2 * (state.value is None and order < 2), place)


def _nats(on: int, n_rows: int) -> float:
    """Evidence against two columns being empty in the same rows by chance."""
    return lgamma(n_rows + 1) - lgamma(on + 1) - lgamma(n_rows - on + 1)


def _bits(share: float) -> float:
    return float(-share * np.log2(share) - (1 - share) * np.log2(1 - share))
