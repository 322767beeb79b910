"""Shape and Trend: does every column look right, and does every pair of columns?

Both are what SDMetrics' quality report calls Column Shapes and Column Pair Trends, to the last digit, without its
packages. That report samples 50,000 rows for the pairs of larger tables; here all rows count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._runtime.progress import stage
from ..context import Context
from ..encoding import MISSING, Table
from ..references import Tables
from ..score import Measurement
from .correlation import correlations

DECIMALS = 14
"""Numbers are compared to this many decimals, so that rounding in the last bit makes no difference."""
UNSEEN = 1e-6
"""The frequency that SDMetrics assumes for a category that the real rows never had."""
BINS = 10
STRONG_CORRELATION, STRONG_ASSOCIATION = 0.5, 0.3
"""Above these values, a pair of real columns has a strong trend, as SDMetrics has defined it since version 0.27."""


# ---- Shape


def shape(tables: Tables, context: Context) -> Measurement:
    """Mean over the columns of one minus the distance between real and synthetic marginals; 1 is best."""
    records: list[dict[str, Any]] = []
    for feature, real, synthetic in zip(
        tables.train.features, tables.train.columns, tables.synthetic.columns, strict=True
    ):
        score = total_variation_complement(real, synthetic) if feature.categorical else ks_complement(real, synthetic)
        measure = "total variation" if feature.categorical else "Kolmogorov-Smirnov"
        records.append({"column": feature.name, "measure": measure, "score": score})
    empty = [record["column"] for record in records if np.isnan(record["score"])]
    note = f"no value at all, and so no score: {', '.join(map(repr, empty))}" if empty else None
    return Measurement(_mean([record["score"] for record in records]), {"columns": records}, note)


def ks_complement(real: NDArray[np.float64], synthetic: NDArray[np.float64]) -> float:
    """Return one minus the Kolmogorov-Smirnov statistic of two samples, missing values left out."""
    real, synthetic = _rounded(real), _rounded(synthetic)
    if not len(real) or not len(synthetic):
        return float("nan")
    values = np.concatenate([real, synthetic])
    gaps = np.searchsorted(real, values, "right") / len(real)
    gaps -= np.searchsorted(synthetic, values, "right") / len(synthetic)
    return float(1 - np.abs(gaps).max())


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the numbers that are not missing, rounded and sorted."""
    values = values[~np.isnan(values)]
    with np.errstate(over="ignore"):  # rounding multiplies; numbers that overflow have no decimals to lose
        rounded = np.round(values, DECIMALS)
    return np.sort(np.where(np.isfinite(rounded), rounded, values))


def total_variation_complement(real: NDArray[np.int32], synthetic: NDArray[np.int32]) -> float:
    """Return one minus half the summed differences of the categories' shares, missing values left out."""
    real, synthetic = real[real != MISSING], synthetic[synthetic != MISSING]
    if not len(real) or not len(synthetic):
        return float("nan")
    size = int(max(real.max(), synthetic.max())) + 1
    expected = np.bincount(real, minlength=size).astype(np.float64)
    observed = np.bincount(synthetic, minlength=size)
    expected[(expected == 0) & (observed > 0)] = UNSEEN
    return float(1 - 0.5 * np.abs(observed / observed.sum() - expected / expected.sum()).sum())


# ---- Trend


def trend(tables: Tables, context: Context) -> Measurement:
    """Mean over the pairs of columns of how similar their relation is in real and synthetic rows; 1 is best.

    Two numbers: how close their correlations are. Otherwise: the overlap of both tables of joint shares, numbers being
    cut into ten bins of their own table. The paper, and SDMetrics up to 0.26, average over all pairs; so do we.
    Since 0.27 SDMetrics averages over pairs with a strong trend in the real rows: `strong` in the breakdown.
    """
    records = _pairs(tables, context)
    scores = [record["score"] for record in records]
    strong = [record["score"] for record in records if record["strong"]]
    breakdown = {"pairs": records, "strong": _mean(strong), "strong_pairs": len(strong)}
    note = None
    if np.isnan(scores).all():
        note = "no pair of columns can be compared: there is one column only, or none of them varies"
    return Measurement(_mean(scores), breakdown, note)


