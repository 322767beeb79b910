"""Encoding shared by networks over plain numbers: numbers made normal by their ranks, labels as codes, and back."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import QuantileTransformer


class MixedEncoder:
    """Numbers (N, numeric) in standard normal shape, and codes (N, categorical)."""

    def __init__(self, df: pd.DataFrame, schema: Mapping[str, Any], seed: int) -> None:
        self.columns = list(df.columns)
        self.numeric = [c["name"] for c in schema["columns"] if c["kind"] == "numeric"]
        self.labels = [c["name"] for c in schema["columns"] if c["kind"] != "numeric"]
        self.whole = {c["name"] for c in schema["columns"] if c["integer"]}
        quantiles = max(min(len(df) // 30, 1000), 10)  # as TabSyn and TabDDPM do
        self.ranks = QuantileTransformer(n_quantiles=quantiles, output_distribution="normal", random_state=seed)
        if self.numeric:
            self.ranks.fit(df[self.numeric].to_numpy(np.float64))
        self.categories = {name: sorted(df[name].unique()) for name in self.labels}
        self.sizes = [len(self.categories[name]) for name in self.labels]

    def encode(self, df: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """A table as numbers and codes."""
        numbers = np.zeros((len(df), 0), dtype=np.float32)
        if self.numeric:
            numbers = self.ranks.transform(df[self.numeric].to_numpy(np.float64)).astype(np.float32)
        codes = np.zeros((len(df), len(self.labels)), dtype=np.int64)
        for j, name in enumerate(self.labels):
            codes[:, j] = pd.Index(self.categories[name]).get_indexer(df[name])
        return numbers, codes

    def decode(self, numbers: np.ndarray, codes: np.ndarray) -> pd.DataFrame:
        """Numbers and codes as a table."""
        columns: dict[str, Any] = {}
        if self.numeric:
            values = self.ranks.inverse_transform(numbers.astype(np.float64))
            columns |= {name: values[:, j] for j, name in enumerate(self.numeric)}
        for j, name in enumerate(self.labels):
            columns[name] = np.array(self.categories[name], dtype=object)[codes[:, j]]
        for name in self.whole & set(columns):
            columns[name] = np.round(columns[name])
        return pd.DataFrame(columns)[self.columns]


class Clock:
    """Says how much of a given time has gone; without one, never all of it."""

    def __init__(self, budget_seconds: float | None) -> None:
        self.started, self.budget_seconds = time.perf_counter(), budget_seconds

    def gone(self) -> float:
        """The share of the time that has gone."""
        return 0.0 if self.budget_seconds is None else (time.perf_counter() - self.started) / self.budget_seconds

    def over(self, share: float) -> bool:
        """Whether this share of the time has gone."""
        return self.gone() > share
