"""Limits and conditions set by the user: `fare > 0`, `if payment = 'cash' then tip = 0`.

Such laws are only given, never searched for. The column stays unchanged, so that a writer learns it from the rows; rows
that break the law are corrected with values from comparable rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.rare import slice_means
from ..data.schema import MEASURED, NUMERIC, Schema
from ..errors import SchemaError
from .base import Cells, Frame, Mask, Name, OneTarget
from .correcting import Correcting
from .grid import grid_of
from .sentences import named, quoted, said, unsaid, value_of, written
from .states import put

POINTS = 64
"""Number of values stored for rows that have to be corrected."""
_QUOTED = r"'(?:[^']|'')*'|\"[^\"]*\""
_VALUE = rf"{_QUOTED}|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|true|false"
_COLUMN = r"`[^`]*`|[^\W\d]\w*"
_TERM = re.compile(rf"\s*({_COLUMN})\s*(==|=|!=|>=|<=|>|<)\s*({_VALUE})\s*")
_TURNED = re.compile(rf"\s*({_VALUE})\s*(>=|<=|>|<)\s*({_COLUMN})\s*")
_BETWEEN = re.compile(rf"\s*({_VALUE})\s*(<=|<)\s*({_COLUMN})\s*(<=|<)\s*({_VALUE})\s*")
_STATE = re.compile(rf"\s*({_COLUMN})\s+is\s+(missing|present)\s*")
_IF = re.compile(r"\s*if\s+(.*)", re.DOTALL)
_OPPOSITE = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
FORM = "fare > 0', '0 <= share <= 1' or 'if payment = \"cash\" then tip = 0"
"""Examples of the syntax, for error messages."""


@dataclass(frozen=True)
class Term:
    """A comparison of a column with a constant."""

    name: Name
    mark: str
    """`=`, `!=`, `<`, `<=`, `>`, `>=`, `is missing` or `is present`."""
    value: Any = None

    @property
    def text(self) -> str:
        if self.mark.startswith("is "):
            return f"{quoted(self.name)} {self.mark}"
        return f"{quoted(self.name)} {self.mark} {written(self.value)}"

    def meets(self, values: NDArray[Any], schema: Schema) -> Mask:
        """Which of these values (none missing) meet it."""
        if self.mark.startswith("is "):
            return np.full(len(values), self.mark == "is present")
        column = schema.column(self.name)
        if column.kind not in MEASURED:
            equal = np.array([value == self.value for value in values.tolist()], dtype=bool)
            return equal if self.mark == "=" else ~equal
        limit = column.number(self.value)
        compare = {
            "=": np.equal,
            "!=": np.not_equal,
            "<": np.less,
            "<=": np.less_equal,
            ">": np.greater,
            ">=": np.greater_equal,
        }
        return np.asarray(compare[self.mark](values, limit), dtype=bool)

    def mask(self, frame: Frame) -> Mask:
        """Rows that meet it; a missing value meets only `is missing`."""
        cells = frame.cells(self.name)
        if self.mark == "is missing":
            return cells.gaps
        return ~cells.gaps & self.meets(cells.values, frame.schema)

    def to_json(self) -> list[Any]:
        """Plain data."""
        return [self.name, self.mark, self.value]


@dataclass(frozen=True)
class Demand(OneTarget, Correcting):
    """A requirement on one column, in all rows or where all causes hold."""

    form: ClassVar[str] = "demand"
    target: Name
    terms: tuple[Term, ...]
    causes: tuple[Term, ...] = ()
    values: tuple[Any, ...] = ()
    """Replacement values for rows that break it; frequent values occur several times."""
    support: int = 0
    exceptions: int = 0
    near: bool = False
    """Whether rows of the table break it."""

    @property
    def text(self) -> str:
        demanded = " and ".join(term.text for term in self.terms)
        causes = " and ".join(term.text for term in self.causes)
        return said(f"if {causes} then {demanded}" if causes else demanded, near=self.near)

    @property
    def reads(self) -> tuple[Name, ...]:
        return tuple(dict.fromkeys(term.name for term in self.causes))

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Applies where all causes hold; a missing value breaks only terms about missing values."""
        applies = np.ones(frame.n_rows, dtype=bool)
        for term in self.causes:
            applies &= term.mask(frame)
        if not any(term.mark.startswith("is ") for term in self.terms):
            applies &= ~frame.gaps(self.target)
        return applies, applies & self._meets(frame)

    def _meets(self, frame: Frame) -> Mask:
        meets = np.ones(frame.n_rows, dtype=bool)
        for term in self.terms:
            meets &= term.mask(frame)
        return meets

    def learn(self, frame: Frame, floor: int) -> Demand:
        """Count the rows that keep it, and store replacement values for those that break it."""
        counted = self.counted(frame)
        there = ~frame.gaps(self.target) & self._meets(frame)
        alike = there & self.holds(frame)[1]
        least = max(floor, 1)
        values = self._supply(frame, alike if alike.sum() >= least else there, least)
        return replace(counted, values=values, near=self.near or counted.exceptions > 0)

    def _supply(self, frame: Frame, rows: Mask, floor: int) -> tuple[Any, ...]:
        """Values that meet all terms: the required values, values of at least `floor` rows, or the limits."""
        fixed = [term.value for term in self.terms if term.mark == "="]
        column = frame.schema.column(self.target)
        if fixed or any(term.mark == "is missing" for term in self.terms):
            number = fixed and column.kind in MEASURED and column.kind != NUMERIC
            return tuple(int(column.number(value)) if number else value for value in fixed[:1])
        values = frame.values(self.target)[rows]
        if column.kind not in MEASURED:
            labels, counts = _counted(values.tolist())
            kept = [(label, count) for label, count in zip(labels, counts, strict=True) if count >= floor]
            total = sum(count for _, count in kept)
            return tuple(label for label, count in kept for _ in range(max(1, round(POINTS * count / total))))
        numbers = values.astype(np.float64)
        all_numbers = frame.values(self.target)[~frame.gaps(self.target)]
        whole = all_numbers.dtype.kind in "iu"
        grid = grid_of(all_numbers.astype(np.float64), whole=whole)
        points = slice_means(numbers, floor, POINTS) if len(numbers) >= floor else np.empty(0)
        points = np.concatenate([_on_grid(points, grid), self._edges(frame, grid)])
        for term in self.terms:
            points = points[term.meets(points, frame.schema)]
        chosen = points[:-1] if len(points) > 1 else points
        return tuple((chosen.astype(np.int64) if whole else chosen).tolist())

    def _edges(self, frame: Frame, grid: tuple[float, float] | None) -> NDArray[np.float64]:
        """The numbers nearest to the limits, if no value of the table meets them."""
        column = frame.schema.column(self.target)
        limits = [column.number(term.value) for term in self.terms if not term.mark.startswith("is ")]
        steps = [1.0 if grid is None else grid[0]]
        return np.array([limit + step for limit in limits for step in (-steps[0], steps[0], 0.0)], dtype=np.float64)

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Correct rows that break it, except for the table's share of exceptions."""
        applies, keeps = self.holds(frame)
        broken = applies & ~keeps & ~self.spared(applies, keeps, rng)
        cells = frame.cells(self.target)
        if any(term.mark == "is missing" for term in self.terms):
            return frame.changed(schema, {self.target: put(cells, None, broken)})
        if not broken.any() or not self.values:
            return frame.changed(schema, {})
        drawn = np.zeros(frame.n_rows, dtype=np.int64)
        drawn[broken] = rng.integers(len(self.values), size=int(broken.sum()))
        changed: Cells = cells
        for place in np.unique(drawn[broken]).tolist():
            changed = put(changed, self.values[place], broken & (drawn == place))
        return frame.changed(schema, {self.target: changed})

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        plain = {"target": self.target, "values": list(self.values)}
        plain |= {name: [term.to_json() for term in getattr(self, name)] for name in ("terms", "causes")}
        return plain | {name: getattr(self, name) for name in ("support", "exceptions", "near")}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Demand:
        """Inverse of `to_json`."""
        terms, causes = (tuple(Term(*term) for term in data[name]) for name in ("terms", "causes"))
        return cls(**{**data, "terms": terms, "causes": causes, "values": tuple(data["values"])})


