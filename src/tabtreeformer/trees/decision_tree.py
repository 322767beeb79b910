"""One decision tree, grown by scikit-learn and applied by this file: T = 1."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ..errors import ArchiveError
from .base import MISREAD, blaming_params, blaming_text, fitted, not_a_model
from .features import LARGEST, Features, Target

if TYPE_CHECKING:
    from typing_extensions import Self

NO_CHILD = -1


@dataclass(frozen=True, eq=False)
class _Nodes:
    """A tree as arrays over its nodes; node 0 is the root, children come after their parent."""

    feature: NDArray[np.int64]
    """Column that an inner node compares."""
    threshold: NDArray[np.float64]
    """Rows at or below this go left."""
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    """Children; `NO_CHILD` for both at a leaf."""
    prediction: NDArray[Any]
    """Class code or number of each node."""

    @classmethod
    def of(cls, model: Any) -> _Nodes:
        """Copy a fitted scikit-learn tree."""
        tree = model.tree_
        values = tree.value[:, 0, :]  # (nodes, classes) or (nodes, 1)
        prediction = model.classes_[values.argmax(axis=1)] if hasattr(model, "classes_") else values[:, 0]
        left, right = tree.children_left.astype(np.int64), tree.children_right.astype(np.int64)
        return cls(tree.feature.astype(np.int64), tree.threshold.astype(np.float64), left, right, prediction.copy())

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Which nodes have no children."""
        return np.asarray(self.left == NO_CHILD)

    def reach(self, features: Features) -> NDArray[np.int64]:
        """Return the leaf node of each row, (N,)."""
        # scikit-learn compares values rounded to float32 with thresholds in float64.
        values = _filled(features)
        if self.feature.max(initial=0) >= values.shape[1]:
            raise ArchiveError(not_a_model("decision tree"))
        nodes = np.zeros(features.n_rows, dtype=np.int64)
        inner = np.flatnonzero(~self.is_leaf[nodes])
        while inner.size:
            here = nodes[inner]
            goes_left = values[inner, self.feature[here]] <= self.threshold[here]
            nodes[inner] = np.where(goes_left, self.left[here], self.right[here])
            inner = inner[~self.is_leaf[nodes[inner]]]
        return nodes

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name).tolist() for name in _FIELDS}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> _Nodes:
        """Inverse of `to_json`; refuses anything that is not a tree, so that `reach` always ends."""
        whole = {name: np.array(data[name], dtype=np.int64) for name in ("feature", "left", "right")}
        nodes = cls(**whole, threshold=np.array(data["threshold"], float), prediction=np.array(data["prediction"]))
        places = np.arange(len(nodes.left))
        if not places.size or any(getattr(nodes, name).shape != places.shape for name in _FIELDS):
            raise ValueError("its arrays differ in length")
        inner = ~nodes.is_leaf
        for children in (nodes.left[inner], nodes.right[inner]):
            if (children <= places[inner]).any() or (children >= len(places)).any():
                raise ValueError("a child does not come after its parent")
        if (nodes.feature[inner] < 0).any() or nodes.prediction.dtype.kind not in "if":
            raise ValueError("it compares or predicts what is not there")
        return nodes


_FIELDS = ("feature", "threshold", "left", "right", "prediction")


def _filled(features: Features) -> NDArray[np.float32]:
    """The matrix with missing numbers below all others: a split can separate them without a special case."""
    return np.where(np.isnan(features.matrix), -2 * LARGEST, features.matrix).astype(np.float32)


class DecisionTree:
    """T = 1; categories are compared by their codes, because scikit-learn's trees take only numbers."""

    def __init__(self, params: Mapping[str, Any], seed: int) -> None:
        """Take scikit-learn's parameters, and a seed."""
        self._params = dict(params)
        self._seed = seed
        self._nodes: _Nodes | None = None
        self.n_leaves: tuple[int, ...] = ()

    def fit(self, features: Features, target: Target) -> Self:
        """Grow the tree."""
        grower = DecisionTreeRegressor if target.n_classes is None else DecisionTreeClassifier
        with blaming_params("scikit-learn's decision tree", self._params, ValueError, TypeError):
            model = grower(**{"random_state": self._seed, **self._params})
            with warnings.catch_warnings():
                # Class codes are classes, however many there are.
                warnings.filterwarnings("ignore", message="The number of unique classes", category=UserWarning)
                model.fit(_filled(features), target.values)
        return self._hold(_Nodes.of(model))

    def predict(self, features: Features) -> NDArray[Any]:
        """Return class codes or numbers, (N,)."""
        nodes = fitted(self._nodes, self)
        return nodes.prediction[nodes.reach(features)]

    def leaves(self, features: Features) -> NDArray[np.int64]:
        """Return the leaf of each row, (N, 1), leaves numbered in the order of their nodes."""
        nodes = fitted(self._nodes, self)
        leaf_ids = np.cumsum(nodes.is_leaf) - 1
        return leaf_ids[nodes.reach(features)].astype(np.int64)[:, None]

    def to_text(self) -> str:
        """Return the arrays of the tree as JSON."""
        return json.dumps(fitted(self._nodes, self).to_json(), separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Inverse of `to_text`."""
        with blaming_text("decision tree", *MISREAD):
            return cls({}, 0)._hold(_Nodes.from_json(json.loads(text)))

    def _hold(self, nodes: _Nodes) -> Self:
        self._nodes = nodes
        self.n_leaves = (int(nodes.is_leaf.sum()),)
        return self
