"""Trees that tell rows from shuffled columns: their leaves say how columns depend on each other, without a target."""

from __future__ import annotations

import numpy as np
import pytest

from tabtreeformer import TabTreeFormer
from tabtreeformer.config.settings import TreeConfig
from tabtreeformer.errors import ArchiveError
from tabtreeformer.trees import fit_leaf_model, load_leaf_model
from tabtreeformer.trees.features import Features, Target

CONFIG = TreeConfig(model="adversarial", trials=5, params={"n_estimators": 10, "min_child_samples": 5})


def rows(n=400, seed=0, dependent=True):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    other = x + 0.1 * rng.normal(size=n) if dependent else rng.normal(size=n)
    return Features(np.column_stack([x, other]))


def nothing(n=400):
    return Target(np.zeros(n), None)


def test_leaves_separate_rows_from_shuffled_columns_where_columns_depend_on_each_other():
    model = fit_leaf_model(CONFIG, rows(), nothing(), 0)
    real, fake = rows(seed=1), rows(seed=1, dependent=False)
    scores = [model._booster_for(features).predict(features.matrix).mean() for features in (real, fake)]
    assert scores[0] - scores[1] > 0.1
    leaves = model.leaves(real)
    assert leaves.shape == (400, 10)
    assert (leaves.max(axis=0) > 0).mean() > 0.8


def test_the_target_plays_no_part_and_nothing_is_tuned():
    one = fit_leaf_model(CONFIG, rows(), nothing(), 0)
    other = fit_leaf_model(CONFIG, rows(), Target(np.arange(400) % 3, 3), 0)
    assert one.to_text() == other.to_text()


def test_its_text_is_not_that_of_lightgbm():
    text = fit_leaf_model(CONFIG, rows(), nothing(), 0).to_text()
    with pytest.raises(ArchiveError):
        load_leaf_model("lightgbm", text)
    with pytest.raises(ArchiveError):
        load_leaf_model("adversarial", fit_leaf_model(TreeConfig(trials=0), rows(), nothing(), 0).to_text())


@pytest.mark.parametrize("preset", ["auto", "S"])
def test_a_model_without_a_target_is_prompted_by_them(mixed, tiny, tmp_path, preset):
    settings = {**tiny, "tree": {**tiny["tree"], "model": "adversarial"}}
    if preset == "auto":
        settings.pop("tokens")
    model = TabTreeFormer(preset, **settings, privacy="off", random_state=0, verbose=False)
    model = model.fit(mixed)
    assert model.fitted_.layout.n_trees == 4
    model.save(tmp_path / "m.tabtree")
    new = TabTreeFormer.load(tmp_path / "m.tabtree", verbose=False).sample(20, random_state=0)
    assert list(new.columns) == list(mixed.columns)
