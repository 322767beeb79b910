"""A column that is a function of one to three others: route → distance, city → country.

The function is stored as a table of the combinations of keys that enough rows have. Any other combination gets the most
common value for its most informative key or, if that key is unknown too, a value chosen by a hash of the combination.
So rows with equal keys always have equal targets.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..data.schema import Schema
from .base import Cells, DropsTarget, Frame, Mask, Name
from .codes import Coded, Codes, combinations, information
from .sentences import cells_of, listed, names_in, quoted, said, unsaid

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Lookup(DropsTarget):
    """`target from first, second`: rows with the same keys have the same target; a missing value counts as a value."""

    form: ClassVar[str] = "lookup"
    target: Name
    keys: tuple[Name, ...]
    rows: tuple[tuple[Key, Any], ...] = ()
    """Combinations of keys, each with the value of the target; None is a missing value."""
    telling: int = 0
    """Index of the most informative single key."""
    usual: tuple[tuple[Any, Any], ...] = ()
    """Most common target for each value of that key; only if there are several keys."""
    shares: tuple[tuple[Any, float], ...] = ()
    """Values of the target, each with its share of the rows."""
    support: int = 0
    exceptions: int = 0
    near: bool = False
    """Whether rows of the table break it."""

    @property
    def text(self) -> str:
        return said(f"{quoted(self.target)} from {listed(self.keys)}", near=self.near)

    @property
    def reads(self) -> tuple[Name, ...]:
        return self.keys

    @cached_property
    def _known(self) -> dict[Key, Any]:
        return dict(self.rows)

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Applies to combinations in the table; before learning, to combinations of several rows."""
        codes, keys = combinations(frame, self.keys)
        target = Coded.read(frame, self.target)
        if self.rows:
            place = {value: code for code, value in enumerate(target.values)}
            wanted = np.array([place.get(self._known[k], -1) if k in self._known else -2 for k in keys], dtype=np.int64)
            applies = (wanted != -2)[codes]
            return applies, applies & (wanted[codes] == target.codes)
        first = np.zeros(len(keys), dtype=np.int64)
        first[codes[::-1]] = target.codes[::-1]
        applies = np.bincount(codes, minlength=len(keys))[codes] > 1
        return applies, applies & (first[codes] == target.codes)

    def learn(self, frame: Frame, floor: int) -> Lookup:
        """Store the function for combinations of at least `floor` rows."""
        floor = max(floor, 1)
        codes, keys = combinations(frame, self.keys)
        target = Coded.read(frame, self.target)
        value, rows, agree = commonest(codes, target.codes, len(keys))
        parts = [Coded.read(frame, name) for name in self.keys]
        telling = int(np.argmax([information(part.codes, target.codes) for part in parts])) if len(parts) > 1 else 0
        usual: list[tuple[Any, Any]] = []
        if len(parts) > 1:
            own = parts[telling]
            common, count, votes = commonest(own.codes, target.codes, own.size)
            usual = [
                (own.values[k], target.values[common[k]]) for k in np.flatnonzero((count >= floor) & (votes >= floor))
            ]
        counts = np.bincount(target.codes, minlength=target.size)
        kept = np.flatnonzero(counts >= floor)
        learned = replace(
            self,
            rows=tuple((keys[k], target.values[value[k]]) for k in np.flatnonzero((rows >= floor) & (agree >= floor))),
            telling=telling,
            usual=tuple(usual),
            shares=tuple((target.values[k], float(counts[k] / counts[kept].sum())) for k in kept),
        )
        learned = learned.counted(frame)
        return replace(learned, near=self.near or learned.exceptions > 0)

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Look the target up."""
        codes, keys = combinations(frame, self.keys)
        usual = dict(self.usual)
        found = [self._known[key] if key in self._known else self._guess(key, usual) for key in keys]
        own = cells_of(found, schema.column(self.target))
        return frame.changed(schema, {self.target: Cells(own.values[codes], own.gaps[codes])})

    def _guess(self, key: Key, usual: Mapping[Any, Any]) -> Any:
        """The value for a combination that is not in the table; deterministic."""
        if usual and key[self.telling] in usual:
            return usual[key[self.telling]]
        if not self.shares:
            return None
        place = zlib.crc32(repr(key).encode()) / 2**32
        ends = np.cumsum([share for _, share in self.shares])
        return self.shares[min(int(np.searchsorted(ends, place, side="right")), len(ends) - 1)][0]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "target": self.target,
            "keys": list(self.keys),
            "rows": [[list(key), value] for key, value in self.rows],
            "telling": self.telling,
            "usual": [list(pair) for pair in self.usual],
            "shares": [list(pair) for pair in self.shares],
            "support": self.support,
            "exceptions": self.exceptions,
            "near": self.near,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Lookup:
        """Inverse of `to_json`."""
        fields = dict(data)
        fields["keys"] = tuple(fields["keys"])
        fields["rows"] = tuple((tuple(key), value) for key, value in fields["rows"])
        for name in ("usual", "shares"):
            fields[name] = tuple((first, second) for first, second in fields[name])
        hash(
            (fields["rows"], fields["usual"], fields["shares"])
        )  # an invalid value would otherwise fail only when rows are written
        return cls(**fields)


def parse(text: str, schema: Schema) -> Lookup | None:
    """Read `target from first, second`."""
    words, near = unsaid(text)
    left, mark, right = words.partition(" from ")
    if not mark:
        return None
    (target,), keys = names_in(left, text, schema), names_in(right, text, schema)
    return Lookup(target, tuple(keys), near=near)


def commonest(keys: Codes, target: Codes, n_keys: int) -> tuple[Codes, Codes, Codes]:
    """Per key: the most common value of the target, the rows of the key, and the rows with that value."""
    width = int(target.max(initial=0)) + 1
    cells, counts = np.unique(keys * width + target, return_counts=True)
    order = np.argsort(counts, kind="stable")
    value, agree = np.zeros(n_keys, dtype=np.int64), np.zeros(n_keys, dtype=np.int64)
    value[(cells // width)[order]], agree[(cells // width)[order]] = (cells % width)[order], counts[order]
    return value, np.bincount(keys, minlength=n_keys), agree
