"""A forest as JSON and arrays, and back; anything that is not a forest is an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .boost import MAX_LEAVES, MAX_ROUNDS, Boosted
from .score import Score
from .shares import Counts
from .tree import LEAF, Tree
from .write import Forest, SlotForest

State = tuple[dict[str, Any], dict[str, NDArray[Any]]]


def to_state(forest: Forest) -> State:
    """Plain data and arrays; the trees of all slots are concatenated."""
    trees = [tree for slot in forest.slots for tree in slot.trees]
    counts = [count for slot in forest.slots for count in slot.counts]
    facts = {
        "context": list(forest.context),
        "sizes": [slot.size for slot in forest.slots],
        "leaf_rows": forest.leaf_rows,
        "smoothing": [slot.smoothing for slot in forest.slots],
        "unseen": [slot.unseen for slot in forest.slots],
        "nodes": [[tree.n_nodes for tree in slot.trees] for slot in forest.slots],
        "entries": [[len(count.ids) for count in slot.counts] for slot in forest.slots],
        "boosted": [[tree.n_nodes for tree in _boosted(slot)] for slot in forest.slots],
        "scores": [None if slot.score is None else len(slot.score.edges) for slot in forest.slots],
    }
    scores = [slot.score for slot in forest.slots if slot.score is not None]
    sums = [score.values for score in scores if isinstance(score, Score)]
    leaves = [score.values for score in scores if isinstance(score, Boosted)]
    boosted = [tree for slot in forest.slots for tree in _boosted(slot)]
    arrays = {
        "slots": np.concatenate([tree.slots for tree in trees]),
        "right": np.concatenate([tree.right for tree in trees]),
        "sets": np.packbits(np.concatenate([tree.sets for tree in trees])),
        "margins": np.concatenate([slot.margin for slot in forest.slots]).astype(np.int64),
        "leaf_entries": np.concatenate([np.diff(count.starts) for count in counts]).astype(np.int32),
        "ids": np.concatenate([count.ids for count in counts]),
        "counts": np.concatenate([count.counts for count in counts]),
        "boost_slots": np.concatenate([np.zeros(0, np.int32), *(tree.slots for tree in boosted)]),
        "boost_right": np.concatenate([np.zeros(0, np.int32), *(tree.right for tree in boosted)]),
        "boost_sets": np.packbits(np.concatenate([np.zeros(0, dtype=bool), *(tree.sets for tree in boosted)])),
        "score_leaves": np.concatenate([np.zeros(0, np.float32), *leaves]),
        "score_values": np.concatenate([np.zeros(0, np.float32), *sums]),
        "score_edges": np.concatenate([np.zeros(0, np.float32), *(score.edges for score in scores)]),
    }
    return facts, arrays


def _boosted(slot: SlotForest) -> tuple[Tree, ...]:
    return slot.score.trees if isinstance(slot.score, Boosted) else ()


def from_state(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Forest:
    """Inverse of `to_state`; ValueError if the parts do not match."""
    sizes, context = [int(s) for s in facts["sizes"]], tuple(int(s) for s in facts["context"])
    if min((*sizes, *context), default=0) < 1 or not sizes:
        raise ValueError("a forest needs slots, each with at least one id")
    read = _Reader(arrays, [*context, *sizes])
    slots = []
    for j, size in enumerate(sizes):
        score = read.score(len(context) + j, facts["scores"][j], facts["boosted"][j])
        pairs = [
            read.tree(int(nodes), len(context) + j, int(entries), size, score)
            for nodes, entries in zip(facts["nodes"][j], facts["entries"][j], strict=True)
        ]
        if not pairs:
            raise ValueError("a slot has no tree")
        trees, counts = zip(*pairs, strict=True)
        slots.append(
            SlotForest(
                size=size,
                margin=read.margin(size),
                trees=trees,
                counts=counts,
                smoothing=_amount(facts["smoothing"][j]),
                unseen=_amount(facts["unseen"][j]),
                score=score,
            )
        )
    read.end()
    return Forest(context=context, slots=tuple(slots), leaf_rows=int(facts["leaf_rows"]))


def _amount(value: Any) -> float:
    if not 0 <= float(value) < 1e6:
        raise ValueError(f"rows must be a number from 0, got {value!r}")
    return float(value)


class _Reader:
    """Takes trees off the front of the arrays."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], sizes: list[int]) -> None:
        self.arrays, self.sizes = arrays, np.array(sizes, dtype=np.int64)
        for name, array in arrays.items():
            if array.ndim != 1 or array.dtype.kind not in ("f" if name.startswith("score") else "iu"):
                raise ValueError(f"{name} of the forest must be a list of numbers")
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise ValueError(f"{name} of the forest must be finite numbers")
        self.bits = {
            name: np.unpackbits(np.asarray(arrays[name], dtype=np.uint8)).astype(bool)
            for name in ("sets", "boost_sets")
        }
        self.places = dict.fromkeys(arrays, 0)

    def score(self, place: int, n_edges: int | None, boosted: Sequence[int]) -> Score | Boosted | None:
        if n_edges is None:
            return None
        sizes = self.sizes[:place]
        edges = self._take("score_edges", int(n_edges)).astype(np.float32)
        if (np.diff(edges) <= 0).any():
            raise ValueError("a score of the forest has intervals out of order")
        if not boosted:
            values = self._take("score_values", int(sizes.sum())).astype(np.float32)
            return Score(np.cumsum(sizes) - sizes, values, edges)
        if len(boosted) > MAX_ROUNDS:
            raise ValueError(f"a score of the forest has more than {MAX_ROUNDS} boosted trees")
        trees = tuple(self._nodes("boost_", int(n_nodes), place, sizes) for n_nodes in boosted)
        if max(tree.n_leaves for tree in trees) > MAX_LEAVES:
            raise ValueError(f"a boosted tree of the forest has more than {MAX_LEAVES} leaves")
        leaves = self._take("score_leaves", sum(tree.n_leaves for tree in trees)).astype(np.float32)
        return Boosted(trees, leaves, edges)

    def tree(
        self, n_nodes: int, place: int, n_entries: int, size: int, score: Score | Boosted | None
    ) -> tuple[Tree, Counts]:
        sizes = self.sizes if score is None else np.append(self.sizes[:place], score.size)
        tree = self._nodes("", n_nodes, place + (score is not None), sizes)
        leaf_entries = self._take("leaf_entries", tree.n_leaves)
        ids, counts = self._take("ids", n_entries), self._take("counts", n_entries)
        fits = leaf_entries.min(initial=1) >= 1 and leaf_entries.sum() == n_entries
        if not fits or counts.min(initial=1) < 1 or ids.min(initial=0) < 0 or ids.max(initial=0) >= size:
            raise ValueError("the forest's counts do not fit its leaves")
        ends = np.concatenate([[0], np.cumsum(leaf_entries, dtype=np.int64)])
        return tree, Counts(ends, ids.astype(np.int32), counts.astype(np.int32))

    def _nodes(self, prefix: str, n_nodes: int, n_slots: int, sizes: NDArray[np.int64]) -> Tree:
        """The next tree, which tests only the first slots; `sizes` are their sizes."""
        slots = self._take(f"{prefix}slots", n_nodes).astype(np.int32)
        right = self._take(f"{prefix}right", n_nodes).astype(np.int32)
        _check_nodes(slots, right, n_slots)
        inner, name = slots != LEAF, f"{prefix}sets"
        widths = np.where(inner, sizes[np.where(inner, slots, 0)], 0)
        starts = np.where(inner, np.cumsum(widths) - widths, 0)
        start, stop = self.places[name], self.places[name] + int(widths.sum())
        if stop > len(self.bits[name]):
            raise ValueError("the forest's sets are cut short")
        self.places[name] = stop
        return Tree(slots, right, starts, self.bits[name][start:stop])

    def margin(self, size: int) -> NDArray[np.int64]:
        margin = self._take("margins", size).astype(np.int64)
        if margin.min(initial=0) < 0 or margin.sum() < 1:
            raise ValueError("the forest's margins must be counts of rows")
        return margin

    def end(self) -> None:
        """Refuse entries that belong to no tree."""
        ends = {name: len(self.bits.get(name, array)) for name, array in self.arrays.items()}
        spare = {name: 7 if name in self.bits else 0 for name in ends}  # bits are stored in whole bytes
        if any(end - self.places[name] > spare[name] for name, end in ends.items()):
            raise ValueError("the forest holds more than its trees")

    def _take(self, name: str, n: int) -> NDArray[Any]:
        start = self.places[name]
        self.places[name] = start + n
        if n < 0 or start + n > len(self.arrays[name]):
            raise ValueError(f"{name} of the forest is cut short")
        return self.arrays[name][start : start + n]


def _check_nodes(slots: NDArray[np.int32], right: NDArray[np.int32], place: int) -> None:
    """Nodes must be one tree in depth-first order that tests only slots before its own."""
    n = len(slots)
    if n < 1 or slots.min() < LEAF or slots.max() >= place:
        raise ValueError("a tree of the forest tests slots that are not before its own")
    # In depth-first order the right child of a node is the next to begin once its left part has ended.
    waiting: list[int] = []
    for node in range(n):
        if slots[node] != LEAF:
            waiting.append(int(right[node]))
        elif waiting:
            if waiting.pop() != node + 1:
                raise ValueError("a tree of the forest is not in depth-first order")
        elif node + 1 != n:
            raise ValueError("a tree of the forest has unreachable nodes")
    if waiting:
        raise ValueError("a tree of the forest is cut short")
