"""The release gate: attacks on a fitted model, the verdict, and the release of rows despite a failure."""

from __future__ import annotations

from .level_text import level_line
from .release import (
    accept_risk,
    check_release,
    check_rows,
    failed,
    file_leaks,
    known_level,
    reasons_of,
    safe_rows,
    warn_if_failed,
    warn_if_file_leaks,
)
from .verdict import gate_seed, no_verdict, verdict_on
from .verdict_text import verdict_lines

__all__ = [
    "accept_risk",
    "check_release",
    "check_rows",
    "failed",
    "file_leaks",
    "gate_seed",
    "known_level",
    "level_line",
    "no_verdict",
    "reasons_of",
    "safe_rows",
    "verdict_lines",
    "verdict_on",
    "warn_if_failed",
    "warn_if_file_leaks",
]
