"""The release gate: attacks on a model that has just been fitted, a verdict, and what may be done in spite of it."""

from __future__ import annotations

from .aside import split_off
from .release import accept_risk, check_release, failed, warn_if_failed
from .verdict import Evidence, judge_model, rows_read
from .words import verdict_lines

__all__ = [
    "Evidence",
    "accept_risk",
    "check_release",
    "failed",
    "judge_model",
    "rows_read",
    "split_off",
    "verdict_lines",
    "warn_if_failed",
]
