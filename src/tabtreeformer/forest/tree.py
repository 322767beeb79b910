"""A tree over rows of ids, as arrays.

A node tests one slot: ids in a set go left, the others right. Nodes are numbered in depth-first order, so the leaves
below any node are contiguous.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
LEAF = -1
"""Stands for the slot of a node that tests nothing."""
LEVELS = 4
"""Levels after which rows that have reached their leaf are set aside."""


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes in depth-first order; `M` of them."""

    slots: NDArray[np.int32]
    """Slot that each node tests (M,); `LEAF` for a leaf."""
    right: NDArray[np.int32]
    """Right child of each node (M,), 0 for a leaf; the left child is the next node."""
    starts: NDArray[np.int64]
    """Where the set of each node begins in `sets` (M,)."""
    sets: NDArray[np.bool_]
    """For each inner node one entry per id of its slot: whether it goes left."""

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of ids of the slot that each inner node tests (M,), 0 for a leaf."""
        inner = np.flatnonzero(self.slots != LEAF)
        sizes = np.zeros(self.n_nodes, dtype=np.int64)
        sizes[inner] = np.diff(np.append(self.starts[inner], len(self.sets)))
        return sizes

    @property
    def n_nodes(self) -> int:
        """Nodes, leaves included."""
        return len(self.slots)

    @cached_property
    def leaf_nodes(self) -> NDArray[np.int64]:
        """Node of each leaf."""
        return np.flatnonzero(self.slots == LEAF)

    @property
    def n_leaves(self) -> int:
        """Leaves of the tree."""
        return len(self.leaf_nodes)

    @cached_property
    def _leaf_numbers(self) -> NDArray[np.int32]:
        """Leaf number of each node (M,); for an inner node, that of the first leaf below it."""
        before = np.cumsum(self.slots == LEAF) - (self.slots == LEAF)
        return np.asarray(before, dtype=np.int32)

    @cached_property
    def leaf_ranges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First and past-the-last leaf below each node (M,) and (M,)."""
        first = self._leaf_numbers.astype(np.int64)
        last = first + 1
        for node in range(self.n_nodes - 1, -1, -1):
            if self.slots[node] != LEAF:
                last[node] = last[self.right[node]]
        return first, last

    @cached_property
    def levels(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """For each depth from 1 on: the nodes, and the parent of each."""
        levels: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        parents = np.zeros(1, dtype=np.int64)
        while True:
            parents = parents[self.slots[parents] != LEAF]
            if not len(parents):
                return levels
            nodes = np.concatenate([parents + 1, self.right[parents].astype(np.int64)])
            levels.append((nodes, np.concatenate([parents, parents])))
            parents = nodes

    @cached_property
    def _walk(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Slot, start of the set and both children of each node; a leaf is its own child."""
        nodes, leaf = np.arange(self.n_nodes, dtype=np.int64), self.slots == LEAF
        right, left = np.where(leaf, nodes, self.right), np.where(leaf, nodes, nodes + 1)
        return np.where(leaf, 0, self.slots).astype(np.int64), self.starts, np.stack([right, left], 1).ravel()

    def leaves(self, ids: NDArray[Any]) -> NDArray[np.int32]:
        """Rows of ids (n, slots) → the number of their leaf (n,)."""
        n = len(ids)
        if self.n_nodes == 1 or n == 0:
            return np.zeros(n, dtype=np.int32)
        slots, starts, children = self._walk
        columns = np.ascontiguousarray(ids.T).ravel()
        is_leaf, sets = self.slots == LEAF, self.sets.view(np.int8)
        found = np.zeros(n, dtype=np.int64)
        rows, node = np.arange(n), np.zeros(n, dtype=np.int64)
        while len(rows):
            for _ in range(LEVELS):
                place = starts.take(node) + columns.take(slots.take(node) * n + rows)
                # A leaf's test leads back to the leaf: the index only has to exist.
                node = children.take(2 * node + sets.take(place, mode="clip"))
            done = is_leaf.take(node)
            found[rows[done]] = node[done]
            rows, node = rows[~done], node[~done]
        return self._leaf_numbers[found]

    def pruned(self, rows: NDArray[np.int64], minimum: int) -> Tree:
        """The tree without splits that leave fewer than `minimum` rows on a side; `rows` are those per leaf."""
        first, last = self.leaf_ranges
        below = np.concatenate([[0], np.cumsum(rows)])
        n_rows = below[last] - below[first]  # (M,)
        slots: list[int] = []
        right: list[int] = []
        sets: list[NDArray[np.bool_]] = [np.zeros(0, dtype=bool)]
        waiting = [(0, -1)]  # nodes to visit, each with the new parent whose right child it is
        while waiting:
            node, parent = waiting.pop()
            place = len(slots)
            if parent >= 0:
                right[parent] = place
            split = self.slots[node] != LEAF and min(n_rows[node + 1], n_rows[self.right[node]]) >= minimum
            slots.append(int(self.slots[node]) if split else LEAF)
            right.append(0)
            if split:
                sets.append(self.sets[self.starts[node] : self.starts[node] + self.sizes[node]])
                waiting += [(int(self.right[node]), place), (node + 1, -1)]
        lengths = np.zeros(len(slots), dtype=np.int64)
        lengths[np.array(slots) != LEAF] = [len(each) for each in sets[1:]]
        starts = np.where(lengths > 0, np.cumsum(lengths) - lengths, 0)
        return Tree(np.array(slots, np.int32), np.array(right, np.int32), starts, np.concatenate(sets))


def stump() -> Tree:
    """A tree of one leaf."""
    return Tree(np.array([LEAF], np.int32), np.zeros(1, np.int32), np.zeros(1, np.int64), np.zeros(0, dtype=bool))
