from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tabtreeformer._runtime.progress import Silent
from tabtreeformer.config.settings import TREE_MODELS, TreeConfig
from tabtreeformer.errors import ArchiveError, ConfigError, MissingExtraError, NotFittedError
from tabtreeformer.trees import Features, Target, fit_leaf_model, load_leaf_model
from tabtreeformer.trees.decision_tree import DecisionTree
from tabtreeformer.trees.features import LARGEST
from tabtreeformer.trees.spaces import SPACES, defaults
from tabtreeformer.trees.tuning import tune

WITH_TREES = tuple(name for name in TREE_MODELS if name not in ("adversarial", "none"))
"""Those that predict; the adversarial ones have tests of their own."""
FEW = {"lightgbm": {"n_estimators": 5}, "xgboost": {"n_estimators": 5}, "catboost": {"iterations": 5, "depth": 4}}


@pytest.fixture(params=TREE_MODELS)
def name(request) -> str:
    """Run a test for each tree model."""
    return request.param


def few(name: str, **settings) -> TreeConfig:
    return TreeConfig(model=name, params=FEW.get(name, {}), **{"trials": 0, **settings})


def test_a_model_comes_back_from_its_text_with_the_same_leaves(name, goal, make):
    features, target = make(goal)
    model = fit_leaf_model(few(name), features, target, 0)
    again = load_leaf_model(name, model.to_text())
    unseen, _ = make(goal, n_rows=300, seed=1)
    assert again.n_leaves == model.n_leaves
    assert again.to_text() == model.to_text()
    for rows in (features, unseen):
        np.testing.assert_array_equal(again.leaves(rows), model.leaves(rows))
        np.testing.assert_allclose(again.predict(rows), model.predict(rows), rtol=1e-12)


@pytest.mark.parametrize("name", WITH_TREES)
def test_leaf_ids_of_rows_never_seen_are_in_range_and_differ(name, goal, make):
    model = fit_leaf_model(few(name), *make(goal), 0)
    ids = model.leaves(make(goal, n_rows=300, seed=1)[0])
    assert ids.shape == (300, len(model.n_leaves))
    assert ids.dtype == np.int64
    assert (ids >= 0).all()
    assert (ids < np.array(model.n_leaves)).all()
    assert (ids.max(axis=0) > 0).any()


@pytest.mark.parametrize("name", WITH_TREES)
def test_predictions_are_codes_or_numbers(name, goal, make):
    features, target = make(goal)
    predicted = fit_leaf_model(few(name), features, target, 0).predict(features)
    assert predicted.shape == target.values.shape
    assert predicted.dtype == target.values.dtype


def test_the_same_seed_gives_the_same_leaves_searched_or_not(name, make):
    features, target = make("two classes")
    for config in (few(name), few(name, trials=2)):
        first, second = (fit_leaf_model(config, features, target, 2**40 + 5) for _ in range(2))
        np.testing.assert_array_equal(first.leaves(features), second.leaves(features))


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_another_seed_gives_other_leaves(name, make):
    features, target = make("number")
    share = {"subsample": 0.6, "colsample_bytree": 0.6}
    config = TreeConfig(model=name, trials=0, params=FEW[name] | share)
    first, second = (fit_leaf_model(config, features, target, seed).leaves(features) for seed in (0, 1))
    assert first.shape != second.shape or (first != second).any()


def test_what_is_found_is_what_is_fitted(make):
    features, target = make("number")
    config = TreeConfig(model="decision_tree", trials=3)
    found = tune(DecisionTree, SPACES["decision_tree"], features, target, config, 0, Silent())
    expected = DecisionTree(found, 0).fit(features, target)
    assert fit_leaf_model(config, features, target, 0).to_text() == expected.to_text()
    assert fit_leaf_model(replace(config, trials=0), features, target, 0).to_text() != expected.to_text()


def test_without_a_search_the_defaults_hold_unless_fixed(make):
    features, target = make("number")
    for params in ({}, {"max_depth": 2}):
        config = TreeConfig(model="decision_tree", trials=0, params=params)
        expected = DecisionTree(defaults(SPACES["decision_tree"]) | params, 0).fit(features, target)
        assert fit_leaf_model(config, features, target, 0).to_text() == expected.to_text()


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("alias", ["n_estimators", "iterations", "num_boost_round", "num_iterations"])
def test_the_number_of_rounds_may_go_by_the_name_of_any_library(name, alias, make):
    for tuned in (True, False):
        config = TreeConfig(model=name, trials=int(tuned), params={alias: 3})
        assert len(fit_leaf_model(config, *make("number"), 0).n_leaves) == 3


