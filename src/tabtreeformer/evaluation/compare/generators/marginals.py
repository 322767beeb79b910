"""A control: every column drawn by itself from the training rows. Faithful columns, nothing between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd


class Generator:
    """What costs no learning at all."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None) -> None:
        self.rng = np.random.default_rng(seed)

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Keep the columns."""
        self.df = df

    def sample(self, n: int) -> pd.DataFrame:
        """Draw each value of a column from its own values."""
        columns = {name: self.df[name].to_numpy()[self.rng.integers(len(self.df), size=n)] for name in self.df}
        return pd.DataFrame(columns)
