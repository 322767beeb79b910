"""A forest, the rows that it writes, and the likelihood of rows under it.

Rows are drawn together: before each slot the rows of a block are sorted by their leaf and take low-discrepancy points
(multiples of the golden ratio with one random offset). Each single row has exactly the right distribution; together,
the rows of a leaf are closer to its shares than independent draws would be.

Shapes: `n` rows, `C` slots of context, `D` slots to write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..tokens.writer import BLOCK as BLOCK
from .boost import Boosted
from .score import Score
from .shares import Counts, Floats, Shares, smoothed
from .tree import Ids, Tree

GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False)
class SlotForest:
    """The trees of one slot; with several, each row uses one of them at random."""

    size: int
    margin: NDArray[np.int64]
    """Number of rows with each id (S,)."""
    trees: tuple[Tree, ...]
    counts: tuple[Counts, ...]
    smoothing: float
    """Strength, in rows, of the shrinkage of a node's shares towards its parent's."""
    unseen: float = 0.0
    """Rows added to each id of the margin."""
    score: Score | Boosted | None = None
    """What the trees may test besides the preceding slots."""

    def read(self, before: NDArray[Any]) -> NDArray[Any]:
        """Preceding slots (n, place) as the trees read them."""
        return before if self.score is None else self.score.beside(before)

    @cached_property
    def shares(self) -> tuple[Shares, ...]:
        """Shares by tree."""
        prior = (self.margin + self.unseen) / (self.margin.sum() + self.unseen * self.size)
        pairs = zip(self.trees, self.counts, strict=True)
        return tuple(Shares(smoothed(tree, counts, prior, self.smoothing)) for tree, counts in pairs)


@dataclass(frozen=True, eq=False)
class Forest:
    """One `SlotForest` per slot that is written; it reads the context and the preceding slots."""

    context: tuple[int, ...]
    """Sizes of the slots that are only read; they come first."""
    slots: tuple[SlotForest, ...]
    leaf_rows: int
    """Each share describes at least this many rows."""

    @property
    def n_values(self) -> int:
        """Slots that are written, D."""
        return len(self.slots)


def draw_rows(forest: Forest, n: int, rng: np.random.Generator, context: NDArray[Any] | None = None) -> Ids:
    """Draw n rows (n, D); with context (n, C), one row for each of its rows.

    Rows are drawn in whole blocks and then cut, so fewer rows are always the first of more.
    """
    parts = [np.empty((0, forest.n_values), dtype=np.int32)]
    for start in range(0, n, BLOCK):
        own = None if context is None else context[start : start + BLOCK]
        parts.append(draw_block(forest, min(BLOCK, n - start), rng, own))
    return np.concatenate(parts)


def draw_block(forest: Forest, n: int, rng: np.random.Generator, context: NDArray[Any] | None = None) -> Ids:
    """The first n rows of one block."""
    C, size = len(forest.context), BLOCK
    rows = np.zeros((size, C + forest.n_values), dtype=np.int32)
    if C:
        assert context is not None
        rows[:, :C] = context[np.arange(size) % len(context)]
    order = np.arange(size)
    for place, slot in enumerate(forest.slots, start=C):
        order = draw_slot(slot, rows, place, order, rng)
    return rows[:n, C:]


def draw_slot(
    slot: SlotForest, rows: Ids, place: int, order: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Fill one slot of rows (n, C + D) in place; returns the order in which the rows took their points."""
    offset = rng.random()
    chosen = choose_trees(slot, len(rows), rng)
    for k, (tree, shares) in enumerate(zip(slot.trees, slot.shares, strict=True)):
        own = order if chosen is None else order[chosen[order] == k]
        leaves = tree.leaves(slot.read(rows[own, :place]))
        sort = np.argsort(leaves, kind="stable")
        rows[own[sort], place] = shares.draw(leaves[sort], even_points(len(own), offset))
        order = own[sort] if chosen is None else order
    return order


def even_points(n: int, offset: float) -> Floats:
    """Points in [0, 1), any consecutive few of which are spread evenly (n,)."""
    return np.asarray((np.arange(n) * GOLDEN + offset) % 1.0, dtype=np.float64)


def choose_trees(slot: SlotForest, n: int, rng: np.random.Generator) -> NDArray[np.int64] | None:
    """Which of a slot's trees writes each row (n,); None if there is only one."""
    if len(slot.trees) == 1:
        return None
    chosen: NDArray[np.int64] = rng.permutation(n) % len(slot.trees)
    return chosen


def log_shares(forest: Forest, ids: NDArray[Any], slots: Sequence[int] | None = None) -> Floats:
    """Logarithm of the share of each id given those before it (n, D), or of some of the slots only.

    `ids` are rows with their context before them (n, C + D).
    """
    C = len(forest.context)
    chosen = range(forest.n_values) if slots is None else slots
    shares = np.empty((len(ids), len(chosen)))
    for k, j in enumerate(chosen):
        shares[:, k] = mean_share(forest.slots[j], ids[:, : C + j], ids[:, C + j])
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(shares))


def mean_share(slot: SlotForest, before: NDArray[Any], ids: NDArray[Any]) -> Floats:
    """Share of one id per row (n,) after the slots before it (n, place), averaged over the slot's trees."""
    total, before = np.zeros(len(ids)), slot.read(before)
    for tree, shares in zip(slot.trees, slot.shares, strict=True):
        total += shares.of(tree.leaves(before), ids)
    return total / len(slot.trees)


def log_prob(forest: Forest, ids: NDArray[Any]) -> Floats:
    """Log-probability of rows with their context before them (n, C + D) → (n,)."""
    return np.asarray(log_shares(forest, ids).sum(1))
