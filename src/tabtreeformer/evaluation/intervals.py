"""How far a score could be off by chance: a confidence interval for each, where there is one.

Attacks and membership have an interval of their own. Cross-validated scores have one by their folds, shares one by
their counts. Means over columns, pairs and laws have one by leaving out a group of the synthetic rows at a time (the
jackknife), which shows how much the score would change with other synthetic rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from .attacks.risk import Rate
from .context import Context
from .references import Tables
from .score import Measurement

if TYPE_CHECKING:
    from .catalogue import Metric

GROUPS = 5
"""Groups of synthetic rows, each of which is left out once."""
STUDENT = {4: 2.776, 3: 3.182, 2: 4.303, 1: 12.706}
"""Two-sided 95 % points of Student's t by degrees of freedom: five folds or groups are few."""

Interval = tuple[float, float]


def interval_of(breakdown: Mapping[str, Any], confidence: float) -> Interval | None:
    """The interval that follows from the facts behind a score; None if none does."""
    for key in ("interval", "auc_interval"):
        if breakdown.get(key) is not None:
            low, high = breakdown[key]
            return float(low), float(high)
    if "folds" in breakdown and len(breakdown["folds"]) > 1:
        folds = np.asarray(breakdown["folds"], dtype=np.float64)
        return _around(float(folds.mean()), float(folds.std(ddof=1)) / math.sqrt(len(folds)), len(folds), confidence)
    if "copies" in breakdown and breakdown.get("rows"):
        rate = Rate.of(breakdown["copies"], breakdown["rows"], confidence)
        return (rate.value - rate.error if breakdown["copies"] else 0.0), rate.value + rate.error
    return None


def with_jackknife(metric: Metric, tables: Tables, measured: Measurement, context: Context) -> Measurement:
    """Add the interval of a metric that is a mean over columns, pairs or laws, measuring it again for each group."""
    n_rows = tables.synthetic.n_rows
    if not metric.by_rows or n_rows < 2 * GROUPS or not math.isfinite(measured.value):
        return measured
    groups = context.rng().permutation(n_rows) % GROUPS
    values = []
    for group in range(GROUPS):
        kept = replace(tables, synthetic=tables.synthetic.take(groups != group))
        values.append(metric.measure(kept, replace(context, label=f"{context.label}, part {group + 1}")).value)
    if not np.isfinite(values).all():
        return measured
    error = math.sqrt((GROUPS - 1) / GROUPS * float(np.square(np.array(values) - np.mean(values)).sum()))
    low, high = _around(measured.value, error, GROUPS, context.confidence)
    return replace(measured, breakdown={**measured.breakdown, "interval": [low, high]})


def _around(value: float, error: float, n: int, confidence: float) -> Interval:
    """The confidence interval of the mean of a few numbers."""
    normal = NormalDist().inv_cdf(0.5 + confidence / 2)
    reach = normal * STUDENT.get(n - 1, 1.96) / 1.96 * error
    return max(value - reach, 0.0), min(value + reach, 1.0)
