"""Boosted trees as a score: smooth dependence on the preceding slots that no sum of one number per slot can express.

LightGBM learns to predict the place of a slot's id from the slots before it. The trees that write are grown on its
out-of-fold predictions; otherwise they would trust it more than new rows deserve.

A boosted tree has at most eight leaves, so the leaves that an id of a slot can still reach fit into the bits of a byte:
the leaf of a row is the lowest bit set for all its slots (QuickScorer, Lucchese et al., 2015). That is a few
lookups per slot for all trees together, a hundred times as fast as descending the trees one by one.

Shapes: `n` rows, `P` slots before, `B` boosted trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .score import beside
from .tree import LEAF, Ids, Tree

MAX_LEAVES = 8
"""Bits of a byte."""
MAX_ROUNDS, RATE, PATIENCE = 150, 0.1, 10
"""Maximum number of boosted trees, their learning rate, and how many without gain on other rows end boosting."""
MIN_GAIN = 0.1
"""Share of the variance that boosting must explain beyond the sum of one number per slot, to be worth its time."""
MIN_ROWS, MAX_ROWS = 2_000, 10_000
"""Minimum and maximum number of rows for boosting; with fewer rows, half of its gains are chance."""
FOLDS = 3
LOOKED_AT, LOOK_ROUNDS = 1_000, 50
"""A first try on this many rows, tested on as many others, ends boosting if nothing is gained, as for most columns."""
INTERVALS, SAME = 64, 1e-3
"""Number of intervals of the sums, and the difference up to which two sums are equal, in standard deviations."""


@dataclass(frozen=True, eq=False)
class Boosted:
    """Boosted trees over the slots before, with the value of each leaf, and the intervals of their sums."""

    trees: tuple[Tree, ...]
    values: NDArray[np.float32]
    """The values of the leaves, tree by tree."""
    edges: NDArray[np.float32]
    """Ends of all intervals but the last, ascending."""

    @property
    def size(self) -> int:
        """Intervals."""
        return len(self.edges) + 1

    @cached_property
    def _open(self) -> dict[int, NDArray[np.uint8]]:
        """For each slot that a tree tests, and each id: the leaves of each tree that remain reachable (S, B)."""
        masks: dict[int, NDArray[np.uint8]] = {}
        for number, tree in enumerate(self.trees):
            first, last = tree.leaf_ranges
            for node in np.flatnonzero(tree.slots != LEAF):
                right = tree.right[node]
                left_bits, right_bits = _bits(first[node + 1], last[node + 1]), _bits(first[right], last[right])
                size = tree.sizes[node]
                goes_left = tree.sets[tree.starts[node] : tree.starts[node] + size]
                slot = int(tree.slots[node])
                if slot not in masks:
                    masks[slot] = np.full((size, len(self.trees)), 255, dtype=np.uint8)
                masks[slot][:, number] &= np.where(goes_left, ~right_bits, ~left_bits)
        return masks

    @cached_property
    def _by_bits(self) -> NDArray[np.float32]:
        """For each tree and each byte of open leaves, the value of the lowest one (B * 256,)."""
        table, start = np.zeros((len(self.trees), 256), dtype=np.float32), 0
        for number, tree in enumerate(self.trees):
            own = self.values[start : start + tree.n_leaves]
            start += tree.n_leaves
            for leaf in range(tree.n_leaves - 1, -1, -1):
                table[number, (np.arange(256) >> leaf) & 1 == 1] = own[leaf]
        return table.ravel()

    def total(self, before: NDArray[Any]) -> NDArray[np.float32]:
        """Sum over the trees for rows of the slots before (n, P) → (n,)."""
        bits = np.full((len(before), len(self.trees)), 255, dtype=np.uint8)
        for slot, table in self._open.items():
            bits &= table[before[:, slot]]
        places = bits + (np.arange(len(self.trees), dtype=np.int32) * 256)  # (n, B)
        return np.asarray(self._by_bits[places].sum(1), dtype=np.float32)

    def beside(self, before: NDArray[Any]) -> Ids:
        """Rows of the slots before (n, P) with the interval of their score as one more slot (n, P + 1)."""
        return beside(before, self.edges, self.total(before))


def fit_boosted(
    before: Ids,
    ordered: Sequence[bool],
    sizes: Sequence[int],
    places: NDArray[np.float64],
    to_beat: float,
    rng: np.random.Generator,
) -> tuple[Boosted, NDArray[np.float32]] | None:
    """Boosted trees that predict a place per row (n,), and their out-of-fold sums (n,).

    None if they do not explain more of the variance than `to_beat`, or there are too few rows to know.
    """
    n = min(len(before), MAX_ROWS)
    if n < MIN_ROWS or places.std() == 0:
        return None
    chosen = np.arange(n) if n == len(before) else rng.choice(len(before), n, replace=False)
    matrix, targets = before[chosen].astype(np.float32), places[chosen]
    categories = [k for k, is_ordered in enumerate(ordered) if not is_ordered]
    folds = rng.permutation(n) % FOLDS
    seed, outside, rounds = int(rng.integers(2**31)), np.zeros(n), []
    few, other = np.arange(n) < LOOKED_AT, (np.arange(n) >= LOOKED_AT) & (np.arange(n) < 2 * LOOKED_AT)
    look = _train(matrix, targets, few, other, categories, seed, LOOK_ROUNDS)
    if _explained(targets[other], look.predict(matrix[other])) < to_beat + MIN_GAIN / 4:
        return None
    for fold in range(FOLDS):
        own = folds == fold
        model = _train(matrix, targets, ~own, own, categories, seed, MAX_ROUNDS)
        rounds.append(max(model.best_iteration, 1))
        outside[own] = model.predict(matrix[own], num_iteration=rounds[-1])
        if _explained(targets[own], outside[own]) < to_beat + MIN_GAIN:  # the same in every fold
            return None
    model = _train(matrix, targets, np.ones(n, dtype=bool), None, categories, seed, round(float(np.mean(rounds))))
    trees, values = _as_trees(model.dump_model()["tree_info"], sizes)
    boosted = Boosted(trees, values, _edges(outside))
    totals = boosted.total(before) if n < len(before) else np.empty(n, dtype=np.float32)
    totals[chosen] = outside
    return boosted, totals


def _edges(sums: NDArray[np.float64]) -> NDArray[np.float32]:
    """Ends of intervals with equally many rows, midway between sums that differ.

    Where the places are certain, the sums of the folds differ only by rounding, and so do those of all rows: an end at
    one of the sums would separate rows that belong together.
    """
    ordered = np.sort(sums)
    ends = np.quantile(ordered, np.arange(1, INTERVALS) / INTERVALS) + SAME * ordered.std()
    after = np.searchsorted(ordered, ends, side="right")
    after = np.unique(after[after < len(ordered)])
    return np.unique(((ordered[after - 1] + ordered[after]) / 2).astype(np.float32))


def _train(
    matrix: NDArray[np.float32],
    targets: NDArray[np.float64],
    learned: NDArray[np.bool_],
    watched: NDArray[np.bool_] | None,
    categories: list[int],
    seed: int,
    rounds: int,
) -> Any:
    import lightgbm as lgb

    rows = int(learned.sum())
    settings = {
        "objective": "regression",
        "num_leaves": MAX_LEAVES,
        "learning_rate": RATE,
        "min_data_in_leaf": min(20, max(5, rows // 20)),
        "min_data_per_group": 5,
        "cat_smooth": 5.0,
        "seed": seed,
        "num_threads": 1,
        "deterministic": True,
        "verbosity": -1,
    }
    data = lgb.Dataset(matrix[learned], targets[learned], categorical_feature=categories, params=settings)
    if watched is None:
        return lgb.train(settings, data, rounds)
    other = data.create_valid(matrix[watched], targets[watched])
    stop = lgb.early_stopping(PATIENCE, verbose=False)
    return lgb.train(settings, data, rounds, valid_sets=[other], callbacks=[stop])


def _explained(targets: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
    """Share of the variance that is explained."""
    return 1.0 - float(np.square(targets - predicted).mean() / max(targets.var(), 1e-12))


def _as_trees(infos: Sequence[Mapping[str, Any]], sizes: Sequence[int]) -> tuple[tuple[Tree, ...], NDArray[np.float32]]:
    """LightGBM's trees as sets of ids, and the values of their leaves."""
    nodes = [_Nodes(sizes).walk(info["tree_structure"]) for info in infos]
    values = [value for each in nodes for value in each.values]
    return tuple(each.tree() for each in nodes), np.array(values, dtype=np.float32)


