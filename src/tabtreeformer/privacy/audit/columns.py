"""Finds the column of the table to which a value in the file belongs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from ...artifact.fitted import Fitted
from .walk import Leaf

Located = Iterable[tuple[str | int, Any]]
"""Columns and plain values; a leaf may contain two of them, or none."""


def locator(fitted: Fitted, leaves: list[Leaf]) -> Callable[[Leaf], Located]:
    """Return a function that gives column and value of a leaf whose origin is a value."""
    names = {"schema.json": fitted.schema.names, "codec.json": fitted.codec.expressed.names}
    encoder = fitted.tree_encoder
    sources = () if encoder is None else tuple(source.column.name for source in encoder.sources)
    numbered = encoder is not None and any(source.ends for source in encoder.sources)
    # Trees that split between numbered intervals contain interval numbers; the intervals are in tree.json.
    read = _no_column if numbered else _TREES.get(fitted.config.tree.model, _no_column)
    of_trees = read(fitted.tree_text, sources, leaves)

    def locate(leaf: Leaf) -> Located:
        if leaf.member in names:
            return [(names[leaf.member][leaf.places[0]], leaf.value)]
        if leaf.member == "tree.json":
            goal = leaf.path.startswith("encoder.goal")
            return [(encoder.goal.column.name if goal and encoder is not None else sources[leaf.places[0]], leaf.value)]
        return of_trees(leaf)

    return locate


def _no_column(text: str, sources: tuple[str | int, ...], leaves: list[Leaf]) -> Callable[[Leaf], Located]:
    return lambda leaf: ()


def _lightgbm(text: str, sources: tuple[str | int, ...], leaves: list[Leaf]) -> Callable[[Leaf], Located]:
    splits = {
        (leaf.path, leaf.places): leaf.value for leaf in leaves if leaf.path in ("split_feature", "decision_type")
    }

    def locate(leaf: Leaf) -> Located:
        if leaf.path == "feature_infos":
            ends = str(leaf.value).strip("[]").split(":") if str(leaf.value).startswith("[") else []
            return [(sources[leaf.places[1]], float(end)) for end in ends]
        if not isinstance(leaf.value, float) or int(float(splits.get(("decision_type", leaf.places)) or 0)) & 1:
            return ()  # a split by categories: the number is a place in a list
        return [(sources[int(float(splits["split_feature", leaf.places] or 0))], leaf.value)]

    return locate


def _decision_tree(text: str, sources: tuple[str | int, ...], leaves: list[Leaf]) -> Callable[[Leaf], Located]:
    feature = json.loads(text)["feature"]
    return lambda leaf: [(sources[feature[leaf.places[0]]], leaf.value)] if feature[leaf.places[0]] >= 0 else ()


def _xgboost(text: str, sources: tuple[str | int, ...], leaves: list[Leaf]) -> Callable[[Leaf], Located]:
    trees = json.loads(text)["learner"]["gradient_booster"]["model"]["trees"]

    def locate(leaf: Leaf) -> Located:
        tree, node = trees[leaf.places[0]], leaf.places[1]
        if tree["left_children"][node] < 0 or tree["split_type"][node]:
            return ()  # the score of a leaf, or a split by categories
        return [(sources[tree["split_indices"][node]], leaf.value)]

    return locate


def _catboost(text: str, sources: tuple[str | int, ...], leaves: list[Leaf]) -> Callable[[Leaf], Located]:
    content = json.loads(text)["trees"] or {"features_info": {"float_features": []}, "oblivious_trees": []}
    flat = [feature["flat_feature_index"] for feature in content["features_info"]["float_features"]]

    def locate(leaf: Leaf) -> Located:
        if leaf.path.endswith("borders[*]"):
            return [(sources[flat[leaf.places[0]]], leaf.value)]
        split = content["oblivious_trees"][leaf.places[0]]["splits"][leaf.places[1]]
        return [(sources[flat[split["float_feature_index"]]], leaf.value)]

    return locate


_TREES = {"lightgbm": _lightgbm, "decision_tree": _decision_tree, "xgboost": _xgboost, "catboost": _catboost}
