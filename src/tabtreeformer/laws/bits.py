"""The description length of a column: a code is learned from some rows, and bits are counted on others.

Two representations of a column are compared at the same step, the finest that its values need. A difference with a
narrower range, or one that is often 0, takes fewer bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MIN_ATOM = 3
"""Minimum rows for a value to have a probability of its own."""
MAX_BINS = 64
"""Intervals of equal mass for all other values."""
BITS_PER_TERM = 10.0
"""Bits for naming a column in a law, divided among the rows."""


def code_length(seen: NDArray[np.float64], held: NDArray[np.float64], step: float) -> float:
    """Mean bits per held-out number, in multiples of `step`; NaN is ignored."""
    seen, held = np.rint(seen[~np.isnan(seen)] / step), np.rint(held[~np.isnan(held)] / step)
    if not len(seen) or not len(held):
        return 0.0
    distinct, counts = np.unique(seen, return_counts=True)
    atoms = counts >= MIN_ATOM
    rest = np.repeat(distinct[~atoms], counts[~atoms])
    total = len(seen) + 2.0
    place = np.clip(np.searchsorted(distinct, held), 0, len(distinct) - 1)
    is_atom = (distinct[place] == held) & atoms[place]
    share = np.where(is_atom, counts[place], 0) / total
    free = (len(rest) + 1.0) / total
    density = _density(rest if len(rest) >= 2 else distinct, held, max(float(np.ptp(seen)), 1.0))
    return float(np.mean(-np.log2(np.where(is_atom, share, free * density))))


def _density(values: NDArray[np.float64], held: NDArray[np.float64], reach: float) -> NDArray[np.float64]:
    """Probability of each held-out value under intervals of equal mass, with a flat tail outside them."""
    n_bins = int(np.clip(np.sqrt(len(values)), 1, MAX_BINS))
    edges = np.unique(np.quantile(values, np.linspace(0, 1, n_bins + 1)))
    edges = np.append(edges, edges[-1] + 1) if len(edges) < 2 else np.append(edges[:-1], edges[-1] + 1)
    counts = np.histogram(values, edges)[0]
    place = np.clip(np.searchsorted(edges, held, side="right") - 1, 0, len(counts) - 1)
    inside = (held >= edges[0]) & (held < edges[-1])
    total = counts.sum() + 1.0
    flat = 1.0 / total / (10 * reach)
    widths = np.maximum(np.diff(edges), 1.0)
    return np.asarray(np.where(inside, np.maximum(counts[place] / widths[place] / total, flat), flat))


def label_length(seen: NDArray[np.int64], held: NDArray[np.int64]) -> float:
    """Mean bits per held-out code of a column of labels; codes are 0, 1, …"""
    if not len(seen) or not len(held):
        return 0.0
    size = int(max(seen.max(), held.max())) + 1
    counts = np.bincount(seen, minlength=size) + 0.5
    return float(np.mean(-np.log2(counts[held] / counts.sum())))
