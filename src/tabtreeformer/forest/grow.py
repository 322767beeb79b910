"""A forest from rows of ids: one tree per slot over the slots before it, in table order.

Numbers are split by their ranks, categories by their classes (Gini impurity, which is the squared error of one-hot
classes). A category with many values becomes one feature: the mean place of the predicted id among its rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._runtime.threads import available_cores
from .boost import Boosted, fit_boosted
from .score import Score, beside, fit_score
from .shares import Counts, Floats
from .tree import LEAF, Ids, Tree, stump
from .write import Forest, SlotForest

WIDE = 12
"""Categories with more values than this become one feature, ordered by what is predicted."""
MAX_CLASSES = 64
"""Maximum number of classes of a category that splits distinguish; the rarest others count as one."""
SHRINK = 5.0
"""Strength, in rows, of the shrinkage of a category value's mean place towards that of all rows."""
MAX_ROWS_GROWN = 100_000
"""Number of rows of a large table that splits are chosen on."""
MIN_ROWS_SHARED = 2_000
"""With at least this many rows, the trees of a forest are grown on all cores."""
MIN_ROWS_GROWN = 5
"""Minimum rows per leaf among those that splits are chosen on."""


@dataclass(frozen=True, kw_only=True)
class ForestSettings:
    """How trees are grown."""

    leaf_rows: int = 20
    """Each share describes at least this many rows."""
    smoothing: float = 2.0
    """Strength, in rows, of the shrinkage of a leaf's shares towards those of its parent node."""
    unseen: float = 0.0
    """Rows added to each id of a slot."""
    scores: bool = True
    """Whether trees may also split on a smooth score of the preceding slots."""
    grown_rows: int = MAX_ROWS_GROWN
    """Splits are chosen on at most this many rows; all rows are counted in the leaves."""
    boost: bool = False
    """Whether that score may come from boosted trees, if these explain more."""


@dataclass(frozen=True)
class Target:
    """One slot to write: how many ids it has, and whether they have an order."""

    size: int
    ordered: bool


def grow(
    ids: NDArray[Any],
    slots: Sequence[Target],
    settings: ForestSettings,
    seed: np.random.SeedSequence,
    n_context: int = 0,
) -> Forest:
    """Grow a forest on rows (N, C + D) whose first `n_context` slots are only read."""
    ids = np.ascontiguousarray(ids, dtype=np.int32)
    seeds = seed.spawn(len(slots))

    def grown(place: int) -> SlotForest:
        return _grow_slot(ids, slots, place, settings, np.random.default_rng(seeds[place]))

    places = range(n_context, len(slots))
    if len(ids) < MIN_ROWS_SHARED:
        written = [grown(place) for place in places]
    else:
        # scikit-learn releases Python's lock while it grows a tree; the last, with the most to read, goes first.
        with ThreadPoolExecutor(available_cores()) as pool:
            written = list(pool.map(grown, reversed(places)))[::-1]
    context = tuple(slot.size for slot in slots[:n_context])
    return Forest(context=context, slots=tuple(written), leaf_rows=settings.leaf_rows)


def _grow_slot(
    ids: Ids, slots: Sequence[Target], place: int, settings: ForestSettings, rng: np.random.Generator
) -> SlotForest:
    own, size, n = ids[:, place], slots[place].size, len(ids)
    places = _ranks(own, size) if slots[place].ordered else (own == np.bincount(own).argmax()).astype(np.float64)
    read, asked, score = ids[:, :place], list(slots[:place]), None
    if settings.scores and place:
        score, read = _scored(read, asked, places, settings, rng)
    if score is not None:
        asked.append(Target(score.size, ordered=True))
    tree = _grow_tree(read, asked, own, slots[place], settings, rng)
    leaves = tree.leaves(read)
    if n > settings.grown_rows:  # a leaf with enough sampled rows may have too few of all rows
        tree = tree.pruned(np.bincount(leaves, minlength=tree.n_leaves), settings.leaf_rows)
        leaves = tree.leaves(read)
    return SlotForest(
        size=size,
        margin=np.bincount(own, minlength=size),
        trees=(tree,),
        counts=(Counts.of(leaves, own, tree.n_leaves, size),),
        smoothing=settings.smoothing,
        unseen=settings.unseen,
        score=score,
    )


