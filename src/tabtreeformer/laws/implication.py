"""Implications: `second_floor = 0 where style = '1Story'`.

The column stays unchanged, so that a writer learns the law from the rows; rows that break it are corrected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.schema import Schema
from ..errors import SchemaError
from . import only
from .base import Frame, Mask, Name, OneTarget
from .correcting import Correcting
from .search import Candidate, Search
from .sentences import said, unsaid
from .states import OR, Both, State, States, alternatives, cause_from_json, read_cause, read_state

MIN_ROWS = 100
"""Minimum rows of a cause; or the floor, if larger."""
MIN_GAP_ROWS = 30
"""… where both columns are missing: gaps are nested by how a table is made."""
MIN_VALUE_ROWS = 300
"""… if cause and consequence are ordinary values: without many rows, most such laws fail on unseen data."""
MAX_P = 1e-6
"""Maximum p-value, corrected for the number of laws tried."""
MIN_SHUFFLED = 20.0
"""Minimum number of violations after shuffling the columns."""
MAX_BROKEN, MIN_LIFT = 0.01, 20.0
"""For near laws about an empty column: maximum share of violations, and minimum factor by which shuffling must increase
them.
"""
MAX_STATES = 3000
MAX_CLAUSES = 12
"""Maximum number of causes per column (those with the most rows), to keep sentences readable."""
MARK = " where "


@dataclass(frozen=True)
class Implication(OneTarget, Correcting):
    """Clauses for one target: each maps a state of another column to a state of the target."""

    form: ClassVar[str] = "implication"
    target: Name
    clauses: tuple[tuple[State, State | Both], ...]
    """Consequence and cause; if two causes apply, the first clause wins."""
    support: int = 0
    exceptions: int = 0
    near: bool = False
    """Whether rows of the table break it."""

    @property
    def text(self) -> str:
        words: dict[str, list[str]] = {}
        for then, cause in self.clauses:
            words.setdefault(then.text, []).append(cause.text)
        text = "; ".join(f"{then}{MARK}{OR.join(causes)}" for then, causes in words.items())
        return said(text, near=self.near)

    @property
    def reads(self) -> tuple[Name, ...]:
        return tuple(dict.fromkeys(name for _, cause in self.clauses for name in cause.names))

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Applies where a cause holds; a missing target does not break it."""
        applies = np.zeros(frame.n_rows, dtype=bool)
        broken = np.zeros(frame.n_rows, dtype=bool)
        for then, cause in self.clauses:
            rows, kept = cause.mask(frame), then.mask(frame)
            if then.value is not None:
                rows = rows & ~frame.gaps(self.target)
            applies |= rows
            broken |= rows & ~kept
        return applies, applies & ~broken

    def learn(self, frame: Frame, floor: int) -> Implication:
        """Count the rows that keep it."""
        counted = self.counted(frame)
        return replace(counted, near=self.near or counted.exceptions > 0)

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Correct rows that break it, except for the table's share of exceptions."""
        applies, keeps = self.holds(frame)
        spared = self.spared(applies, keeps, rng)
        cells = frame.cells(self.target)
        for then, cause in reversed(self.clauses):
            cells = then.put(cells, cause.mask(frame) & ~spared)
        return frame.changed(schema, {self.target: cells})

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        clauses = [[then.to_json(), cause.to_json()] for then, cause in self.clauses]
        plain = {"target": self.target, "clauses": clauses}
        return plain | {name: getattr(self, name) for name in ("support", "exceptions", "near")}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Implication:
        """Inverse of `to_json`."""
        clauses = tuple((State(*then), cause_from_json(cause)) for then, cause in data["clauses"])
        return cls(data["target"], clauses, data["support"], data["exceptions"], data["near"])


def parse(text: str, schema: Schema) -> Implication | None:
    """Read `second_floor = 0 where style = '1Story' or style = 'SFoyer'`; clauses are separated by semicolons."""
    if MARK not in text or " exactly where " in text or only.MARK in text:
        return None
    words, near = unsaid(text)
    clauses: list[tuple[State, State | Both]] = []
    for part in alternatives(words, ";"):
        left, _, right = part.partition(MARK)
        then = read_state(left, text, schema)
        causes = [read_cause(cause, text, schema) for cause in alternatives(right)]
        if then is None or any(cause is None or then.name in cause.names for cause in causes):
            raise SchemaError(
                f"constraint {text!r} cannot be read; write it as `floor = 0 where style = 'flat'`, of two columns"
            )
        clauses += [(then, cause) for cause in causes if cause is not None]
    if len({then.name for then, _ in clauses}) > 1:
        raise SchemaError(f"constraint {text!r} has several targets; write a sentence for each")
    return Implication(clauses[0][0].name, tuple(clauses), near=near)


