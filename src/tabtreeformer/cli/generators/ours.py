"""TabTreeFormer: `auto` and the paper's presets, with optional settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tabtreeformer import TabTreeFormer
from tabtreeformer.config.override import parse_settings


class Generator:
    """Fit and sample as `ttf fit` and `ttf sample` do."""

    def __init__(
        self, *, seed: int, budget_seconds: float | None = None, preset: str = "auto", settings: tuple[str, ...] = ()
    ) -> None:
        self.seed, self.budget_seconds = seed, budget_seconds
        self.preset, self.settings = preset, settings
        self.facts: dict[str, Any] = {}

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Learn the rows."""
        sections: dict[str, Any] = parse_settings(self.settings)
        self.model = TabTreeFormer(
            self.preset,
            schema["target"],
            **sections,
            budget_seconds=self.budget_seconds,
            random_state=self.seed,
            verbose=False,
        ).fit(df)
        summary = self.model.summary()
        steps = sum(run["steps"] for run in summary.get("training", ()))
        self.facts = {"parameters": summary.get("parameters", 0), "steps": steps}

    def sample(self, n: int) -> pd.DataFrame:
        """Draw new rows."""
        rows: pd.DataFrame = self.model.sample(n, random_state=self.seed)
        return rows
