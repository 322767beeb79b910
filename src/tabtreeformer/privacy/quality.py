"""The quality of a fit in words: a quick comparison of new rows with real ones."""

from __future__ import annotations

import numpy as np

from ..artifact.fitted import Fitted
from ..evaluation.quick_look import MAX_ROWS, quick_look
from ..fitting.evidence import Evidence
from ..sampling.writer import writer_of


def quality_lines(fitted: Fitted, evidence: Evidence, budget_seconds: float | None) -> tuple[str, ...]:
    """Sentences on the quality of the rows, preceded by a warning if time ran out too early."""
    n_rows = int(fitted.record["rows"])
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.permutation(n_rows)[:MAX_ROWS])
    writer = writer_of(fitted)
    rows = writer.decode(writer.write(min(max(n_rows, 2), MAX_ROWS)))
    lines = quick_look(
        evidence.take(chosen),
        rows,
        fitted.schema,
        _n_kept(fitted),
        budget=budget_seconds is not None,
        holdout=evidence.holdout is not None,
    )
    return (*_out_of_time(evidence, n_rows, budget_seconds), *lines)


def _n_kept(fitted: Fitted) -> int:
    return fitted.codec.laws.n_always + len(fitted.codec.rules.texts)


def _out_of_time(evidence: Evidence, n_rows: int, budget_seconds: float | None) -> tuple[str, ...]:
    """A warning if the time budget ended training before each network had seen its half once."""
    if budget_seconds is None or not evidence.histories:
        return ()
    steps = min(history.steps for history in evidence.histories)
    if min(history.rows for history in evidence.histories) >= n_rows / 2:
        return ()
    return (
        f"stopped by the budget after {steps:,} step{'s' * (steps != 1)}, before the networks saw every row once: "
        "columns of new rows are nearly independent; use more time, fewer rows, or preset 'trees'",
    )
