"""How many rows of a table are learned within a budget.

Rows that networks have no time to read still have a cost: laws, codec, trees, tokens and the verdict take time for all
of them, and sizes that depend on the rows make networks too large for the steps that are left. So a budget chooses the
rows first, and everything else follows as for a table of that size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._runtime.durations import duration
from .._runtime.threads import available_cores
from ..config.presets import AUTO, TREES

CELLS_PER_SECOND = {AUTO: 25_000, TREES: 100_000}
"""Cells that a core learns per second: for networks, each time they read them; for trees, from start to verdict.
`python -m benchmarks.unseen` (adult) and `python -m benchmarks.scale_trees` measure more on a quiet machine."""
PASSES = 4
"""How often networks should read a row: if less often, fewer rows are better; if more often, more rows are."""
TRAINING = 0.6
"""Share of a budget spent on training networks."""
OVERRUN = 1.25
"""A fit that takes longer than this multiple of its budget says so."""
MIN_ROWS = 2_000
"""Every budget learns at least this many rows, if there are that many: they take seconds."""


def rows_in_time(preset: str, seconds: float, n_columns: int) -> int | None:
    """How many rows can be learned in this time; None where that is unknown, as for the paper's presets."""
    if preset not in CELLS_PER_SECOND:
        return None
    cells = CELLS_PER_SECOND[preset] * seconds
    if preset == AUTO:
        cells *= TRAINING * min(available_cores(), 2) / PASSES
    return max(MIN_ROWS, int(cells / max(n_columns, 1)))


def overrun(record: Mapping[str, Any], budget_seconds: float | None) -> str | None:
    """What to say about a fit that took much longer than its budget; None for others."""
    if budget_seconds is None or record["fit_seconds"] <= OVERRUN * budget_seconds:
        return None
    training = sum(float(own["seconds"]) for own in record.get("training", ()))
    took, most = record["fit_seconds"], f"training, which a budget can end, {duration(training)} of them"
    return (
        f"the fit took {duration(took)} instead of {duration(budget_seconds)} ({most}): laws, trees and the verdict "
        f"take time too; constraints=None, privacy='off', fewer columns or preset 'trees' take less"
    )
