"""What leads to the leaves of a tree: which codes and which stretches of numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from ..errors import ConfigError
from .base import LeafModel


@dataclass(frozen=True)
class Path:
    """From the root to a leaf; by place of the feature."""

    above: dict[int, float] = field(default_factory=dict)
    """Numbers lie above this."""
    upto: dict[int, float] = field(default_factory=dict)
    """Numbers are at most this."""
    codes: dict[int, frozenset[int]] = field(default_factory=dict)
    """Categories are one of these codes."""

    def number(self, feature: int, threshold: float, left: bool) -> Path:
        """Go on at a node that sends numbers up to the threshold to the left."""
        if left:
            return replace(self, upto={**self.upto, feature: min(threshold, self.upto.get(feature, math.inf))})
        return replace(self, above={**self.above, feature: max(threshold, self.above.get(feature, -math.inf))})

    def choice(self, feature: int, chosen: frozenset[int], every: frozenset[int], left: bool) -> Path:
        """Go on at a node that sends the chosen codes to the left."""
        own = self.codes.get(feature, every)
        return replace(self, codes={**self.codes, feature: own & chosen if left else own - chosen})


def paths(model: LeafModel, n_codes: dict[int, int]) -> list[list[Path]]:
    """Of each tree, the path to each leaf; `n_codes` are the features that hold codes, and how many."""
    every = {feature: frozenset(range(n)) for feature, n in n_codes.items()}
    name = type(model).__name__
    if name == "LightGBM":
        import lightgbm as lgb

        roots = lgb.Booster(model_str=model.to_text()).dump_model()["tree_info"]
        found = [dict(_lightgbm(root["tree_structure"], Path(), every)) for root in roots]
    elif name == "DecisionTree":
        found = [
            dict(
                enumerate(
                    path for _, path in sorted(_nodes(json.loads(model.to_text()), 0, Path(), every), key=itemgetter(0))
                )
            )
        ]
    else:
        raise ConfigError(f"rules are read from lightgbm and decision_tree so far, not from {name}")
    return [[leaves[leaf] for leaf in range(len(leaves))] for leaves in found]


def _lightgbm(node: dict[str, Any], path: Path, every: dict[int, frozenset[int]]) -> Iterator[tuple[int, Path]]:
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


def _nodes(tree: dict[str, Any], node: int, path: Path, every: dict[int, frozenset[int]]) -> Iterator[Any]:
    if tree["left"][node] < 0:
        yield node, path
        return
    feature, threshold = tree["feature"][node], tree["threshold"][node]
    for left, child in ((True, tree["left"][node]), (False, tree["right"][node])):
        if feature in every:
            chosen = frozenset(code for code in every[feature] if code <= threshold)
            further = path.choice(feature, chosen, every[feature], left)
        else:
            further = path.number(feature, threshold, left)
        yield from _nodes(tree, child, further, every)
