"""Forest Diffusion (Jolicoeur-Martineau et al., 2024), from `ForestDiffusion` with its defaults: flow, 50 noise levels,
100 copies of the rows, and a model for each class of a target that is a label.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

COPIES = 100
SECONDS_A_COPY = 3.0
"""A guess, on the safe side: what a copy of a small table costs; a given time buys so many copies."""


class Generator:
    """Labels are codes in, codes out."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None) -> None:
        self.seed = seed
        self.copies = COPIES if budget_seconds is None else int(np.clip(budget_seconds / SECONDS_A_COPY, 1, COPIES))
        self.facts: dict[str, Any] = {"copies": self.copies}

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
        self.model = import_module("ForestDiffusion").ForestDiffusionModel(
            codes[features].to_numpy(),
            label_y=codes[schema["target"]].to_numpy().astype(int) if by_class else None,
            duplicate_K=self.copies,
            bin_indexes=[places[n] for n in labels if len(self.categories[n]) == 2],
            cat_indexes=[places[n] for n in labels if len(self.categories[n]) > 2],
            int_indexes=[places[n] for n in features if n in whole],
            n_jobs=1,
            seed=self.seed,
        )

    def sample(self, n: int) -> pd.DataFrame:
        """Run the flow back; codes become labels."""
        rows = pd.DataFrame(self.model.generate(batch_size=n), columns=self.columns)
        for name, known in self.categories.items():
            place = rows[name].round().clip(0, len(known) - 1).astype(int)
            rows[name] = np.array(known, dtype=object)[place]
        return rows[self.order]
