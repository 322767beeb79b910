"""Forest Diffusion (Jolicoeur-Martineau et al., 2024), from `ForestDiffusion` with its defaults: flow, 50 noise levels,
100 copies of the rows, and a model for each class of a target that is a label.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

COPIES, LEVELS = 100, 50
TRIAL_COPIES, TRIAL_LEVELS = 11, 2
"""What is timed before a budget is filled, besides a single copy."""


class Generator:
    """Labels are codes in, codes out; given a time, as many copies as fit into it."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None) -> None:
        self.seed, self.budget_seconds = seed, budget_seconds
        self.package = import_module("ForestDiffusion")  # before anything is timed
        self.facts: dict[str, Any] = {}

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Train the trees of every noise level."""
        self.categories = {
            c["name"]: sorted(df[c["name"]].unique()) for c in schema["columns"] if c["kind"] != "numeric"
        }
        codes = df.assign(**{n: pd.Index(k).get_indexer(df[n]) for n, k in self.categories.items()}).astype(float)
        by_class = schema["task"] == "classification"
        features = [name for name in df.columns if not (by_class and name == schema["target"])]
        places = {name: j for j, name in enumerate(features)}
        labels = [name for name in features if name in self.categories]
        whole = {c["name"] for c in schema["columns"] if c["integer"]}
        self.columns = features + ([schema["target"]] if by_class else [])
        self.order = list(df.columns)
        rows = codes[features].to_numpy()
        rest = {
            "label_y": codes[schema["target"]].to_numpy().astype(int) if by_class else None,
            "bin_indexes": [places[n] for n in labels if len(self.categories[n]) == 2],
            "cat_indexes": [places[n] for n in labels if len(self.categories[n]) > 2],
            "int_indexes": [places[n] for n in features if n in whole],
            "n_jobs": 1,
            "seed": self.seed,
        }
        copies = COPIES if self.budget_seconds is None else self._copies(rows, rest, 0.9 * self.budget_seconds)
        self.model = self.package.ForestDiffusionModel(rows, n_t=LEVELS, duplicate_K=copies, **rest)
        self.facts = {"duplicates": copies}

    def sample(self, n: int) -> pd.DataFrame:
        """Run the flow back; codes become labels."""
        rows = pd.DataFrame(self.model.generate(batch_size=n), columns=self.columns)
        for name, known in self.categories.items():
            place = rows[name].round().clip(0, len(known) - 1).astype(int)
            rows[name] = np.array(known, dtype=object)[place]
        return rows[self.order]

    def _copies(self, rows: np.ndarray, rest: Mapping[str, Any], seconds: float) -> int:
        """How many fit: at a few noise levels, one copy shows what trees take at least, more copies what each adds."""
        times = [time.perf_counter()]
        for copies in (1, TRIAL_COPIES):
            self.package.ForestDiffusionModel(rows, n_t=TRIAL_LEVELS, duplicate_K=copies, **rest)
            times.append(time.perf_counter())
        first, second = np.diff(times)
        left = (seconds - first - second) * TRIAL_LEVELS / LEVELS - first
        return int(np.clip(1 + left * (TRIAL_COPIES - 1) / max(second - first, 1e-3), 1, COPIES))
