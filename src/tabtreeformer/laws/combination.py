"""Columns of which only some combinations occur: `model as known for make`, the routes of an airline.

Combinations with too few rows are not written: the target of such a row is drawn again from the values known for the
other columns. Functions of several columns then have a value for every combination.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.schema import LABELLED, NUMERIC, Schema
from ..errors import SchemaError
from .base import Cells, Frame, Mask, Name, OneTarget
from .codes import Coded, Codes, combinations
from .correcting import Correcting
from .search import Candidate, Search
from .sentences import cells_of, listed, names_in, quoted

MIN_SHUFFLED = 0.05
"""Minimum share of shuffled rows with an unknown combination."""
MAX_HELD = 0.001
"""Maximum share of held-out rows with one."""
MIN_HELD = 500
"""Minimum number of held-out rows to decide this."""
MAX_VALUES = 300
MAX_NUMBERS = 30
"""Numbers with more values than this are excluded, because new values between them can be drawn."""
MARK = " as known for "


@dataclass(frozen=True)
class Combination(OneTarget, Correcting):
    """`model as known for make`."""

    form: ClassVar[str] = "combination"
    target: Name
    others: tuple[Name, ...]
    known: tuple[tuple[tuple[Any, ...], tuple[tuple[Any, float], ...]], ...] = ()
    """For each value of the other columns: the target values with enough rows, and their shares."""
    support: int = 0
    exceptions: int = 0

    @property
    def text(self) -> str:
        return f"{quoted(self.target)}{MARK}{listed(self.others)}"

    @property
    def reads(self) -> tuple[Name, ...]:
        return self.others

    @cached_property
    def _values(self) -> dict[tuple[Any, ...], dict[Any, float]]:
        return {key: dict(values) for key, values in self.known}

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Applies to rows whose other columns have known values."""
        codes, keys = combinations(frame, [*self.others, self.target])
        applies = np.array([key[:-1] in self._values for key in keys], dtype=bool)
        keeps = np.array([key[-1] in self._values.get(key[:-1], {}) for key in keys], dtype=bool)
        return applies[codes], keeps[codes]

    def learn(self, frame: Frame, floor: int) -> Combination:
        """Store the combinations of at least `floor` rows."""
        codes, keys = combinations(frame, [*self.others, self.target])
        counts = np.bincount(codes, minlength=len(keys))
        known: dict[tuple[Any, ...], list[tuple[Any, float]]] = {}
        for place in np.flatnonzero(counts >= max(floor, 1)):
            known.setdefault(keys[place][:-1], []).append((keys[place][-1], float(counts[place])))
        shares = {key: [(v, n / sum(m for _, m in values)) for v, n in values] for key, values in known.items()}
        return replace(self, known=tuple((key, tuple(values)) for key, values in shares.items())).counted(frame)

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Redraw the target of unknown combinations."""
        applies, keeps = self.holds(frame)
        rows = np.flatnonzero(applies & ~keeps)
        if not len(rows):
            return frame.changed(schema, {})
        codes, keys = combinations(frame.take(rows), self.others)
        drawn: list[Any] = [None] * len(rows)
        for code, key in enumerate(keys):
            shares = self._values[key]
            own = np.flatnonzero(codes == code)
            chosen = rng.choice(len(shares), size=len(own), p=np.array(list(shares.values())))
            options = list(shares)
            for row, place in zip(own, chosen, strict=True):
                drawn[row] = options[place]
        cells, new = frame.cells(self.target), cells_of(drawn, schema.column(self.target))
        values, gaps = cells.values.copy(), cells.gaps.copy()
        values[rows[~new.gaps]], gaps[rows] = new.values[~new.gaps], new.gaps
        return frame.changed(schema, {self.target: Cells(values, gaps)})

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        known = [[list(key), [list(pair) for pair in values]] for key, values in self.known]
        plain = {"target": self.target, "others": list(self.others), "known": known}
        return plain | {"support": self.support, "exceptions": self.exceptions}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Combination:
        """Inverse of `to_json`."""
        known = tuple((tuple(key), tuple((v, s) for v, s in values)) for key, values in data["known"])
        hash(known)  # an invalid value would otherwise fail only when rows are written
        return cls(data["target"], tuple(data["others"]), known, data["support"], data["exceptions"])


def parse(text: str, schema: Schema) -> Combination | None:
    """Read `model as known for make`."""
    left, mark, right = text.partition(MARK)
    if not mark:
        return None
    targets, others = names_in(left, text, schema), names_in(right, text, schema)
    if len(targets) != 1 or targets[0] in others:
        raise SchemaError(f"constraint {text!r} cannot be read; write it as `model as known for make`")
    return Combination(targets[0], tuple(others))


def find(search: Search) -> Sequence[Candidate]:
    """Find pairs of labels with many combinations that never occur; per target, the pair that rules out the most."""
    seen, held = search.seen, search.held
    if held.n_rows < MIN_HELD:
        return []
    names, own, fresh = _labels(seen, held)
    best: dict[int, tuple[float, int]] = {}
    for i in range(len(names)):
        for j in range(len(names)):
            if i == j or own[i].max() > own[j].max():  # the column with fewer values is redrawn
                continue
            ruled_out = _ruled_out(own[i], own[j], fresh[i], fresh[j], search)
            if ruled_out > best.get(i, (0.0, j))[0] and best.get(j, (0.0, -1))[1] != i:
                best[i] = ruled_out, j
    found = []
    for i, (ruled_out, j) in best.items():
        law = Combination(names[i], (names[j],)).learn(search.frame, search.floor)
        bits = float(-np.log2(1 - ruled_out)) - 20 / seen.n_rows
        found.append(Candidate(law, bits, exact=False, share=1.0))
    return found


def _labels(seen: Frame, held: Frame) -> tuple[list[Name], list[Codes], list[Codes]]:
    """Codes of columns with few values, in search rows and in held-out rows (-1 for a new value)."""
    names: list[Name] = []
    own: list[Codes] = []
    fresh: list[Codes] = []
    for column in seen.schema.columns:
        if column.kind not in (*LABELLED, NUMERIC):
            continue
        coded = Coded.read(seen, column.name)
        if 3 <= coded.size <= (MAX_NUMBERS if column.kind == NUMERIC else MAX_VALUES):
            names.append(column.name)
            own.append(coded.codes)
            fresh.append(coded.encode(held, column.name))
    return names, own, fresh


def _ruled_out(a: Codes, b: Codes, fresh_a: Codes, fresh_b: Codes, search: Search) -> float:
    """Share of shuffled rows in combinations that the table lacks; 0 if held-out rows have such combinations."""
    width = int(b.max()) + 1
    counts = np.bincount(a * width + b, minlength=(int(a.max()) + 1) * width)
    known: NDArray[np.bool_] = counts >= max(search.floor, 1)
    table = known.reshape(-1, width)
    usual: NDArray[np.bool_] = np.asarray(table.any(0))
    both = (fresh_a >= 0) & (fresh_b >= 0)
    both &= usual[fresh_b]
    if not both.any() or np.mean(~known[(fresh_a * width + fresh_b)[both]]) > MAX_HELD:
        return 0.0
    shares = np.outer(np.bincount(a) / len(a), np.where(usual, np.bincount(b, minlength=width), 0) / len(b))
    ruled_out = float(shares[~table & usual[None, :]].sum())
    is_function = (table.sum(0) <= 1).all() or (table.sum(1) <= 1).all()
    return 0.0 if is_function or ruled_out < MIN_SHUFFLED else ruled_out
