"""Gradient boosting by XGBoost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, import_extra
from .base import MISREAD, blaming_params, blaming_text, codes_or_values, fitted, threads
from .features import Features, Target
from .spaces import XGBOOST_SPACE
from .xgboost_text import check_text

if TYPE_CHECKING:
    from typing_extensions import Self

xgb = import_extra("xgboost", "xgboost")

ALL_CORES = 0


class XGBoost:
    """T is rounds for two classes and numbers, else rounds × classes; node ids are turned into leaf ids."""

    def __init__(self, params: Mapping[str, Any], seed: int) -> None:
        """Take XGBoost's parameters, and a seed."""
        self._params = dict(params)
        self._seed = seed
        self._booster: Any = None
        self._leaf_ids: tuple[NDArray[np.int64], ...] = ()
        """For each tree: node id → leaf id, -1 for nodes that are not leaves."""
        self.n_leaves: tuple[int, ...] = ()

    def fit(self, features: Features, target: Target) -> Self:
        """Grow the trees."""
        own = {"nthread": threads(features, ALL_CORES), "seed": self._seed, "verbosity": 0}
        params = _objective(target.n_classes) | own | self._params
        rounds = params.pop("n_estimators", XGBOOST_SPACE["n_estimators"].default)
        if not rounds >= 1:
            raise ConfigError(f"n_estimators must be at least 1, got {rounds!r}; change tree.params")
        with blaming_params("XGBoost", self._params, xgb.core.XGBoostError, ValueError, TypeError):
            booster = xgb.train(params, _data(features, target), num_boost_round=rounds)
            if target.n_classes is not None:
                booster.set_attr(n_classes=str(target.n_classes))
            return self._hold(booster)

    def predict(self, features: Features) -> NDArray[Any]:
        """Return class codes or numbers, (N,)."""
        scores = self._answer(features)
        n_classes = self._booster.attr("n_classes")
        return codes_or_values(scores, None if n_classes is None else int(n_classes))

    def leaves(self, features: Features) -> NDArray[np.int64]:
        """Return the leaf of each row in each tree, (N, T)."""
        nodes = self._answer(features, pred_leaf=True).astype(np.int64)
        nodes = nodes.reshape(features.n_rows, len(self.n_leaves))  # the ids of a single tree come flat
        leaves = np.empty(nodes.shape, dtype=np.int64)
        for tree, leaf_ids in enumerate(self._leaf_ids):
            leaves[:, tree] = leaf_ids[nodes[:, tree]]
        return leaves

    def to_text(self) -> str:
        """Return XGBoost's own JSON."""
        text: str = fitted(self._booster, self).save_raw("json").decode()
        return text

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read XGBoost's own JSON."""
        # XGBoost crashes the process on some texts, so they are checked first.
        with blaming_text("XGBoost", *MISREAD):
            check_text(text)
        with blaming_text("XGBoost", xgb.core.XGBoostError):
            booster = xgb.Booster()
            booster.load_model(bytearray(text.encode()))
            return cls({}, 0)._hold(booster)

    def _answer(self, features: Features, **options: Any) -> NDArray[Any]:
        """Ask the booster, with as many threads as are worthwhile for the table."""
        booster = fitted(self._booster, self)
        booster.set_param({"nthread": threads(features, ALL_CORES)})
        return np.asarray(booster.predict(_data(features), **options))

    def _hold(self, booster: Any) -> Self:
        """Keep a fitted booster, and number the leaves of each tree."""
        self._booster = booster
        self._leaf_ids = tuple(_leaf_ids(tree) for tree in booster.get_dump())
        self.n_leaves = tuple(int(ids.max()) + 1 for ids in self._leaf_ids)
        return self


def _objective(n_classes: int | None) -> dict[str, Any]:
    if n_classes is None:
        return {"objective": "reg:squarederror"}
    return (
        {"objective": "multi:softprob", "num_class": n_classes} if n_classes > 2 else {"objective": "binary:logistic"}
    )


def _data(features: Features, target: Target | None = None) -> Any:
    """Hand the table over, with its categories marked."""
    kinds = ["q"] * features.matrix.shape[1]
    for place in features.categorical:
        kinds[place] = "c"
    return xgb.DMatrix(
        features.matrix.astype(np.float32),
        label=None if target is None else target.values,
        feature_types=kinds,
        enable_categorical=True,
        nthread=threads(features, ALL_CORES),
    )


def _leaf_ids(tree: str) -> NDArray[np.int64]:
    """Number the leaves of a dumped tree in the order of their node ids.

    The dump walks from the root, so pruned nodes do not count.
    """
    nodes = np.sort(np.array(re.findall(r"^\s*(\d+):leaf=", tree, re.MULTILINE), dtype=np.int64))
    ids = np.full(nodes[-1] + 1, -1, dtype=np.int64)
    ids[nodes] = np.arange(len(nodes))
    return ids
