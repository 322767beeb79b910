"""The privacy level as text: the result, the number of safe rows, and what to do if it is exceeded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

COARSER = "drop columns that are not needed, make values coarser (tokens={'quantiles': 20})"
"""Remedies for networks."""
LARGER = 4
"""Factor of rows per leaf to try next with preset `trees`."""
MIN_TOLD = 10
"""Minimum number of safe rows to report, as a share of the measured rows."""


def broken(level: Mapping[str, Any], leaf_rows: int | None) -> list[str]:
    """Why a model fails its level, and what to do; empty if the level holds.

    `leaf_rows` is the setting of preset `trees`; None for networks.
    """
    if level["holds"]:
        return []
    figures, limits = level["figures"][0], level["limits"]
    safe = level["safe_rows"]
    fewer = f"; about {safe:,} rows would still be within it" if safe * MIN_TOLD >= figures["rows"] else ""
    ways = COARSER if leaf_rows is None else _more_protection(leaf_rows, figures["rows"])
    return [
        f"the level {level['name']!r} is exceeded: an attacker with {figures['rows']:,} of its rows recognises "
        f"members with an AUC of {figures['auc']:.2f} (at most {limits['auc']}), and "
        f"{figures['found_at_1_percent']:.1%} of them at 1% false positives (at most "
        f"{limits['found_at_1_percent']:.0%}){fewer}. What to do: {ways}, fit more rows, or use differential privacy "
        "(dp=DP(epsilon=…), --epsilon)"
    ]


def _more_protection(leaf_rows: int, n_rows: int) -> str:
    """Remedies for preset `trees`; leaves with a large part of the rows would describe nothing."""
    larger = LARGER * leaf_rows
    leaves = f", grow larger leaves (forest={{'leaf_rows': {larger}}})" if 2 * larger <= n_rows else ""
    return f"use the network (preset='auto'){leaves}"


def level_line(level: Mapping[str, Any]) -> str:
    """The level in one line: the attack with as many rows as were learned, and with ten times as many."""
    first, more = level["figures"]
    limit = level["limits"]["auc"]
    text = (
        f"level {level['name']}: attack AUC {first['auc']:.2f} for {first['rows']:,} rows, {more['auc']:.2f} for "
        f"{more['rows']:,} (0.5 is chance, the limit {limit})"
    )
    above = "; above the limit, though too few rows prove it" if level["holds"] and first["auc"] > limit else ""
    return f"{text}{above}; {safe_words(level)}"


def safe_words(level: Mapping[str, Any]) -> str:
    """The number of safe rows in words."""
    if not level["holds"]:
        return "the level is exceeded"
    if level["safe_rows"] is None:
        return "the attack finds no number of rows that would be too many"
    return f"safe up to {level['safe_rows']:,} rows"
