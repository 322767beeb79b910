"""An evaluation and its tables → plain data for a page: curves, bars, matrices, rows. Nothing here knows of HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...data.schema import Schema
from .. import Evaluation
from ..encoding import MISSING, Feature, Table, encode
from .overview import pairs, samples, statistics
from .verdict import limits, verdicts

FEW_VALUES = 25
"""A numeric column with at most this many values is drawn as bars, one per value."""
MAX_BARS = 12
POINTS = 120
"""Points of a density curve."""
MAX_ROWS = 20_000
"""Rows that associations are computed from."""
MAX_NEIGHBOURS = 5


@dataclass(frozen=True)
class Summary:
    """Everything that a page shows."""

    verdicts: list[dict[str, str]]
    limits: list[str]
    scores: list[dict[str, Any]]
    left_out: dict[str, str]
    utility: dict[str, Any] | None
    columns: list[dict[str, Any]]
    """The least faithful first."""
    samples: list[dict[str, Any]]
    statistics: list[dict[str, Any]]
    pairs: dict[str, list[dict[str, Any]]]
    laws: list[dict[str, Any]]
    associations: dict[str, Any] | None
    distances: dict[str, Any] | None
    attacks: list[dict[str, Any]]
    neighbours: list[dict[str, Any]]
    facts: dict[str, Any]


def summarise(
    evaluation: Evaluation,
    train: pd.DataFrame,
    test: pd.DataFrame | None,
    synthetic: pd.DataFrame,
    schema: Schema,
    *,
    show_rows: bool = True,
) -> Summary:
    """Collect what a report shows; `show_rows=False` leaves out the section that prints real rows."""
    frames = {"training": train, "held-out": test, "synthetic": synthetic}
    tables = encode({role: frame for role, frame in frames.items() if frame is not None}, schema)
    real, new = tables["training"], tables["synthetic"]
    scores = evaluation.scores
    shapes = {r["column"]: r["score"] for r in scores["shape"].breakdown["columns"]} if "shape" in scores else {}
    associations = _associations(real, new)
    return Summary(
        verdicts=[asdict(verdict) for verdict in verdicts(evaluation)],
        limits=limits(),
        scores=[
            {"name": name, **{k: getattr(s, k) for k in ("value", "goal", "ceiling", "floor", "note")}}
            for name, s in scores.items()
        ],
        left_out=dict(evaluation.left_out),
        utility=dict(scores["utility"].breakdown) if "utility" in scores else None,
        columns=_columns(real, new, shapes),
        laws=_laws(evaluation),
        associations=associations,
        samples=samples(train, synthetic, show_rows=show_rows),
        statistics=statistics(real, new),
        pairs=pairs(associations),
        distances=_distances(scores["dcr"].breakdown) if "dcr" in scores else None,
        attacks=_attacks(evaluation),
        neighbours=_neighbours(evaluation, train, synthetic, schema) if show_rows else [],
        facts=dict(evaluation.facts),
    )


# ---- columns


def _missing(feature: Feature, column: NDArray[Any]) -> float:
    """The share of missing values."""
    return float(np.mean(column == MISSING if feature.categorical else np.isnan(column)))


def _marginal(feature: Feature, real: NDArray[Any], new: NDArray[Any]) -> dict[str, Any]:
    """Choose how a column is drawn: bars for categories and few values, densities for numbers."""
    if feature.categorical:
        names = {MISSING: "(missing)", **dict(enumerate(feature.labels, start=1))}
        return _bars([names[code] for code in sorted(names)], *(_shares(c, len(names)) for c in (real, new)))
    values = np.unique(real[~np.isnan(real)])
    if 0 < len(values) <= FEW_VALUES and not feature.unit:
        edges = np.concatenate([[-np.inf], (values[1:] + values[:-1]) / 2, [np.inf]])
        counted = [np.searchsorted(edges[1:-1], c[~np.isnan(c)], side="right") for c in (real, new)]
        return _bars([f"{v:g}" for v in values], *(_shares(c, len(values)) for c in counted), by_size=False)
    return {**density(real[~np.isnan(real)], new[~np.isnan(new)]), "unit": feature.unit}


def _shares(codes: NDArray[Any], size: int) -> NDArray[np.float64]:
    return np.bincount(codes, minlength=size)[:size] / max(len(codes), 1)


def _bars(
    labels: list[str], real: NDArray[np.float64], new: NDArray[np.float64], *, by_size: bool = True
) -> dict[str, Any]:
    """Bars of shares; only the largest by name where there are many, the rest as one."""
    used = np.flatnonzero((real > 0) | (new > 0))
    if by_size and len(used) > MAX_BARS:
        used = used[np.argsort(-(real + new)[used], kind="stable")]
        shown, rest = used[: MAX_BARS - 1], used[MAX_BARS - 1 :]
    else:
        shown, rest = used, used[:0]
    data = {
        "type": "bars",
        "labels": [labels[i] for i in shown],
        "real": real[shown].tolist(),
        "synthetic": new[shown].tolist(),
    }
    if len(rest):
        data["labels"].append(f"{len(rest)} others")
        data["real"].append(float(real[rest].sum()))
        data["synthetic"].append(float(new[rest].sum()))
    return data


def density(real: NDArray[np.float64], new: NDArray[np.float64], *, both_ends: bool = False) -> dict[str, Any]:
    """Two smooth curves over a common range, that of the real rows or, with `both_ends`, of both."""
    if not len(real) or not len(new):
        return {"type": "none"}
    # Where tails are long, the middle 99 % of the real rows fill the picture; what lies beyond counts at the ends.
    low, high = np.quantile(np.concatenate([real, new]) if both_ends else real, [0.005, 0.995])
    low, high = (low, high) if high > low else (real.min(), max(real.max(), real.min() + 1))
    edges = np.linspace(low, high, POINTS + 1)
    if (real == np.rint(real)).all() and high - low < 10 * POINTS:
        # Whole numbers: bins of whole numbers, or the gaps between them would look like modes.
        step = max(1, np.ceil((high - low + 1) / POINTS))
        edges = np.arange(np.floor(low) - 0.5, high + step, step)
    width = edges[1] - edges[0]
    # A part of Silverman's bandwidth: narrow enough to keep modes apart, wide enough to hide single rows. Distances,
    # which come as few points and have no modes to speak of, take all of it.
    narrow = 1.0 if both_ends else 0.35
    places = (np.clip(real, edges[0], edges[-1]) - edges[0]) / width  # in bins, so that no square overflows
    spread = min(places.std(), np.subtract(*np.quantile(places, [0.75, 0.25])) / 1.34 or places.std())
    bandwidth = max(narrow * 0.9 * spread * min(len(real), len(new)) ** -0.2, 0.7)
    reach = min(int(np.ceil(4 * bandwidth)), len(edges) - 2)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / bandwidth) ** 2)
    kernel /= kernel.sum()
    curves = []
    for values in (real, new):
        counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] / len(values) / width
        curves.append(np.convolve(np.pad(counts, reach, mode="reflect"), kernel, mode="valid"))
    return {
        "type": "density",
        "low": float(edges[0] + width / 2),
        "high": float(edges[-1] - width / 2),
        "real": curves[0].tolist(),
        "synthetic": curves[1].tolist(),
    }


# ---- laws


def _laws(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Every law of the training rows and who keeps it, the most broken first."""
    records = evaluation.scores["laws"].breakdown.get("laws", []) if "laws" in evaluation.scores else []
    measured = [record for record in records if record["synthetic"] is not None]
    return sorted(measured, key=lambda record: record["synthetic"] - record["train"])


