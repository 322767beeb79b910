"""CatBoost's JSON, checked index by index before CatBoost reads it, which does not expect hostile input."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

MAX_FEATURES, MAX_CLASSES, MAX_DEPTH, MAX_NODE_DEPTH = 100_000, 10_000, 16, 200
MAX_FLOAT = 3.4028235e38
"""The largest in single precision; CatBoost puts missing values below the border at its negative."""
_FEATURE = {"borders", "feature_id", "feature_index", "flat_feature_index", "has_nans", "nan_value_treatment"}
_SPLIT = {"border", "float_feature_index", "split_index", "split_type"}


def check_state(state: Mapping[str, Any]) -> None:
    """Raise ValueError, TypeError or KeyError unless CatBoost could have written the trees of a state."""
    classes, trees = state["classes"], state["trees"]
    if classes is not None:
        _must(isinstance(classes, list) and all(type(c) is int and 0 <= c < 2**31 for c in classes), "its classes")
        _must(len(classes) <= MAX_CLASSES, "its classes")
    _number(state["constant"])
    if trees is None:
        return
    _must(set(trees) <= {"features_info", "model_info", "oblivious_trees", "scale_and_bias", "trees"}, "its parts")
    _must(set(trees["features_info"]) == {"float_features"} and trees["model_info"] == {}, "its features")
    borders = _borders(trees["features_info"]["float_features"])
    n_scores = 1 if classes is None or len(classes) == 2 else len(classes)
    scale, bias = trees["scale_and_bias"]
    _numbers([scale])
    _must(len(_numbers(bias)) in (1, n_scores), "its bias")
    _must(("oblivious_trees" in trees) != ("trees" in trees), "its trees")
    for tree in trees.get("oblivious_trees", ()):
        splits = tree["splits"]
        _must(
            set(tree) == {"leaf_values", "leaf_weights", "splits"} and len(splits) <= MAX_DEPTH, "the depth of a tree"
        )
        for split in splits:
            _check_split(split, borders)
        _must(len(_numbers(tree["leaf_values"])) == n_scores * 2 ** len(splits), "the leaves of a tree")
        _must(len(_numbers(tree["leaf_weights"])) == 2 ** len(splits), "the leaves of a tree")
    for tree in trees.get("trees", ()):
        _check_nodes(tree, borders, n_scores)


def _borders(features: Any) -> list[tuple[int, float]]:
    """Feature and border of each possible split, in CatBoost's own order."""
    _must(isinstance(features, list) and 0 < len(features) <= MAX_FEATURES, "its features")
    found: list[tuple[int, float]] = []
    for place, feature in enumerate(features):
        _must(set(feature) == _FEATURE and isinstance(feature["feature_id"], str), "its features")
        _must(type(feature["feature_index"]) is int and type(feature["flat_feature_index"]) is int, "its features")
        _must(feature["feature_index"] == feature["flat_feature_index"] == place, "its features")
        _must(isinstance(feature["has_nans"], bool), "its features")
        _must(feature["nan_value_treatment"] in ("AsIs", "AsFalse", "AsTrue"), "its features")
        borders = _numbers(feature["borders"])
        _must(all(a < b for a, b in itertools.pairwise(borders)), "the borders of its features")
        found += [(place, border) for border in borders]
    return found


def _check_split(split: Mapping[str, Any], borders: list[tuple[int, float]]) -> None:
    _must(set(split) == _SPLIT and split["split_type"] == "FloatFeature", "a split")
    _must(type(split["split_index"]) is int and 0 <= split["split_index"] < len(borders), "a split")
    _must(type(split["float_feature_index"]) is int, "a split")
    _must((split["float_feature_index"], _number(split["border"])) == borders[split["split_index"]], "a split")


def _check_nodes(tree: Mapping[str, Any], borders: list[tuple[int, float]], n_scores: int) -> None:
    """A tree of nodes, of bounded depth, each of which is a leaf or has two children."""
    waiting: list[tuple[Mapping[str, Any], int]] = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        _must(isinstance(node, dict) and depth <= MAX_NODE_DEPTH, "the depth of a tree")
        if "split" in node:
            _must(set(node) == {"left", "right", "split"}, "a node")
            _check_split(node["split"], borders)
            waiting += [(node["left"], depth + 1), (node["right"], depth + 1)]
        else:
            _must(set(node) == {"value", "weight"}, "a leaf")
            value = node["value"]
            _must(len(_numbers(value if isinstance(value, list) else [value])) == n_scores, "a leaf")
            _number(node["weight"])


def _numbers(values: Any) -> list[float]:
    _must(isinstance(values, list), "its numbers")
    return [_number(value) for value in values]


def _number(value: Any) -> float:
    _must(type(value) in (int, float) and math.isfinite(value) and abs(value) <= MAX_FLOAT, "its numbers")
    return float(value)


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"{what} are not as CatBoost writes them")
