"""A wide table of sensors: many numeric channels, a machine's state, a time stamp every ten minutes.

    python examples/sensors.py

Hundreds of columns make long rows; `auto` stays within a laptop's memory, but takes a while (docs/types.md).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from tabtreeformer import TabTreeFormer


def make(n_rows: int = 1000, n_channels: int = 60, seed: int = 0) -> pd.DataFrame:
    """Write a table of readings, channels in groups that move together."""
    rng = np.random.default_rng(seed)
    state = rng.choice(["idle", "ramp", "run"], n_rows, p=[0.2, 0.1, 0.7])
    load = np.where(state == "idle", 0.05, np.where(state == "ramp", 0.5, 1.0)) + rng.normal(0, 0.05, n_rows)
    columns: dict[str, object] = {
        "time": pd.date_range("2024-01-01", periods=n_rows, freq="10min"),
        "state": pd.Categorical(state),
        "alarm": (load > 1.08) & (rng.random(n_rows) < 0.8),
    }
    for channel in range(n_channels):
        gain, noise = rng.uniform(0.2, 3), rng.uniform(0.05, 0.6)
        values = (20 + 10 * gain * load + rng.normal(0, 10 * noise, n_rows)).round(int(rng.integers(1, 4)))
        columns[f"channel {channel:03d}"] = values.astype("float32" if channel % 2 else "float64")
    table = pd.DataFrame(columns)
    stuck = rng.random(n_rows) < 0.03
    table.loc[stuck, ["channel 000", "channel 001"]] = np.nan  # one cable, two sensors
    return table


def main(n_rows: int = 1000, n_channels: int = 60, **settings: object) -> pd.DataFrame:
    """Fit the table, sample from it, and compare the channels' means by state."""
    df = make(n_rows, n_channels)
    model = TabTreeFormer(target="alarm", random_state=0, **settings).fit(df)
    new = model.sample(n_rows)
    shown = ["channel 002", "channel 003"]
    means = [table.groupby("state", observed=True)[shown].mean().round(1) for table in (df, new)]
    print(pd.concat(means, axis=1, keys=["real", "new"]).to_string())
    print(f"{df.shape[1]} columns, {new.dtypes.eq(df.dtypes).sum()} of them with the very same dtype")
    return new


if __name__ == "__main__":
    main()
