"""A control: the training rows themselves. Nothing is more useful or less private."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd


class Generator:
    """Hands the rows back, each about equally often."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None) -> None:
        self.rng = np.random.default_rng(seed)

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Keep the rows."""
        self.df = df

    def sample(self, n: int) -> pd.DataFrame:
        """As many whole rounds through the rows as are needed, in another order."""
        order = np.concatenate([self.rng.permutation(len(self.df)) for _ in range(-(-n // len(self.df)))])
        return self.df.iloc[order[:n]].reset_index(drop=True)
