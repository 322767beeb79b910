"""How many rows of a table are learned within a budget.

Rows that networks have no time to read still cost: laws, codec, trees, tokens and the verdict take time for all of
them, and sizes that follow the rows make networks too large for the steps that are left. So a budget chooses the rows
first, and everything else follows from them as for a table of that size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._runtime.durations import duration
from .._runtime.threads import available_cores
from ..config.presets import AUTO, TREES

CELLS_PER_SECOND = {AUTO: 25_000, TREES: 100_000}
"""Cells per second that a core learns: of networks, each time that they read them; of trees, from start to verdict.
`python -m benchmarks.unseen` (adult) and `python -m benchmarks.scale_trees` measure more on a quiet machine."""
PASSES = 4
"""Times that networks should read a row: with fewer they gain by fewer rows, with more by further ones."""
TRAINING = 0.6
"""Share of a budget in which networks learn."""
OVERRUN = 1.25
"""A fit that takes more than this many times its budget says so."""
MIN_ROWS = 2_000
"""No budget learns fewer rows, if there are as many: they take seconds."""


def rows_in_time(preset: str, seconds: float, n_columns: int) -> int | None:
    """How many rows can be learned in this time; None where that is unknown, as for the paper's presets."""
    if preset not in CELLS_PER_SECOND:
        return None
    cells = CELLS_PER_SECOND[preset] * seconds
    if preset == AUTO:
        cells *= TRAINING * min(available_cores(), 2) / PASSES
    return max(MIN_ROWS, int(cells / max(n_columns, 1)))


def overrun(record: Mapping[str, Any], budget_seconds: float | None) -> str | None:
    """What to say of a fit that took much longer than its budget; None of others."""
    if budget_seconds is None or record["fit_seconds"] <= OVERRUN * budget_seconds:
        return None
    training = sum(float(own["seconds"]) for own in record.get("training", ()))
    took, most = record["fit_seconds"], f"training, which a budget can end, {duration(training)} of them"
    return (
        f"the fit took {duration(took)} instead of {duration(budget_seconds)} ({most}): laws, trees and the verdict "
        f"take time too; constraints=None, privacy='off', fewer columns or preset 'trees' take less"
    )
