"""A sum that holds within a tolerance: `total = net + tax ± 0.01`.

Such laws are only given, never searched for. The total stays a separate column. If it deviates by more than the
tolerance, it is replaced by the sum plus a deviation drawn from those in the table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.rare import slice_means
from ..data.schema import NUMERIC, Schema
from ..data.schema.numbers import count_decimals
from ..errors import SchemaError
from .base import Cells, Frame, Mask, Name, OneTarget
from .correcting import Correcting
from .linear import Linear
from .linear import parse as parse_sum
from .sentences import said, unsaid, written

POINTS = 64
"""Number of stored deviations from the sum."""
SLACK = 1e-9
"""Relative slack for floating-point rounding."""
_TEXT = re.compile(r"(.+?)\s*(?:±|\+/?-)\s*(\d+\.?\d*|\.\d+)\s*")


@dataclass(frozen=True)
class Tolerance(OneTarget, Correcting):
    """A total that differs from a sum by at most `within`."""

    form: ClassVar[str] = "tolerance"
    target: Name
    sum: Linear
    within: float
    distances: tuple[float, ...] = ()
    """Deviations of totals from their sums; each is a mean of at least `floor` rows."""
    decimals: int | None = None
    """Decimals of the total; None if it has no grid."""
    support: int = 0
    exceptions: int = 0
    near: bool = False
    """Whether rows of the table break it."""

    @property
    def text(self) -> str:
        return said(f"{self.sum.text} ± {written(self.within)}", near=self.near)

    @property
    def reads(self) -> tuple[Name, ...]:
        return self.sum.reads

    def _off(self, frame: Frame) -> NDArray[np.float64]:
        """Deviation of each total from its sum."""
        return np.asarray(frame.values(self.target).astype(np.float64) - self.sum.expected(frame).astype(np.float64))

    def _keeps(self, off: NDArray[np.float64], frame: Frame) -> Mask:
        slack = SLACK * (1 + np.abs(self.sum.expected(frame).astype(np.float64)))
        return np.asarray(np.abs(off) <= self.within + slack)

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Rows without missing values, and those within the tolerance."""
        applies = frame.present(self.target, *self.reads)
        return applies, applies & self._keeps(self._off(frame), frame)

    def learn(self, frame: Frame, floor: int) -> Tolerance:
        """Count the rows that keep it, and store their deviations."""
        counted, kept = self.counted(frame), self.holds(frame)[1]
        off, least = self._off(frame)[kept], max(floor, 1)
        there = frame.values(self.target)[~frame.gaps(self.target)]
        return replace(
            counted,
            distances=tuple(slice_means(off, least, POINTS).tolist()) if len(off) >= least else (0.0,),
            decimals=0 if there.dtype.kind in "iu" else count_decimals(there.astype(np.float64)),
            near=self.near or counted.exceptions > 0,
        )

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Replace totals outside the tolerance, except for the table's share of exceptions."""
        applies, keeps = self.holds(frame)
        rows = np.flatnonzero(applies & ~keeps & ~self.spared(applies, keeps, rng))
        if not len(rows):
            return frame.changed(schema, {})
        cells, sums = frame.cells(self.target), self.sum.expected(frame).astype(np.float64)[rows]
        totals = sums + rng.choice(np.array(self.distances or (0.0,)), size=len(rows))
        if self.decimals is not None:
            step = 10.0**-self.decimals
            most, least = (np.round(edge / step, 6) for edge in (sums + self.within, sums - self.within))
            places = np.clip(np.round(totals / step), np.ceil(least), np.floor(most))
            totals = np.where(np.ceil(least) <= np.floor(most), np.round(places * step, self.decimals), sums)
        values = cells.values.copy()
        if values.dtype.kind in "iu" and (totals != np.rint(totals)).any():
            values = values.astype(np.float64)
        values[rows] = totals.astype(values.dtype)
        return frame.changed(schema, {self.target: Cells(values, cells.gaps)})

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        plain = {name: getattr(self, name) for name in ("target", "within", "decimals")}
        counts = {name: getattr(self, name) for name in ("support", "exceptions", "near")}
        return {**plain, "sum": self.sum.to_json(), "distances": list(self.distances), **counts}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Tolerance:
        """Inverse of `to_json`."""
        return cls(**{**data, "sum": Linear.from_json(data["sum"]), "distances": tuple(data["distances"])})


def parse(text: str, schema: Schema) -> Tolerance | None:
    """Read `total = net + tax ± 0.01`, also `+-` or `+/-`; None where there is no tolerance."""
    words, near = unsaid(text)
    found = _TEXT.fullmatch(words)
    if found is None or "=" not in words:
        return None
    law = parse_sum(found[1], schema)
    if law is None or not law.exact or any(schema.column(n).kind != NUMERIC for n in (law.target, *law.reads)):
        raise SchemaError(f"constraint {text!r} cannot be read; write it as 'total = net + tax ± 0.01', of numbers")
    return Tolerance(law.target, law, float(found[2]), near=near)