def _scored(
    before: Ids, slots: Sequence[Target], places: Floats, settings: ForestSettings, rng: np.random.Generator
) -> tuple[Score | Boosted | None, Ids]:
    """A score of the preceding slots (n, P), boosted if that pays, and what a tree reads with it (n, P + 1)."""
    sizes, ordered = [slot.size for slot in slots], [slot.ordered for slot in slots]
    score = fit_score(before, sizes, ordered, places, rng)
    if settings.boost:
        to_beat = 0.0 if score is None else max(score.explained(before, places), 0.0)
        found = fit_boosted(before, ordered, sizes, places, to_beat, rng)
        if found is not None:
            boosted, totals = found
            return boosted, beside(before, boosted.edges, totals)
    return score, before if score is None else score.beside(before)


def _grow_tree(
    read: NDArray[Any],
    slots: Sequence[Target],
    own: NDArray[Any],
    target: Target,
    settings: ForestSettings,
    rng: np.random.Generator,
) -> Tree:
    """The tree of a slot (n,), over the slots that it may read (n, slots)."""
    from sklearn import config_context
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    leaf_rows, n = settings.leaf_rows, len(own)
    if n > settings.grown_rows:
        chosen = np.sort(rng.choice(n, settings.grown_rows, replace=False))
        read, own = read[chosen], own[chosen]
        leaf_rows = max(MIN_ROWS_GROWN, math.ceil(leaf_rows * settings.grown_rows / n))
    if not slots or len(own) < 2 * leaf_rows or (own == own[0]).all():
        return stump()
    ranks = _ranks(own, target.size) if target.ordered else (own == np.bincount(own).argmax()).astype(np.float64)
    features = [f for k, slot in enumerate(slots) for f in _features(k, slot, read[:, k], ranks)]
    matrix = np.empty((len(own), len(features)), dtype=np.float32)
    for column, (slot, values) in enumerate(features):
        matrix[:, column] = values[read[:, slot]]
    learner = DecisionTreeRegressor if target.ordered else DecisionTreeClassifier
    model = learner(min_samples_leaf=leaf_rows, random_state=int(rng.integers(2**31)))
    with config_context(skip_parameter_validation=True):  # for a few hundred rows, checks take as long as growing
        model.fit(matrix, ranks if target.ordered else _classes(own), check_input=False)
    return _as_sets(model.tree_, features)


def _features(slot: int, target: Target, ids: NDArray[Any], places: NDArray[np.float64]) -> list[tuple[int, Any]]:
    """What a slot offers as features: for each, a number for every id (S,)."""
    size = target.size
    if target.ordered or size <= 2:
        return [(slot, np.arange(size, dtype=np.float32))]
    if size > WIDE:
        sums, rows = np.bincount(ids, places, size), np.bincount(ids, minlength=size)
        return [(slot, ((sums + SHRINK * places.mean()) / (rows + SHRINK)).astype(np.float32))]
    return [(slot, row) for row in np.eye(size, dtype=np.float32)]


def _ranks(ids: NDArray[Any], size: int) -> NDArray[np.float64]:
    """Mean rank of each row's id among all rows, from 0 to 1 (n,)."""
    rows = np.bincount(ids, minlength=size)
    middle = np.cumsum(rows) - rows / 2
    return np.asarray(middle[ids] / len(ids))


def _classes(ids: NDArray[Any]) -> NDArray[np.int64]:
    """Classes from 0, with the rarest merged if there are many."""
    values, classes, rows = np.unique(ids, return_inverse=True, return_counts=True)
    if len(values) <= MAX_CLASSES:
        return np.asarray(classes, dtype=np.int64)
    number = np.full(len(values), MAX_CLASSES - 1)
    number[np.argsort(-rows, kind="stable")[: MAX_CLASSES - 1]] = np.arange(MAX_CLASSES - 1)
    return np.asarray(number[classes], dtype=np.int64)


def _as_sets(tree: Any, features: Sequence[tuple[int, NDArray[np.float32]]]) -> Tree:
    """A scikit-learn tree, whose nodes are in depth-first order, as sets of ids."""
    inner = tree.children_left != -1
    slots = np.full(tree.node_count, LEAF, dtype=np.int32)
    starts, sets, length = np.zeros(tree.node_count, dtype=np.int64), [np.zeros(0, dtype=bool)], 0
    for node in np.flatnonzero(inner):
        slot, values = features[tree.feature[node]]
        slots[node], starts[node] = slot, length
        sets.append(values <= tree.threshold[node])
        length += len(values)
    right = np.where(inner, tree.children_right, 0).astype(np.int32)
    return Tree(slots, right, starts, np.concatenate(sets))
