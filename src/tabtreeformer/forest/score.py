"""The smooth part of a slot's dependence on the slots before it, as an extra id that its trees may test.

A score is a sum of one number per id of each slot before (a ridge regression on ranks and classes), cut into intervals.
Trees alone spend their rows on approximating a slope by steps; with the score they need fewer steps, come closer to
held-out rows, and repeat less of the noise in the training rows.

Shapes: `n` rows, `P` slots before, `X` features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .tree import Ids

INTERVALS = 64
RIDGE = 5.0
"""Strength of the ridge, in rows."""
MAX_CLASSES_SCORED, MAX_FEATURES_SCORED = 30, 500
"""Categories with more values do not enter a score, and slots that follow more features than this have no score."""
MAX_ROWS_SCORED = 20_000


@dataclass(frozen=True, eq=False)
class Score:
    """A number for every id of every preceding slot, and the intervals of their sums."""

    starts: NDArray[np.int64]
    """Where the numbers of each slot begin in `values` (P,)."""
    values: NDArray[np.float32]
    edges: NDArray[np.float32]
    """Ends of all intervals but the last, ascending."""

    @property
    def size(self) -> int:
        """Intervals."""
        return len(self.edges) + 1

    def beside(self, before: NDArray[Any]) -> Ids:
        """Rows of the slots before (n, P) with the interval of their score as one more slot (n, P + 1)."""
        return beside(before, self.edges, self.total(before))

    def total(self, before: NDArray[Any]) -> NDArray[np.float32]:
        """Sum over the slots for rows of the slots before (n, P) → (n,)."""
        total = np.zeros(len(before), dtype=np.float32)
        for slot, start in enumerate(self.starts):
            total += self.values.take(start + before[:, slot])
        return total

    def explained(self, before: NDArray[Any], places: NDArray[np.float64]) -> float:
        """Estimated share of the variance of places (n,) that the score explains in rows it did not learn from."""
        total = self.total(before).astype(np.float64)
        if total.std() == 0 or places.std() == 0:
            return 0.0
        free = min(int((self.values != 0).sum()), 3 * len(self.starts) + MAX_CLASSES_SCORED, len(places) // 2)
        fitted = float(np.corrcoef(total, places)[0, 1]) ** 2
        return 1 - (1 - fitted) * (len(places) + free) / (len(places) - free)


def beside(before: NDArray[Any], edges: NDArray[np.float32], totals: NDArray[Any]) -> Ids:
    """Rows of the slots before (n, P) with the interval of a total as one more slot (n, P + 1)."""
    rows = np.empty((len(before), before.shape[1] + 1), dtype=np.int32)
    rows[:, :-1] = before
    rows[:, -1] = np.searchsorted(edges, totals, side="left")
    return rows


def fit_score(
    before: Ids, sizes: Sequence[int], ordered: Sequence[bool], places: NDArray[np.float64], rng: np.random.Generator
) -> Score | None:
    """The score that predicts a place between 0 and 1 per row (n,) from the slots before it (n, P).

    None if there is nothing to predict from.
    """
    some = before
    if len(before) > MAX_ROWS_SCORED:
        chosen = rng.choice(len(before), MAX_ROWS_SCORED, replace=False)
        some, places = before[chosen], places[chosen]
    features = [f for k in range(before.shape[1]) for f in _features(k, some[:, k], sizes[k], ordered[k])]
    if not features or len(features) > MAX_FEATURES_SCORED:
        return None
    matrix = np.column_stack([values[some[:, slot]] for slot, values in features])  # (n, X)
    matrix -= matrix.mean(0)
    gram = matrix.T @ matrix + RIDGE * np.eye(len(features))
    weights = np.linalg.solve(gram, matrix.T @ (places - places.mean()))
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    numbers = np.zeros(int(sum(sizes)))
    for (slot, values), weight in zip(features, weights, strict=True):
        numbers[starts[slot] : starts[slot] + len(values)] += weight * values
    score = Score(starts, numbers.astype(np.float32), np.zeros(0, dtype=np.float32))
    total = sum(score.values[start + some[:, slot]] for slot, start in enumerate(starts))
    edges = np.unique(np.quantile(total, np.arange(1, INTERVALS) / INTERVALS).astype(np.float32))
    return Score(starts, score.values, edges)


def _features(slot: int, ids: NDArray[Any], size: int, ordered: bool) -> list[tuple[int, NDArray[np.float64]]]:
    """What a slot offers a score: for each feature, a number per id."""
    if ordered:
        rows = np.bincount(ids, minlength=size)
        ranks = (np.cumsum(rows) - rows / 2) / len(ids)
        return [(slot, values) for values in (ranks, ranks**2, np.arange(size) / size)]
    return [(slot, row) for row in np.eye(size)] if size <= MAX_CLASSES_SCORED else []
