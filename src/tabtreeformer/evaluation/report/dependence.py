"""Trend with the error of single columns taken out.

Trend compares joint shares, so a pair can agree no better than its two columns do. Independent columns drawn from the
training rows have no such error, and can therefore score above rows that keep every relation but whose columns are
slightly off. Here the shares of both are first fitted to the real margins (iterative proportional fitting).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoding import MISSING, Table

BINS = 10
MAX_LABELS = 20
"""Maximum categories of a column that are distinguished; the others count as one."""
MAX_ROWS = 10_000
MAX_PAIRS = 1_000
"""Pairs that are measured, drawn at random where there are more."""
ROUNDS = 15

Floats = NDArray[np.float64]


def dependence(real: Table, new: Table) -> dict[str, Any] | None:
    """How well pairs of columns agree once their columns do: of the synthetic rows and of independent columns."""
    rng = np.random.default_rng(0)
    real, new = real.sample(MAX_ROWS, rng), new.sample(MAX_ROWS, rng)
    codes = [_codes(real, new, place) for place in range(len(real.features))]
    used = [place for place, own in enumerate(codes) if own is not None]
    every = [(i, j) for k, i in enumerate(used) for j in used[:k]]
    if not every:
        return None
    chosen = every if len(every) <= MAX_PAIRS else [every[k] for k in rng.choice(len(every), MAX_PAIRS, replace=False)]
    synthetic, independent = [], []
    for i, j in chosen:
        first, second = codes[i], codes[j]
        assert first is not None
        assert second is not None
        joint = _joint(first[0], second[0], first[2], second[2])
        rows, columns = joint.sum(1), joint.sum(0)
        raked = _raked(_joint(first[1], second[1], first[2], second[2]), rows, columns)
        synthetic.append(1 - np.abs(joint - raked).sum() / 2)
        # As many rows as the synthetic ones: the chance error of few rows must not count for one side only.
        shuffled = _joint(rng.permutation(first[1]), second[1], first[2], second[2])
        independent.append(1 - np.abs(joint - _raked(shuffled, rows, columns)).sum() / 2)
    return {"synthetic": float(np.mean(synthetic)), "independent": float(np.mean(independent)), "pairs": len(chosen)}


def _codes(real: Table, new: Table, place: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int] | None:
    """Both columns as codes of the same meaning; numbers by tenths of the real rows. None for a constant column."""
    a, b = real.columns[place], new.columns[place]
    if real.features[place].categorical:
        counts = np.bincount(a, minlength=len(real.features[place].labels) + 1)
        order = np.argsort(-counts, kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        first, second = (np.minimum(rank[column], MAX_LABELS) for column in (a, b))
    else:
        there = a[~np.isnan(a)]
        if not len(there):
            return None
        edges = np.unique(np.quantile(there, np.linspace(0, 1, BINS + 1)[1:-1]))
        first, second = (
            np.where(np.isnan(column), len(edges) + 1, np.searchsorted(edges, column, side="left")) for column in (a, b)
        )
    if len(np.unique(first)) < 2:
        return None
    return first, second, int(max(first.max(), second.max(), MISSING)) + 1


def _joint(a: NDArray[np.int64], b: NDArray[np.int64], n_a: int, n_b: int) -> Floats:
    return np.bincount(a * n_b + b, minlength=n_a * n_b).reshape(n_a, n_b) / len(a)


def _raked(joint: Floats, rows: Floats, columns: Floats) -> Floats:
    """Shares with the odds of `joint` and these margins, as far as its cells allow."""
    fitted = joint
    for _ in range(ROUNDS):
        for margin, axis in ((rows, 1), (columns, 0)):
            own = fitted.sum(axis, keepdims=True)
            wanted = margin[:, None] if axis == 1 else margin[None, :]
            fitted = fitted * np.divide(wanted, own, out=np.zeros_like(own), where=own > 0)
    return fitted
