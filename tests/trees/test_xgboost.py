from __future__ import annotations

import json

import numpy as np
import pytest

from tabtreeformer.errors import ArchiveError, ConfigError
from tabtreeformer.trees import Features
from tabtreeformer.trees.xgboost import XGBoost

ROUNDS = 5


def walk(tree: dict, row: np.ndarray) -> int:
    """Find the node id of a row's leaf in XGBoost's own JSON; for trees of numbers only."""
    node = 0
    while tree["left_children"][node] != -1:
        below = row[tree["split_indices"][node]] < np.float32(tree["split_conditions"][node])
        node = tree["left_children" if below else "right_children"][node]
    return node


def reachable_leaves(tree: dict, node: int = 0) -> list[int]:
    left, right = tree["left_children"][node], tree["right_children"][node]
    return [node] if left == -1 else reachable_leaves(tree, left) + reachable_leaves(tree, right)


def trees_of(model: XGBoost) -> list[dict]:
    return json.loads(model.to_text())["learner"]["gradient_booster"]["model"]["trees"]


@pytest.mark.parametrize("params", [{}, {"tree_method": "exact", "gamma": 0.5}])
def test_leaf_ids_are_the_rank_of_the_node_that_a_walk_down_the_tree_ends_in(make, goal, params):
    mixed, target = make(goal)
    features = Features(mixed.matrix)
    model = XGBoost({"n_estimators": ROUNDS, "max_depth": 4} | params, 0).fit(features, target)
    ids, rows = model.leaves(features), features.matrix.astype(np.float32)
    for place, tree in enumerate(trees_of(model)):
        nodes = sorted(reachable_leaves(tree))
        assert model.n_leaves[place] == len(nodes)
        np.testing.assert_array_equal(ids[:, place], [nodes.index(walk(tree, row)) for row in rows])
    assert max(model.n_leaves) > 2


@pytest.mark.parametrize(("goal", "trees_a_round"), [("number", 1), ("two classes", 1), ("three classes", 3)])
def test_more_than_two_classes_have_a_tree_each_a_round(make, goal, trees_a_round):
    features, target = make(goal)
    model = XGBoost({"n_estimators": ROUNDS}, 0).fit(features, target)
    assert len(model.n_leaves) == model.leaves(features).shape[1] == trees_a_round * ROUNDS


def test_the_target_is_learned(make, goal):
    features, target = make(goal)
    predicted = XGBoost({"n_estimators": 40}, 0).fit(features, target).predict(features)
    if target.n_classes is None:
        assert np.mean((predicted - target.values) ** 2) < 0.2 * target.values.var()
    else:
        assert np.mean(predicted == target.values) > 0.9


def test_a_single_tree_has_a_column_of_its_own(make):
    features, target = make("number")
    assert XGBoost({"n_estimators": 1}, 0).fit(features, target).leaves(features).shape == (features.n_rows, 1)


def test_trees_without_a_split_have_one_leaf(make):
    features, target = make("number")
    model = XGBoost({"n_estimators": 3, "gamma": 1e9}, 0).fit(features, target)
    assert model.n_leaves == (1, 1, 1)
    assert (model.leaves(features) == 0).all()


def test_categories_are_split_as_categories(make):
    model = XGBoost({"n_estimators": ROUNDS}, 0).fit(*make("number"))
    assert any(tree["categories"] for tree in trees_of(model))


def test_dropout_boosting_has_leaves_too(make):
    features, target = make("number")
    model = XGBoost({"n_estimators": ROUNDS, "booster": "dart"}, 0).fit(features, target)
    assert (model.leaves(features).max(axis=0) < model.n_leaves).all()


@pytest.mark.parametrize("params", [{"max_depth": -3}, {"booster": "gblinear"}, {"n_estimators": 0}])
def test_parameters_that_give_no_trees_are_named(make, params):
    with pytest.raises(ConfigError, match=rf"{next(iter(params))}.*change tree\.params"):
        XGBoost(params, 0).fit(*make("number"))


def test_a_damaged_text_is_an_error_and_not_a_crash(make):
    text = XGBoost({"n_estimators": 2}, 0).fit(*make("number")).to_text()
    renamed = text.replace("left_children", "left_child")
    for damaged in (text[: len(text) // 2], "{}", "[]", '{"learner": {}}', renamed):
        with pytest.raises(ArchiveError, match="XGBoost"):
            XGBoost.from_text(damaged)