def _columns(real: Table, new: Table, shapes: Mapping[str | int, float]) -> list[dict[str, Any]]:
    """What is drawn of each column; the least faithful come first."""
    found = [
        {
            "name": str(f.name),
            "score": shapes.get(f.name),
            "missing": [_missing(f, table.columns[i]) for table in (real, new)],
            "plot": _marginal(f, real.columns[i], new.columns[i]),
        }
        for i, f in enumerate(real.features)
    ]
    return sorted(found, key=lambda column: 2.0 if column["score"] is None else column["score"])


# ---- pairs


def _associations(real: Table, new: Table) -> dict[str, Any] | None:
    """How strongly each pair of columns is associated, 0 to 1, in both tables; categories first, as in the paper."""
    order = [*real.categorical, *real.numeric]
    if len(order) < 2:
        return None
    rng = np.random.default_rng(0)
    matrices = [association_matrix(table.sample(MAX_ROWS, rng), order) for table in (real, new)]
    return {
        "names": [str(real.features[i].name) for i in order],
        "n_categorical": len(real.categorical),
        "real": matrices[0].tolist(),
        "synthetic": matrices[1].tolist(),
        "difference": np.abs(matrices[0] - matrices[1]).tolist(),
    }


def association_matrix(table: Table, order: list[int]) -> NDArray[np.float64]:
    """|Pearson| for two numbers, Cramér's V for two categories, the correlation ratio for one of each."""
    columns, kinds = [table.columns[i] for i in order], [table.features[i].categorical for i in order]
    matrix = np.eye(len(order))
    for i in range(len(order)):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = _association(columns[i], kinds[i], columns[j], kinds[j])
    return matrix


