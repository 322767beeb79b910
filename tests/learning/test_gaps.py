"""Where values are missing, and together with what, is learned like any other value."""

import numpy as np
import pandas as pd

from tabtreeformer import TabTreeFormer


def test_values_that_are_missing_together_stay_so():
    rng = np.random.default_rng(0)
    n = 600
    kind = rng.choice(["x", "y"], n)
    gap = (kind == "x") & (rng.random(n) < 0.8)
    df = pd.DataFrame(
        {
            "kind": kind,
            "a": pd.Series(rng.normal(size=n).round(2)).mask(gap),
            "b": pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n), unit="D")).mask(gap),
            "c": pd.Series(rng.choice(["u", "v"], n)).mask(gap),
        }
    )
    train = {"steps": 200, "validate_every": 50}
    model = TabTreeFormer(target="kind", train=train, privacy="off", random_state=0, verbose=False).fit(df)
    rows = model.sample(1000, random_state=0)
    gaps = rows[["a", "b", "c"]].isna()
    assert (gaps.sum(axis=1).isin([0, 3])).mean() > 0.9
    assert gaps[rows["kind"] == "y"].mean().max() < 0.05
    assert abs(gaps[rows["kind"] == "x"]["a"].mean() - 0.8) < 0.1
