"""XGBoost's JSON, checked index by index before XGBoost reads it.

XGBoost trusts its own JSON: a child, a feature or a category out of range crashes the process. Only what XGBoost itself
writes passes here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_FEATURES, MAX_CLASSES, MAX_DEPTH, MAX_CATEGORY = 100_000, 10_000, 500, 2**20
NO_PARENT = 2**31 - 1
_OBJECTIVE = re.compile(r"(reg|binary|multi|count|survival|rank):[a-z0-9_]{1,30}")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(E-?\d+)?", re.IGNORECASE)
_BASE = re.compile(r"\[?-?[\d.]+(E-?\d+)?(,-?[\d.]+(E-?\d+)?)*\]?", re.IGNORECASE)
_FLOATS = ("base_weights", "loss_changes", "split_conditions", "sum_hessian")
_WHOLE = ("default_left", "left_children", "right_children", "parents", "split_indices", "split_type")
_CATEGORIES = ("categories", "categories_nodes", "categories_segments", "categories_sizes")


def check_text(text: str) -> None:
    """Raise ValueError, TypeError or KeyError unless the text is one that XGBoost could have written."""
    content = json.loads(text)
    _only(content, {"learner", "version"})
    learner = content["learner"]
    _only(
        learner,
        {"attributes", "feature_names", "feature_types", "gradient_booster", "learner_model_param", "objective"},
    )
    param, booster = learner["learner_model_param"], learner["gradient_booster"]
    n_features, n_classes = _count(param["num_feature"], MAX_FEATURES), _count(param["num_class"], MAX_CLASSES)
    types = learner["feature_types"]
    _must(learner["feature_names"] == [] and isinstance(types, list) and len(types) == n_features, "its features")
    _must(all(kind in ("q", "c", "int", "i", "float") for kind in types), "the kinds of its features")
    _must(param["num_target"] == "1" and _BASE.fullmatch(param["base_score"]) is not None, "its base score")
    _must(param["base_score"].count(",") + 1 in (1, max(n_classes, 1)), "its base score")
    _must(all(isinstance(v, str) and v.isdigit() for v in learner["attributes"].values()), "its attributes")
    classes = learner["attributes"].get("n_classes", "2")
    _must(_count(classes, MAX_CLASSES) == max(n_classes, 2) or classes == "1", "its classes")
    _check_objective(learner["objective"], n_classes)
    _must(booster["name"] == "gbtree", "its kind of trees")
    _check_trees(booster["model"], n_features, max(n_classes, 1))


def _check_objective(objective: Any, n_classes: int) -> None:
    """Accept a known objective with plain settings; a multi-class one must have as many classes as the model."""
    _must(_OBJECTIVE.fullmatch(objective["name"]) is not None, "its objective")
    _must(objective["name"].startswith("multi:") == (n_classes > 1), "its objective")
    for name, settings in objective.items():
        if name == "name":
            continue
        for key, value in settings.items():
            _must(isinstance(value, str) and _NUMBER.fullmatch(value) is not None, "its objective")
            _must(key != "num_class" or _count(value, MAX_CLASSES) == n_classes, "its classes")


def _check_trees(model: Mapping[str, Any], n_features: int, n_groups: int) -> None:
    trees, info = model["trees"], _ints(model["tree_info"], 0, n_groups)
    _only(model, {"cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees"})
    _must(all(part == [] for part in model.get("cats", {}).values()), "its categories")
    ends = _ints(model["iteration_indptr"], 0, len(trees) + 1)
    _must(len(ends) > 0 and ends[0] == 0 and ends[-1] == len(trees) and bool((np.diff(ends) >= 0).all()), "its rounds")
    _must(_count(model["gbtree_model_param"]["num_trees"], 10**9) == len(trees) == len(info), "the number of its trees")
    _must(model["gbtree_model_param"]["num_parallel_tree"] == "1", "its rounds")
    for number, tree in enumerate(trees):
        _must(tree["id"] == number, "the numbers of its trees")
        _check_tree(tree, n_features)


def _check_tree(tree: Mapping[str, Any], n_features: int) -> None:
    _only(tree, {*_FLOATS, *_WHOLE, *_CATEGORIES, "id", "tree_param"})
    param = tree["tree_param"]
    n = _count(param["num_nodes"], 10**9)
    _must(_count(param["num_feature"], MAX_FEATURES) in (0, n_features), "the features of a tree")
    _must(
        param["size_leaf_vector"] in ("0", "1") and _count(param["num_deleted"], n) < max(n, 1), "the nodes of a tree"
    )
    for name in _FLOATS:
        values = np.array(tree[name], dtype=np.float64)
        _must(values.shape == (n,) and bool((np.abs(values) < 1e38).all()), f"{name} of a tree")
    whole = {name: _ints(tree[name], -1, 2**31) for name in _WHOLE}
    _must(n > 0 and all(values.shape == (n,) for values in whole.values()), "the nodes of a tree")
    left, right, kind = whole["left_children"], whole["right_children"], whole["split_type"]
    inner, places = left != -1, np.arange(n)
    _must(bool(((right != -1) == inner).all()), "the children of a tree")
    for children in (left[inner], right[inner]):
        _must(bool(((children > places[inner]) & (children < n)).all()), "the children of a tree")
        _must(bool((whole["parents"][children] == places[inner]).all()), "the parents of a tree")
    _must(whole["parents"][0] == NO_PARENT and len(np.unique(np.r_[left[inner], right[inner]])) == 2 * inner.sum(),
          "the parents of a tree")  # fmt: skip
    split = whole["split_indices"][inner]
    _must(bool(((split >= 0) & (split < n_features)).all()), "the features of a tree")
    _must(bool(np.isin(kind, (0, 1)).all() and np.isin(whole["default_left"], (0, 1)).all()), "the splits of a tree")
    _check_depth(left, right, inner)
    _check_categories(tree, np.flatnonzero(inner & (kind == 1)), n)


def _check_depth(left: NDArray[np.int64], right: NDArray[np.int64], inner: NDArray[np.bool_]) -> None:
    """Limit the depth: XGBoost writes trees recursively, level by level."""
    depth = np.zeros(len(left), dtype=np.int64)
    for node in np.flatnonzero(inner):
        depth[left[node]] = depth[right[node]] = depth[node] + 1
    _must(int(depth.max()) <= MAX_DEPTH, "the depth of a tree")


def _check_categories(tree: Mapping[str, Any], splits: NDArray[np.int64], n_nodes: int) -> None:
    """Sets of categories must be contiguous, one per node that tests categories."""
    values = _ints(tree["categories"], 0, MAX_CATEGORY)
    nodes = _ints(tree["categories_nodes"], 0, n_nodes)
    starts, sizes = (_ints(tree[f"categories_{name}"], 0, 2**31) for name in ("segments", "sizes"))
    _must(nodes.tolist() == splits.tolist() and len(starts) == len(sizes) == len(nodes), "the categories of a tree")
    _must(starts.tolist() == (np.cumsum(sizes) - sizes).tolist(), "the categories of a tree")
    _must(int(sizes.sum()) == len(values) and bool((sizes > 0).all()), "the categories of a tree")


def _only(content: Mapping[str, Any], names: set[str]) -> None:
    _must(isinstance(content, dict) and set(content) <= names, "its parts")


def _ints(values: Any, low: int, stop: int) -> NDArray[np.int64]:
    """Whole numbers from `low` to below `stop`."""
    _must(isinstance(values, list) and all(type(v) is int and low <= v < stop for v in values), "its numbers")
    return np.array(values, dtype=np.int64)


def _count(text: Any, most: int) -> int:
    """A number that XGBoost writes as text."""
    _must(isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 11, "its numbers")
    _must(int(text) <= most, "its numbers")
    return int(text)


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"{what} are not as XGBoost writes them")
