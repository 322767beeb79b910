"""Sequential trees as in `synthpop` (Nowok et al., 2016): one CART per column, values drawn from its leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

LEAF_ROWS = 5
"""Rows per leaf at least, the default of synthpop."""
WIDE = 12
"""Labels with more values than this enter as one feature, ordered by what is predicted."""
READ = ("numeric", "categorical", "boolean")
"""Kinds of columns that trees read."""
MISSING = "\0missing"


class Generator:
    """In table order, a tree over the columns before each column; a new value is one of the real values of its leaf."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None) -> None:
        self.rng = np.random.default_rng(seed)

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Grow the trees; what is missing of a number is drawn by a tree of its own first, as in synthpop."""
        self.labels = {c["name"] for c in schema["columns"] if c["kind"] != "numeric"}
        # Keys and texts, of which every row has its own, predict nothing: they are drawn from all rows, and not read.
        self.read = [c["name"] for c in schema["columns"] if c["kind"] in READ]
        self.frame, self.steps = df, [self._step(df, place) for place in range(df.shape[1])]

    def sample(self, n: int) -> pd.DataFrame:
        """Write rows column by column."""
        new = pd.DataFrame(index=pd.RangeIndex(n))
        for name, steps in zip(self.frame.columns, self.steps, strict=True):
            rows = np.arange(n)
            drawn = np.zeros(n, dtype=np.int64)
            for tree in steps:
                drawn[rows] = tree.draw(new.iloc[rows][tree.names], self.rng)
                rows = rows[self.frame[name].notna().to_numpy()[drawn[rows]]]
            new[name] = self.frame[name].to_numpy()[drawn]
        return new.astype(self.frame.dtypes.to_dict())

    def _step(self, df: pd.DataFrame, place: int) -> list[_Tree]:
        name = df.columns[place]
        before, own = df[[c for c in df.columns[:place] if c in self.read and name in self.read]], df[name]
        there = own.notna().to_numpy()
        if name in self.labels or there.all():
            target = pd.factorize(own)[0] if name in self.labels else own.to_numpy(np.float64)
            return [_Tree(before, target, np.arange(len(df)), self.labels, name in self.labels, self.rng)]
        rows = np.flatnonzero(there)
        gaps = _Tree(before, there.astype(np.int64), np.arange(len(df)), self.labels, True, self.rng)
        if not len(rows):
            return [gaps]
        values = own.to_numpy(np.float64)[rows]
        return [gaps, _Tree(before.iloc[rows], values, rows, self.labels, False, self.rng)]


class _Tree:
    """The leaves of one column, each with the numbers of its real rows."""

    def __init__(
        self,
        before: pd.DataFrame,
        target: np.ndarray,
        rows: np.ndarray,
        labels: set[str],
        classes: bool,
        rng: np.random.Generator,
    ) -> None:
        places = (target == np.bincount(np.maximum(target, 0)).argmax()) if classes else target
        self.orders = {
            name: _features(before[name], np.asarray(places, np.float64)) for name in before if name in labels
        }
        self.model, self.names = None, list(before.columns)
        leaves = np.zeros(len(rows), dtype=np.int64)
        if before.shape[1] and len(rows) >= 2 * LEAF_ROWS:
            learner = DecisionTreeClassifier if classes else DecisionTreeRegressor
            self.model = learner(min_samples_leaf=LEAF_ROWS, random_state=int(rng.integers(2**31)))
            leaves = self.model.fit(self._matrix(before), target).apply(self._matrix(before))
        order = np.argsort(leaves, kind="stable")
        self.rows = rows[order]
        self.leaves, self.starts, self.counts = np.unique(leaves[order], return_index=True, return_counts=True)

    def draw(self, before: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
        """A real row for each new one, out of its leaf (n,)."""
        if self.model is None or not len(before):
            return np.asarray(rng.choice(self.rows, len(before)))
        leaf = np.searchsorted(self.leaves, self.model.apply(self._matrix(before)))
        return np.asarray(self.rows[self.starts[leaf] + (rng.random(len(leaf)) * self.counts[leaf]).astype(np.int64)])

    def _matrix(self, before: pd.DataFrame) -> np.ndarray:
        """Features; what is missing is below every number."""
        columns: list[np.ndarray] = []
        for name in before:
            if name in self.orders:
                values = _keys(before[name])
                columns += [values.map(order).to_numpy(np.float32) for order in self.orders[name]]
            else:
                numbers = before[name].to_numpy(np.float32, na_value=np.nan)
                columns.append(np.where(np.isnan(numbers), np.float32(-3e38), numbers))
        return np.column_stack(columns)


def _features(values: pd.Series, places: np.ndarray) -> list[dict[Any, float]]:
    """What a column of labels says as features: for each, a number per label."""
    means = pd.Series(places).groupby(_keys(values).to_numpy()).mean()
    if len(means) > WIDE:
        return [means.to_dict()]
    return [{key: float(key == other) for key in means.index} for other in means.index]


def _keys(values: pd.Series) -> pd.Series:
    """Labels, with one of its own for what is missing."""
    return values.astype(object).where(values.notna(), MISSING)
