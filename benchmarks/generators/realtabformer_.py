"""REaLTabFormer (Solatorio and Dupriez, 2023), from `realtabformer` with its defaults: a GPT-2 over digits."""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import pandas as pd

EPOCHS = 1000
CRITIC_SHARE = 0.4
"""What drawing rows takes of a given time: for the statistic every five epochs, and in the end."""


class Generator:
    """Trains until its own statistic of overfitting says stop; given a time, for as many epochs at most as fit."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None) -> None:
        self.seed, self.budget_seconds = seed, budget_seconds
        self.facts: dict[str, Any] = {}

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Train; `save_full_every_epoch=0` keeps it from writing every epoch to disk."""
        epochs = EPOCHS
        if self.budget_seconds is not None:
            started = time.perf_counter()
            self._model(1).fit(df, device="cpu", n_critic=0)
            trial = time.perf_counter() - started
            epochs = max(1, min(EPOCHS, int(((1 - CRITIC_SHARE) * self.budget_seconds - trial) / trial)))
        self.model = self._model(epochs)
        self.model.fit(df, device="cpu", gen_kwargs={}, save_full_every_epoch=0)
        self.facts = {"epochs": epochs}

    def sample(self, n: int) -> pd.DataFrame:
        """Draw until n rows are valid."""
        rows: pd.DataFrame = self.model.sample(n_samples=n, device="cpu")
        return rows

    def _model(self, epochs: int) -> Any:
        package = import_module("realtabformer")
        return package.REaLTabFormer(
            model_type="tabular", epochs=epochs, random_state=self.seed, use_cpu=True, report_to="none"
        )
