"""Paths to leaves, read from each library's own dump, against the leaves that the library itself names."""

import numpy as np
import pytest

from tabtreeformer.trees.features import Features, Target
from tabtreeformer.trees.paths import paths

N, CODES = 400, {1: 5, 4: 7}


def table():
    rng = np.random.default_rng(0)
    columns = [rng.normal(size=N), rng.integers(0, 5, N), rng.integers(0, 60, N), rng.random(N).round(2)]
    matrix = np.column_stack([*columns, rng.integers(0, 7, N)]).astype(float)
    odd = (matrix[:, 0] > 0) ^ np.isin(matrix[:, 1], [1, 3]) ^ (matrix[:, 2] > 30) ^ np.isin(matrix[:, 4], [0, 5])
    return matrix, odd.astype(np.int64)


def model(name, params):
    module = pytest.importorskip(f"tabtreeformer.trees.{name}")
    classes = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost", "decision_tree": "DecisionTree"}
    return getattr(module, classes[name])(params, 0)


@pytest.mark.parametrize("n_classes", [None, 2, 3])
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("lightgbm", {"n_estimators": 4, "num_leaves": 9}),
        ("xgboost", {"n_estimators": 4, "max_depth": 4}),
        ("xgboost", {"n_estimators": 4, "max_cat_to_onehot": 1, "grow_policy": "lossguide"}),
        ("catboost", {"iterations": 4, "depth": 4}),
        ("catboost", {"iterations": 4, "grow_policy": "Lossguide", "max_leaves": 9}),
        ("catboost", {"iterations": 4, "depth": 4, "grow_policy": "Depthwise"}),
        ("decision_tree", {"max_depth": 4}),
    ],
)
def test_a_row_meets_the_path_to_its_leaf_and_no_other(name, params, n_classes):
    matrix, odd = table()
    values = {None: matrix[:, 3] + odd, 2: odd, 3: odd + (matrix[:, 3] > 0.5)}[n_classes]
    features = Features(matrix, tuple(CODES))
    fitted = model(name, params).fit(features, Target(values, n_classes))
    leaves, found = fitted.leaves(features), paths(fitted, CODES)
    assert [len(tree) for tree in found] == list(fitted.n_leaves)
    for tree, ways in enumerate(found):
        for leaf, path in enumerate(ways):
            met = np.ones(N, dtype=bool)
            for place, low in path.above.items():
                met &= matrix[:, place] > low
            for place, high in path.upto.items():
                met &= matrix[:, place] <= high
            for place, codes in path.codes.items():
                met &= np.isin(matrix[:, place], list(codes))
            assert np.array_equal(met, leaves[:, tree] == leaf), (tree, leaf)
            assert path.possible or not met.any()


def test_numbers_at_a_border_go_where_single_precision_sends_them():
    """0.1 is above its neighbour in single precision, and so are doubles that only round to it."""
    xgboost = pytest.importorskip("tabtreeformer.trees.xgboost")
    border = np.float32(0.1)
    below = float(np.nextafter(border, np.float32(0)))
    middle = (below + float(border)) / 2
    near = np.array([below, np.nextafter(middle, 0), middle, np.nextafter(middle, 1), float(border), 0.1])
    matrix = np.repeat(near, 20)[:, None]
    target = (matrix[:, 0].astype(np.float32) >= border).astype(np.int64)
    fitted = xgboost.XGBoost({"n_estimators": 1, "max_depth": 1, "min_child_weight": 0}, 0)
    features = Features(matrix)
    fitted.fit(features, Target(target, 2))
    (ways,) = paths(fitted, {})
    assert len(ways) == 2
    left = np.flatnonzero([bool(path.upto) for path in ways])[0]
    met = matrix[:, 0] <= ways[left].upto[0]
    assert np.array_equal(met, fitted.leaves(features)[:, 0] == left)
    assert 0 < met.sum() < len(met)
