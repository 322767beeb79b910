"""XGBoost and CatBoost end the process, or answer nonsense, on JSON with a wrong index: only what they write passes."""

from __future__ import annotations

import copy
import json

import pytest

from tabtreeformer.errors import ArchiveError
from tabtreeformer.trees.catboost import CatBoost
from tabtreeformer.trees.decision_tree import DecisionTree
from tabtreeformer.trees.features import Features
from tabtreeformer.trees.xgboost import XGBoost


def tree_of(content):
    return content["learner"]["gradient_booster"]["model"]["trees"][0]


@pytest.mark.parametrize("params", [{}, {"max_cat_to_onehot": 1}, {"gamma": 2.0}, {"grow_policy": "lossguide"}])
def test_what_xgboost_writes_passes(make, goal, params):
    features, target = make(goal)
    model = XGBoost({"n_estimators": 3, **params}, 0).fit(features, target)
    again = XGBoost.from_text(model.to_text())
    assert (again.leaves(features) == model.leaves(features)).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda c: tree_of(c)["left_children"].__setitem__(0, 10**6),
        lambda c: tree_of(c)["left_children"].__setitem__(0, 0),
        lambda c: tree_of(c)["split_indices"].__setitem__(0, 77),
        lambda c: tree_of(c)["split_indices"].__setitem__(0, -5),
        lambda c: tree_of(c)["split_conditions"].pop(),
        lambda c: tree_of(c)["parents"].__setitem__(1, 5),
        lambda c: tree_of(c)["tree_param"].update(num_nodes="99"),
        lambda c: tree_of(c)["categories_nodes"].append(10**9),
        lambda c: tree_of(c).update(categories_sizes=[10**9] * len(tree_of(c)["categories_nodes"]) + [1]),
        lambda c: c["learner"]["gradient_booster"]["model"]["tree_info"].__setitem__(0, 9),
        lambda c: c["learner"]["learner_model_param"].update(num_class="999"),
        lambda c: c["learner"]["learner_model_param"].update(base_score="[1E0,1E0]"),
        lambda c: c["learner"]["objective"].update(name="custom"),
        lambda c: c["learner"].update(attributes={"n_classes": "many"}),
        lambda c: c.update(more=1),
        lambda c: c["learner"].pop("learner_model_param"),
    ],
)
def test_xgboost_json_with_a_wrong_part_is_refused(make, change):
    model = XGBoost({"n_estimators": 2}, 0).fit(*make("three classes"))
    content = json.loads(model.to_text())
    change(content)
    with pytest.raises(ArchiveError):
        XGBoost.from_text(json.dumps(content))


@pytest.mark.parametrize("policy", ["SymmetricTree", "Lossguide", "Depthwise"])
def test_what_catboost_writes_passes(make, goal, policy):
    features, target = make(goal)
    model = CatBoost({"iterations": 3, "grow_policy": policy}, 0).fit(features, target)
    again = CatBoost.from_text(model.to_text())
    assert (again.leaves(features) == model.leaves(features)).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t["oblivious_trees"][0]["splits"][0].update(float_feature_index=50),
        lambda t: t["oblivious_trees"][0]["splits"][0].update(split_index=10**6),
        lambda t: t["oblivious_trees"][0]["splits"][0].update(split_type="OnlineCtr"),
        lambda t: t["oblivious_trees"][0]["leaf_values"].pop(),
        lambda t: t["oblivious_trees"][0].update(splits=t["oblivious_trees"][0]["splits"] * 40),
        lambda t: t["features_info"]["float_features"][0].update(flat_feature_index=10**9),
        lambda t: t["features_info"].update(categorical_features=[{}]),
        lambda t: t.update(scale_and_bias=[1, [0] * 1000]),
        lambda t: t.update(ctr_data={}),
    ],
)
def test_catboost_json_with_a_wrong_part_is_refused(make, change):
    model = CatBoost({"iterations": 2}, 0).fit(*make("three classes"))
    content = json.loads(model.to_text())
    change(content["trees"])
    with pytest.raises(ArchiveError):
        CatBoost.from_text(json.dumps(content))


def test_a_decision_tree_that_reads_a_feature_that_is_not_there_is_our_error(make):
    features, target = make("number")
    content = json.loads(DecisionTree({"max_depth": 2}, 0).fit(features, target).to_text())
    wrong = copy.deepcopy(content)
    wrong["feature"][0] = 41
    model = DecisionTree.from_text(json.dumps(wrong))
    with pytest.raises(ArchiveError, match="decision tree"):
        model.leaves(Features(features.matrix, features.categorical))
