"""A control: training rows drawn with replacement, numbers moved a little, some labels drawn again.

What a generator that memorises looks like: good scores of usefulness, which the privacy measures have to detect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

SPREAD = 0.05
"""Noise on a number, in standard deviations of its column."""
ANEW = 0.05
"""Share of labels that are drawn again from their column."""


class Generator:
    """Training rows with noise."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None) -> None:
        self.rng = np.random.default_rng(seed)

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Keep the rows."""
        self.df, self.kinds = df, {c["name"]: c["kind"] for c in schema["columns"]}

    def sample(self, n: int) -> pd.DataFrame:
        """Draw whole rows, then disturb them."""
        rows = self.df.iloc[self.rng.integers(len(self.df), size=n)].reset_index(drop=True)
        columns = {}
        for name in rows:
            values = rows[name].to_numpy()
            if self.kinds[name] == "numeric":
                noisy = values + self.rng.normal(0, SPREAD * (self.df[name].std() or 0.0), n)
                columns[name] = np.clip(noisy, self.df[name].min(), self.df[name].max())
            else:
                others = self.df[name].to_numpy()[self.rng.integers(len(self.df), size=n)]
                columns[name] = np.where(self.rng.random(n) < ANEW, others, values)
        return pd.DataFrame(columns)
