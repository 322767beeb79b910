"""CTGAN and TVAE (Xu et al., 2019), from `ctgan` (business-source licence) with its defaults: 300 epochs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

EPOCHS = 300
TRIAL = 30
"""Epochs that are timed before a given time is filled."""


class Generator:
    """Either of the two models; given a time, as many epochs as fit into it."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None, model: str = "CTGAN") -> None:
        self.package = import_module("ctgan")  # before anything is timed
        import_module("torch").manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - the package draws from numpy's global state
        self.name, self.seed, self.budget_seconds = model, seed, budget_seconds
        self.facts: dict[str, Any] = {}

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Train for the documented number of epochs, or for the time that is given."""
        labels = [c["name"] for c in schema["columns"] if c["kind"] == "categorical"]
        epochs = EPOCHS if self.budget_seconds is None else self._epochs(df, labels, 0.9 * self.budget_seconds)
        self.model = self._train(df, labels, epochs)
        self.facts = {"epochs": epochs}

    def sample(self, n: int) -> pd.DataFrame:
        """Draw new rows."""
        rows: pd.DataFrame = self.model.sample(n)
        return rows

    def _epochs(self, df: pd.DataFrame, labels: list[str], seconds: float) -> int:
        """How many fit: a short fit shows what reading the columns takes, a longer one what an epoch takes.

        The very first loads what is loaded when it is needed, and is not counted as either.
        """
        times = [time.perf_counter()]
        for epochs in (1, 1, 1 + TRIAL):
            self._train(df, labels, epochs)
            times.append(time.perf_counter())
        _, short, long = np.diff(times)
        epoch = max(long - short, 0.1 * long) / TRIAL
        return max(1, int((seconds - (times[-1] - times[0]) - short) / epoch))

    def _train(self, df: pd.DataFrame, labels: list[str], epochs: int) -> Any:
        model = getattr(self.package, self.name)(epochs=epochs, enable_gpu=False)
        model.set_random_state(self.seed)
        model.fit(df, labels)
        return model
