"""A label for the range of a number: age groups, income brackets, `adult by age: false < 18 <= true`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.schema import LABELLED, NUMERIC, Schema
from ..errors import SchemaError
from .base import Cells, DropsTarget, Frame, Mask, Name
from .codes import Coded, entropy
from .search import Candidate, Search
from .sentences import cells_of, named, quoted, value_of, written

MAX_LABELS = 30
"""Maximum number of ranges."""
MIN_VALUES = 5
"""Distinct numbers that a range must have on average; with fewer, the label is a plain function of the number."""
PROBES = 2000
"""Rows on which pairs are tried first."""
_SENTENCE = re.compile(r"\s*(?:`([^`]*)`|([^\W\d]\w*)) by (?:`([^`]*)`|([^\W\d]\w*)): (.+)")
_CUT = re.compile(r" < ([-+]?[0-9.]+(?:e[-+]?[0-9]+)?) <= ")


@dataclass(frozen=True)
class Bins(DropsTarget):
    """`group by age: 'young' < 30 <= 'middle' < 60 <= 'old'`."""

    form: ClassVar[str] = "bins"
    target: Name
    source: Name
    cuts: tuple[float, ...]
    """Limits between the ranges, ascending; a limit belongs to the range above it."""
    labels: tuple[Any, ...]
    """One per range."""
    without: Any = None
    """The label of rows whose number is missing; None if it is missing too."""
    support: int = 0
    exceptions: int = 0

    @property
    def text(self) -> str:
        words = written(self.labels[0])
        for cut, label in zip(self.cuts, self.labels[1:], strict=True):
            words += f" < {written(cut)} <= {written(label)}"
        return f"{quoted(self.target)} by {quoted(self.source)}: {words}"

    @property
    def reads(self) -> tuple[Name, ...]:
        return (self.source,)

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """It applies where both columns have a value."""
        target = Coded.read(frame, self.target)
        place = {value: code for code, value in enumerate(target.values)}
        wanted = np.array([place.get(label, -1) for label in self.labels], dtype=np.int64)[self._ranges(frame)]
        applies = frame.present(self.target, self.source)
        return applies, applies & (wanted == target.codes)

    def _ranges(self, frame: Frame) -> NDArray[np.int64]:
        numbers = np.nan_to_num(frame.floats(self.source))
        return np.searchsorted(np.array(self.cuts), numbers, side="right").astype(np.int64)

    def learn(self, frame: Frame, floor: int) -> Bins:
        """Count the rows that keep it, and find the label of rows whose number is missing."""
        alone = frame.take(np.flatnonzero(frame.gaps(self.source)))
        coded = Coded.read(alone, self.target)
        rows = np.bincount(coded.codes, minlength=coded.size)
        without = coded.values[int(np.argmax(rows))] if coded.size and rows.max() >= floor else None
        return replace(self, without=without).counted(frame)

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Compute the label from the number."""
        own = cells_of([*self.labels, self.without], schema.column(self.target))
        codes = np.where(frame.gaps(self.source), len(self.labels), self._ranges(frame))
        return frame.changed(schema, {self.target: Cells(own.values[codes], own.gaps[codes])})

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        plain = {"target": self.target, "source": self.source, "cuts": list(self.cuts), "labels": list(self.labels)}
        return plain | {name: getattr(self, name) for name in ("without", "support", "exceptions")}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Bins:
        """Inverse of `to_json`."""
        law = cls(**{**data, "cuts": tuple(data["cuts"]), "labels": tuple(data["labels"])})
        if len(law.labels) != len(law.cuts) + 1:
            raise ValueError(f"the number of labels does not match the ranges of {law.target!r}")
        return law


