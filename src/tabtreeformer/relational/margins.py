"""The distribution of the number of children. Drawn numbers are slightly biased, which shows in sums, so they are
corrected.

Numbers of children that at least `floor` parents have are stored with their shares; rarer ones are merged with their
neighbours and replaced by the mean. The ranking of the parents is not changed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

Margin = Sequence[tuple[float, float]]
"""Numbers of children, ascending, each with its share of the parents."""

MAX_RATIO = 2.0
"""Numbers of children are clipped to this multiple of the largest one that enough parents have."""


def learn_margin(counts: pd.Series, floor: int) -> list[tuple[float, float]]:
    """The distribution of the number of children; parents without children are never merged with others."""
    children = counts.to_numpy(dtype=np.float64)
    if (
        1 < floor <= len(children)
    ):  # a parent with thousands of children would be visible in the mean of the merged group
        children = np.minimum(children, MAX_RATIO * np.sort(children)[-floor])
    numbers, n_parents = np.unique(children, return_counts=True)
    merged: list[list[float]] = []  # sum of children, parents
    for number, n in zip(numbers, n_parents, strict=True):
        if merged and merged[-1][1] < floor and merged[-1][0] > 0:
            merged[-1] = [merged[-1][0] + number * n, merged[-1][1] + n]
        else:
            merged.append([number * n, float(n)])
    if len(merged) > 1 and merged[-1][1] < floor and merged[-2][0] > 0:
        last = merged.pop()
        merged[-1] = [merged[-1][0] + last[0], merged[-1][1] + last[1]]
    total = float(n_parents.sum())
    return [(children / parents, parents / total) for children, parents in merged]


def with_margin(drawn: pd.Series, margin: Margin, rng: np.random.Generator) -> pd.Series:
    """Map drawn numbers of children to the margin: ranks are kept, ties are broken at random."""
    n = len(drawn)
    order = np.lexsort((rng.random(n), drawn.fillna(0).to_numpy(dtype=np.float64)))
    levels = np.array([level for level, _ in margin])
    ends = np.cumsum([share for _, share in margin])
    places = (np.arange(n) + rng.random()) / max(n, 1)
    exact = levels[np.searchsorted(ends, places).clip(max=len(levels) - 1)]
    numbers = np.empty(n, dtype=np.int64)
    numbers[order] = np.floor(exact + rng.random(n) * (exact % 1 > 0)).astype(np.int64)
    return pd.Series(numbers, index=drawn.index, name=drawn.name)