class _Nodes:
    """The nodes of one tree in depth-first order."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.all_sizes = sizes
        self.slots: list[int] = []
        self.right: list[int] = []
        self.sets: list[NDArray[np.bool_]] = []
        self.values: list[float] = []

    def walk(self, node: Mapping[str, Any]) -> _Nodes:
        place, slot = len(self.slots), int(node.get("split_feature", LEAF))
        self.slots.append(slot)
        self.right.append(0)
        if slot == LEAF:
            self.values.append(float(node["leaf_value"]))
            return self
        self.sets.append(_left(node, self.all_sizes[slot]))
        self.walk(node["left_child"])
        self.right[place] = len(self.slots)
        return self.walk(node["right_child"])

    def tree(self) -> Tree:
        lengths = np.array([0 if slot == LEAF else self.all_sizes[slot] for slot in self.slots], dtype=np.int64)
        starts = np.where(lengths > 0, np.cumsum(lengths) - lengths, 0)
        every = np.concatenate([np.zeros(0, dtype=bool), *self.sets])
        return Tree(np.array(self.slots, np.int32), np.array(self.right, np.int32), starts, every)


def _left(node: Mapping[str, Any], size: int) -> NDArray[np.bool_]:
    """Which ids of a slot go left (S,)."""
    if node["decision_type"] == "==":
        goes_left = np.zeros(size, dtype=bool)
        goes_left[[int(label) for label in str(node["threshold"]).split("||")]] = True
        return goes_left
    return np.asarray(np.arange(size) <= float(node["threshold"]))


def _bits(first: int, last: int) -> np.uint8:
    """The leaves from `first` up to but not including `last`, as bits."""
    return np.uint8(sum(1 << leaf for leaf in range(int(first), int(last))))
