"""Leaves as rules: rows that meet one lie in its leaf."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import ConditionError, ConfigError, TabTreeFormer

TINY = {
    "tokens": {"quantiles": 20},
    "model": {"width": 16, "feed_forward": 32, "heads": 2, "layers": 1},
    "train": {"steps": 2, "batch_size": 32, "validate_every": 2},
}
PARAMS = {
    "lightgbm": {"n_estimators": 3, "num_leaves": 5, "min_child_samples": 5},
    "decision_tree": {"max_depth": 3},
    "xgboost": {"n_estimators": 3, "max_depth": 3},
    "catboost": {"iterations": 3, "depth": 3},
}


def fit(tree):
    rng = np.random.default_rng(0)
    n = 240
    town = rng.choice(["Bern", "Köln", "Rom", "Ulm"], n)
    df = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
            "town": pd.Series(town, dtype=object).mask(rng.random(n) < 0.1),
        }
    )
    df["y"] = np.where((df["age"] > 50) ^ np.isin(town, ["Bern", "Rom"]) ^ (df["day"].dt.month > 6), "p", "q")
    if tree in ("xgboost", "catboost"):
        pytest.importorskip(tree)
    settings = {"model": tree, "trials": 0, "params": PARAMS.get(tree, {})}
    return df, TabTreeFormer(target="y", tree=settings, **TINY, constraints=None, random_state=0, verbose=False).fit(df)


@pytest.mark.parametrize("tree", PARAMS)
def test_rows_that_meet_a_rule_lie_in_its_leaf(tree):
    df, model = fit(tree)
    fitted = model.fitted_
    leaves = fitted.leaf_model.leaves(fitted.tree_encoder.features(df))
    rules = model.rules()
    every = [(t, k) for t, n in enumerate(fitted.leaf_model.n_leaves) for k in range(n)]
    listed = [(r.tree, r.leaf) for r in rules]
    # Symmetric trees have leaves that no row can reach.
    assert listed == every if tree != "catboost" else set(listed) <= set(every)
    assert {(t, k) for row in leaves for t, k in enumerate(row)} <= set(listed)
    for tree_number in range(leaves.shape[1]):
        shares = [r.share for r in rules if r.tree == tree_number]
        assert sum(shares) == pytest.approx(1)
    for rule in rules:
        assert rule.conditions
        met = np.ones(len(df), dtype=bool)
        for name, condition in rule.conditions.items():
            codec = fitted.codec.columns[fitted.schema.names.index(name)]
            met &= codec.meets(codec.allow(condition), df[name])
            assert str(name) in rule.text
        assert (leaves[met, rule.tree] == rule.leaf).all(), rule.text
        whole = df.notna().all(axis=1).to_numpy()  # rows that lack a value may lie there too
        # Conditions end where what was learned ends: rows beyond lie in the leaf and are not drawn.
        assert met[whole].sum() >= 0.8 * (leaves[whole, rule.tree] == rule.leaf).sum(), rule.text


@pytest.mark.parametrize("tree", PARAMS)
def test_rows_are_drawn_inside_a_leaf(tree):
    _, model = fit(tree)
    fitted = model.fitted_
    rule = max(model.rules(), key=lambda rule: len(rule.conditions))
    rows = model.sample(50, leaf=(rule.tree, rule.leaf), random_state=0)
    assert (fitted.leaf_model.leaves(fitted.tree_encoder.features(rows))[:, rule.tree] == rule.leaf).all()
    with pytest.raises(ConditionError, match="there is no leaf \\(99, 0\\)"):
        model.sample(5, leaf=(99, 0))


def test_models_without_rules_say_so():
    with pytest.raises(ConfigError, match="no trees"):
        fit("none")[1].rules()
