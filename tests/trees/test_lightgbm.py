from __future__ import annotations

import re

import lightgbm as lgb
import numpy as np
import pytest

from tabtreeformer.errors import ArchiveError, ConfigError
from tabtreeformer.trees import Features, Target
from tabtreeformer.trees.lightgbm import LightGBM

ROUNDS = 6


@pytest.fixture
def fit(make):
    def build(goal: str, **params) -> tuple[LightGBM, Features, Target]:
        # LightGBM leaves categories alone in tables much smaller than this.
        features, target = make(goal, n_rows=500)
        model = LightGBM({"n_estimators": ROUNDS, "min_child_samples": 10} | params, 0)
        return model.fit(features, target), features, target

    return build


def test_leaves_are_the_librarys_own(fit, goal):
    model, features, _ = fit(goal)
    booster = lgb.Booster(model_str=model.to_text())
    np.testing.assert_array_equal(model.leaves(features), booster.predict(features.matrix, pred_leaf=True))
    assert model.leaves(features).dtype == np.int64


def test_every_leaf_that_is_counted_holds_rows(fit, goal):
    model, features, _ = fit(goal)
    for ids, n_leaves in zip(model.leaves(features).T, model.n_leaves, strict=True):
        assert set(ids) == set(range(n_leaves))
    assert max(model.n_leaves) > 2


@pytest.mark.parametrize(("goal", "trees_a_round"), [("number", 1), ("two classes", 1), ("three classes", 3)])
def test_more_than_two_classes_have_a_tree_each_a_round(fit, goal, trees_a_round):
    model, features, _ = fit(goal)
    assert len(model.n_leaves) == model.leaves(features).shape[1] == trees_a_round * ROUNDS


def test_the_target_is_learned(fit, goal):
    model, features, target = fit(goal, n_estimators=40)
    predicted = model.predict(features)
    if target.n_classes is None:
        assert np.mean((predicted - target.values) ** 2) < 0.2 * target.values.var()
    else:
        assert np.mean(predicted == target.values) > 0.9


def test_trees_without_a_split_have_one_leaf():
    rows = np.arange(40.0)
    features, target = Features(rows[:, None]), Target(np.repeat([0, 1, 2], [20, 19, 1]), 3)
    # The class of one row has too little weight for a split; the others part in the middle.
    params = {"n_estimators": 3, "min_child_samples": 5, "min_sum_hessian_in_leaf": 2.0}
    model = LightGBM(params, 0).fit(features, target)
    assert 1 in model.n_leaves
    assert max(model.n_leaves) > 1
    ids = model.leaves(features)
    assert (ids[:, np.array(model.n_leaves) == 1] == 0).all()


def test_categories_are_split_as_categories(fit):
    model, _, _ = fit("number")
    assert re.search(r"^num_cat=[1-9]", model.to_text(), re.MULTILINE)


def test_the_bagging_fraction_acts(fit):
    ids = [fit("number", bagging_fraction=share)[0].leaves(fit("number")[1]) for share in (1.0, 0.6)]
    assert ids[0].shape != ids[1].shape or (ids[0] != ids[1]).any()


@pytest.mark.parametrize("params", [{"num_leaves": -3}, {"n_estimators": 0}, {"early_stopping_round": 2}])
def test_parameters_that_the_library_refuses_are_named(make, params):
    with pytest.raises(ConfigError, match=rf"LightGBM refused .*{next(iter(params))}.*change tree\.params"):
        LightGBM(params, 0).fit(*make("number"))


def test_a_damaged_text_is_an_error_and_not_a_crash(fit):
    text = fit("three classes")[0].to_text()
    middle = text.index("Tree=2")
    holed = text[:middle] + text[middle + 40 :]
    for damaged in (text[: len(text) // 2], holed, text[5:], text.split("parameters:")[0]):
        with pytest.raises(ArchiveError, match="LightGBM"):
            LightGBM.from_text(damaged)