def merged(laws: Sequence[Demand]) -> list[Demand]:
    """Merge laws on the same column and causes, so that a row is corrected for all of them at once."""
    found: dict[Any, Demand] = {}
    for law in laws:
        key = (law.target, law.causes, law.near)
        found[key] = replace(found[key], terms=(*found[key].terms, *law.terms)) if key in found else law
    return list(found.values())


def parse(text: str, schema: Schema) -> Demand | None:
    """Read `fare > 0`, `0 < share <= 1` or `if paid = 'cash' and fare > 10 then tip = 0`; None if of another form."""
    words, near = unsaid(text)
    opened = _IF.fullmatch(words)
    if opened is None:
        terms = _terms(words, text, schema)
        if terms is None:
            return None
        causes: tuple[Term, ...] = ()
    else:
        parts = _cut(opened[1], "then")
        both = [_terms(part, text, schema) for part in parts] if len(parts) == 2 else [None]
        if len(both) != 2 or both[0] is None or both[1] is None:
            raise SchemaError(f"constraint {text!r} cannot be read; write it as '{FORM}'")
        causes, terms = both[0], both[1]
    names = {term.name for term in terms}
    if len(names) > 1:
        raise SchemaError(f"constraint {text!r} restricts several columns; write a sentence for each")
    (target,) = names
    if any(term.name == target for term in causes):
        raise SchemaError(f"constraint {text!r} names {target!r} on both sides")
    return Demand(target, terms, causes, near=near)


