"""The conditions that lead to the leaves of a tree: codes and ranges of numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import ConfigError
from .base import LeafModel

Codes = dict[int, frozenset[int]]


@dataclass(frozen=True)
class Path:
    """From the root to a leaf; keyed by the index of the feature."""

    above: dict[int, float] = field(default_factory=dict)
    """Numbers are above this."""
    upto: dict[int, float] = field(default_factory=dict)
    """Numbers are at most this."""
    codes: dict[int, frozenset[int]] = field(default_factory=dict)
    """Categories are one of these codes."""

    @property
    def possible(self) -> bool:
        """Whether any value can take this path."""
        return all(self.codes.values()) and all(low < self.upto.get(k, math.inf) for k, low in self.above.items())

    def number(self, feature: int, threshold: float, left: bool) -> Path:
        """Continue at a node that sends numbers up to the threshold to the left."""
        if left:
            return replace(self, upto={**self.upto, feature: min(threshold, self.upto.get(feature, math.inf))})
        return replace(self, above={**self.above, feature: max(threshold, self.above.get(feature, -math.inf))})

    def choice(self, feature: int, chosen: frozenset[int], every: frozenset[int], left: bool) -> Path:
        """Continue at a node that sends the chosen codes to the left."""
        own = self.codes.get(feature, every)
        return replace(self, codes={**self.codes, feature: own & chosen if left else own - chosen})


Leaves = Iterable[tuple[int, Path]]
"""Numbers of the leaves of a tree and the paths to them; only their order counts."""


def paths(model: LeafModel, n_codes: dict[int, int]) -> list[list[Path]]:
    """For each tree, the path to each leaf; `n_codes` maps features that hold codes to how many there are."""
    every = {feature: frozenset(range(n)) for feature, n in n_codes.items()}
    readers = {"LightGBM": _of_lightgbm, "XGBoost": _of_xgboost, "CatBoost": _of_catboost, "DecisionTree": _of_tree}
    name = type(model).__name__
    if name not in readers:
        raise ConfigError(f"leaves of {name} cannot be read as rules; choose another tree model: {', '.join(readers)}")
    found = [dict(tree) for tree in readers[name](model.to_text(), every)]
    return [[leaves[leaf] for leaf in sorted(leaves)] for leaves in found]


def _of_lightgbm(text: str, every: Codes) -> list[Leaves]:
    import lightgbm as lgb

    roots = lgb.Booster(model_str=text).dump_model()["tree_info"]
    return [_lightgbm(root["tree_structure"], Path(), every) for root in roots]


def _of_xgboost(text: str, every: Codes) -> list[Leaves]:
    """XGBoost identifies leaves by node ids; we number them in that order."""
    import xgboost as xgb

    booster = xgb.Booster()
    booster.load_model(bytearray(text.encode()))
    return [_xgboost(json.loads(root), Path(), every) for root in booster.get_dump(dump_format="json")]


def _of_catboost(text: str, every: Codes) -> list[Leaves]:
    trees = json.loads(text)["trees"]
    if trees is None:
        return []
    columns = {f["feature_index"]: f["flat_feature_index"] for f in trees["features_info"]["float_features"]}
    if "oblivious_trees" in trees:
        return [_symmetric(tree["splits"] or [], columns, every) for tree in trees["oblivious_trees"]]
    return [enumerate(_catboost(tree, columns, Path(), every)) for tree in trees["trees"]]


def _of_tree(text: str, every: Codes) -> list[Leaves]:
    return [_nodes(json.loads(text), 0, Path(), every)]


def _split(path: Path, feature: int, threshold: float, every: Codes, left: bool) -> Path:
    """Continue at a node that sends numbers, or codes treated as numbers, up to the threshold to the left."""
    if feature in every:
        chosen = frozenset(code for code in every[feature] if code <= threshold)
        return path.choice(feature, chosen, every[feature], left)
    return path.number(feature, threshold, left)


def _last_below(border: float, *, itself: bool) -> float:
    """The largest number that is below (or, with `itself`, not above) a border in single precision.

    XGBoost and CatBoost see numbers in single precision: what they treat as equal to the border need not be equal.
    """
    near = np.float32(border)
    other = np.nextafter(near, np.float32(math.inf if itself else -math.inf))
    middle = (float(near) + float(other)) / 2
    rounded = np.float32(middle)
    return middle if (rounded <= near if itself else rounded < near) else math.nextafter(middle, -math.inf)


def _lightgbm(node: dict[str, Any], path: Path, every: Codes) -> Iterator[tuple[int, Path]]:
    if "split_feature" not in node:
        yield node.get("leaf_index", 0), path
        return
    feature = node["split_feature"]
    for left, child in ((True, node["left_child"]), (False, node["right_child"])):
        if node["decision_type"] == "==":
            chosen = frozenset(int(code) for code in str(node["threshold"]).split("||"))
            further = path.choice(feature, chosen, every[feature], left)
        else:
            further = path.number(feature, float(node["threshold"]), left)
        yield from _lightgbm(child, further, every)


def _xgboost(node: dict[str, Any], path: Path, every: Codes) -> Iterator[tuple[int, Path]]:
    if "leaf" in node:
        yield node["nodeid"], path
        return
    feature, condition = int(node["split"].removeprefix("f")), node["split_condition"]
    for child in node["children"]:
        met = child["nodeid"] == node["yes"]
        if isinstance(condition, list):
            further = path.choice(feature, frozenset(condition), every[feature], met)
        else:
            further = _split(path, feature, _last_below(condition, itself=False), every, met)
        yield from _xgboost(child, further, every)


def _symmetric(splits: list[dict[str, Any]], columns: dict[int, int], every: Codes) -> Iterator[tuple[int, Path]]:
    """All nodes of a level apply the same test; the outcomes are the bits of the leaf."""
    for leaf in range(2 ** len(splits)):
        path = Path()
        for level, split in enumerate(splits):
            border = _last_below(split["border"], itself=True)
            path = _split(path, columns[split["float_feature_index"]], border, every, not leaf >> level & 1)
        yield leaf, path


def _catboost(node: dict[str, Any], columns: dict[int, int], path: Path, every: Codes) -> Iterator[Path]:
    """Leaves are numbered from left to right."""
    if "split" not in node:
        yield path
        return
    border = _last_below(node["split"]["border"], itself=True)
    for left, child in ((True, node["left"]), (False, node["right"])):
        further = _split(path, columns[node["split"]["float_feature_index"]], border, every, left)
        yield from _catboost(child, columns, further, every)


def _nodes(tree: dict[str, Any], node: int, path: Path, every: Codes) -> Iterator[tuple[int, Path]]:
    if tree["left"][node] < 0:
        yield node, path
        return
    for left, child in ((True, tree["left"][node]), (False, tree["right"][node])):
        further = _split(path, tree["feature"][node], tree["threshold"][node], every, left)
        yield from _nodes(tree, child, further, every)