def parse(text: str, schema: Schema) -> Bins | None:
    """Read `group by age: 'young' < 30 <= 'old'`."""
    found = _SENTENCE.fullmatch(text)
    if found is None:
        return None
    target, source = (named(found[i] if found[i] is not None else found[i + 1], text, schema) for i in (1, 3))
    parts = _CUT.split(found[5])
    cuts = tuple(float(cut) for cut in parts[1::2])
    if not cuts or list(cuts) != sorted(set(cuts)) or schema.column(source).kind != NUMERIC or target == source:
        raise SchemaError(f"constraint {text!r} cannot be read; write it as \"group by age: 'young' < 30 <= 'old'\"")
    return Bins(target, source, cuts, tuple(value_of(word, schema.column(target), text) for word in parts[::2]))


def find(search: Search) -> Sequence[Candidate]:
    """Find labels that change only where a number crosses one of a few limits."""
    frame = search.frame
    targets = [(name, coded) for name, coded in _labels(frame) if len(coded.values) >= 2]
    if not targets:
        return []
    matrix = np.array([coded.codes for _, coded in targets])
    sizes = np.array([coded.size for _, coded in targets])
    probes = np.unique(np.linspace(0, frame.n_rows - 1, min(frame.n_rows, PROBES)).astype(np.int64))
    found: list[Candidate] = []
    for place, source in enumerate(search.numbers.names):
        numbers = search.numbers.matrix[:, place]
        few = probes[~np.isnan(numbers[probes])]
        order = few[np.argsort(numbers[few], kind="stable")]
        changes = (matrix[:, order[1:]] != matrix[:, order[:-1]]).sum(1)
        for k in np.flatnonzero(changes < sizes):
            name, coded = targets[k]
            if name != source and search.numbers.distinct[place] >= MIN_VALUES * sizes[k]:
                law = _law(name, coded, source, numbers, search.numbers.step(place), search.floor)
                if law is not None:
                    law = law.learn(frame, search.floor)
                    bits = entropy(coded.codes) - 20 * len(law.labels) / frame.n_rows + 0.01
                    found.append(Candidate(law, bits, exact=not law.exceptions, share=1.0))
    return found


def _labels(frame: Frame) -> list[tuple[Name, Coded]]:
    """Columns with few values."""
    coded = [(c.name, Coded.read(frame, c.name)) for c in frame.schema.columns if c.kind in (*LABELLED, NUMERIC)]
    return [(name, own) for name, own in coded if own.size <= MAX_LABELS]


def _law(name: Name, coded: Coded, source: Name, numbers: NDArray[np.float64], step: float, floor: int) -> Bins | None:
    """The law, if every label has exactly one interval of numbers, with enough rows."""
    rows = np.flatnonzero(~np.isnan(numbers))
    order = rows[np.argsort(numbers[rows], kind="stable")]
    values, codes = numbers[order], coded.codes[order]
    starts = np.append(0, np.flatnonzero(np.diff(codes)) + 1)
    if len(starts) != len(np.unique(codes)) or len(starts) < 2:
        return None
    if np.diff(np.append(starts, len(codes))).min() < max(floor, 1):
        return None
    labels = [coded.values[codes[start]] for start in starts]
    below, above = values[starts[1:] - 1], values[starts[1:]]
    if (below >= above).any() or None in labels:
        return None
    alone = np.flatnonzero(np.isnan(numbers))
    if len(np.unique(coded.codes[alone])) > 1:
        return None
    cuts = tuple(_roundest(a, b, step) for a, b in zip(below, above, strict=True))
    return Bins(name, source, cuts, tuple(labels))


def _roundest(low: float, high: float, step: float) -> float:
    """The number with the fewest digits that is above `low` and at most `high`.

    If `low` itself has fewer digits, as in "up to 50,000", return the next number on the column's grid.
    """
    power = int(np.ceil(np.log10(max(abs(low), abs(high), 1e-300)))) + 1
    for exponent in range(power, power - 18, -1):
        for mantissa in (1.0, 0.5):
            unit = mantissa * 10.0**exponent
            digits = max(0, 1 - exponent)
            above = float(np.round((np.floor(low / unit) + 1) * unit, digits))
            if low < above <= high:
                return above
            if float(np.round(np.rint(low / unit) * unit, digits)) == low:
                return min(float(np.round(low + step, 12)), high)
    return high
