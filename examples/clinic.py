"""A clinic's visits: values that are missing together, discharge dates after admission dates, nullable types.

    python examples/clinic.py

A lab value is missing more often where no test was requested, and the values of a panel are missing together: the new
rows have the same gaps in the same places.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from tabtreeformer import TabTreeFormer


def make(n_rows: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Write a table of visits."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(58, 18, n_rows), 18, 99).round().astype(int)
    ward = rng.choice(["surgery", "medicine", "icu"], n_rows, p=[0.4, 0.5, 0.1])
    stay = rng.geometric(np.where(ward == "icu", 0.08, 0.25))
    admitted = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 365 * 24, n_rows), unit="h")
    sodium, potassium = rng.normal(140, 4, n_rows).round(), rng.normal(4.1, 0.5, n_rows).round(1)
    no_panel = rng.random(n_rows) < np.where(ward == "surgery", 0.5, 0.1)
    lactate = rng.lognormal(np.where(ward == "icu", 1.0, 0.2), 0.5).round(1)
    table = pd.DataFrame(
        {
            "visit": np.arange(1, n_rows + 1) + 40_000,
            "age": pd.array(age, dtype="Int16"),
            "ward": pd.Categorical(ward, categories=["surgery", "medicine", "icu"]),
            "admitted": admitted,
            "discharged": admitted + pd.to_timedelta(stay * 24 + rng.integers(0, 12, n_rows), unit="h"),
            "sodium": np.where(no_panel, np.nan, sodium),
            "potassium": np.where(no_panel, np.nan, potassium),
            "lactate": np.where((ward == "icu") | (rng.random(n_rows) < 0.1), lactate, np.nan),
            "smoker": pd.array(rng.random(n_rows) < 0.25, dtype="boolean"),
            "died": rng.random(n_rows) < np.where(ward == "icu", 0.2, 0.02),
        }
    )
    table.loc[rng.random(n_rows) < 0.15, "smoker"] = pd.NA
    table.loc[rng.random(n_rows) < 0.05, "discharged"] = pd.NaT  # still there
    return table


def main(n_rows: int = 1000, **settings: object) -> pd.DataFrame:
    """Fit the table, sample from it, and show where values are missing in both."""
    df = make(n_rows)
    model = TabTreeFormer(target="died", random_state=0, **settings).fit(df)
    new = model.sample(n_rows)
    missing = pd.DataFrame({"real": df.isna().mean(), "new": new.isna().mean()})
    print(missing[missing["real"] > 0].map("{:.1%}".format).to_string())
    together = [(t["sodium"].isna() == t["potassium"].isna()).mean() for t in (df, new)]
    print(f"sodium and potassium missing together: real {together[0]:.1%}, new {together[1]:.1%}")
    print(new.head(8).to_string())
    return new


if __name__ == "__main__":
    main()
