from __future__ import annotations

import json

import catboost as cat
import numpy as np
import pytest

from tabtreeformer.errors import ArchiveError, ConfigError
from tabtreeformer.trees import Features, Target
from tabtreeformer.trees.catboost import CatBoost

ROUNDS = 5


def test_leaves_are_the_librarys_own(make, goal, tmp_path):
    features, target = make(goal)
    model = CatBoost({"n_estimators": ROUNDS, "depth": 3}, 0).fit(features, target)
    file = tmp_path / "model.json"
    file.write_text(json.dumps(json.loads(model.to_text())["trees"]))
    library = cat.CatBoost()
    library.load_model(str(file), format="json")
    np.testing.assert_array_equal(model.leaves(features), library.calc_leaf_indexes(features.matrix))
    assert model.n_leaves == tuple(library.get_tree_leaf_counts())
    assert len(model.n_leaves) == ROUNDS


def test_the_target_is_learned(make, goal):
    features, target = make(goal)
    predicted = CatBoost({"iterations": 40}, 0).fit(features, target).predict(features)
    if target.n_classes is None:
        assert np.mean((predicted - target.values) ** 2) < 0.2 * target.values.var()
    else:
        assert np.mean(predicted == target.values) > 0.9


def test_uneven_trees_keep_their_leaves_through_text(make):
    features, target = make("number")
    model = CatBoost({"iterations": ROUNDS, "grow_policy": "Lossguide"}, 0).fit(features, target)
    ids = model.leaves(features)
    assert len(set(model.n_leaves)) > 1
    assert (ids.max(axis=0) < model.n_leaves).all()
    np.testing.assert_array_equal(CatBoost.from_text(model.to_text()).leaves(features), ids)


def test_codes_of_classes_survive_a_class_without_rows(make):
    features, target = make("three classes")
    kept = np.flatnonzero(target.values != 1)
    model = CatBoost({"iterations": 20}, 0).fit(features.take(kept), target.take(kept))
    assert np.mean(model.predict(features.take(kept)) == target.values[kept]) > 0.9


@pytest.mark.parametrize(
    ("matrix", "values", "n_classes", "expected"),
    [
        ([[1.0], [1.0], [1.0]], [2, 0, 2], 3, 2),
        ([[1.0], [2.0], [3.0]], [1, 1, 1], 2, 1),
        ([[1.0], [1.0], [1.0]], [1.0, 2.0, 6.0], None, 3.0),
    ],
)
def test_where_nothing_varies_there_are_no_trees_and_the_commonest_is_predicted(matrix, values, n_classes, expected):
    features = Features(np.array(matrix))
    model = CatBoost({}, 0).fit(features, Target(np.array(values), n_classes))
    for same in (model, CatBoost.from_text(model.to_text())):
        assert same.n_leaves == ()
        assert same.leaves(features).shape == (3, 0)
        np.testing.assert_array_equal(same.predict(features), [expected] * 3)


def test_no_files_are_left_behind(make, tmp_path, monkeypatch):
    work, scratch = tmp_path / "work", tmp_path / "scratch"
    work.mkdir()
    scratch.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    model = CatBoost({"iterations": 2}, 0).fit(*make("number"))
    CatBoost.from_text(model.to_text())
    assert list(tmp_path.rglob("*")) == [work, scratch]


def test_warnings_of_the_library_are_not_shown(make, capfd):
    CatBoost({"iterations": 2, "classes_count": 5}, 0).fit(*make("three classes"))
    assert capfd.readouterr() == ("", "")


def test_equal_fits_have_equal_texts(make):
    texts = {CatBoost({"iterations": 3}, 0).fit(*make("number")).to_text() for _ in range(2)}
    assert len(texts) == 1


@pytest.mark.parametrize("params", [{"depth": 99}, {"dept": 3}])
def test_parameters_that_the_library_refuses_are_named(make, params):
    with pytest.raises(ConfigError, match=rf"CatBoost refused .*{next(iter(params))}.*change tree\.params"):
        CatBoost(params, 0).fit(*make("number"))


def test_a_damaged_text_is_an_error(make):
    text = CatBoost({"iterations": 2}, 0).fit(*make("number")).to_text()
    for damaged in (text[: len(text) // 2], "{}", "[]", '{"classes": null, "constant": 0, "trees": {}}'):
        with pytest.raises(ArchiveError, match="CatBoost"):
            CatBoost.from_text(damaged)