def find(search: Search) -> Sequence[Candidate]:
    """Find, for each column, what the states of others imply: exactly, beyond chance, and not via a third column."""
    frame = search.frame
    states = States.read(frame, max(search.floor, 20), values=True)
    # Gaps of a computed column follow from its parts, so laws should refer to the parts.
    # A state with fewer rows than a cause needs can be neither cause nor consequence.
    own = [
        i
        for i, s in enumerate(states.states)
        if states.masks[i].sum() >= (MIN_GAP_ROWS if s.value is None else 0.99 * MIN_ROWS)
        and (s.value is not None or s.name not in search.computed - search.own_gaps)
    ]
    most = sorted(sorted(own, key=lambda i: -states.masks[i].sum())[:MAX_STATES])
    states = States(tuple(states.states[i] for i in most), states.masks[most], states.kinds)
    if len(states.states) < 2:
        return []
    exact = _implied(states, search.floor)
    computed = np.array([state.name in search.computed for state in states.states])
    implies = _reduced(exact, states, computed) | _reduced(_nearly(states, exact), states, computed)
    # Gaps of a computed column are corrected themselves, so they are not causes.
    implies &= ~(computed & [state.value is None for state in states.states])[:, None]
    found: list[Candidate] = []
    for name in dict.fromkeys(state.name for state in states.states):
        clauses = [
            (states.states[then], states.states[cause])
            for cause, then in np.argwhere(implies)
            if states.states[then].name == name
        ]
        clauses = sorted(clauses, key=lambda clause: -clause[1].mask(frame).sum())[:MAX_CLAUSES]
        if clauses:
            law = Implication(name, tuple(clauses)).learn(frame, search.floor)
            bits = _bits(law, frame) * (0.1 if law.near else 1.0)
            gaps_only = all(then.value is None for then, _ in clauses)
            found.append(Candidate(law, bits, exact=False, share=1.0, gaps_only=gaps_only))
    return found


def _implied(states: States, floor: int) -> NDArray[np.bool_]:
    """Matrix: whether the state of the row implies the state of the column."""
    masks = states.masks.astype(np.float32)
    n_rows = masks.shape[1]
    both = masks @ masks.T  # (S, S)
    rows = masks.sum(1)
    names = np.array([str(state.name) for state in states.states])
    empty = np.array([state.is_empty for state in states.states])
    gap = np.array([state.value is None for state in states.states])
    with np.errstate(divide="ignore"):
        nats = -rows[:, None] * np.log(rows / n_rows)[None, :]
    tests = float(len(rows)) ** 2
    least = np.where(empty[:, None] & empty[None, :] | gap[:, None] | gap[None, :], MIN_ROWS, MIN_VALUE_ROWS)
    least = np.where(gap[:, None] & gap[None, :], MIN_GAP_ROWS, least)
    exact: NDArray[np.bool_] = both == rows[:, None]
    exact &= names[:, None] != names[None, :]
    exact &= rows[:, None] >= np.maximum(least, floor)
    exact &= nats > np.log(tests / MAX_P)
    exact &= rows[:, None] * (1 - rows / n_rows)[None, :] >= MIN_SHUFFLED
    return exact


def _nearly(states: States, exact: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Matrix: whether a state nearly always implies an empty column that no exact implication explains."""
    masks = states.masks.astype(np.float32)
    rows, n_rows = masks.sum(1), masks.shape[1]
    broken = rows[:, None] - masks @ masks.T
    names = np.array([str(state.name) for state in states.states])
    empty = np.array([state.is_empty for state in states.states])
    near: NDArray[np.bool_] = (broken > 0) & (broken <= MAX_BROKEN * rows[:, None])
    near &= (names[:, None] != names[None, :]) & empty[None, :] & (rows[:, None] >= MIN_VALUE_ROWS)
    near &= ~exact.T
    near &= rows[:, None] * (1 - rows / n_rows)[None, :] >= np.maximum(MIN_LIFT * broken, MIN_SHUFFLED)
    # Exact implications make near laws redundant, and near laws in both directions are dropped.
    through = (near.astype(np.float32) @ exact.astype(np.float32)) + (
        exact.astype(np.float32) @ near.astype(np.float32)
    )
    return np.asarray(near & ~(through > 0) & ~(near & near.T))


def _reduced(implies: NDArray[np.bool_], states: States, computed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Remove implications that follow via a third state, and one direction of equivalences."""
    rows = states.masks.sum(1)
    same = implies & implies.T
    # States that hold in the same rows are represented by the first one of a learned column.
    rank = np.arange(len(rows)) + len(rows) * computed
    representative = np.array(
        [int(np.argmin(np.where(same[i] | (rank == rank[i]), rank, 2 * len(rows)))) for i in range(len(rows))]
    )
    first = representative == np.arange(len(rows))
    strict = implies & ~same & first[:, None] & first[None, :]
    # A computed column cannot link two others: it is corrected after both.
    first_half = (strict & ~computed[None, :]).astype(np.float32)
    through = (first_half @ strict.astype(np.float32)) > 0
    return np.asarray(strict & ~through)


def _bits(law: Implication, frame: Frame) -> float:
    """Bits of the target's state in the rows of the causes."""
    bits = 0.0
    for then, cause in law.clauses:
        bits += cause.mask(frame).mean() * -np.log2(then.mask(frame).mean())
    return float(bits - 20 * len(law.clauses) / frame.n_rows)
