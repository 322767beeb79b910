"""How often each id occurs in each leaf: counts, and shares smoothed towards the nodes above.

Shapes: `n` rows, `M` nodes, `F` leaves, `S` ids of the slot.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .tree import Tree

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Counts:
    """Ids that occur in each leaf, leaf by leaf."""

    starts: NDArray[np.int64]
    """Where each leaf begins in `ids` (F + 1,)."""
    ids: NDArray[np.int32]
    counts: NDArray[np.int32]

    @classmethod
    def of(cls, leaves: NDArray[np.int32], ids: NDArray[Any], n_leaves: int, size: int) -> Counts:
        """Count the ids (n,) of the rows of each leaf (n,)."""
        keys, counts = np.unique(leaves.astype(np.int64) * size + ids, return_counts=True)
        starts = np.searchsorted(keys, np.arange(n_leaves + 1, dtype=np.int64) * size)
        return cls(starts, (keys % size).astype(np.int32), counts.astype(np.int32))

    def dense(self, size: int) -> Floats:
        """Counts including zeros (F, S)."""
        table = np.zeros((len(self.starts) - 1, size))
        table[np.repeat(np.arange(len(table)), np.diff(self.starts)), self.ids] = self.counts
        return table


def smoothed(tree: Tree, counts: Counts, prior: Floats, smoothing: float) -> Floats:
    """Shares of the ids in each leaf (F, S), each node's pulled towards its parent's by `smoothing` rows.

    The root is pulled towards `prior` (S,). Rows sum to one.
    """
    table = counts.dense(len(prior))
    if smoothing == 0:
        return np.asarray(table / table.sum(1, keepdims=True))
    first, last = tree.leaf_ranges
    below = np.concatenate([np.zeros((1, len(prior))), np.cumsum(table, axis=0)])
    nodes = below[last] - below[first]  # (M, S)
    totals = nodes.sum(1, keepdims=True) + smoothing
    nodes[0] = (nodes[0] + smoothing * prior) / totals[0]
    for children, parents in tree.levels:
        nodes[children] = (nodes[children] + smoothing * nodes[parents]) / totals[children]
    return np.asarray(nodes[tree.leaf_nodes])


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of the ids in each leaf (F, S), and draws from them."""

    table: Floats

    @cached_property
    def _ends(self) -> Floats:
        """Running sum over all leaves, with a 0 before (F * S + 1,)."""
        return np.concatenate([[0.0], np.cumsum(self.table)])

    def of(self, leaves: NDArray[np.int32], ids: NDArray[Any]) -> Floats:
        """Share of one id per row (n,)."""
        return np.asarray(self.table[leaves, ids])

    def within(self, allowed: NDArray[np.bool_]) -> Shares:
        """Only the ids that are allowed (S,); rows sum to the share that is left."""
        return Shares(self.table * allowed)

    def left(self, leaves: NDArray[np.int32]) -> Floats:
        """Sum of the shares in each row's leaf (n,)."""
        return np.asarray(self.table.sum(1)[leaves])

    def draw(self, leaves: NDArray[np.int32], points: Floats) -> NDArray[np.int32]:
        """The id whose share of the leaf contains each point in [0, 1) (n,)."""
        size, ends = self.table.shape[1], self._ends
        start = leaves.astype(np.int64) * size
        low, high = ends[start], ends[start + size]
        found = np.searchsorted(ends, low + points * (high - low), side="right") - 1 - start
        ids = found.clip(0, size - 1)
        # Rounding may move a point at the very end past the last id with a share.
        odd = np.flatnonzero(self.table[leaves, ids] == 0)
        if len(odd):
            ids[odd] = self.table[leaves[odd]].argmax(1)
        return np.asarray(ids, dtype=np.int32)