def _pairs(tables: Tables, context: Context) -> list[dict[str, Any]]:
    """Return one record per pair of columns, in the order of the columns."""
    features, n_columns = tables.train.features, len(tables.train.features)
    real_correlations, synthetic_correlations = _correlation_table(tables.train), _correlation_table(tables.synthetic)
    real_codes, synthetic_codes = _discrete(tables.train), _discrete(tables.synthetic)
    records = []
    with stage(context.progress, f"trend of {context.label}", n_columns * (n_columns - 1) // 2) as advance:
        for i in range(n_columns):
            for j in range(i + 1, n_columns):
                if features[i].categorical or features[j].categorical:
                    record = _contingency(real_codes[i], real_codes[j], synthetic_codes[i], synthetic_codes[j])
                else:
                    record = _correlation(real_correlations[i, j], synthetic_correlations[i, j])
                records.append({"columns": [features[i].name, features[j].name], **record})
            advance(n_columns - i - 1)
    return records


def _correlation(real: float, synthetic: float) -> dict[str, Any]:
    """Compare two correlations; undefined where a column is constant."""
    return {
        "measure": "correlation",
        "score": float(1 - abs(real - synthetic) / 2),
        "real": float(real),
        "synthetic": float(synthetic),
        "strong": bool(abs(real) > STRONG_CORRELATION),
    }


_Codes = NDArray[np.integer[Any]] | None


def _contingency(real_i: _Codes, real_j: _Codes, synthetic_i: _Codes, synthetic_j: _Codes) -> dict[str, Any]:
    """Compare two tables of joint shares; `real` is the association in the real rows (Cramér's V)."""
    score = association = float("nan")
    if real_i is not None and real_j is not None and synthetic_i is not None and synthetic_j is not None:
        width = int(max(real_j.max(), synthetic_j.max())) + 1
        real, synthetic = _joint_counts(
            real_i.astype(np.int64) * width + real_j, synthetic_i.astype(np.int64) * width + synthetic_j
        )
        score = float(1 - np.abs(real / len(real_i) - synthetic / len(synthetic_i)).sum() / 2)
        association = cramers_v(real_i, real_j)
    return {
        "measure": "contingency",
        "score": score,
        "real": association,
        "synthetic": None,
        "strong": bool(association > STRONG_ASSOCIATION),
    }


def _joint_counts(real: NDArray[np.int64], synthetic: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Count the keys of both sides over the same cells; a table of all cells only where that is small."""
    size = int(max(real.max(), synthetic.max())) + 1
    if size > 4 * (len(real) + len(synthetic)) + 1024:
        cells, places = np.unique(np.concatenate([real, synthetic]), return_inverse=True)
        real, synthetic, size = places[: len(real)], places[len(real) :], len(cells)
    return np.bincount(real, minlength=size), np.bincount(synthetic, minlength=size)


def cramers_v(left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]]) -> float:
    """Return how strongly two categorical columns are associated, from 0 to 1; NaN where one of them is constant."""
    row_totals, column_totals = np.bincount(left), np.bincount(right)
    shape = np.count_nonzero(row_totals), np.count_nonzero(column_totals)
    if min(shape) < 2:
        return float("nan")
    keys = left.astype(np.int64) * len(column_totals) + right
    if len(row_totals) * len(column_totals) > 4 * len(keys) + 1024:
        cells, counts = np.unique(keys, return_counts=True)
    else:
        counts = np.bincount(keys)
        cells = np.flatnonzero(counts)
        counts = counts[cells]
    expected = row_totals[cells // len(column_totals)] * (column_totals[cells % len(column_totals)] / len(keys))
    chi_squared = (counts / expected * counts).sum() - len(keys)
    return float(np.sqrt(max(chi_squared, 0.0) / len(keys) / (min(shape) - 1)))


def _correlation_table(table: Table) -> NDArray[np.float64]:
    """Return the correlations of the numeric columns in the positions of all columns, (D, D)."""
    result = np.full((len(table.features), len(table.features)), np.nan)
    places = table.numeric
    if len(places) > 1:
        result[np.ix_(places, places)] = correlations([table.columns[place] for place in places])
    return result


def _discrete(table: Table) -> list[_Codes]:
    """Return every column as codes; numbers are cut into bins only if there are both kinds of columns."""
    mixed = len(table.categorical) > 0
    return [
        column if feature.categorical else binned(column) if mixed else None
        for feature, column in zip(table.features, table.columns, strict=True)
    ]


def binned(values: NDArray[np.float64]) -> _Codes:
    """Cut numbers into ten equal bins from the minimum to the maximum; the maximum and missing ones come after these.

    None where the range is too narrow for ten different edges.
    """
    try:
        edges = np.histogram_bin_edges(values[~np.isnan(values)], bins=BINS)
    except ValueError:
        return None
    return np.digitize(values, edges).astype(np.int8)


def _mean(scores: list[float]) -> float:
    """Return the mean of the scores that could be computed; NaN where none could."""
    known = [score for score in scores if not np.isnan(score)]
    return float(np.mean(known)) if known else float("nan")
