"""How similar the columns and pairs of columns of two tables are, next to how similar real rows are to each other.

A similarity of 84 % is no problem if two samples of real rows agree no better. So real rows are halved: new rows are
compared with one half, and so is the other half.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .encoding import Table

BINS = 10
"""Numbers are cut into at most this many intervals with equal numbers of real rows, shared by all tables."""
SURELY = 0.05
"""A gap up to this size, beyond what chance explains, is not worth mentioning."""

Name = str | int
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Likeness:
    """How similar a column, or a pair of columns, is in two tables: the overlap of the shares, from 0 to 1."""

    names: tuple[Name, ...]
    score: float
    real: float
    """The same of two halves of the real rows."""

    @property
    def gap(self) -> float:
        """How much less similar new rows are."""
        return self.real - self.score


def least_alike(real: Table, synthetic: Table) -> tuple[Likeness | None, Likeness | None]:
    """The column and the pair with the largest gap, each None where chance explains the gap."""
    n_rows = min(real.n_rows // 2, synthetic.n_rows)
    if not n_rows:
        return None, None
    codes = [_codes(all_, own) for all_, own in zip(real.columns, synthetic.columns, strict=True)]
    tables = [[real_[0::2][:n_rows], real_[1::2][:n_rows], own[:n_rows]] for real_, own in codes]
    names = [feature.name for feature in real.features]
    limit = SURELY + 1 / np.sqrt(n_rows)
    found = []
    for pairs in (False, True):
        worst = max(_likenesses(names, tables, pairs=pairs), key=lambda own: own.gap, default=None)
        found.append(worst if worst is not None and worst.gap > limit else None)
    return found[0], found[1]


def _likenesses(names: list[Name], tables: list[list[Codes]], *, pairs: bool) -> Iterator[Likeness]:
    for i in range(len(names)):
        if not pairs:
            half, other, new = tables[i]
            yield Likeness((names[i],), _overlap(half, new), _overlap(half, other))
            continue
        for j in range(i + 1, len(names)):
            width = 1 + max(int(own.max()) for own in tables[j])
            half, other, new = (a * width + b for a, b in zip(tables[i], tables[j], strict=True))
            yield Likeness((names[i], names[j]), _overlap(half, new), _overlap(half, other))


def _codes(real: NDArray[Any], synthetic: NDArray[Any]) -> tuple[Codes, Codes]:
    """Categories as they are; numbers as intervals of the real rows, 0 where missing."""
    if real.dtype.kind in "iu":
        return real.astype(np.int64), synthetic.astype(np.int64)
    present = real[~np.isnan(real)]
    edges = np.unique(np.quantile(present, np.linspace(0, 1, BINS + 1)[1:-1])) if len(present) else np.zeros(0)
    first, second = (
        np.where(np.isnan(own), 0, np.digitize(own, edges) + 1).astype(np.int64) for own in (real, synthetic)
    )
    return first, second


def _overlap(left: Codes, right: Codes) -> float:
    """One minus half the summed differences of the shares."""
    _, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    n = int(places.max()) + 1
    first, second = (np.bincount(own, minlength=n) / len(own) for own in (places[: len(left)], places[len(left) :]))
    return float(1 - np.abs(first - second).sum() / 2)
