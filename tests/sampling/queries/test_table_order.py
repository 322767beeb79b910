"""The paper's presets predict the column that their trees predict, from whole rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer
from tabtreeformer.errors import ConditionError
from tabtreeformer.sampling.network_writer import network_log_probs
from tabtreeformer.sampling.queries.table_order import tried_ids

SMALL = {
    "model": {"width": 32, "feed_forward": 64, "heads": 4, "layers": 1, "dropout": 0.0},
    "tokens": {"quantiles": 30, "bins": 4},
    "train": {
        "steps": 150, "batch_size": 64, "learning_rate": 5e-3, "validate_every": 50, "patience": 9,
        "leaf_mask": (0.0, 0.25), "value_mask": (0.0, 0.25), "ordinal_loss": 0.1,
    },
    "tree": {"trials": 0, "params": {"n_estimators": 4, "num_leaves": 6}},
    "privacy": "off", "random_state": 0, "verbose": False,
}  # fmt: skip


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pd.DataFrame({"y": np.where(x > 0, "up", "down"), "x": x, "z": 10 * x + rng.normal(size=n)})


@pytest.fixture(scope="module")
def fitted():
    """The column to predict comes first in the table: no network has seen anything before it."""
    return TabTreeFormer("S", "y", **SMALL).fit(rows())


def test_a_class_is_predicted_from_columns_that_come_after_it(fitted):
    new = rows(100, seed=1)
    assert (fitted.predict(new.drop(columns="y"), target="y") == new["y"]).mean() > 0.9
    chances = fitted.predict_proba(new, target="y")
    assert list(chances.columns) == ["down", "up"]
    np.testing.assert_allclose(chances.sum(axis=1), 1)


def test_a_number_is_predicted_by_the_mean_of_what_is_tried():
    model = TabTreeFormer("S", "z", **SMALL).fit(rows())
    new = rows(60, seed=1)
    found = model.predict(new.drop(columns="z"), target="z")
    assert np.corrcoef(found, new["z"])[0, 1] > 0.9


def test_chances_are_those_of_whole_rows_by_bayes(fitted):
    model = TabTreeFormer("S", "y", **{**SMALL, "tree": "none", "train": {**SMALL["train"], "steps": 20}}).fit(rows())
    state, new = model.fitted_, rows(5, seed=2)
    logs = []
    for label in ("down", "up"):
        ids = state.codec.encode(new.assign(y=label))
        tokens = state.layout.to_tokens(np.zeros((5, 0), dtype=np.int64), ids)
        logs.append(np.logaddexp(*(network_log_probs(m, tokens).sum(axis=1) for m in state.models)))
    expected = 1 / (1 + np.exp(logs[0] - logs[1]))
    np.testing.assert_allclose(model.predict_proba(new, target="y")["up"], expected, rtol=1e-6)


def test_quantiles_are_tried_with_the_bins_that_their_values_fall_into(fitted):
    codec = fitted.fitted_.codec.columns[1].inner
    ids = tried_ids(codec)
    assert len(ids) == 30
    middles = codec.decode(ids, np.random.default_rng(0))
    assert np.array_equal(ids, codec.encode(pd.Series(middles)))


@pytest.mark.parametrize(
    ("target", "dropped", "words"),
    [
        ("y", "x", "all other columns"),
        ("x", "y", "all other columns"),
        ("x", None, "the trees of this model read it"),
    ],
)
def test_what_the_papers_presets_cannot_predict_is_said(fitted, target, dropped, words):
    table = rows(5).drop(columns=[c for c in (target, dropped) if c])
    with pytest.raises(ConditionError, match=words):
        fitted.predict(table, target=target)
