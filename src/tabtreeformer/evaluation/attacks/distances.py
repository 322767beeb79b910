"""Distance-based smoke tests: are the synthetic rows new, or do they repeat training rows?

Three questions, none of which is enough alone. Are they closer to the training rows than held-out rows are (dcr)? Are
some equal to training rows, or are more training rows repeated than held-out rows (copies)? Is the closest training row
suspiciously closer than the second (neighbour_ratio)? Actual attacks are in other modules: `membership`,
`singling_out`, `linkability`, `inference`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..context import SYNTHETIC, Context
from ..encoding import Table, both
from ..metrics.neighbours import Neighbours, Space
from ..references import Tables
from ..score import Measurement
from .copies import found_in
from .repeated import MAX_CANDIDATES, MAX_RELEASED, repeated

ALPHA = 0.05
"""A p-value below this is a violation (paper, section on experiments)."""
POINTS = 200
"""Quantiles of the distances that are kept for plots."""
NEAREST = 0.01
"""A near copy is closer to a training row than all but this share of the held-out rows are."""
CLOSEST = 10
"""Number of synthetic rows listed in the breakdown, those closest to a training row."""
PERCENTILE = 5
"""Share of rows, in per cent, whose neighbour ratio is below the one reported with the median."""


def dcr(tables: Tables, context: Context) -> Measurement:
    """P-value of "synthetic rows are closer to the training rows than held-out rows are"; below 0.05 is a violation.

    Distance to the closest record as in the paper: a test-sized sample of the synthetic rows against the held-out rows,
    cosine distance, one-sided Mann-Whitney U test.
    """
    from scipy.stats import mannwhitneyu  # type: ignore[import-untyped]

    rows, synthetic = _to_training(tables, tables.synthetic, context)
    _, holdout = _to_training(tables, tables.holdout, context)
    ours, theirs = synthetic.distances[:, 0], holdout.distances[:, 0]
    p_value = float(mannwhitneyu(ours, theirs, alternative="less").pvalue)
    near = np.sort(theirs)[int(NEAREST * len(theirs))]
    closest = np.argsort(ours, kind="stable")[:CLOSEST]
    breakdown = {
        "violation": p_value < ALPHA,
        "alpha": ALPHA,
        "rows": {"synthetic": len(ours), "holdout": len(theirs)},
        "near_copies": {"synthetic": int((ours < near).sum()), "holdout": int((theirs < near).sum())},
        "synthetic": _quantiles(ours),
        "holdout": _quantiles(theirs),
        "closest": [
            {"synthetic_row": int(rows[i]), "train_row": int(synthetic.rows[i, 0]), "distance": float(ours[i])}
            for i in closest
        ],
    }
    return Measurement(p_value, breakdown, tables.capped(context.max_queries))


def neighbour_ratio(tables: Tables, context: Context) -> Measurement:
    """Median of the distance to the nearest training row over that to the second; near 0 means single rows are copied.

    Two equal training rows at no distance count as 1: no single row is copied.
    """
    _, found = _to_training(tables, tables.synthetic, context)
    first, second = found.distances.T
    ratios = np.divide(first, second, out=np.ones_like(first), where=second > 0)
    breakdown = {
        f"percentile_{PERCENTILE}": float(np.percentile(ratios, PERCENTILE)),
        "rows": len(ratios),
        "quantiles": _quantiles(ratios),
    }
    return Measurement(float(np.median(ratios)), breakdown, tables.capped(context.max_queries))


def copies(tables: Tables, context: Context) -> Measurement:
    """Share of the synthetic rows that equal a training row in every column.

    With few, coarse columns unseen real rows do so too; the ceiling shows how often.
    """
    equal = found_in(tables.synthetic, tables.train)
    examples = np.flatnonzero(equal)[:CLOSEST].tolist()
    breakdown: dict[str, Any] = {"copies": int(equal.sum()), "rows": len(equal), "examples": examples}
    if tables.test is not None and context.label == SYNTHETIC:
        rng = context.rng()
        members, others = (table.sample(MAX_CANDIDATES, rng) for table in (tables.train, tables.test))
        released = tables.synthetic.sample(MAX_RELEASED, rng)
        breakdown["repeated"] = repeated(both(members, others), members.n_rows, released, tables.train.n_rows)
    return Measurement(float(equal.mean()), breakdown)


# ---- distances to the training rows, shared by two metrics


def _to_training(tables: Tables, table: Table, context: Context) -> tuple[NDArray[np.int64], Neighbours]:
    """Return the query rows and their nearest training rows.

    Equal counts on both sides: as many as there are held-out rows, at most `max_queries`.
    """
    n_rows = min(context.max_queries, table.n_rows, tables.synthetic.n_rows)
    if tables.test is not None:
        n_rows = min(n_rows, tables.test.n_rows)

    def search() -> tuple[NDArray[np.int64], Neighbours]:
        rows = np.arange(table.n_rows)
        if n_rows < table.n_rows:
            rows = np.sort(context.rng().choice(table.n_rows, n_rows, replace=False))
        space = context.once(("space", tables.train), lambda: Space(tables.train))
        what = "held-out rows" if table is tables.test else context.label
        return rows, space.nearest(table.take(rows), context.progress, f"nearest training rows of {what}")

    return context.once(("to training", table, n_rows), search)


def _quantiles(values: NDArray[np.float64]) -> list[float]:
    quantiles: list[float] = np.quantile(values, np.linspace(0, 1, POINTS)).tolist()
    return quantiles
