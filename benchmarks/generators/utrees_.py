"""UnmaskingTrees (McCarter, 2024), from `utrees` with its defaults: boosted trees unmask one value after another."""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

COPIES = 50
"""Masked orders of each row that are learned, the package's default."""
SHARE = 0.7
"""Share of a given time for learning; the rest is for drawing."""


class Generator:
    """Balanced trees of boosted classifiers for numbers, one classifier for labels."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None) -> None:
        self.seed, self.budget_seconds = seed, budget_seconds

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Learn to unmask; in a given time, from as many orders of each row as fit, by the time that one takes."""
        self.columns = list(schema["columns"])
        self.levels = {c["name"]: sorted(df[c["name"]].unique()) for c in self.columns if c["kind"] == "categorical"}
        matrix, copies = self._matrix(df), COPIES
        if self.budget_seconds is not None:
            start = time.process_time()
            self._learn(matrix, 1)
            taken = time.process_time() - start
            copies = int(max(1, min(COPIES, (SHARE * self.budget_seconds - taken) / max(taken, 1e-3))))
        self._learn(matrix, copies)
        self.facts = {"orders": copies}

    def _learn(self, matrix: np.ndarray, copies: int) -> None:
        kinds = ["categorical" if c["name"] in self.levels else "continuous" for c in self.columns]
        trees = import_module("utrees").UnmaskingTrees
        model = trees(duplicate_K=copies, random_state=self.seed, xgboost_kwargs={"n_jobs": 1})
        self.model = model.fit(matrix, quantize_cols=kinds)

    def _matrix(self, df: pd.DataFrame) -> np.ndarray:
        """Numbers as they are, labels as codes."""
        columns = [
            pd.Index(self.levels[c["name"]]).get_indexer(df[c["name"]]) if c["name"] in self.levels else df[c["name"]]
            for c in self.columns
        ]
        return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])

    def sample(self, n: int) -> pd.DataFrame:
        """Unmask empty rows."""
        matrix = np.asarray(self.model.generate(n_generate=n))
        rows = {}
        for place, column in enumerate(self.columns):
            values, levels = matrix[:, place], self.levels.get(column["name"])
            rows[column["name"]] = values if levels is None else np.array(levels, dtype=object)[values.astype(int)]
        return pd.DataFrame(rows)
