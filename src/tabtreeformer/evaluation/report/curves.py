"""Two samples of numbers → two smooth curves over a common range."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

POINTS = 120
"""Points of a density curve."""


def density(real: NDArray[np.float64], new: NDArray[np.float64], *, both_ends: bool = False) -> dict[str, Any]:
    """Two smooth curves over a common range, that of the real rows or, with `both_ends`, of both."""
    if not len(real) or not len(new):
        return {"type": "none"}
    # Where tails are long, the middle 99 % of the real rows fill the picture; values beyond it count at the ends.
    low, high = np.quantile(np.concatenate([real, new]) if both_ends else real, [0.005, 0.995])
    low, high = (low, high) if high > low else (real.min(), max(real.max(), real.min() + 1))
    edges = np.linspace(low, high, POINTS + 1)
    if (real == np.rint(real)).all() and high - low < 10 * POINTS:
        # Whole numbers need bins of whole numbers, or the gaps between them would look like modes.
        step = max(1, np.ceil((high - low + 1) / POINTS))
        edges = np.arange(np.floor(low) - 0.5, high + step, step)
    width = edges[1] - edges[0]
    # A part of Silverman's bandwidth: narrow enough to keep modes apart, wide enough to hide single rows. Distances,
    # which are few points without real modes, use all of it.
    narrow = 1.0 if both_ends else 0.35
    places = (np.clip(real, edges[0], edges[-1]) - edges[0]) / width  # in bins, so that no square overflows
    spread = min(places.std(), np.subtract(*np.quantile(places, [0.75, 0.25])) / 1.34 or places.std())
    bandwidth = max(narrow * 0.9 * spread * min(len(real), len(new)) ** -0.2, 0.7)
    reach = min(int(np.ceil(4 * bandwidth)), len(edges) - 2)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / bandwidth) ** 2)
    kernel /= kernel.sum()
    curves = []
    for values in (real, new):
        counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] / len(values) / width
        curves.append(np.convolve(np.pad(counts, reach, mode="reflect"), kernel, mode="valid"))
    return {
        "type": "density",
        "low": float(edges[0] + width / 2),
        "high": float(edges[-1] - width / 2),
        "real": curves[0].tolist(),
        "synthetic": curves[1].tolist(),
    }
