"""Numbers, times and durations as an axis shows them."""

from __future__ import annotations

import numpy as np


def short(value: float, unit: str = "") -> str:
    """A number as an axis shows it; seconds since 1970 as a day, seconds as days, hours or minutes."""
    if unit == "time":
        return str(np.datetime64(int(value), "s"))[:10]
    if unit == "duration":
        size, name = next(((s, n) for s, n in ((86_400, "d"), (3600, "h"), (60, "min")) if abs(value) >= s), (1, "s"))
        return f"{value / size:.3g} {name}"
    if value and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
