from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tabtreeformer.errors import ArchiveError, ConfigError
from tabtreeformer.trees import Features, Target
from tabtreeformer.trees.decision_tree import DecisionTree


def library(features: Features, target: Target, **params):
    grower = DecisionTreeRegressor if target.n_classes is None else DecisionTreeClassifier
    return grower(random_state=0, **params).fit(features.matrix, target.values)


@pytest.mark.parametrize("params", [{}, {"max_leaf_nodes": 12}, {"max_depth": 3, "min_samples_leaf": 5}])
def test_leaves_and_predictions_are_those_of_scikit_learn(make, goal, params):
    features, target = make(goal)
    unseen, _ = make(goal, n_rows=400, seed=1)
    tree = library(features, target, **params)
    model = DecisionTree(params, 0).fit(features, target)
    for rows in (features, unseen):
        nodes, ids = tree.apply(rows.matrix), model.leaves(rows)
        assert ids.shape == (rows.n_rows, 1)
        # Same node ↔ same leaf: as many pairs as there are nodes, and as there are leaves.
        pairs = set(zip(nodes.tolist(), ids[:, 0].tolist(), strict=True))
        assert len(pairs) == len(set(nodes.tolist())) == len(set(ids[:, 0].tolist()))
        np.testing.assert_array_equal(model.predict(rows), tree.predict(rows.matrix))
    assert model.n_leaves == (tree.get_n_leaves(),)
    assert set(model.leaves(features)[:, 0]) == set(range(tree.get_n_leaves()))


def test_values_are_compared_in_single_precision():
    step = np.float64(np.spacing(np.float32(1000)))
    # The threshold is one step above 1000, and what lies a little above it is rounded to it.
    features, target = Features(1000 + step * np.array([[0.0], [2.0]])), Target(np.array([0.0, 1.0]), None)
    between = Features(1000 + step * np.linspace(0, 2, 101)[:, None])
    predicted = DecisionTree({}, 0).fit(features, target).predict(between)
    np.testing.assert_array_equal(predicted, library(features, target).predict(between.matrix))
    np.testing.assert_array_equal(predicted[[50, 60, 80]], [0.0, 0.0, 1.0])


def test_class_codes_survive_a_class_without_rows():
    features = Features(np.array([[0.0], [1.0], [2.0], [3.0]]))
    target = Target(np.array([0, 0, 2, 2]), 3)
    np.testing.assert_array_equal(DecisionTree({}, 0).fit(features, target).predict(features), target.values)


def test_a_tree_without_a_split_has_one_leaf(make):
    features, target = make("number")
    model = DecisionTree({"min_samples_leaf": 100}, 0).fit(features, target)
    assert model.n_leaves == (1,)
    assert (model.leaves(features) == 0).all()


@pytest.mark.parametrize("params", [{"n_estimators": 5}, {"max_depth": -3}])
def test_parameters_that_the_library_refuses_are_named(make, params):
    with pytest.raises(ConfigError, match=rf"{next(iter(params))}.*change tree\.params"):
        DecisionTree(params, 0).fit(*make("number"))


@pytest.mark.parametrize(
    "change",
    [
        {"left": [0, -1, -1]},
        {"right": [3, -1, -1]},
        {"feature": [-2, -2, -2]},
        {"threshold": [0.5]},
        {"prediction": ["a", "b", "c"]},
        {"left": None},
        {"left": [10**30, -1, -1]},
        {"left": [], "right": [], "feature": [], "threshold": [], "prediction": []},
    ],
)
def test_a_text_that_is_not_a_tree_is_refused(change):
    stump = {"feature": [0, -2, -2], "threshold": [0.5, -2.0, -2.0], "left": [1, -1, -1], "right": [2, -1, -1]}
    stump["prediction"] = [0, 1, 2]
    assert DecisionTree.from_text(json.dumps(stump)).n_leaves == (2,)
    with pytest.raises(ArchiveError, match="decision tree"):
        DecisionTree.from_text(json.dumps(stump | change))
