"""Durations as people say them."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """A rounded duration, for people: 40 s, 3 min, 2.5 h, 4 days."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    if seconds < 5700:
        return f"{round(seconds / 60)} min"
    if seconds < 36 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{round(seconds / 86400)} days"