def _terms(words: str, text: str, schema: Schema) -> tuple[Term, ...] | None:
    """The comparisons joined by `and`; None if a part is not a comparison."""
    found: list[Term] = []
    for part in _cut(words, "and"):
        state, between, turned, plain = (form.fullmatch(part) for form in (_STATE, _BETWEEN, _TURNED, _TERM))
        if state is not None:
            found.append(Term(_named(state[1], text, schema), f"is {state[2]}"))
        elif between is not None:
            name = between[3]
            found.append(_term(name, _OPPOSITE[between[2]], between[1], text, schema))
            found.append(_term(name, between[4], between[5], text, schema))
        elif turned is not None:
            found.append(_term(turned[3], _OPPOSITE[turned[2]], turned[1], text, schema))
        elif plain is not None:
            found.append(_term(plain[1], plain[2], plain[3], text, schema))
        else:
            return None
    return tuple(found)


def _term(name: str, mark: str, word: str, text: str, schema: Schema) -> Term:
    column = schema.column(_named(name, text, schema))
    mark = "=" if mark == "==" else mark
    if word[0] == '"':
        word = "'" + word[1:-1].replace("'", "''") + "'"
    value = value_of(word, column, text)
    if column.kind in MEASURED:
        try:
            column.number(value)
        except SchemaError as error:
            raise SchemaError(f"constraint {text!r}: {error}") from error
    elif mark not in ("=", "!="):
        raise SchemaError(f"constraint {text!r}: column {column.name!r} is {column.kind} and has no order; use = or !=")
    return Term(column.name, mark, value)


def _named(word: str, text: str, schema: Schema) -> Name:
    return named(word.strip("`"), text, schema)


def _cut(words: str, joint: str) -> list[str]:
    """Split a sentence at a word outside of quotes."""
    parts, last = [], 0
    for found in re.finditer(rf"{_QUOTED}|`[^`]*`|\b{joint}\b", words):
        if found[0] == joint:
            parts.append(words[last : found.start()])
            last = found.end()
    return [*parts, words[last:]]


def _counted(labels: list[Any]) -> tuple[list[Any], list[int]]:
    """Distinct labels in order, and how often each occurs."""
    distinct = list(dict.fromkeys(labels))
    counts = dict.fromkeys(distinct, 0)
    for label in labels:
        counts[label] += 1
    return distinct, list(counts.values())


def _on_grid(points: NDArray[np.float64], grid: tuple[float, float] | None) -> NDArray[np.float64]:
    """The nearest values on the column's grid."""
    if grid is None:
        return points
    return np.asarray(np.round(np.round((points - grid[1]) / grid[0]) * grid[0] + grid[1], 9))
