"""REaLTabFormer (Solatorio and Dupriez, 2023), from `realtabformer` with its defaults: a GPT-2 over digits."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import pandas as pd


class Generator:
    """Trains until its own statistic of overfitting says stop."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None, epochs: int = 1000) -> None:
        self.seed, self.epochs = seed, epochs

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Train; `save_full_every_epoch=0` keeps it from writing every epoch to disk."""
        package = import_module("realtabformer")
        self.model = package.REaLTabFormer(
            model_type="tabular", epochs=self.epochs, random_state=self.seed, use_cpu=True, report_to="none"
        )
        self.model.fit(df, device="cpu", gen_kwargs={}, save_full_every_epoch=0)

    def sample(self, n: int) -> pd.DataFrame:
        """Draw until n rows are valid."""
        rows: pd.DataFrame = self.model.sample(n_samples=n, device="cpu")
        return rows