def test_tiny_tables_neither_warn_nor_print(name, capfd):
    rng = np.random.default_rng(0)
    features = Features(np.column_stack([rng.normal(size=7), [0, 1, 2, 0, 1, 2, 0]]), categorical=(1,))
    targets = [
        Target(np.array([0, 0, 0, 0, 0, 0, 1]), 2),
        Target(np.array([0, 0, 0, 1, 1, 1, 2]), 3),
        Target(np.arange(7), 7),
        Target(rng.normal(size=7), None),
    ]
    for target in targets:
        for rows in (np.arange(2, 7), np.arange(7)):
            config = few(name, trials=2)
            model = fit_leaf_model(config, features.take(rows), target.take(rows), 0)
            ids = model.leaves(features)
            assert ids.shape == (7, len(model.n_leaves))
            assert (ids < np.array(model.n_leaves)).all()
            load_leaf_model(name, model.to_text())
    assert capfd.readouterr() == ("", "")


def test_folds_in_which_nothing_varies_can_be_searched(name, capfd):
    features = Features(np.array([[0.0]] * 7 + [[1.0]]))
    target = Target(np.array([0] * 7 + [1]), 2)
    fit_leaf_model(few(name, trials=1), features, target, 0)
    assert capfd.readouterr() == ("", "")


def test_the_largest_numbers_neither_warn_nor_fail(name, make):
    features, target = make("number")
    large = Features(np.clip(features.matrix * [LARGEST, 1, 1], -LARGEST, LARGEST), features.categorical)
    goal = Target(np.clip(target.values * LARGEST, -LARGEST, LARGEST), None)
    model = fit_leaf_model(few(name, trials=1), large, goal, 0)
    assert (model.leaves(large) < np.array(model.n_leaves)).all()


@pytest.mark.parametrize("name", WITH_TREES)
def test_missing_numbers_are_split_by_and_have_leaves(name, make):
    features, target = make("two classes")
    matrix = features.matrix.copy()
    matrix[:, 1] = np.where(target.values == 1, np.nan, matrix[:, 1])  # nothing but the gap tells the classes apart
    gappy = Features(matrix[:, 1:], (1,))
    model = fit_leaf_model(few(name), gappy, target, seed=0)
    assert (model.predict(gappy) == target.values).mean() > 0.95
    leaves = model.leaves(gappy)
    assert (leaves < np.array(model.n_leaves)).all()
    np.testing.assert_array_equal(load_leaf_model(name, model.to_text()).leaves(gappy), leaves)


@pytest.mark.parametrize("name", WITH_TREES)
def test_a_model_that_is_not_fitted_says_so(name, make):
    from tabtreeformer.trees import _model_class

    model = _model_class(name)({}, 0)
    features, _ = make("number")
    for call in (lambda: model.leaves(features), lambda: model.predict(features), model.to_text):
        with pytest.raises(NotFittedError, match="call fit first"):
            call()


@pytest.mark.parametrize("text", ["garbage", "\x00", "{}", "null", "3"])
def test_a_text_that_is_not_such_a_model_is_refused(name, text):
    with pytest.raises(ArchiveError, match="not a whole"):
        load_leaf_model(name, text)


@pytest.mark.parametrize("name", WITH_TREES)
def test_an_empty_text_is_no_trees_but_none_of_a_library(name):
    with pytest.raises(ArchiveError, match="not a whole"):
        load_leaf_model(name, "")


def test_a_model_of_another_library_is_refused(make):
    texts = {name: fit_leaf_model(few(name), *make("number"), 0).to_text() for name in TREE_MODELS}
    for name in TREE_MODELS:
        for other in set(TREE_MODELS) - {name}:
            with pytest.raises(ArchiveError):
                load_leaf_model(name, texts[other])


def test_an_unknown_model_is_named_with_the_known_ones():
    with pytest.raises(ArchiveError, match=r"'oak'.*lightgbm, xgboost, catboost, decision_tree, adversarial, none"):
        load_leaf_model("oak", "")


@pytest.mark.parametrize("extra", ["xgboost", "catboost"])
def test_a_library_that_is_not_installed_names_its_extra(monkeypatch, make, extra):
    monkeypatch.setitem(sys.modules, extra, None)
    monkeypatch.delitem(sys.modules, f"tabtreeformer.trees.{extra}", raising=False)
    with pytest.raises(MissingExtraError, match=rf"tabtreeformer\[{extra}\]"):
        fit_leaf_model(TreeConfig(model=extra), *make("number"), 0)


def test_importing_the_room_imports_no_library():
    heavy = {"lightgbm", "xgboost", "catboost", "optuna", "sklearn"}
    code = f"import sys, tabtreeformer.trees; print(*sorted({heavy!r} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


@pytest.mark.parametrize("model", ["lightgbm", "xgboost"])
def test_a_target_of_too_many_classes_is_refused_before_it_takes_hours(model):
    features = Features(np.zeros((300, 1)))
    target = Target(np.arange(300), 300)
    with pytest.raises(
        ConfigError, match="the target has 300 classes, .* at most 100 classes, or tree='decision_tree'"
    ):
        fit_leaf_model(TreeConfig(model=model), features, target, 0)


def test_a_decision_tree_takes_as_many_classes_as_rows():
    features = Features(np.arange(60.0)[:, None])
    fit_leaf_model(TreeConfig(model="decision_tree", trials=0), features, Target(np.arange(60), 60), 0)
