"""TabularARGN (Tiwald et al., 2025), from `mostlyai-engine` with its defaults."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import pandas as pd


class Generator:
    """Trains until its validation loss stops falling, or the time is up."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None) -> None:
        self.seed, self.budget_seconds = seed, budget_seconds

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Learn the rows; the package counts its time in minutes."""
        time = {} if self.budget_seconds is None else {"max_training_time": 0.9 * self.budget_seconds / 60}
        engine = import_module("mostlyai.engine")
        self.model = engine.TabularARGN(device="cpu", random_state=self.seed, **time)
        self.model.fit(df)

    def sample(self, n: int) -> pd.DataFrame:
        """Draw new rows."""
        rows: pd.DataFrame = self.model.sample(n_samples=n)
        return rows
