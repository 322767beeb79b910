"""What must be trained to be seen: a sharp rule of a table is a rule of its sampled rows."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer

SMALL = {
    "tree": {"trials": 0, "params": {"n_estimators": 5, "num_leaves": 6}},
    "tokens": {"quantiles": 30},
    "model": {"width": 32, "feed_forward": 64, "heads": 2, "layers": 2, "dropout": 0.0},
    "train": {"steps": 400, "batch_size": 64, "learning_rate": 4e-3, "validate_every": 50, "patience": 99},
    "sampling": {"temperature_category": 1.0},
}


def rule(x: pd.Series) -> np.ndarray:
    """Three classes by thresholds; the middle one is not between the others."""
    return np.select([x < 20, x < 60], ["low", "high"], "low")


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 100, 600).round(1)
    return pd.DataFrame({"x": x, "noise": rng.normal(size=600).round(2), "y": rule(pd.Series(x))})


@pytest.fixture(scope="module")
def rows(table) -> pd.DataFrame:
    model = TabTreeFormer("S", "y", **SMALL, privacy="off", random_state=0, verbose=False).fit(table)
    return model.sample(2000, random_state=0)


def test_a_sharp_rule_is_kept(rows):
    assert (rows["y"] == rule(rows["x"])).mean() > 0.9


def test_marginals_are_kept(table, rows):
    assert rows["y"].value_counts(normalize=True)["high"] == pytest.approx(0.4, abs=0.06)
    for name in ("x", "noise"):
        real, new = (np.sort(frame[name].to_numpy()) for frame in (table, rows))
        places = np.concatenate([real, new])
        distance = np.abs(
            np.searchsorted(real, places, "right") / len(real) - np.searchsorted(new, places, "right") / len(new)
        ).max()
        assert distance < 0.08, name


def test_rows_are_new(table, rows):
    assert len(rows.merge(table.drop_duplicates(), how="inner")) / len(rows) < 0.02
