"""The search space of each tree model, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """The range of one parameter; it takes whole numbers if `low` is one."""

    low: float
    high: float
    step: int | None = None
    """Distance between the values tried; None for any value in the range."""
    log: bool = False
    """Draw uniformly on a logarithmic scale."""
    default: float
    """Used without a search."""
    aliases: tuple[str, ...] = ()
    """Other names that the library, or its peers, have for it."""

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are tried."""
        return isinstance(self.low, int)


Space = Mapping[str, Parameter]

_ROUNDS = (
    "num_boost_round", "num_iterations", "num_iteration", "num_trees", "num_tree", "num_rounds", "num_round", "nrounds",
    "n_iter", "max_iter",
)  # fmt: skip

LIGHTGBM_SPACE: Space = {
    "learning_rate": Parameter(low=0.01, high=0.3, log=True, default=0.1, aliases=("eta", "shrinkage_rate")),
    "n_estimators": Parameter(low=50, high=250, step=50, default=100, aliases=(*_ROUNDS, "iterations")),
    "max_depth": Parameter(low=3, high=10, step=1, default=6, aliases=("depth",)),
    "num_leaves": Parameter(
        low=20, high=100, step=5, default=30, aliases=("num_leaf", "max_leaves", "max_leaf", "max_leaf_nodes")
    ),
    "min_child_samples": Parameter(
        low=10, high=50, step=5, default=20,
        aliases=("min_data_in_leaf", "min_data_per_leaf", "min_data", "min_samples_leaf"),
    ),
    "feature_fraction": Parameter(low=0.6, high=1.0, default=1.0, aliases=("sub_feature", "colsample_bytree")),
    "bagging_fraction": Parameter(low=0.6, high=1.0, default=1.0, aliases=("sub_row", "subsample", "bagging")),
    "reg_alpha": Parameter(low=0.0, high=10.0, default=0.0, aliases=("lambda_l1", "l1_regularization")),
    "reg_lambda": Parameter(low=0.0, high=10.0, default=1.0, aliases=("lambda_l2", "l2_regularization", "lambda")),
}  # fmt: skip
"""The paper's space (appendix on the tree-based model)."""

XGBOOST_SPACE: Space = {
    "learning_rate": Parameter(low=0.01, high=0.3, log=True, default=0.1, aliases=("eta",)),
    "n_estimators": Parameter(low=50, high=250, step=50, default=100, aliases=(*_ROUNDS, "iterations")),
    "max_depth": Parameter(low=3, high=10, step=1, default=6, aliases=("depth",)),
    "min_child_weight": Parameter(low=1.0, high=10.0, log=True, default=1.0),
    "subsample": Parameter(low=0.6, high=1.0, default=1.0, aliases=("bagging_fraction",)),
    "colsample_bytree": Parameter(low=0.6, high=1.0, default=1.0, aliases=("feature_fraction",)),
    "reg_alpha": Parameter(low=0.0, high=10.0, default=0.0, aliases=("alpha",)),
    "reg_lambda": Parameter(low=0.0, high=10.0, default=1.0, aliases=("lambda",)),
}

CATBOOST_SPACE: Space = {
    "learning_rate": Parameter(low=0.01, high=0.3, log=True, default=0.1, aliases=("eta",)),
    "iterations": Parameter(low=50, high=250, step=50, default=100, aliases=(*_ROUNDS, "n_estimators")),
    "depth": Parameter(low=3, high=10, step=1, default=6, aliases=("max_depth",)),
    "l2_leaf_reg": Parameter(low=1.0, high=10.0, log=True, default=3.0, aliases=("reg_lambda",)),
    "random_strength": Parameter(low=0.0, high=10.0, default=1.0),
}

DECISION_TREE_SPACE: Space = {
    "max_depth": Parameter(low=3, high=10, step=1, default=6, aliases=("depth",)),
    "min_samples_leaf": Parameter(low=5, high=50, step=5, default=5, aliases=("min_child_samples", "min_data_in_leaf")),
    "max_leaf_nodes": Parameter(low=20, high=100, step=5, default=30, aliases=("num_leaves",)),
}

SPACES: Mapping[str, Space] = {
    "lightgbm": LIGHTGBM_SPACE,
    "xgboost": XGBOOST_SPACE,
    "catboost": CATBOOST_SPACE,
    "decision_tree": DECISION_TREE_SPACE,
    "adversarial": {},
    "none": {},
}
"""Keyed by the names of `TreeConfig.model`. Models without parameters are not tuned: they predict nothing."""


def canonical(params: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """Rename the parameters to the names that the space uses.

    A library given one parameter under two names warns or picks one; and a parameter fixed under another name must not
    be searched.
    """
    names = {alias: name for name, parameter in space.items() for alias in parameter.aliases}
    return {names.get(name, name): value for name, value in params.items()}


def defaults(space: Space) -> dict[str, Any]:
    """Return what is used without a search."""
    return {name: parameter.default for name, parameter in space.items()}


def leaves_of(name: str, params: Mapping[str, Any], rows: int, n_classes: int | None) -> dict[str, Any]:
    """The parameters with leaves of at least this many rows, if the library has a parameter for that."""
    if name in ("lightgbm", "adversarial"):
        return {**params, "min_child_samples": max(rows, params.get("min_child_samples", 0))}
    if name == "decision_tree":
        return {**params, "min_samples_leaf": max(rows, params.get("min_samples_leaf", 0))}
    if name == "xgboost":
        # A row weighs at most 1 for a number, 1/4 for two classes, 1/2 for more.
        weight = rows * (1.0 if n_classes is None else 0.25 if n_classes == 2 else 0.5)
        return {**params, "min_child_weight": max(weight, params.get("min_child_weight", 0))}
    if name == "catboost":
        # Fewer rounds of halving, so that even the smallest leaf is likely to have enough.
        depth = params.get("depth", CATBOOST_SPACE["depth"].default)
        return {**params, "depth": max(1, int(depth) - (rows.bit_length() - 3))}
    return dict(params)
