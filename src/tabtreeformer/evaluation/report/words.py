"""Values of a table as the short text that a page shows."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ..encoding import Feature
from .numbers import short

MAX_TEXT = 40
"""Characters of a cell that are shown."""
MISSING_WORD = "missing"
MANY_DAYS = 20 * 86_400.0
"""With a larger standard deviation, in seconds, the hour of a time is not shown."""


def cell(value: Any) -> str:
    """Return a cell as short text; a missing value is called missing."""
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return MISSING_WORD
    if isinstance(value, pd.Timestamp) and value == value.normalize():
        return str(value.date())
    text = f"{value:.6g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def number(feature: Feature, value: float, spread: float = 0.0) -> str:
    """A number, or the time that it means: a day where times are spread over many."""
    if feature.unit == "time":
        return str(pd.Timestamp(value, unit="s").floor("min"))[: 10 if spread > MANY_DAYS else 16]
    return span(feature, value)


def span(feature: Feature, value: float) -> str:
    """A difference of two numbers, or the duration that it means."""
    if feature.unit:
        return short(value, "duration")
    return f"{value:,.0f}" if 10_000 <= abs(value) < 1e15 else f"{value:.4g}"
