"""LightGBM's model text, checked line by line and index by index before LightGBM reads it.

LightGBM trusts its own text: an index out of range or a truncated list crashes the process. Only what LightGBM itself
writes passes here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

MAX_FEATURES, MAX_CLASSES, MAX_DEPTH = 100_000, 10_000, 500
OBJECTIVES = (
    "binary", "cross_entropy", "cross_entropy_lambda", "fair", "gamma", "huber", "mape", "multiclass", "multiclassova",
    "poisson", "quantile", "regression", "regression_l1", "tweedie",
)  # fmt: skip
_FLOAT = re.compile(r"-?\d+(\.\d*)?(e[-+]?\d+)?")
_BEYOND = ("inf", "-inf", "nan", "-nan")
"""What gains and weights may be when numbers reach the limits of their type; no prediction needs them."""
_NARROWER = {"threshold": ("inf",), "leaf_value": (), "shrinkage": ()}
"""What predictions need is finite, except the threshold that splits missing values from all others."""
_INT = re.compile(r"-?\d{1,10}")
_LINE = re.compile(r"([a-z_]+)=(.*)")
_NAME = re.compile(r"[A-Za-z0-9_.]+")
_INFO = re.compile(r"none|\[[-+.\de]+:[-+.\de]+\]|-?\d+(:-?\d+)*")
_TAIL = re.compile(
    r"end of trees\n+(feature_importances:\n([A-Za-z0-9_.]+=\d+\n)*\n*)?"
    r"parameters:\n(\[[a-z0-9_]+: [^\]\n]*\]\n)*\n*end of parameters\n+(pandas_categorical:(null|\[\])\n*)?"
)
"""What follows the trees, in this order: LightGBM would read any line among the parameters as a parameter."""
_HEAD = {
    "version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective", "feature_names",
    "feature_infos", "monotone_constraints", "tree_sizes",
}  # fmt: skip
_PER_NODE = ("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child")
_PER_TREE = {
    *_PER_NODE, "num_leaves", "num_cat", "leaf_value", "leaf_weight", "leaf_count", "internal_value", "internal_weight",
    "internal_count", "cat_boundaries", "cat_threshold", "is_linear", "shrinkage",
}  # fmt: skip


def check_text(text: str) -> None:
    """Raise ValueError unless the text is one that LightGBM could have written."""
    first, last = text.find("Tree=0\n"), text.find("end of trees\n")
    if not text.isascii() or not text.startswith("tree\nversion=v") or "\nend of parameters\n" not in text or last < 0:
        raise ValueError("it is not a complete LightGBM model")
    head = _fields(text[: first if first >= 0 else last].splitlines()[1:], _HEAD, flags=("average_output",))
    n_features, sizes = _check_head(head), _ints(head, "tree_sizes")
    start = first if first >= 0 else last
    for number, size in enumerate(sizes.tolist()):
        block = text[start : start + size]
        if size < 1 or not block.startswith(f"Tree={number}\n") or not block.endswith("\n"):
            raise ValueError(f"tree {number} does not have the stated size")
        _check_tree(_fields(block.splitlines()[1:], _PER_TREE), n_features)
        start += size
    if start != last:
        raise ValueError("there are more trees than are stated")
    if not _TAIL.fullmatch(text, last):
        raise ValueError("what follows its trees is not what LightGBM writes")


def _fields(lines: list[str], known: set[str], flags: tuple[str, ...] = ()) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in lines:
        found = _LINE.fullmatch(line)
        if not line or line in flags:
            continue
        if found is None or found[1] not in known or found[1] in fields:
            raise ValueError(f"{line[:40]!r} is not a line of a LightGBM model")
        fields[found[1]] = found[2]
    return fields


def _check_head(head: Mapping[str, str]) -> int:
    """The number of features, if the head is consistent."""
    n_features = _int(head, "max_feature_idx", 0, MAX_FEATURES) + 1
    n_classes, per_round = _int(head, "num_class", 1, MAX_CLASSES), _int(head, "num_tree_per_iteration", 1, MAX_CLASSES)
    _int(head, "label_index", 0, MAX_FEATURES)
    names, infos = head["feature_names"].split(" "), head["feature_infos"].split(" ")
    objective, *options = head["objective"].split(" ")
    several = objective in ("multiclass", "multiclassova")
    fits = (
        len(names) == len(infos) == n_features
        and all(_NAME.fullmatch(name) for name in names)
        and all(_INFO.fullmatch(info) for info in infos)
        and objective in OBJECTIVES
        and all(re.fullmatch(r"[a-z_]+:[-+.\de]+|sqrt", option) for option in options)
        and per_round == n_classes
        and (n_classes == 1) != several
        and (not several or options[:1] == [f"num_class:{n_classes}"])
        and len(_ints(head, "tree_sizes")) % per_round == 0
    )
    if not fits or len(_ints(head, "monotone_constraints")) not in (0, n_features):
        raise ValueError("the head of a LightGBM model is inconsistent")
    return n_features


def _check_tree(tree: Mapping[str, str], n_features: int) -> None:
    n_leaves, n_cat = _int(tree, "num_leaves", 1, 2**24), _int(tree, "num_cat", 0, 2**24)
    if tree.get("is_linear", "0") != "0" or len(_floats(tree, "shrinkage")) != 1:
        raise ValueError("a tree of a LightGBM model is not a plain one")
    leaves, nodes = (n_leaves,), (n_leaves - 1,)
    optional = (0, n_leaves) if n_leaves == 1 else leaves
    for names, allowed in (
        (_PER_NODE, nodes),
        (("leaf_value",), leaves),
        (("leaf_weight", "leaf_count"), optional),
        (("internal_value", "internal_weight", "internal_count"), nodes),
    ):
        if any(len(_floats(tree, name)) not in allowed for name in names):
            raise ValueError(f"a tree of {n_leaves} leaves has lists of another length")
    bounds, words = _ints(tree, "cat_boundaries"), _ints(tree, "cat_threshold")
    if len(bounds) != (n_cat + 1 if n_cat else 0) or (n_cat and (bounds[0] != 0 or bounds[-1] != len(words))):
        raise ValueError("the categories of a tree do not fit together")
    if (np.diff(bounds) < 1).any() or (not n_cat and len(words)) or ((words < 0) | (words >= 2**32)).any():
        raise ValueError("the categories of a tree do not fit together")
    features, kinds = _ints(tree, "split_feature"), _ints(tree, "decision_type")
    categorical = (kinds & 1).astype(bool)
    chosen = _floats(tree, "threshold")[categorical]
    if ((features < 0) | (features >= n_features) | (kinds < 0) | (kinds > 15)).any():
        raise ValueError("a tree splits by an unknown feature or in an unknown way")
    if ((chosen < 0) | (chosen >= n_cat) | (chosen != np.rint(chosen))).any():
        raise ValueError("a tree splits by categories that it does not have")
    _check_children(_ints(tree, "left_child"), _ints(tree, "right_child"), n_leaves)


def _check_children(left: NDArray[np.int64], right: NDArray[np.int64], n_leaves: int) -> None:
    """Every node and leaf is reached exactly once, from a node before it, and not too deep below the root."""
    children = np.stack([left, right], axis=1)
    inner = children >= 0
    parents = np.repeat(np.arange(len(left))[:, None], 2, axis=1)
    reached = np.sort(children[inner])
    if not np.array_equal(reached, np.arange(1, n_leaves - 1)) or (children[inner] <= parents[inner]).any():
        raise ValueError("the nodes of a tree do not follow from one another")
    if n_leaves > 1 and not np.array_equal(np.sort(~children[~inner]), np.arange(n_leaves)):
        raise ValueError("the leaves of a tree are not reached once each")
    depth = np.zeros(max(n_leaves - 1, 1), dtype=np.int64)
    for node, pair in enumerate(children.tolist()):
        for child in pair:
            if child >= 0:
                depth[child] = depth[node] + 1
    if depth.max() > MAX_DEPTH:
        raise ValueError(f"a tree is deeper than {MAX_DEPTH}")


def _int(fields: Mapping[str, str], name: str, low: int, high: int) -> int:
    text = fields[name]
    if not _INT.fullmatch(text) or not low <= int(text) <= high:
        raise ValueError(f"{name} of a LightGBM model is {text[:40]!r}")
    return int(text)


def _ints(fields: Mapping[str, str], name: str) -> NDArray[np.int64]:
    words = fields.get(name, "").split()
    if not all(_INT.fullmatch(word) for word in words):
        raise ValueError(f"{name} of a LightGBM model are not whole numbers")
    return np.array([int(word) for word in words], dtype=np.int64)


def _floats(fields: Mapping[str, str], name: str) -> NDArray[np.float64]:
    words = fields.get(name, "").split()
    beyond = _NARROWER.get(name, _BEYOND)
    if not all(_FLOAT.fullmatch(word) or word in beyond for word in words):
        raise ValueError(f"{name} of a LightGBM model are not numbers")
    return np.array([float(word) for word in words], dtype=np.float64)