def _association(a: NDArray[Any], a_is_code: bool, b: NDArray[Any], b_is_code: bool) -> float:
    if a_is_code and b_is_code:
        return _cramers_v(a, b)
    if a_is_code or b_is_code:
        codes, numbers = (a, b) if a_is_code else (b, a)
        return _correlation_ratio(codes, numbers)
    both = ~(np.isnan(a) | np.isnan(b))
    a, b = a[both], b[both]
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(min(1.0, abs(np.corrcoef(a / np.abs(a).max(), b / np.abs(b).max())[0, 1])))


def _cramers_v(a: NDArray[Any], b: NDArray[Any]) -> float:
    a_codes, a = np.unique(a, return_inverse=True)
    b_codes, b = np.unique(b, return_inverse=True)
    least = min(len(a_codes), len(b_codes)) - 1
    if least < 1:
        return 0.0
    cells = a.astype(np.int64) * len(b_codes) + b
    # Only the cells that occur: two columns of 10,000 categories have too many others.
    seen, counts = np.unique(cells, return_counts=True)
    a_counts, b_counts = np.bincount(a), np.bincount(b)
    expected = a_counts[seen // len(b_codes)] * b_counts[seen % len(b_codes)] / len(a)
    chi2 = (counts**2 / expected).sum() - len(a)
    return float(np.sqrt(max(chi2, 0) / len(a) / least))


def _correlation_ratio(codes: NDArray[Any], numbers: NDArray[np.float64]) -> float:
    there = ~np.isnan(numbers)
    codes, numbers = codes[there], numbers[there]
    if len(numbers) < 2 or np.ptp(numbers) == 0:
        return 0.0
    numbers = numbers / np.abs(numbers).max()
    _, groups = np.unique(codes, return_inverse=True)
    counts = np.bincount(groups)
    means = np.bincount(groups, weights=numbers) / counts
    between = (counts * (means - numbers.mean()) ** 2).sum()
    return float(np.sqrt(min(1.0, between / ((numbers - numbers.mean()) ** 2).sum())))


# ---- privacy


def _distances(breakdown: dict[str, Any] | Any) -> dict[str, Any]:
    """Densities of the distances to the closest training row on a logarithmic axis, from their stored quantiles."""
    holdout, synthetic = np.array(breakdown["holdout"]), np.array(breakdown["synthetic"])
    both = np.concatenate([holdout, synthetic])
    floor = both[both > 0].min(initial=1.0) / 2  # a copy has no distance, and a logarithm needs one
    curves = density(*(np.log10(np.maximum(values, floor)) for values in (holdout, synthetic)), both_ends=True)
    return {
        **curves,
        "log": True,
        "medians": {"real": float(np.median(holdout)), "synthetic": float(np.median(synthetic))},
    }


def _attacks(evaluation: Evaluation) -> list[dict[str, Any]]:
    """One line per attack: singling out by one column and by several, linkability, inference column by column."""
    lines = []
    for name in ("singling_out", "linkability", "inference"):
        facts = evaluation.scores[name].breakdown if name in evaluation.scores else {}
        parts = {"": facts} if "risk" in facts and name == "linkability" else {}
        parts |= facts.get("modes", {}) | {str(record["column"]): record for record in facts.get("columns", ())}
        for part, record in parts.items():
            keys = ("train", "control", "baseline", "risk", "interval")
            lines.append({"attack": name, "part": part, **{key: record[key] for key in keys}})
    return lines


def _neighbours(
    evaluation: Evaluation, train: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema
) -> list[dict[str, Any]]:
    """The synthetic rows that are closest to a training row, cell by cell next to it."""
    if "dcr" not in evaluation.scores:
        return []
    pairs = []
    for found in evaluation.scores["dcr"].breakdown["closest"][:MAX_NEIGHBOURS]:
        left, right = synthetic.iloc[found["synthetic_row"]], train.iloc[found["train_row"]]
        cells = [{"column": str(name), "synthetic": str(left[name]), "real": str(right[name])} for name in schema.names]
        pairs.append({"distance": found["distance"], "cells": cells})
    return pairs
