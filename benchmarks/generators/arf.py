"""Adversarial random forests (Watson et al., 2023), from `arfpy` with its defaults."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd


class Generator:
    """Forests that learn to distinguish rows from their own imitations, and the densities of their leaves."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None) -> None:
        np.random.seed(seed)  # noqa: NPY002 - the package draws from numpy's global state
        self.seed = seed

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Grow the forests, then estimate the densities."""
        self.model = import_module("arfpy.arf").arf(x=df.astype(_dtypes(schema)), verbose=False, random_state=self.seed)
        self.model.forde()

    def sample(self, n: int) -> pd.DataFrame:
        """Draw leaves, then values in them."""
        rows: pd.DataFrame = self.model.forge(n=n)
        return rows


def _dtypes(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The package takes objects for labels; whole numbers are densities too and are rounded when written."""
    return {c["name"]: object if c["kind"] == "categorical" else float for c in schema["columns"]}
